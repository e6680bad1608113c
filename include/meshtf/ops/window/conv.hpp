// conv: convolutions along one dimension, two or three.
#pragma once

#include <source_location>

#include <meshtf/tensor/convolved.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The convolution. Of `x`, only what it holds is kept for the gradient, with its halos if they were sent, so
/// that they are not sent again.
template<class Plan, class T, class L, class... X, class... F>
constexpr auto convolved(tensor<T, L, X...> const& x, tensor<T, L, F...> const& filter) {
  auto const wide = seen_by<Plan>(x);
  auto z          = filtered<Plan>(wide, filter);
  finish_in_place(z.value, z.unreduced, z.why);
  if (wants_gradient(x, filter)) {
    auto const& seen = [&]() -> auto const& {
      if constexpr (Plan::exchanges) return wide;
      else return x;
    }();
    record(z.value, [x = x.without_value(), seen = keep(seen, filter.needs_gradient()),
                     filter = keep(filter, x.needs_gradient())](auto const& dz) {
      if (filter.needs_gradient()) {
        if constexpr (Plan::exchanges) contribute_filter<Plan>(filter.target(), seen.value(), dz);
        else contribute_filter<Plan>(filter.target(), seen_by<Plan>(seen.value()), dz);
      }
      if (x.needs_gradient()) contribute(x, filtered_back<Plan, shape<X...>>(dz, filter.value()));
    });
  }
  return std::move(z.value);
}

/// The same under `L`. The search has another way, since the dimensions that windows walk along may be split
/// or whole (search/undecided_convolution.hpp).
template<class L>
struct convolution_under {
  template<class Plan, class X, class F>
  static constexpr auto forward(X const& x, F const& filter) {
    return convolved<Plan>(x, filter);
  }
};

}  // namespace detail

/// The convolution of `x` with `filter` over windows; as in TensorFlow and PyTorch, the filter is not turned
/// around.
///
///     auto z = conv<window<height, kernel_h>, window<width, kernel_w>, in, out>(x, filter);
///     // [batch, height, width, in], [kernel_h, kernel_w, in, out] -> [batch, height, width, out]
///
/// z[..., i, ..., o] = the sum of x[..., i * stride + k * dilation - before, ..., c] * filter[k, c, o] over
/// all k and c, where `window` says stride, dilation, zeros at the ends, and the dimension that i is an index
/// of. Dimensions of the filter may be in any order; `x` may have its channels in front of what windows walk
/// along or after it. A dimension that both have besides `In` is a group: the groups' channels are convolved
/// separately. Without `In` and `Out`, each channel that both have is convolved by itself.
/// Where a dimension that windows walk along is split, each process sends the rows at the edges of its part
/// to the parts next to it (see `halo`), at most as many as a part has. Where the input's channels are split,
/// one all-reduce of z adds up. Gradients: of `x`, the halos' parts are sent back and added, and it is
/// unreduced over the axes that split `Out`; that of the filter is unreduced over the axes of batch and
/// space. Errors: `conv_verdict`.
template<class... A, detail::FloatingOperand X, detail::FloatingOperand F>
constexpr auto conv(X const& x, F const& filter, std::source_location at = std::source_location::current()) {
  using L       = detail::layout_in<X>;
  using names   = detail::names_of_conv<A...>;
  using whole   = first_objection<detail::use_verdict<algebra::use::nonlinear, X>,
                                  detail::use_verdict<algebra::use::nonlinear, F>>;
  using fit     = detail::operands_fit<X, F>;
  using verdict = conv_verdict<actual<L>, detail::shape_in<X>, detail::shape_in<F>, A...>;
  static_assert(accepted<whole>, "meshtf: conv needs a finished value: write conv<...>(finish(x), filter)");
  static_assert(accepted<fit>, "meshtf: conv can't join these operands");
  static_assert(accepted<verdict>, "meshtf: this layout can't convolve these operands");
  if constexpr (!accepted<first_objection<whole, fit, verdict>>) {
    return detail::rejected{};
  } else {
    using plan    = conv_plan<actual<L>, detail::shape_in<X>, detail::shape_in<F>, typename names::windows,
                              typename names::channels>;
    auto const& t = detail::local_terms(x);
    t.machine().begin_operation("conv", at);
    return detail::convolution_under<actual<L>>::template forward<plan>(t, detail::local_terms(filter));
  }
}

MESHTF_ACCEPT_REJECTED(conv)

}  // namespace v0
}  // namespace meshtf
