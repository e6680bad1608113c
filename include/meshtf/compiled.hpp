// The compiled library of a program: one of its sources includes this, and all others are compiled with
// MESHTF_COMPILED. Then they only declare kernels, and take less than half of the time to compile. The CMake
// target `meshtf::compiled` does both (docs/install.md).
#pragma once

#include <meshtf/detail/compiler.hpp>

#ifdef MESHTF_DECLARES_ONLY
#error "meshtf: <meshtf/compiled.hpp> comes before any other header of meshtf, in a source of its own"
#endif

// All of it, or, to compile it side by side, a source for each of MESHTF_COMPILED_PART_float (with the
// indices), _double, _bfloat16, and _start (all that is no kernel). For several architectures there are the
// first three for each of them, and one start.
#if defined(MESHTF_COMPILED_PART_start)
#define MESHTF_COMPILED_START 1
#ifndef MESHTF_COMPILED
#define MESHTF_COMPILED 1  // kernels are declared here as in the program's own sources
#endif
#include <meshtf/meshtf.hpp>
#ifdef MESHTF_FOR_EACH_ARCHITECTURE
#include <meshtf/kernel/chosen_kernels.hpp>
#endif
#else

#define MESHTF_COMPILED_PART 1
#if !(defined(MESHTF_COMPILED_PART_float) || defined(MESHTF_COMPILED_PART_double) || \
      defined(MESHTF_COMPILED_PART_bfloat16))
#define MESHTF_COMPILED_START 1
#endif
#if defined(MESHTF_COMPILED_PART_float) || \
    !(defined(MESHTF_COMPILED_PART_double) || defined(MESHTF_COMPILED_PART_bfloat16))
#define MESHTF_FOR_FLOAT(...) __VA_ARGS__
#else
#define MESHTF_FOR_FLOAT(...)
#endif
#if defined(MESHTF_COMPILED_PART_double) || \
    !(defined(MESHTF_COMPILED_PART_float) || defined(MESHTF_COMPILED_PART_bfloat16))
#define MESHTF_FOR_DOUBLE(...) __VA_ARGS__
#else
#define MESHTF_FOR_DOUBLE(...)
#endif
#if defined(MESHTF_COMPILED_PART_bfloat16) || \
    !(defined(MESHTF_COMPILED_PART_float) || defined(MESHTF_COMPILED_PART_double))
#define MESHTF_FOR_BFLOAT16(...) __VA_ARGS__
#else
#define MESHTF_FOR_BFLOAT16(...)
#endif

#define MESHTF_COMPILE_WIDE(X) MESHTF_FOR_FLOAT(X(float)) MESHTF_FOR_DOUBLE(X(double))
#define MESHTF_COMPILE_NARROW(X) MESHTF_FOR_BFLOAT16(X(bfloat16))
#define MESHTF_COMPILE_FLOATING(X) MESHTF_COMPILE_WIDE(X) MESHTF_COMPILE_NARROW(X)
#define MESHTF_COMPILE_INTEGERS(X) MESHTF_FOR_FLOAT(X(std::int32_t) X(std::int64_t))
#define MESHTF_COMPILE_NUMBERS(X) MESHTF_COMPILE_FLOATING(X) MESHTF_COMPILE_INTEGERS(X)
#define MESHTF_COMPILE_EACH(X) MESHTF_COMPILE_NUMBERS(X) MESHTF_FOR_FLOAT(X(bool))

// X, X, ... with N repetitions
#define MESHTF_TIMES_1(X) X
#define MESHTF_TIMES_2(X) X, X
#define MESHTF_TIMES_3(X) X, X, X
#define MESHTF_TIMES_4(X) X, X, X, X

#define MESHTF_MAP(N, T, ...) template struct task::map<__VA_ARGS__, T, MESHTF_TIMES_##N(T)>;
#define MESHTF_REDUCE(N, Op, T, ...) \
  template struct task::reduce<reduction::Op, __VA_ARGS__, T, MESHTF_TIMES_##N(T)>;

#define MESHTF_COMPILE_MAP(N, F)            \
  MESHTF_FOR_FLOAT(MESHTF_MAP(N, float, F)) \
  MESHTF_FOR_DOUBLE(MESHTF_MAP(N, double, F)) MESHTF_FOR_BFLOAT16(MESHTF_MAP(N, bfloat16, F))
#define MESHTF_COMPILE_MAP_OF(N, F)                \
  MESHTF_FOR_FLOAT(MESHTF_MAP(N, float, F<float>)) \
  MESHTF_FOR_DOUBLE(MESHTF_MAP(N, double, F<double>)) MESHTF_FOR_BFLOAT16(MESHTF_MAP(N, bfloat16, F<float>))
#define MESHTF_COMPILE_REDUCE(N, Op, F)              \
  MESHTF_FOR_FLOAT(MESHTF_REDUCE(N, Op, float, F))   \
  MESHTF_FOR_DOUBLE(MESHTF_REDUCE(N, Op, double, F)) \
  MESHTF_FOR_BFLOAT16(MESHTF_REDUCE(N, Op, bfloat16, F))
#define MESHTF_COMPILE_REDUCE_OF(N, Op, F)                   \
  MESHTF_FOR_FLOAT(MESHTF_REDUCE(N, Op, float, F<float>))    \
  MESHTF_FOR_DOUBLE(MESHTF_REDUCE(N, Op, double, F<double>)) \
  MESHTF_FOR_BFLOAT16(MESHTF_REDUCE(N, Op, bfloat16, F<float>))
#define MESHTF_COMPILE_MAP_AND_SUM(N, F) MESHTF_COMPILE_MAP(N, F) MESHTF_COMPILE_REDUCE(N, sum, F)
#define MESHTF_COMPILE_MAP_AND_SUM_OF(N, F) MESHTF_COMPILE_MAP_OF(N, F) MESHTF_COMPILE_REDUCE_OF(N, sum, F)
#define MESHTF_COMPILE_MIXED_MAP(F, R, A, B, C) MESHTF_FOR_BFLOAT16(template struct task::map<F, R, A, B, C>;)
#define MESHTF_COMPILE_MIXED_SUM(F, R, A, B) \
  MESHTF_FOR_BFLOAT16(template struct task::reduce<reduction::sum, F, R, A, B>;)
#define MESHTF_COMPILE_CONVERSION(To, From) \
  MESHTF_FOR_BFLOAT16(template struct task::map<function::identity, To, From>;)

#include <meshtf/kernel/kernels.hpp>

#ifdef MESHTF_COMPILED_START
#include <meshtf/meshtf.hpp>
#else  // every function of elements, and nothing that would run at start (as <iostream> does): this processor
       // may have another architecture
#include <meshtf/planning.hpp>
#include <meshtf/runtime/one_program.hpp>
#endif

#endif
