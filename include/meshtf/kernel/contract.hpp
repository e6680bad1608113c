// Contractions: an einsum of two arrays in one process, as its plan says.
#pragma once

#include <array>
#include <concepts>
#include <utility>

#include <meshtf/core/element.hpp>
#include <meshtf/core/odometer.hpp>
#include <meshtf/kernel/gemm.hpp>
#include <meshtf/kernel/narrow_product.hpp>
#include <meshtf/kernel/nest.hpp>
#include <meshtf/plan/einsum_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

namespace detail {

/// f(at) for each product, where at[0], at[1] and at[2] are where its A, B and C begin. Threads share the
/// products, or each product if it is large.
template<class F>
void for_each_product(contraction_steps const& s, F const& f) {
  if (s.batch.iterations == 1) return f(std::array<extent, 3>{});
  constexpr extent for_an_element = 64;  // multiplications that take as long as one element of a sum
  extent const work =
      strips_of(s.m, s.n, s.k) == 1 ? s.batch.iterations * (s.m * s.n * s.k / for_an_element) : 0;
  parallel_for(s.batch.iterations, 1, work, [&](extent begin, extent end) {
    for_some_indices<3>(s.batch.sizes(), s.batch.stride, begin, end, f);
  });
}

}  // namespace detail

/// z = the sum of x * y over what z lacks. `scratch` holds `steps.scratch` elements, none for integers; z
/// must not overlap x or y.
template<Element T>
  requires(!NarrowElement<T>)
void contract(contraction_steps const& steps, T const* x, T const* y, T* z, [[maybe_unused]] T* scratch) {
  if constexpr (FloatingElement<T>) {
    if (steps.by_gemm) {
      auto const packed = [&](packing const& p, T const* from) -> T const* {
        if (!p.needed) return from;
        reduce_nest<reduction::sum>(p.walk, function::identity{}, scratch + p.offset, from);
        return scratch + p.offset;
      };
      T const* a = packed(steps.x, x);
      T const* b = packed(steps.y, y);
      T* const c = steps.z.needed ? scratch + steps.z.offset : z;
      if (steps.swapped) std::swap(a, b);
      detail::for_each_product(steps, [&](auto const& start) {
        gemm(steps.transpose_a, steps.transpose_b, steps.m, steps.n, steps.k, a + start[0], steps.lda,
             b + start[1], steps.ldb, T{0}, c + start[2], steps.ldc);
      });
      if (steps.z.needed)
        reduce_nest<reduction::sum>(steps.z.walk, function::identity{}, z, static_cast<T const*>(c));
      return;
    }
  }
  reduce_nest<reduction::sum>(steps.nest, function::times{}, z, x, y);
}

/// The same for narrow elements; sums are kept in float and rounded once. `scratch` holds what
/// `narrow_scratch_of` says.
inline void contract(contraction_steps const& steps, bfloat16 const* x, bfloat16 const* y, bfloat16* z,
                     float* scratch) {
  if (!steps.by_gemm && !steps.nest.reduces) return map_nest(steps.nest, function::times{}, z, x, y);
  if (!steps.by_gemm) {
    reduce_nest<reduction::sum>(steps.nest, function::times{}, scratch, x, y);
    return narrow(meshtf::detail::span_of(steps.nest, 2), scratch, z);
  }
  auto* const packs = reinterpret_cast<bfloat16*>(scratch);
  float* const wide =
      scratch + narrow_scratch_of(steps, extent{sizeof(bfloat16)}, extent{sizeof(float)}).packed;
  auto const copied = [&](packing const& p, bfloat16 const* from, bfloat16* to) {
    if (!p.walk.reduces) return map_nest(p.walk, function::identity{}, to, from);
    reduce_nest<reduction::sum>(p.walk, function::identity{}, wide, from);
    narrow(meshtf::detail::span_of(p.walk, 1), wide, to);
  };
  auto const packed = [&](packing const& p, bfloat16 const* from) {
    if (!p.needed) return from;
    copied(p, from, packs + p.offset);
    return static_cast<bfloat16 const*>(packs + p.offset);
  };
  bfloat16 const* a = packed(steps.x, x);
  bfloat16 const* b = packed(steps.y, y);
  bfloat16* const c = steps.z.needed ? packs + steps.z.offset : z;
  if (steps.swapped) std::swap(a, b);
  product_shape const shape{steps.transpose_a, steps.transpose_b, steps.m,   steps.n,
                            steps.k,           steps.lda,         steps.ldb, steps.ldc};
  for_each_index<3>(steps.batch.sizes(), steps.batch.stride, {}, [&](auto const& start) {
    multiply(shape, piece_of(steps), a + start[0], b + start[1], c + start[2], wide);
  });
  if (steps.z.needed) copied(steps.z, c, z);
}

}  // namespace kernel

namespace task {

template<Element T>
void contract<T>::compute(contraction_steps const& s, place_in_mesh const&, T const* x, T const* y, T* z,
                          computed<T>* scratch) const {
  if (s.nest.iterations != 0) kernel::contract(s, x, y, z, scratch);
  else kernel::fill_results(s.nest, T{}, z);
}

#define MESHTF_PRODUCTS(T) template struct contract<T>;
MESHTF_COMPILE_NUMBERS(MESHTF_PRODUCTS)
#undef MESHTF_PRODUCTS

}  // namespace task
}  // namespace v0
}  // namespace meshtf
