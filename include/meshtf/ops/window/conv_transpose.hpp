// conv_transpose: the way from what a convolution gives to what it takes.
#pragma once

#include <source_location>

#include <meshtf/ops/window/conv.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

template<class Plan, class X, class T, class L, class... Z, class... F>
constexpr auto conv_transposed(tensor<T, L, Z...> const& z, tensor<T, L, F...> const& filter) {
  auto x = filtered_back<Plan, X>(z, filter);
  finish_in_place(x.value, x.unreduced, x.why);
  if (wants_gradient(z, filter))
    record(x.value,
           [z = keep(z, filter.needs_gradient()), filter = keep(filter, z.needs_gradient())](auto const& dx) {
             auto const seen = seen_by<Plan>(dx);
             if (z.needs_gradient()) contribute(z.target(), filtered<Plan>(seen, filter.value()));
             if (filter.needs_gradient()) contribute_filter<Plan>(filter.target(), seen, z.value());
           });
  return std::move(x.value);
}

/// The same under `L`, as `convolution_under`.
template<class L>
struct transposed_convolution_under {
  template<class Plan, class X, class Z, class F>
  static constexpr auto transposed(Z const& z, F const& filter) {
    return conv_transposed<Plan, X>(z, filter);
  }
};

}  // namespace detail

/// The gradient that `conv<A...>(x, filter)` gives to x, where z is that of its result: it spreads each
/// element of `z` over a window of the result, as "transposed convolutions" do. Its windows, channels and
/// filter are those of the convolution whose backward pass it is.
///
///     auto x = conv_transpose<window<height, k, half_height, stride<2>>, in, out>(z, filter);   //
///     [half_height, out] -> [height, in]
///
/// The size of the result is said by its dimension, so nothing is guessed. Edges that reach into the next
/// part are sent there, as the gradient of `halo` does; where `Out` is split, one all-reduce of the result
/// adds up. Gradients: those of `conv`. Errors: `conv_verdict`.
template<class... A, detail::FloatingOperand Z, detail::FloatingOperand F>
constexpr auto conv_transpose(Z const& z, F const& filter,
                              std::source_location at = std::source_location::current()) {
  using L       = detail::layout_in<Z>;
  using names   = detail::names_of_conv<A...>;
  using from    = typename detail::before_conv<names, detail::shape_in<Z>>::type;
  using whole   = first_objection<detail::use_verdict<algebra::use::nonlinear, Z>,
                                  detail::use_verdict<algebra::use::nonlinear, F>>;
  using fit     = detail::operands_fit<Z, F>;
  using verdict = first_objection<typename detail::before_conv<names, detail::shape_in<Z>>::verdict,
                                  conv_verdict<actual<L>, from, detail::shape_in<F>, A...>>;
  static_assert(
      accepted<whole>,
      "meshtf: conv_transpose needs a finished value: write conv_transpose<...>(finish(z), filter)");
  static_assert(accepted<fit>, "meshtf: conv_transpose can't join these operands");
  static_assert(accepted<verdict>, "meshtf: this layout can't convolve these operands");
  if constexpr (!accepted<first_objection<whole, fit, verdict>>) {
    return detail::rejected{};
  } else {
    using plan =
        conv_plan<actual<L>, from, detail::shape_in<F>, typename names::windows, typename names::channels>;
    auto const& t = detail::local_terms(z);
    t.machine().begin_operation("conv_transpose", at);
    return detail::transposed_convolution_under<actual<L>>::template transposed<plan, from>(
        t, detail::local_terms(filter));
  }
}

MESHTF_ACCEPT_REJECTED(conv_transpose)

}  // namespace v0
}  // namespace meshtf
