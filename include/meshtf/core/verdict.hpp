// Verdicts: the answer to "is this allowed?" as a type that explains itself.
#pragma once

#include <concepts>
#include <type_traits>

namespace meshtf {
inline namespace v0 {

/// Nothing to object to. Every other verdict is an objection: its name states the fact, its arguments are the user's own types.
struct legal {};

/// Is this verdict `legal`? Operations assert it of theirs: both compilers print its name and arguments where it is not.
template<class Verdict>
inline constexpr bool accepted = false;
template<>
inline constexpr bool accepted<legal> = true;

/// The same as a concept. g++ 12 prints the verdict in an assertion outside of templates only for a concept.
template<class Verdict>
concept is_legal = accepted<Verdict>;

namespace detail {

template<class... Verdicts>
struct objection_among : std::type_identity<legal> {};

template<class Verdict, class... Rest>
struct objection_among<Verdict, Rest...> : std::type_identity<Verdict> {};

template<class... Rest>
struct objection_among<legal, Rest...> : objection_among<Rest...> {};

/// An objection that has a sentence of its own, apart from all others.
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
