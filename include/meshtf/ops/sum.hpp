// sum and mean over dimensions.
#pragma once

#include <source_location>

#include <meshtf/ops/functions.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/open_sums.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

namespace detail {

template<class X, class... Along>
struct named_or_all : std::type_identity<shape<Along...>> {};
template<class X>
struct named_or_all<X> : std::type_identity<X> {};

/// The sum of f(x) over `Gone`, finished; the gradient of each element is df(dz).
template<class Gone, class F, class T, class L, class... X>
constexpr auto summed(char const* name, std::source_location at, F const& f, tensor<T, L, X...> const& x) {
  using out = without<shape<X...>, Gone>;
  x.machine().enter(name, at);
  auto z = finished(reduced<reduction::sum, out>(f, x));
  if (wants_gradient(x)) record(z, [x = x.without_value(), f](auto const& dz) { contribute(x, each<T, shape<X...>>(f, dz)); });
  return z;
}

}  // namespace detail

/// The sum over `Along...`; over everything if none is named.
///
/// Where one of them is split, the processes' sums are joined by an all-reduce of the result over its axes. Gradient: dz, broadcast; it owes nothing.
template<Dimension... Along, class T, class L, class... X>
constexpr auto sum(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  using verdict = reduce_verdict<wet<L>, shape<X...>, Along...>;
  static_assert(accepted<verdict>, "meshtf: sum can't work along these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    return detail::summed<typename detail::named_or_all<shape<X...>, Along...>::type>("sum", at, function::identity{}, x);
  }
}

/// The mean over `Along...`; over everything if none is named. Sends what `sum` sends.
template<Dimension... Along, FloatingElement T, class L, class... X>
constexpr auto mean(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  using verdict = reduce_verdict<wet<L>, shape<X...>, Along...>;
  static_assert(accepted<verdict>, "meshtf: mean can't work along these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    using gone = typename detail::named_or_all<shape<X...>, Along...>::type;
    return detail::summed<gone>("mean", at, function::scaled<T>{T{1} / static_cast<T>(gone::size)}, x);
  }
}

namespace detail {

/// The same of an open sum: what is split of `Gone` is one more sum that stays open, so nothing is sent.
template<algebra::use How, class Gone, class F, class T, class L, class... X, class Over>
constexpr auto summed_open(char const* name, std::source_location at, F const& f, partial<tensor<T, L, X...>, Over> const& p) {
  using out     = without<shape<X...>, Gone>;
  auto const& x = p.addend();
  x.machine().enter(name, at);
  auto z = reduced<reduction::sum, out>(f, x);
  if (wants_gradient(x)) record(z.value, [x = x.without_value(), f](auto const& dz) { contribute(x, each<T, shape<X...>>(f, dz)); });
  static_assert(algebra::after(How, algebra::pending::sum) == algebra::pending_after{algebra::pending::sum});
  using split = typename remaining_axes<axes_that_split<L, shape<X...>>, splitting_axes<L, out>>::type;
  return partial<tensor_of<T, L, out>, united_axes<L, Over, split>>{std::move(z.value), p.owed() | z.owed};
}

}  // namespace detail

/// An open sum, summed along further dimensions: it stays open, also over the axes that split those. Nothing is sent.
template<Dimension... Along, class T, class L, class... X, class Over>
constexpr auto sum(partial<tensor<T, L, X...>, Over> const& p, std::source_location at = std::source_location::current()) {
  using verdict = reduce_verdict<wet<L>, shape<X...>, Along...>;
  static_assert(accepted<verdict>, "meshtf: sum can't work along these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    using gone = typename detail::named_or_all<shape<X...>, Along...>::type;
    return detail::summed_open<algebra::use::summed, gone>("sum", at, function::identity{}, p);
  }
}

/// The mean of an open sum, as `sum`.
template<Dimension... Along, FloatingElement T, class L, class... X, class Over>
constexpr auto mean(partial<tensor<T, L, X...>, Over> const& p, std::source_location at = std::source_location::current()) {
  using verdict = reduce_verdict<wet<L>, shape<X...>, Along...>;
  static_assert(accepted<verdict>, "meshtf: mean can't work along these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    using gone = typename detail::named_or_all<shape<X...>, Along...>::type;
    return detail::summed_open<algebra::use::summed, gone>("mean", at, function::scaled<T>{T{1} / static_cast<T>(gone::size)}, p);
  }
}

}  // namespace meshtf::inline v0
