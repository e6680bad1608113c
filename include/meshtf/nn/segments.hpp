// Sequences that are packed into rows: where each position stands in its own sequence, and positions that
// begin anew in each.
#pragma once

#include <cstdint>
#include <utility>

#include <meshtf/nn/attention_along.hpp>
#include <meshtf/nn/embedding.hpp>
#include <meshtf/nn/kinds_of_positions.hpp>
#include <meshtf/nn/positions.hpp>
#include <meshtf/ops/index/iota.hpp>
#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/pointwise/compare.hpp>
#include <meshtf/ops/pointwise/minimum_maximum.hpp>
#include <meshtf/ops/pointwise/where.hpp>
#include <meshtf/ops/shape/shift.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// For each position along `Length` its number in its own sequence, from 0 on: how many positions with the
/// same segment id stand directly before it. Of the shape and placement of `segments`, which are int.
///
///     segments  1 1 1 2 2 3 0 0
///     places    0 1 2 0 1 0 0 1
///
/// Counts double in log2(Length::size) passes over the ids; where `Length` is split, each pass is a shift and
/// sends what `shift` sends.
template<Dimension Length, Tensor Segments>
constexpr auto positions_in_segments(Segments const& segments,
                                     std::source_location at = std::source_location::current()) {
  auto const same = meshtf::equal(segments, shift<Length>(segments, 1, at), at);
  auto places     = cast<std::int32_t>(same, at);
  // where k positions before it are of the same sequence, those before the k-th are counted too
  for (extent k = 1; k < Length::size; k *= 2) {
    auto const bound  = static_cast<std::int32_t>(k);
    auto const before = shift<Length>(places, k, at);
    auto next         = where(less(places, bound, at), places, before + bound, at);
    places            = std::move(next);
  }
  // zeros stand before the first position of a row, and may be an id there
  return minimum(places, iota<std::int32_t, typename Segments::layout_type, Length>(segments.machine(), at),
                 at);
}

MESHTF_ACCEPT_REJECTED(positions_in_segments)

namespace detail {

/// A kind of positions (`sinusoids`, `learned_positions`, `no_positions`) as a layer that adds to x what
/// belongs to the place of each of its positions. Its table is whole along the length.
template<class Kind>
struct positions_by_place;

template<>
struct positions_by_place<learned_positions> {
  template<class T, class L, class Length, class Model>
  struct layer : embedding<T, L, all_of<Length>, Model> {
    using embedding<T, L, all_of<Length>, Model>::embedding;

    template<class X, class Places>
    constexpr auto add(X const& x, Places const& places, std::source_location at) const {
      auto const found = (*this)(places, at);
      if constexpr (std::is_same_v<meshtf::detail::element_in<X>, T>) return x + found;
      else return x + cast<meshtf::detail::element_in<X>>(found, at);
    }
  };
};

template<>
struct positions_by_place<sinusoids> {
  template<class T, class L, class Length, class Model>
  struct layer {
    tensor<T, L, all_of<Length>, Model> rows;

    constexpr layer(machine<L>& m, auto const&) : rows{sinusoid_positions<T, L, all_of<Length>, Model>(m)} {}

    template<class X, class Places>
    constexpr auto add(X const& x, Places const& places, std::source_location at) const {
      auto const found = gather<all_of<Length>>(rows, places, at);
      if constexpr (std::is_same_v<meshtf::detail::element_in<X>, T>) return x + found;
      else return x + cast<meshtf::detail::element_in<X>>(found, at);
    }
  };
};

template<>
struct positions_by_place<no_positions> {
  template<class T, class L, class Length, class Model>
  struct layer {
    constexpr layer(machine<L>&, auto const&) {}
    template<class X, class Places>
    constexpr X const& add(X const& x, Places const&, std::source_location) const {
      return x;
    }
  };
};

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
