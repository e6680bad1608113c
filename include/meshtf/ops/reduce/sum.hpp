// sum and mean over dimensions.
#pragma once

#include <limits>
#include <type_traits>

#include <meshtf/core/function.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class X, class... Along>
struct named_or_all : std::type_identity<shape<Along...>> {};
template<class X>
struct named_or_all<X> : std::type_identity<X> {};

/// The dimensions that an operation works along: those that are named, or all.
template<class X, class... Along>
using worked_along = typename named_or_all<X, Along...>::type;

/// What a mean of n elements multiplies each by. Of none it is NaN: 0 / 0.
template<class T>
constexpr function::scaled<T> as_part_of(extent n) {
  return function::scaled<T>{n == 0 ? std::numeric_limits<T>::quiet_NaN() : T{1} / static_cast<T>(n)};
}

/// The sum of f(x) over `Gone`. That of a tensor is finished; that of a partial sum stays partial, also over
/// the axes that split `Gone`. The gradient of each element is f(dz).
template<class Gone, class F, Operand X>
constexpr auto summed(char const* name, std::source_location at, F const& f, X const& operand) {
  using in      = shape_in<X>;
  using out     = without<in, Gone>;
  auto const& x = local_terms(operand);
  x.machine().begin_operation(name, at);
  auto z = reduced<reduction::sum, out>(f, x);
  reduce_unless_partial<X>(z);
  if constexpr (std::is_same_v<F, function::scaled<computed<element_in<X>>>>)
    // a sum of no element never met the factor
    if (x.machine().counted().size_of(Gone{}) == 0) z.value = each<element_in<X>, out>(f, z.value);
  if (wants_gradient(x))
    record(z.value,
           [x = x.without_value(), f](auto const& dz) { contribute(x, each<element_in<X>, in>(f, dz)); });
  using split =
      typename remaining_axes<axes_that_split<layout_in<X>, in>, splitting_axes<layout_in<X>, out>>::type;
  return result_of<split, X>(std::move(z.value), unreduced_axes_of(operand) | z.unreduced);
}

}  // namespace detail

/// The sum over `Along...`; over all dimensions if none is named.
///
/// Where one of them is split, an all-reduce of the result over its axes joins the processes' sums. The sum
/// of a partial sum stays partial, also over these axes, and nothing is sent. Gradient: dz, broadcast; it
/// needs no reduction.
template<Dimension... Along, detail::Operand X>
constexpr auto sum(X const& x, std::source_location at = std::source_location::current()) {
  using verdict = reduce_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along...>;
  static_assert(accepted<verdict>, "meshtf: sum can't work along these dimensions");
  static_assert(NumberElement<detail::element_in<X>>,
                "meshtf: bools are not added: sum(cast<int>(x)) counts them");
  if constexpr (accepted<verdict>)
    return detail::summed<detail::worked_along<detail::shape_in<X>, Along...>>("sum", at,
                                                                               function::identity{}, x);
  else return detail::rejected{};
}

/// The mean over `Along...`; over all dimensions if none is named. Sends the same messages as `sum`. The mean
/// of no element, where a dimension is counted 0, is NaN, as in PyTorch: an empty batch is no perfect loss.
template<Dimension... Along, detail::FloatingOperand X>
constexpr auto mean(X const& x, std::source_location at = std::source_location::current()) {
  using verdict = reduce_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along...>;
  static_assert(accepted<verdict>, "meshtf: mean can't work along these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    using T    = computed<detail::element_in<X>>;
    using gone = detail::worked_along<detail::shape_in<X>, Along...>;
    return detail::summed<gone>(
        "mean", at, detail::as_part_of<T>(detail::local_terms(x).machine().counted().size_of(gone{})), x);
  }
}

MESHTF_ACCEPT_REJECTED(sum)
MESHTF_ACCEPT_REJECTED(mean)

}  // namespace v0
}  // namespace meshtf
