// Reasons: why a collective is called, in the names of the program.
#pragma once

#include <array>
#include <string_view>

#include <meshtf/core/kept.hpp>
#include <meshtf/core/name.hpp>

namespace meshtf {
inline namespace v0 {

/// Dimensions under a layout, with their names.
struct named_dims {
  std::string_view const* names = nullptr;
  placed const* dims            = nullptr;
  int count                     = 0;

  constexpr std::string_view name(int d) const { return names[d]; }
  constexpr placed const& operator[](int d) const { return dims[d]; }
};

/// Why a collective is called. A ledger stores a pointer to the reason; no text is made until somebody asks
/// for it.
///
/// For an operation: the loop dimensions; those that the collective's axes split were reduced, or whatever
/// `done` says. For a reshard: the placement before, and the placement `to` after. For everything else:
/// words.
struct collective_reason {
  named_dims loops{};
  named_dims to{};
  char const* done  = "summed";
  char const* words = nullptr;
  bool of_weights   = false;  // of weights that are kept in parts, or of their gradients
};

namespace detail {

template<class L, class S>
struct names_in;

template<class L, class... D>
struct names_in<L, shape<D...>> {
  static constexpr std::array<std::string_view, sizeof...(D)> names{name<D>...};
  static constexpr named_dims value{names.data(), placed_shape<L, shape<D...>>::dims.data(),
                                    int{sizeof...(D)}};
};

template<class L, class Loops>
inline constexpr collective_reason reason_to_sum{.loops = names_in<L, Loops>::value};

template<class L, class Loops>
inline constexpr collective_reason reason_to_look_up{.loops = names_in<L, Loops>::value, .done = "looked up"};

inline constexpr collective_reason reason_to_take_the_first{.words = "of equal elements the first counts"};
inline constexpr collective_reason reason_to_join_ranks{.words = "the first elements of each part compete"};
inline constexpr collective_reason reason_to_run_on{.words =
                                                        "running sums and products go on from part to part"};

template<class From, class S1, class To, class S2>
inline constexpr collective_reason reason_to_move{
    .loops      = names_in<From, S1>::value,
    .to         = names_in<To, S2>::value,
    .of_weights = is_layout_of_kept_parts<From> || is_layout_of_kept_parts<To>};

}  // namespace detail

/// The dimensions of shape `S` under `L`, with their names.
template<Layout L, class S>
inline constexpr named_dims const& named_dims_of = detail::names_in<actual<L>, S>::value;

}  // namespace v0
}  // namespace meshtf
