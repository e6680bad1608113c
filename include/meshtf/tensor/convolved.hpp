// Convolutions and their backward passes: what conv and conv_transpose have in common.
#pragma once

#include <meshtf/plan/conv_plan.hpp>
#include <meshtf/tensor/windowed.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Whether a convolution is one task: of elements that are computed with as they are stored. Otherwise all
/// its windows are copied out and multiplied.
template<class Plan, class T>
inline constexpr bool convolves_directly = Plan::is_direct && !NarrowElement<T>;

/// `x` as a convolution sees it: with the halos that are sent, or with all, and the zeros beyond its ends.
template<class Plan, int I = 0, class X>
constexpr auto with_sent_halos(X const& x) {
  if constexpr (I == Plan::dims) {
    return x;
  } else {
    using way = typename Plan::template at<I>;
    if constexpr (!way::widens || way::in.parts == 1) return with_sent_halos<Plan, I + 1>(x);
    else
      return with_sent_halos<Plan, I + 1>(
          with_halo<typename way::along, way::reach.before, way::reach.after>(x));
  }
}
template<class Plan, int I = Plan::dims, class X>
constexpr auto without_sent_halos(X const& x) {
  if constexpr (I == 0) {
    return x;
  } else {
    using way = typename Plan::template at<I - 1>;
    if constexpr (!way::widens || way::in.parts == 1) return without_sent_halos<Plan, I - 1>(x);
    else
      return without_sent_halos<Plan, I - 1>(
          without_halo<typename way::along, way::reach.before, way::reach.after>(x));
  }
}
template<class Plan, class X>
constexpr auto seen_by(X const& x) {
  if constexpr (convolves_directly<Plan, typename X::element_type>) return with_sent_halos<Plan>(x);
  else return with_halos<Plan>(x);
}

/// z = x * filter, where `seen` is what `seen_by` makes of x.
template<class Plan, class T, class L, class... S, class... F>
constexpr auto filtered(tensor<T, L, S...> const& seen, tensor<T, L, F...> const& filter) {
  using product = einsum_plan<actual<L>, typename Plan::result, typename Plan::windows, shape<F...>>;
  if constexpr (convolves_directly<Plan, T>) {
    auto z = tensor_of<T, L, typename Plan::result>::uninitialised(seen.machine());
    seen.machine().run(task::convolve<task::convolved, T, typename Plan::convolution>{}, Plan::direct,
                       seen.data(), filter.data(), z.data());
    return local_result<decltype(z)>{std::move(z), product::finished_over,
                                     &reason_to_sum<actual<L>, typename product::loops>};
  } else {
    return contracted<typename Plan::result>(windows_of<Plan>(seen), filter);
  }
}

/// What z gives back to an x of shape `X`.
template<class Plan, class X, class T, class L, class... Z, class... F>
constexpr auto filtered_back(tensor<T, L, Z...> const& z, tensor<T, L, F...> const& filter) {
  using product = einsum_plan<actual<L>, typename Plan::windows, shape<Z...>, shape<F...>>;
  if constexpr (convolves_directly<Plan, T>) {
    auto x = tensor_of<T, L, typename Plan::seen>::uninitialised(z.machine());
    z.machine().run(task::convolve<task::convolved_to_input, T, typename Plan::convolution>{}, Plan::direct,
                    z.data(), filter.data(), x.data());
    return local_result<tensor_of<T, L, X>>{without_sent_halos<Plan>(x), product::finished_over,
                                            &reason_to_sum<actual<L>, typename product::loops>};
  } else {
    auto const parts = contracted<typename Plan::windows>(z, filter);
    return local_result<tensor_of<T, L, X>>{joined_windows<Plan>(parts.value), parts.unreduced, parts.why};
  }
}

/// What x and z give back to the filter.
template<class Plan, class T, class L, class... S, class... Z, class... F>
constexpr void contribute_filter(tensor<T, L, F...> const& filter, tensor<T, L, S...> const& seen,
                                 tensor<T, L, Z...> const& z) {
  using product = einsum_plan<actual<L>, shape<F...>, shape<Z...>, typename Plan::windows>;
  if constexpr (convolves_directly<Plan, T>) {
    auto g = tensor<T, L, F...>::uninitialised(z.machine());
    z.machine().run(task::convolve<task::convolved_to_filter, T, typename Plan::convolution>{}, Plan::direct,
                    seen.data(), z.data(), g.data());
    contribute(filter, g, product::finished_over, &reason_to_sum<actual<L>, typename product::loops>);
  } else {
    auto const g = contracted<shape<F...>>(z, windows_of<Plan>(seen));
    contribute(filter, g);
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
