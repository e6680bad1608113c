// pad: a dimension with further elements before and after it.
#pragma once

#include <concepts>
#include <string>

#include <meshtf/ops/shape/slice.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class From, class To>
[[noreturn]] void throw_pad_outside(extent before) {
  throw software_error("pad of " + std::string{name_of<From>()} + " puts " + std::to_string(before) +
                       " elements before it, expected 0 to " + std::to_string(To::size - From::size) + ": " +
                       std::string{name_of<To>()} + " has " + std::to_string(To::size) + " elements, and " +
                       std::to_string(From::size) + " of them are given");
}

template<class From, class To, class T, class L, class... D>
constexpr auto padded_and_split(tensor<T, L, D...> const& x, extent before, T value) {
  if constexpr (parts_correspond<actual<L>, From, To>) return moved_in_parts<From, To>(x, before, value);
  else if constexpr (stays_whole<actual<L>, To>) return displaced<From, To>(x, {.offset = -before}, value);
  else return own_part<To>(displaced<From, whole_part<To>>(x, {.offset = -before}, value));
}

/// The same under `L`, as `slice_under`.
template<class L>
struct pad_under {
  template<class From, class To, class X>
  static constexpr auto apply(X const& x, extent before, typename X::element_type value) {
    return padded_and_split<From, To>(x, before, value);
  }
};

template<class From, class To, class T, class L, class... D>
constexpr auto padded_to(tensor<T, L, D...> const& x, extent before, T value, std::source_location at) {
  if (before < 0 || before > To::size - From::size) throw_pad_outside<From, To>(before);
  x.machine().begin_operation("pad", at);
  return pad_under<actual<L>>::template apply<From, To>(x, before, value);
}

}  // namespace detail

/// `x` with `To` in the place of `From`: `before` zeros, the elements of `x`, and zeros up to the size of
/// `To`.
///
///     auto table = pad<words, rounded_words>(given, 0);   // 50257 rows, and zeros up to 50304
///
/// `From` is whole under the layout; where `To` is split, each process keeps its part. Local; a partial sum
/// stays partial. `To` must not be split over an axis over which it may be unreduced. Gradient: the elements
/// of dz that come from `x`; that of a parameter stays unreduced, that of another value is gathered over the
/// axes that split `To`. `From` may be split too if both have parts of one size over the same axes, as for
/// `slice`. Errors: `software_error` if `To` is too short for this number of elements before those of `x`.
template<Dimension From, Dimension To, detail::Operand X>
constexpr auto pad(X const& operand, extent before,
                   std::source_location at = std::source_location::current()) {
  using L            = detail::layout_in<X>;
  using partial_fits = detail::partial_sum_verdict<L, shape<To>, detail::unreduced_axes_in<X>>;
  using verdict      = pad_verdict<actual<L>, detail::shape_in<X>, From, To>;
  static_assert(accepted<partial_fits>,
                "meshtf: pad can't split a partial sum over an unreduced axis: reshard or finish first");
  static_assert(accepted<detail::with_reshard<verdict, X>>,
                "meshtf: pad can't give this dimension further elements");
  if constexpr (!accepted<first_objection<partial_fits, verdict>>) {
    return detail::rejected{};
  } else {
    detail::constrain_partial_sum<To>(operand);
    return detail::linearly<algebra::use::layout_only>(operand, [&](auto const& x) {
      return detail::padded_to<From, To>(x, before, detail::element_in<X>{}, at);
    });
  }
}

/// The same with `value` in the place of zeros, a floating number for floating elements (3, for 3 elements
/// after it, is refused). It would be added up with the local terms of a partial sum, so `x` is finished.
template<Dimension From, Dimension To, detail::Operand X, Number V>
constexpr auto pad(X const& operand, extent before, V value,
                   std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::shifted, X>;
  using verdict = pad_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, From, To>;
  static_assert(accepted<whole>,
                "meshtf: each process would add its own padding: write pad<...>(finish(x), before, value)");
  static_assert(accepted<detail::with_reshard<verdict, X>>,
                "meshtf: pad can't give this dimension further elements");
  static_assert(
      !(std::integral<V> && FloatingElement<detail::element_in<X>>),
      "meshtf: pad's third argument is the value of further elements, 3. for 3; the sizes say how many");
  if constexpr (!accepted<first_objection<whole, verdict>>) return detail::rejected{};
  else
    return detail::padded_to<From, To>(detail::local_terms(operand), before,
                                       static_cast<detail::element_in<X>>(value), at);
}

MESHTF_ACCEPT_REJECTED(pad)

}  // namespace v0
}  // namespace meshtf
