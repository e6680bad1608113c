// What the tests of models on packed rows share: meshes of one and two processes, and rows of two sequences
// with padding after them.
#pragma once

#include <cstdint>

#include "../pipeline/on_stages.hpp"

namespace packed_rows {

using namespace pipelines;

struct stages : axis<2> {};
struct rows : axis<2> {};
struct single : mesh<> {};
struct line : mesh<rows> {};
struct line_of_stages : mesh<stages> {};
struct whole : layout<single> {};
struct piped : layout<line_of_stages, staged<stages>> {};

template<class T, Layout L, Dimension Vocab, Dimension Batch, Dimension Along>
constexpr auto random_ids(machine<L>& m, std::uint64_t seed) {
  return argmax<Vocab>(random_normal<T, L, Batch, Along, Vocab>(m, {.seed = seed}));
}
/// Two sequences in a row, then padding, of which there is less in later rows.
template<Layout L, Dimension Batch, Dimension Along>
constexpr auto segments_of_rows(machine<L>& m) {
  auto const row   = broadcast<Batch, Along>(iota<int, L, Batch>(m));
  auto const place = iota<int, L, Along>(m);
  auto const there = less(place - row, 5);
  return (floor_divide(place, 4) + 1) * there;
}

}  // namespace packed_rows
