// Verdicts: the answer to "is this allowed?" as a type that explains itself.
#pragma once

#include <concepts>
#include <type_traits>

namespace meshtf {
inline namespace v0 {

/// No objection. Every other verdict is an objection: its name states the fact, its arguments are the user's
/// own types.
struct legal {};

/// Whether a verdict is `legal`. Operations assert this of their verdicts; if an assertion fails, both
/// compilers print the verdict's name and arguments.
template<class Verdict>
inline constexpr bool accepted = false;
template<>
inline constexpr bool accepted<legal> = true;

/// The same as a concept. In an assertion outside a template, g++ 12 prints the verdict only for a concept.
template<class Verdict>
concept is_legal = accepted<Verdict>;

namespace detail {

template<class... Verdicts>
struct objection_among : std::type_identity<legal> {};

template<class Verdict, class... Rest>
struct objection_among<Verdict, Rest...> : std::type_identity<Verdict> {};

template<class... Rest>
struct objection_among<legal, Rest...> : objection_among<Rest...> {};

/// Separates an objection that has a sentence of its own from all others.
template<template<class...> class Objection, class Verdict>
struct sentence {
  using own    = legal;
  using common = Verdict;
};

template<template<class...> class Objection, class... X>
struct sentence<Objection, Objection<X...>> {
  using own    = Objection<X...>;
  using common = legal;
};

}  // namespace detail

/// The first of several verdicts that is not `legal`; `legal` if there is none.
template<class... Verdicts>
using first_objection = typename detail::objection_among<Verdicts...>::type;

}  // namespace v0
}  // namespace meshtf
