// Convolutional layers: a convolution with a bias, a transposed one, and one with a norm and an activation.
#pragma once

#include <meshtf/nn/linear.hpp>
#include <meshtf/ops/pointwise/relu.hpp>
#include <meshtf/ops/window/conv.hpp>
#include <meshtf/ops/window/conv_transpose.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {
namespace detail {

/// The dimension of the channels of one group, which is the last, and those of the groups.
template<class Groups, class In>
struct channels_in;
template<class... G, class In>
struct channels_in<shape<G...>, shape<In>> {
  using groups = shape<G...>;
  using in     = In;
};
template<class... G, class First, class Second, class... Rest>
struct channels_in<shape<G...>, shape<First, Second, Rest...>>
    : channels_in<shape<G..., First>, shape<Second, Rest...>> {};

/// A trained filter and its convolution.
template<FloatingElement T, Layout L, class In, Dimension Out, class... W>
struct filtered {
  using channels = channels_in<shape<>, shape_of<In>>;
  using in       = typename channels::in;
  using out      = united<typename channels::groups, shape<Out>>;

  parameter_of<T, L, united<shape<typename W::kernel...>, united<typename channels::groups, shape<in, Out>>>>
      filter;

  template<class Initialiser>
  constexpr filtered(machine<L>& m, Initialiser const& initialiser) : filter{m, initialiser} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at) const {
    return meshtf::conv<W..., in, Out>(x, weight_for<X>(filter, at), at);
  }
};

}  // namespace detail

/// A convolution with a trained filter over the windows `W...`, plus a trained bias that starts at 0.
///
///     nn::conv<float, L, in, out, window<height, k_h>, window<width, k_w>> c{m, he_normal{seed}};
///
/// `In` and `Out` are the channels that go in and come out. In groups, `In` is a shape that ends with the
/// channels of one: `shape<group, member>`.
template<FloatingElement T, Layout L, class In, Dimension Out, class... W>
struct conv {
  detail::filtered<T, L, In, Out, W...> filtered;
  detail::parameter_of<T, L, typename detail::filtered<T, L, In, Out, W...>::out> bias;

  template<class Initialiser>
  constexpr conv(machine<L>& m, Initialiser const& initialiser) : filtered{m, initialiser}, bias{m} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    auto const y = filtered(x, at);
    return y + detail::weight_for<X>(bias, at);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("filter", filtered.filter), named("bias", bias));
  }
};

/// A transposed convolution with a trained filter, plus a trained bias that starts at 0: it spreads each
/// element of x over a window of the result, for instance to images of twice the size.
///
///     nn::conv_transpose<float, L, in, out, window<height, k, half_height, stride<2>>> c{m, he_normal{1}};
///     auto const large = c(small);   // [batch, half_height, in] -> [batch, height, out]
///
/// `In` and `Out` are the channels that go in and come out. The windows `W...` and the filter are those of
/// the convolution from the result back to x, `nn::conv<float, L, out, in, W...>`: the filter ends with `Out`
/// and `In`, and an initialiser that counts inputs counts those of that convolution, as PyTorch's do. The
/// size of the result is that of the dimension that windows walk along. In groups, `Out` is a shape that ends
/// with the channels of one, and x has the groups' dimensions.
/// Messages: those of the operation `conv_transpose`.
template<FloatingElement T, Layout L, Dimension In, class Out, class... W>
struct conv_transpose {
  using back = detail::filtered<T, L, Out, In, W...>;
  using out  = united<typename back::channels::groups, shape<typename back::in>>;

  decltype(back::filter) filter;
  detail::parameter_of<T, L, out> bias;

  template<class Initialiser>
  constexpr conv_transpose(machine<L>& m, Initialiser const& initialiser) : filter{m, initialiser}, bias{m} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    auto const y =
        meshtf::conv_transpose<W..., typename back::in, In>(x, detail::weight_for<X>(filter, at), at);
    return y + detail::weight_for<X>(bias, at);
  }
  constexpr auto parameters() { return meshtf::parameters(named("filter", filter), named("bias", bias)); }
};

/// Activations of a `conv_block`.
struct rectified {
  static constexpr auto of(auto const& x, std::source_location at) { return relu(x, at); }
};
/// No activation.
struct not_activated {
  static constexpr auto of(auto const& x, std::source_location) { return x; }
};

/// activation(norm(convolution(x))), without a bias, since a norm has one:
/// `conv_block<float, L, in, out, nn::batch_norm<float, L, out>, rectified, window<height, k_h>,
/// window<width, k_w>>`.
template<FloatingElement T, Layout L, class In, Dimension Out, class Norm, class Activation, class... W>
struct conv_block {
  detail::filtered<T, L, In, Out, W...> filtered;
  Norm norm;

  template<class Initialiser>
  constexpr conv_block(machine<L>& m, Initialiser const& initialiser) : filtered{m, initialiser}, norm{m} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    auto const y = filtered(x, at);
    return Activation::of(norm(y, at), at);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("filter", filtered.filter), named("norm", norm));
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
