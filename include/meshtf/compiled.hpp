// The compiled part of a program: one of its sources includes this, and all others are compiled with MESHTF_COMPILED. Then they only declare kernels,
// and take a quarter of the time to compile. The CMake target `meshtf::compiled` does both (docs/install.md).
#pragma once

#ifdef MESHTF_DECLARES_KERNELS
#error "meshtf: <meshtf/compiled.hpp> comes before any other header of meshtf, in a source of its own"
#endif
#define MESHTF_COMPILED_PART 1

#define MESHTF_COMPILE_WIDE(X) X(float) X(double)
#define MESHTF_COMPILE_FLOATING(X) MESHTF_COMPILE_WIDE(X) X(bfloat16)
#define MESHTF_COMPILE_NUMBERS(X) MESHTF_COMPILE_FLOATING(X) X(std::int32_t) X(std::int64_t)
#define MESHTF_COMPILE_EACH(X) MESHTF_COMPILE_NUMBERS(X) X(bool)

// X, X, ... with N repetitions
#define MESHTF_TIMES_1(...) __VA_ARGS__
#define MESHTF_TIMES_2(...) __VA_ARGS__, __VA_ARGS__
#define MESHTF_TIMES_3(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__
#define MESHTF_TIMES_4(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__

#define MESHTF_MAP(N, T, ...)                                                                                                                      \
  template void task::compute(task::map<__VA_ARGS__, T, MESHTF_TIMES_##N(T)> const&, nest_steps const&, place_in_mesh const&, T*, \
                              MESHTF_TIMES_##N(T const*));
#define MESHTF_REDUCE(N, Op, T, ...)                                                                                                                \
  template void task::compute(task::reduce<reduction::Op, __VA_ARGS__, T, MESHTF_TIMES_##N(T)> const&, nest_steps const&, place_in_mesh const&, T*, \
                              MESHTF_TIMES_##N(T const*));
#define MESHTF_REDUCE_NARROW(N, Op, T, ...)                                                                                                         \
  template void task::compute(task::reduce<reduction::Op, __VA_ARGS__, T, MESHTF_TIMES_##N(T)> const&, nest_steps const&, place_in_mesh const&, T*, \
                              MESHTF_TIMES_##N(T const*), computed<T>*);

#define MESHTF_COMPILE_MAP(N, F) MESHTF_MAP(N, float, F) MESHTF_MAP(N, double, F) MESHTF_MAP(N, bfloat16, F)
#define MESHTF_COMPILE_MAP_OF(N, F) MESHTF_MAP(N, float, F<float>) MESHTF_MAP(N, double, F<double>) MESHTF_MAP(N, bfloat16, F<float>)
#define MESHTF_COMPILE_MAP_AND_SUM(N, F) \
  MESHTF_COMPILE_MAP(N, F)               \
  MESHTF_REDUCE(N, sum, float, F) MESHTF_REDUCE(N, sum, double, F) MESHTF_REDUCE_NARROW(N, sum, bfloat16, F)
#define MESHTF_COMPILE_MAP_AND_SUM_OF(N, F) \
  MESHTF_COMPILE_MAP_OF(N, F)               \
  MESHTF_REDUCE(N, sum, float, F<float>) MESHTF_REDUCE(N, sum, double, F<double>) MESHTF_REDUCE_NARROW(N, sum, bfloat16, F<float>)
#define MESHTF_COMPILE_MAP_AND_REDUCE(N, F)                                                                                \
  MESHTF_COMPILE_MAP_AND_SUM(N, F)                                                                                         \
  MESHTF_REDUCE(N, max, float, F) MESHTF_REDUCE(N, max, double, F) MESHTF_REDUCE_NARROW(N, max, bfloat16, F)               \
  MESHTF_REDUCE(N, min, float, F) MESHTF_REDUCE(N, min, double, F) MESHTF_REDUCE_NARROW(N, min, bfloat16, F)
#define MESHTF_COMPILE_CONVERSION(To, From) \
  template void task::compute(task::map<function::identity, To, From> const&, nest_steps const&, place_in_mesh const&, To*, From const*);

#include <meshtf/kernel/kernels.hpp>

#include <meshtf/meshtf.hpp>
