// custom_gradient: a function whose gradient is another function of the program's.
#pragma once

#include <source_location>
#include <type_traits>

#include <meshtf/ops/function/at_stage.hpp>
#include <meshtf/tensor/values.hpp>

namespace meshtf {
inline namespace v0 {

/// The function that computes gradients returns one for each operand of a floating type, as a tuple if there
/// are several: `Given` is not `Wanted`.
template<int Given, int Wanted>
struct not_one_gradient_each {};

/// What was returned as the gradient of an operand is not a tensor, or a partial sum, of the operand's
/// element type and layout.
template<class Given, class Operand>
struct not_the_gradient_of {};

/// What was returned as the gradient of an operand has the dimensions `Given`, but the operand has `Wanted`:
/// sum over those that it lacks, broadcast to those that it has.
template<class Given, class Wanted>
struct gradient_has_other_dims {};

namespace detail {

/// Whether `G` can be the gradient of `X`: `X` itself, or a partial sum of it.
template<class X, class G>
struct gradient_objection : std::type_identity<not_the_gradient_of<G, X>> {};
template<class X>
struct gradient_objection<X, X> : std::type_identity<legal> {};
template<class X, class Over>
struct gradient_objection<X, partial<X, Over>> : std::type_identity<legal> {};
template<class T, class L, class... D, class... Given>
  requires(!std::is_same_v<tensor<T, L, D...>, tensor<T, L, Given...>>)
struct gradient_objection<tensor<T, L, D...>, tensor<T, L, Given...>>
    : std::type_identity<gradient_has_other_dims<shape<Given...>, shape<D...>>> {};

template<class Wanted, class Given>
struct gradients_objection;
template<class... X, class... G>
struct gradients_objection<std::tuple<X...>, std::tuple<G...>>
    : std::type_identity<not_one_gradient_each<int{sizeof...(G)}, int{sizeof...(X)}>> {};
template<class... X, class... G>
  requires(sizeof...(X) == sizeof...(G))
struct gradients_objection<std::tuple<X...>, std::tuple<G...>>
    : std::type_identity<first_objection<legal, typename gradient_objection<X, G>::type...>> {};

template<class... G>
constexpr std::tuple<G...> const& as_tuple(std::tuple<G...> const& all) {
  return all;
}
template<class G>
constexpr std::tuple<G> as_tuple(G const& one) {
  return {one};
}

/// The operands that a gradient can flow to, as a tuple of pointers.
template<Tensor X>
constexpr auto differentiable(X const& x) {
  if constexpr (FloatingElement<typename X::element_type>) return std::tuple{&x};
  else return std::tuple<>{};
}

/// The objection to what `g(dz, x...)` returns, where dz has the type of `Z`.
template<class G, class Z, class... X>
using gradients_fit = typename gradients_objection<
    decltype(std::tuple_cat(std::declval<std::conditional_t<FloatingElement<typename X::element_type>,
                                                            std::tuple<X>, std::tuple<>>>()...)),
    std::remove_cvref_t<decltype(as_tuple(
        std::declval<G const&>()(std::declval<Z const&>(), std::declval<X const&>()...)))>>::type;

/// An operand as functions of gradients see it: a parameter is a tensor.
template<class T, class L, class... D>
tensor<T, L, D...> as_operand(tensor<T, L, D...> const&);
template<class X>
using operand_of = decltype(as_operand(std::declval<X const&>()));

/// Gives each operand of a floating type what `g(dz, x...)` computed for it.
template<class G, class DZ, class... X>
constexpr void contribute_custom(G const& g, DZ const& dz, kept<X> const&... x) {
  no_gradient const guard{dz.machine()};
  auto const gradients = as_tuple(g(dz, x.value()...));
  auto const targets   = std::tuple_cat(differentiable(x.target())...);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const give = [&dz](auto const& to, auto const& gradient) {
      if (!to.needs_gradient()) return;
      auto const& own = local_terms(gradient);
      // a gradient is cleared beyond the count, and outlives a step: it must not be the elements of a
      // parameter
      bool const borrowed = !own.handle().alone() && !own.handle().is(dz.handle());
      if (borrowed) contribute(to, copied(own), unreduced_axes_of(gradient));
      else contribute(to, own, unreduced_axes_of(gradient));
    };
    (give(*std::get<I>(targets), std::get<I>(gradients)), ...);
  }(std::make_index_sequence<std::tuple_size_v<decltype(targets)>>{});
}

/// z as the result of f(x...), whose gradients `g(dz, x...)` computes.
template<class G, class T, class L, class... Z, class... X>
constexpr tensor<T, L, Z...> with_gradient(G const& g, tensor<T, L, Z...> z, X const&... x) {
  if (wants_gradient(x...))
    record(z, [g, ... x = keep(x)](auto const& dz) { contribute_custom(g, dz, x...); });
  return z;
}

}  // namespace detail

/// f(x...), whose gradients are those that `g(dz, x...)` computes: one for each operand of a floating type,
/// in the dimensions of the operand, as a tuple if there are several. Each is a tensor, or a partial sum that
/// is unreduced over axes that a gradient may be unreduced over.
///
///     auto clipped = custom_gradient([](auto const& x) { return copy(x); },
///                                    [](auto const& dz, auto const&) { return clamp(dz, -1, 1); }, x);
///
/// f and g are made of operations, so they are right under every layout. f runs without a tape: nothing
/// inside it is kept, what it captures gets no gradient, and a `state` is not updated in it. dz is finished
/// before g sees it. The operands are kept for g, and must not be written before `backward`; g is copied.
/// Errors: `not_one_gradient_each`, `gradient_has_other_dims`, `not_the_gradient_of`.
template<class F, class G, Tensor... X>
  requires(!detail::Operand<F> && !detail::Operand<G> && sizeof...(X) > 0)
constexpr auto custom_gradient(F const& f, G const& g, X const&... x) {
  auto& m         = detail::machine_of_first(x...);
  int const stage = m.stage();
  auto z          = [&] {
    no_gradient const guard{m};
    return f(detail::argument(x)...);
  }();
  if (m.stage() != stage) detail::throw_stage_ends_in_function("custom_gradient");
  static_assert(Tensor<decltype(z)> || detail::AnyRejected<decltype(z)>,
                "meshtf: the function of custom_gradient returns one finished tensor");
  if constexpr (Tensor<decltype(z)>) {
    using verdict = detail::gradients_fit<G, detail::operand_of<decltype(z)>, detail::operand_of<X>...>;
    static_assert(accepted<verdict>, "meshtf: custom_gradient can't use these gradients");
    m.begin_operation("custom_gradient");
    if constexpr (accepted<verdict>) return detail::with_gradient(g, z.without_slot(), x...);
    else return detail::rejected{};
  } else {
    return detail::rejected{};
  }
}

MESHTF_ACCEPT_REJECTED(custom_gradient)

}  // namespace v0
}  // namespace meshtf
