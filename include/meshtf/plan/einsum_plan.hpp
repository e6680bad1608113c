// What einsum will do, decided before it runs.
#pragma once

#include <meshtf/plan/contraction.hpp>
#include <meshtf/plan/narrow_product.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// einsum was asked to keep `Dim`, but no operand has it.
template<class Dim>
struct dim_is_not_an_operand {};

namespace task {

/// z = the sum of x * y over the dimensions that z lacks. Arrays: x, y, z.
template<Element T>
struct contract {
  using steps_type   = contraction_steps;
  using scratch_type = computed<T>;
  // its flops and most scratch memory are known without its steps, which are expensive
  static constexpr bool is_product = true;
  /// As many of these as all arrays have elements are at least the scratch memory: each array is packed, or,
  /// if it is narrow, packed and widened.
  static constexpr element buffers_of = NarrowElement<T> ? element::float64 : element_of<T>;

  static constexpr meshtf::work work(contraction_steps const& s) {
    return {.kind  = "product",
            .flops = s.flops,
            .bytes = detail::bytes_of_nest<T, T, T>(s.nest) + 2 * s.scratch * extent{sizeof(T)},
            .m     = s.m,
            .n     = s.n,
            .k     = s.k};
  }
  static constexpr extent scratch(contraction_steps const& s) {
    if constexpr (NarrowElement<T>)
      return narrow_scratch_of(s, extent{sizeof(T)}, extent{sizeof(computed<T>)}).all();
    else return s.scratch;
  }
  void compute(contraction_steps const&, place_in_mesh const&, T const* x, T const* y, T* z,
               computed<T>* scratch) const;
};

}  // namespace task

namespace detail {

/// The dimensions that `A` has, but neither `B` nor the result: they are summed in that operand alone, before
/// the product.
template<class A, class B, class Out>
using summed_only_in = without<without<A, B>, Out>;

}  // namespace detail

/// `einsum<Out...>(x, y)`: the dimensions of `Out` stay, all others are summed.
///
/// Each process contracts the parts that it holds. If a summed dimension is split, its product is one local
/// term of many, and the sum is finished over the axes of that dimension.
/// Source: Shazeer et al., Mesh-TensorFlow (2018), section 3.3.
template<Layout L, class Out, class X, class Y>
struct einsum_plan;

template<Layout L, class... Out, class X, class Y>
struct einsum_plan<L, shape<Out...>, X, Y> {
  using operands = united<X, Y>;
  using loops    = united<shape<Out...>, operands>;
  using summed   = without<operands, shape<Out...>>;
  using verdict =
      first_objection<std::conditional_t<operands::template has<Out>, legal, dim_is_not_an_operand<Out>>...,
                      detail::named_once<Out, Out...>..., placement_verdict_of<L, loops>>;

  static constexpr steps_under<L, contraction_steps, loops> local =
      plan_steps<L, contraction_steps, loops>(arrays_of<X, Y, shape<Out...>>{});

  static constexpr axis_set finished_over = split_over<L, loops> & ~split_over<L, shape<Out...>>;
};

/// `legal`, or the first objection to `einsum<Out...>` of tensors of shapes `X` and `Y` under `L`.
template<Layout L, class Out, class X, class Y>
using einsum_verdict = typename einsum_plan<L, Out, X, Y>::verdict;

}  // namespace v0
}  // namespace meshtf
