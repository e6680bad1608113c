// What a convolution will do, decided before it runs.
#pragma once

#include <meshtf/plan/convolution.hpp>
#include <meshtf/plan/einsum_plan.hpp>
#include <meshtf/plan/window_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// The filter has `Dim`, which is no dimension of a window, neither `In` nor `Out`, and no dimension of the
/// other operand (a group of channels is).
template<class Dim>
struct filter_has_another_dim {};

/// A convolution says its windows first, and then two dimensions, that of the channels that go in and that of
/// those that come out, or none, where each channel is convolved by itself.
struct conv_names_windows_and_channels {};

namespace detail {

/// The windows and the channels of a convolution.
template<class Windows, class Channels, class... A>
struct conv_names {
  using windows                   = Windows;
  using channels                  = Channels;
  static constexpr bool are_sound = sizeof...(A) == 0 && Windows::count >= 1 && Windows::count <= 3 &&
                                    (Channels::rank == 0 || Channels::rank == 2);
};

template<class... W>
struct window_list {
  static constexpr int count = int{sizeof...(W)};
};
template<class... W, class First, class... A>
  requires is_window<First>
struct conv_names<window_list<W...>, shape<>, First, A...>
    : conv_names<window_list<W..., First>, shape<>, A...> {};
template<class Windows, class... C, Dimension First, class... A>
struct conv_names<Windows, shape<C...>, First, A...> : conv_names<Windows, shape<C..., First>, A...> {};

template<class S, class Channels>
struct after_channels : std::type_identity<S> {};
template<class S, class In, class Out>
struct after_channels<S, shape<In, Out>> : std::type_identity<replaced<S, In, shape<Out>>> {};

template<class Filter, class Others>
struct filter_objection;
template<class... F, class Others>
struct filter_objection<shape<F...>, Others>
    : std::type_identity<first_objection<
          legal, std::conditional_t<Others::template has<F>, legal, filter_has_another_dim<F>>...>> {};

}  // namespace detail

/// A convolution of a tensor of shape `X` with a filter of shape `Filter`: the windows of `X`, contracted
/// with the filter.
template<Layout L, class X, class Filter, class Windows, class Channels>
struct conv_plan;

template<Layout L, class X, class Filter, class... W, class... C>
struct conv_plan<L, X, Filter, detail::window_list<W...>, shape<C...>> : window_plan<L, X, W...> {
  using base   = window_plan<L, X, W...>;
  using result = typename detail::after_channels<typename base::made, shape<C...>>::type;

  template<class In, class... Out>
  static auto whose_input(shape<In, Out...>) -> detail::dims_are_in<X, In>;
  static auto whose_input(shape<>) -> legal;

  using verdict = first_objection<
      windows_verdict<L, X, W...>, decltype(whose_input(shape<C...>{})),
      detail::dims_are_in<Filter, typename W::kernel..., C...>,
      typename detail::filter_objection<Filter, united<united<X, typename base::kernels>, shape<C...>>>::type,
      einsum_verdict<L, result, typename base::windows, Filter>>;

  /// Whether it is one task. Otherwise it is a product of all windows and the filter.
  static constexpr bool is_direct = detail::is_order_of_images<Filter, result, W...>(X{});

  using seen              = typename detail::seen_shape<X, detail::window_under<L, W>...>::type;
  using convolution_loops = united<united<seen, result>, Filter>;
  using convolution       = convolution_along<detail::walk_of<detail::window_under<L, W>>...>;

  static constexpr steps_under<L, convolution, convolution_loops> direct =
      plan_steps<L, convolution, convolution_loops, detail::seen_dim<detail::window_under<L, W>>...,
                 typename W::made..., typename W::kernel...>(arrays_of<seen, Filter, result>{});
};

namespace detail {

template<class L, class X, class Filter, class Windows, class Channels>
struct conv_objection;
template<class L, class X, class Filter, class... W, class... C>
struct conv_objection<L, X, Filter, window_list<W...>, shape<C...>>
    : std::type_identity<typename conv_plan<L, X, Filter, window_list<W...>, shape<C...>>::verdict> {};
template<class L, class X, class Filter, class... W, class... C>
  requires(!(X::template has<typename W::along> && ...))
struct conv_objection<L, X, Filter, window_list<W...>, shape<C...>>
    : std::type_identity<dims_are_in<X, typename W::along...>> {};

template<class Names, class L, class X, class Filter>
struct conv_asked : std::type_identity<conv_names_windows_and_channels> {};
template<class Names, class L, class X, class Filter>
  requires Names::are_sound
struct conv_asked<Names, L, X, Filter>
    : conv_objection<L, X, Filter, typename Names::windows, typename Names::channels> {};

/// The shape that a convolution takes, from the shape `Z` that it gives.
template<class Names, class Z>
struct before_conv : std::type_identity<Z> {
  using verdict = conv_names_windows_and_channels;
};
template<class Names, class Z>
  requires Names::are_sound
struct before_conv<Names, Z>
    : before_conv<typename Names::windows, typename before_conv<typename Names::channels, Z>::type> {
  using verdict = first_objection<typename before_conv<typename Names::windows, Z>::verdict,
                                  typename before_conv<typename Names::channels, Z>::verdict>;
};
template<class Z>
struct before_conv<shape<>, Z> : std::type_identity<Z> {
  using verdict = legal;
};
template<class In, class Out, class Z>
struct before_conv<shape<In, Out>, Z> : std::type_identity<replaced<Z, Out, shape<In>>> {
  using verdict = dims_are_in<Z, Out>;
};
template<class... W, class Z>
struct before_conv<window_list<W...>, Z> : unmade_shape<Z, W...> {
  using verdict = dims_are_in<Z, typename W::made...>;
};

template<class... A>
using names_of_conv = conv_names<window_list<>, shape<>, A...>;

}  // namespace detail

/// `legal`, or the objection to `conv<A...>` of tensors of shapes `X` and `Filter`.
template<Layout L, class X, class Filter, class... A>
using conv_verdict = typename detail::conv_asked<detail::names_of_conv<A...>, L, X, Filter>::type;

}  // namespace v0
}  // namespace meshtf
