// What pooling will do, decided before it runs.
#pragma once

#include <meshtf/plan/window_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// There is a window of `Kernel` along `Dim` in which all elements were added at the ends, so it has no
/// maximum and no mean: add fewer with `padding`.
template<class Kernel, class Dim>
struct window_has_no_element {};

namespace detail {

template<class W>
inline constexpr extent min_elements_in = W::rule.min_elements(W::along::size, W::kernel::size);

/// Whether all windows have all of their elements.
template<class... W>
inline constexpr bool windows_are_full = ((min_elements_in<W> == W::kernel::size) && ...);

template<bool Sound, class L, class X, class... W>
struct pool_objection : std::type_identity<windows_verdict<L, X, W...>> {};
template<class L, class X, class... W>
struct pool_objection<true, L, X, W...>
    : std::type_identity<first_objection<
          legal, std::conditional_t<(min_elements_in<W> > 0), legal,
                                    window_has_no_element<typename W::kernel, typename W::along>>...>> {};

}  // namespace detail

/// `legal`, or the objection to `max_pool<W...>` or `avg_pool<W...>` of a tensor of shape `X`.
template<Layout L, class X, class... W>
using pool_verdict = typename detail::pool_objection<accepted<windows_verdict<L, X, W...>>, L, X, W...>::type;

}  // namespace v0
}  // namespace meshtf
