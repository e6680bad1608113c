// The compiled mode: what a translation unit defines itself, and what it leaves to the library that is
// compiled once.
//
//   (nothing)              header-only: every translation unit compiles the kernels that it uses
//   MESHTF_COMPILED        kernels are declared; another translation unit of the program, or the CMake target
//                          `meshtf::compiled`, has them
//   MESHTF_COMPILED_PART   this translation unit has them; <meshtf/compiled.hpp> defines it
//   MESHTF_COMPILED_START  this translation unit of the compiled library has what there is once, however many
//                          architectures
//                          have kernels
//   MESHTF_ARCHITECTURE    the kernels of this translation unit are for one of several architectures: what
//                          the program
//                          has one of is elsewhere
//
// A header that defines a kernel says at its end for which types it is compiled, and a header that defines a
// function of elements says so next to it: so a new one is compiled too, and no list is edited.
#pragma once

#include <cstdint>

#if defined(MESHTF_COMPILED) && !defined(MESHTF_COMPILED_PART)
#define MESHTF_DECLARES_ONLY 1  // and another translation unit defines them
#else
#define MESHTF_DECLARES_ONLY 0
#endif

#if defined(MESHTF_COMPILED_START) || !(defined(MESHTF_COMPILED) || defined(MESHTF_COMPILED_PART))
#define MESHTF_DEFINES_RUNTIME 1  // what is no kernel and no template
#else
#define MESHTF_DEFINES_RUNTIME 0
#endif

#if defined(MESHTF_COMPILED) || defined(MESHTF_COMPILED_PART)
#define MESHTF_HAS_COMPILED_PART 1  // this translation unit belongs to a program that has one
#else
#define MESHTF_HAS_COMPILED_PART 0
#endif

/// Before the definition of a function that is no template and that the compiled library holds for others.
/// Where there is one such translation unit, the function is not inline: clang makes of an inline constructor
/// that is `used` only what derived classes call.
#if defined(MESHTF_COMPILED_START)
#define MESHTF_DEFINE
#elif defined(MESHTF_COMPILED_PART)
#define MESHTF_DEFINE [[gnu::used]] inline
#else
#define MESHTF_DEFINE inline
#endif

/// X(T) for all element types, after the definition of a template that is no kernel: the compiled library has
/// it for others.
#ifdef MESHTF_COMPILED_START
#define MESHTF_RUNTIME_EACH(X) X(float) X(double) X(bfloat16) X(std::int32_t) X(std::int64_t) X(bool)
#else
#define MESHTF_RUNTIME_EACH(X)
#endif

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// Whether the compiled library has the nests that store the results of a function of elements, and those
/// that add them up. Where it has none, the function is compiled where it is used, and called with numbers.
template<class F>
inline constexpr bool has_compiled_maps = false;
template<class F>
inline constexpr bool has_compiled_sums = false;
/// The same for a task whose operands have different types.
template<class K>
inline constexpr bool has_compiled_task = false;

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf

#ifndef MESHTF_COMPILED_PART
// X(T) for the floating-point types that are not narrow, those that are, both, the integers, all types that
// can be added, all types.
#define MESHTF_COMPILE_WIDE(X)
#define MESHTF_COMPILE_NARROW(X)
#define MESHTF_COMPILE_FLOATING(X)
#define MESHTF_COMPILE_INTEGERS(X)
#define MESHTF_COMPILE_NUMBERS(X)
#define MESHTF_COMPILE_EACH(X)
#define MESHTF_COMPILE_CONVERSION(To, From)
// The nests of a function of N operands: those that store its results, and those that join them. With `_OF`,
// the function is a template of the type that it computes with.
#define MESHTF_COMPILE_MAP(N, F) \
  template<>                     \
  inline constexpr bool kernel::has_compiled_maps<F> = true;
#define MESHTF_COMPILE_MAP_OF(N, F) \
  template<class T>                 \
  inline constexpr bool kernel::has_compiled_maps<F<T>> = true;
// A map of three operands, or a sum of two, whose elements have different types.
#define MESHTF_COMPILE_MIXED_MAP(F, R, A, B, C) \
  template<>                                    \
  inline constexpr bool kernel::has_compiled_task<task::map<F, R, A, B, C>> = true;
#define MESHTF_COMPILE_MIXED_SUM(F, R, A, B) \
  template<>                                 \
  inline constexpr bool kernel::has_compiled_task<task::reduce<reduction::sum, F, R, A, B>> = true;
#define MESHTF_COMPILE_MAP_AND_SUM(N, F) \
  MESHTF_COMPILE_MAP(N, F)               \
  template<>                             \
  inline constexpr bool kernel::has_compiled_sums<F> = true;
#define MESHTF_COMPILE_MAP_AND_SUM_OF(N, F) \
  MESHTF_COMPILE_MAP_OF(N, F)               \
  template<class T>                         \
  inline constexpr bool kernel::has_compiled_sums<F<T>> = true;
#endif
