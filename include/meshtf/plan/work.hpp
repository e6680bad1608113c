// Work: what one call of a machine computes and touches, the same in the compiler and in a process.
#pragma once

#include <meshtf/plan/attention_plan.hpp>
#include <meshtf/plan/contraction.hpp>
#include <meshtf/plan/cross_entropy_plan.hpp>
#include <meshtf/plan/norm_plan.hpp>

namespace meshtf::inline v0 {

/// What a machine is asked for in one call. Bytes are those of every array it reads or writes, each counted once: less can't travel between memory and
/// processor unless the arrays are in cache.
struct work {
  char const* kind   = "";
  extent flops       = 0;  // of contractions: 2 for each multiply-add
  extent elementwise = 0;  // arithmetic steps of everything else
  extent bytes       = 0;
  extent m = 0, n = 0, k = 0;  // of a matrix product
};

namespace detail {

/// Arithmetic steps of an elementwise function: what it says, else one.
template<class F>
inline constexpr extent flops_of = 1;
template<class F>
  requires requires { F::flops; }
inline constexpr extent flops_of<F> = F::flops;

/// Elements of an operand that a nest touches.
constexpr extent elements_of(nest_steps const& nest, std::size_t operand) {
  extent n = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(nest.rank); ++i)
    if (nest.stride[operand][i] != 0) n *= nest.size[i];
  return n;
}

/// Bytes of all operands of a nest; the sizes of their elements come in the order of the operands, the result's last.
template<class... T>
constexpr extent bytes_of_nest(nest_steps const& nest) {
  extent bytes        = 0;
  std::size_t operand = 0;
  ((bytes += elements_of(nest, operand++) * extent{sizeof(T)}), ...);
  return bytes;
}

}  // namespace detail

