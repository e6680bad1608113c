// Contractions: an einsum of two arrays in one process, as its plan says.
#pragma once

#include <concepts>
#include <utility>

#include <meshtf/core/element.hpp>
#include <meshtf/core/odometer.hpp>
#include <meshtf/kernel/gemm.hpp>
#include <meshtf/kernel/nest.hpp>
#include <meshtf/plan/einsum_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// z = the sum of x * y over what z lacks. `scratch` holds `steps.scratch` elements, none for integers; z must not overlap x or y.
template<Element T>
void contract(contraction_steps const& steps, T const* x, T const* y, T* z, [[maybe_unused]] T* scratch) {
  if constexpr (FloatingElement<T>) {
    if (steps.by_gemm) {
      auto const packed = [&](packing const& p, T const* from) -> T const* {
        if (!p.needed) return from;
        reduce_nest<reduction::sum>(p.walk, function::identity{}, scratch + p.at, from);
        return scratch + p.at;
      };
      T const* a = packed(steps.x, x);
      T const* b = packed(steps.y, y);
      T* const c = steps.z.needed ? scratch + steps.z.at : z;
      if (steps.swapped) std::swap(a, b);
      for_each_index<3>(steps.batch.sizes(), steps.batch.stride, {}, [&](auto const& at) {
        gemm(steps.transpose_a, steps.transpose_b, steps.m, steps.n, steps.k, a + at[0], steps.lda, b + at[1], steps.ldb, T{0}, c + at[2], steps.ldc);
      });
      if (steps.z.needed) reduce_nest<reduction::sum>(steps.z.walk, function::identity{}, z, static_cast<T const*>(c));
      return;
    }
  }
  reduce_nest<reduction::sum>(steps.nest, function::times{}, z, x, y);
}

}  // namespace kernel

namespace task {

template<Element T>
void compute(contract<T> const&, contraction_steps const& s, place_in_mesh const&, T const* x, T const* y, T* z, T* scratch) {
  if (s.nest.turns != 0) kernel::contract(s, x, y, z, scratch);
  else kernel::fill_results(s.nest, T{}, z);
}

}  // namespace task
}  // namespace v0
}  // namespace meshtf
