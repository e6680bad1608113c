// The layouts of the accounting tests: ten meshes and layouts, two of them with sizes that do not divide,
// that between them split each dimension of a perceptron, and of a Transformer, over no axis, one and two.
#pragma once

#include <meshtf/meshtf.hpp>

namespace accounting {

// clang-format off
using meshtf::padded;
using meshtf::split;

struct batch : meshtf::dim<16> {};

struct in      : meshtf::dim<12> {};   // the perceptron
struct hidden  : meshtf::dim<16> {};   // also the Transformer's
struct inner   : meshtf::dim<8>  {};
struct classes : meshtf::dim<24> {};

struct length : meshtf::dim<6>  {};    // the Transformer
struct vocab  : meshtf::dim<24> {};
struct width  : meshtf::dim<12> {};
struct heads  : meshtf::dim<4>  {};
struct key    : meshtf::dim<3>  {};

struct all    : meshtf::axis<2> {};
struct rows   : meshtf::axis<2> {};
struct cols   : meshtf::axis<2> {};
struct few    : meshtf::axis<2> {};
struct many   : meshtf::axis<4> {};
struct planes : meshtf::axis<2> {};
struct third  : meshtf::axis<3> {};
struct fifth  : meshtf::axis<5> {};

struct one_process : meshtf::mesh<> {};
struct line        : meshtf::mesh<all> {};
struct square_grid : meshtf::mesh<rows, cols> {};
struct grid        : meshtf::mesh<few, many> {};
struct cube        : meshtf::mesh<planes, rows, cols> {};
struct three       : meshtf::mesh<third> {};
struct five        : meshtf::mesh<fifth> {};

struct replicated    : meshtf::layout<one_process> {};
struct data          : meshtf::layout<line, split<batch, all>> {};
struct model         : meshtf::layout<line, split<hidden, all>, split<classes, all>, split<heads, all>,
                                      split<vocab, all>> {};
struct mixed         : meshtf::layout<square_grid, split<batch, rows>, split<hidden, cols>,
                                      split<classes, cols>, split<heads, cols>, split<vocab, cols>> {};
struct two_axes      : meshtf::layout<square_grid, split<hidden, rows, cols>, split<classes, rows, cols>,
                                      split<heads, cols, rows>, split<vocab, rows, cols>> {};
struct wide_mixed    : meshtf::layout<grid, split<batch, few>, split<hidden, many>, split<classes, many>,
                                      split<heads, many>, split<vocab, many>> {};
// the outer part over the mesh's inner axis
struct wide_two_axes : meshtf::layout<grid, split<batch, many, few>> {};
struct cubic         : meshtf::layout<cube, split<batch, planes>, split<in, cols>, split<hidden, rows>,
                                      split<inner, cols>, split<classes, rows>, split<width, cols>,
                                      split<heads, rows>, split<vocab, rows>> {};
struct uneven_data   : meshtf::layout<three, padded<batch, third>> {};
struct uneven_model  : meshtf::layout<five, padded<hidden, fifth>, padded<classes, fifth>,
                                      padded<heads, fifth>, padded<vocab, fifth>> {};
// clang-format on

}  // namespace accounting
