// The zoo: eight meshes and layouts that between them split each dimension of a perceptron over no axis, one and two.
#pragma once

#include <meshtf/meshtf.hpp>

namespace accounting {

struct batch : meshtf::dim<16> {};
struct in : meshtf::dim<12> {};
struct hidden : meshtf::dim<16> {};
struct inner : meshtf::dim<8> {};
struct classes : meshtf::dim<24> {};

struct one_process : meshtf::mesh<> {};
struct replicated : meshtf::layout<one_process> {};

struct all : meshtf::axis<2> {};
struct line : meshtf::mesh<all> {};
struct data : meshtf::layout<line, meshtf::split<batch, all>> {};
struct model : meshtf::layout<line, meshtf::split<hidden, all>, meshtf::split<classes, all>> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct square_grid : meshtf::mesh<rows, cols> {};
struct mixed : meshtf::layout<square_grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>, meshtf::split<classes, cols>> {};
struct two_axes : meshtf::layout<square_grid, meshtf::split<hidden, rows, cols>, meshtf::split<classes, rows, cols>> {};

struct few : meshtf::axis<2> {};
struct many : meshtf::axis<4> {};
struct grid : meshtf::mesh<few, many> {};
struct wide_mixed : meshtf::layout<grid, meshtf::split<batch, few>, meshtf::split<hidden, many>, meshtf::split<classes, many>> {};
struct wide_two_axes : meshtf::layout<grid, meshtf::split<batch, many, few>> {};   // the outer part over the mesh's inner axis

struct planes : meshtf::axis<2> {};
struct cube : meshtf::mesh<planes, rows, cols> {};
struct cubic : meshtf::layout<cube, meshtf::split<batch, planes>, meshtf::split<in, cols>, meshtf::split<hidden, rows>, meshtf::split<inner, cols>,
                              meshtf::split<classes, rows>> {};

}  // namespace accounting