/// The work of each call of a machine, under the call's name.
namespace work_of {

template<class F, class R, class... T>
constexpr work map(nest_steps const& s) {
  return {.kind = "elementwise", .elementwise = s.turns * detail::flops_of<F>, .bytes = detail::bytes_of_nest<T..., R>(s)};
}
template<class F, class R, class... T>
constexpr work reduce(nest_steps const& s) {
  return {.kind = "reduction", .elementwise = s.turns * (detail::flops_of<F> + 1), .bytes = detail::bytes_of_nest<T..., R>(s)};
}
template<class T>
constexpr work contract(contraction_steps const& s) {
  return {.kind  = "product",
          .flops = s.flops,
          .bytes = detail::bytes_of_nest<T, T, T>(s.nest) + 2 * s.scratch * extent{sizeof(T)},
          .m     = s.m,
          .n     = s.n,
          .k     = s.k};
}
template<class T>
constexpr work attend(attention_steps const& s) {
  extent const rows = s.pairs.turns * s.queries;
  return {.kind        = "attention",
          .flops       = 2 * s.product_flops(),
          .elementwise = s.softmax_flops(),
          .bytes       = ((2 * rows + 2 * s.pairs.turns * s.memories) * s.depth + rows) * extent{sizeof(T)}};
}
template<class T>
constexpr work attention_gradient(attention_steps const& s, attention_wishes const& wants) {
  extent const rows = s.pairs.turns * s.queries, memories = s.pairs.turns * s.memories;
  extent const written = (wants.query ? rows : 0) + (wants.key ? memories : 0) + (wants.value ? memories : 0);
  return {.kind        = "attention",
          .flops       = attention_gradient_flops(s, wants),
          .elementwise = s.softmax_flops(),
          .bytes       = ((3 * rows + 2 * memories + written) * s.depth + rows) * extent{sizeof(T)}};
}
template<class F, class... P>
constexpr work transform(extent n) {
  return {.kind = "elementwise", .elementwise = n * detail::flops_of<F>, .bytes = n * (extent{sizeof(P)} + ... + 0)};
}
template<class T>
constexpr work add_up(extent n) {
  return {.kind = "elementwise", .elementwise = n, .bytes = 3 * n * extent{sizeof(T)}};
}
template<class T>
constexpr work fill(extent n) {
  return {.kind = "copy", .bytes = n * extent{sizeof(T)}};
}
template<class T>
constexpr work copy(extent n) {
  return {.kind = "copy", .bytes = 2 * n * extent{sizeof(T)}};
}
template<class T>
constexpr work draw(std::span<placed const> dims) {
  extent n = 1;
  for (placed const& d : dims) n *= d.local_size();
  return {.kind = "random", .bytes = n * extent{sizeof(T)}};
}
template<class T>
constexpr work pick(line_steps const& lines) {
  return {.kind = "gather", .bytes = lines.outer * lines.inner * (2 * extent{sizeof(T)} + 4)};
}
template<class T>
constexpr work pick_gradient(line_steps const& lines) {
  return {.kind = "gather", .elementwise = lines.outer * lines.inner, .bytes = lines.outer * lines.inner * (3 * extent{sizeof(T)} + 4)};
}
template<class T>
constexpr work gather_rows(line_steps const& lines, extent ids) {
  return {.kind = "gather", .bytes = ids * (lines.outer * lines.inner * 2 * extent{sizeof(T)} + 4)};
}
template<class T>
constexpr work scatter_rows(line_steps const& lines, extent ids) {
  extent const n = ids * lines.outer * lines.inner;
  return {.kind = "gather", .elementwise = n, .bytes = 3 * n * extent{sizeof(T)} + 4 * ids};
}
template<class T>
constexpr work iota(line_steps const& lines) {
  return {.kind = "copy", .bytes = lines.along * extent{sizeof(T)}};
}
template<class T>
constexpr work argmax(line_steps const& lines) {
  extent const rows = lines.outer * lines.inner;
  return {.kind = "reduction", .elementwise = rows * lines.along, .bytes = rows * (lines.along + 1) * extent{sizeof(T)} + 4 * rows};
}
template<class T>
constexpr work forget_smaller(extent n) {
  return {.kind = "elementwise", .bytes = n * (2 * extent{sizeof(T)} + 4)};
}
template<class T>
constexpr work row_moments(norm_steps const& s, bool adds) {
  return {.kind        = "norm",
          .elementwise = moments_flops(s, adds),
          .bytes       = s.elements() * (adds ? 3 : 1) * extent{sizeof(T)} + s.numbers() * extent{sizeof(double)}};
}
template<class T>
constexpr work normalise_by(norm_steps const& s) {
  return {.kind = "norm", .elementwise = normalising_flops(s), .bytes = (2 * s.elements() + s.numbers()) * extent{sizeof(T)}};
}
template<class T>
constexpr work normalise(norm_steps const& s, bool adds) {
  return {.kind        = "norm",
          .elementwise = moments_flops(s, adds) + normalising_flops(s),
          .bytes       = (s.elements() * (adds ? 4 : 2) + s.numbers()) * extent{sizeof(T)}};
}
template<class T>
constexpr work norm_gradient_sums(norm_steps const& s, norm_wishes const& wants) {
  return {.kind = "norm", .elementwise = norm_sums_flops(s, wants), .bytes = (2 * s.elements() + s.numbers()) * extent{sizeof(T)}};
}
template<class T>
constexpr work norm_gradient_by(norm_steps const& s, norm_wishes const& wants) {
  return {.kind        = "norm",
          .elementwise = norm_gradient_flops(s, wants),
          .bytes       = (wants.x ? (wants.adds ? 4 : 3) * s.elements() + s.numbers() : 0) * extent{sizeof(T)}};
}
template<class T>
constexpr work norm_gradient(norm_steps const& s, norm_wishes const& wants) {
  extent const passes = 2 + int{wants.x} + int{wants.x && wants.adds};
  return {.kind        = "norm",
          .elementwise = norm_sums_flops(s, wants) + norm_gradient_flops(s, wants),
          .bytes       = (passes * s.elements() + s.numbers()) * extent{sizeof(T)}};
}
template<class F, class T>
constexpr work map_rows_and_sum(extent rows, extent n) {
  return {.kind = "elementwise", .elementwise = rows * n * (detail::flops_of<F> + 1), .bytes = (3 * rows * n + 2 * n) * extent{sizeof(T)}};
}
template<class T>
constexpr work drop(extent n) {
  return {.kind = "elementwise", .elementwise = n, .bytes = 2 * n * extent{sizeof(T)}};
}

}  // namespace work_of

}  // namespace meshtf::inline v0
