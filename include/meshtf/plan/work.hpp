// Work: what one call of a machine computes and touches, counted the same in the compiler and in a process.
#pragma once

#include <meshtf/plan/nest.hpp>

namespace meshtf {
inline namespace v0 {

/// What one call asks of a machine. `bytes` counts every array that is read or written, once each: less can't
/// travel between memory and processor unless the arrays are in cache.
struct work {
  char const* kind   = "";
  extent flops       = 0;  // of contractions: 2 for each multiply-add
  extent elementwise = 0;  // arithmetic steps of everything else
  extent bytes       = 0;
  // of a matrix product
  extent m = 0;
  extent n = 0;
  extent k = 0;
};

/// What a machine can be asked to do over `K::steps_type`; `task.work(steps)` is its price. If the work
/// depends on numbers that are known only at run time (which gradients are wanted), `task.options()` are
/// these as bits, and `K::from_bits(options)` makes a task of the same price from them. If it needs memory of
/// its own,
/// `K::scratch(steps)` is the number of elements of `K::scratch_type`.
template<class K>
concept Task =
    TaskSteps<typename K::steps_type> && requires(K const& task, typename K::steps_type const& steps) {
      { task.work(steps) } -> std::same_as<work>;
    };

/// A task that needs memory while it runs.
template<class K>
concept NeedsScratch = Task<K> && requires(typename K::steps_type const& steps) {
  typename K::scratch_type;
  { K::scratch(steps) } -> std::same_as<extent>;
};

/// A task whose threads each need that memory: `static constexpr bool scratch_by_thread = true;`.
template<class K>
concept NeedsScratchByThread = NeedsScratch<K> && requires { requires K::scratch_by_thread; };

/// A task whose price depends on options known only at run time.
template<class K>
concept HasOptions = Task<K> && requires(K const& task) {
  { K::from_bits(task.options()) } -> std::same_as<K>;
};

namespace detail {

/// Elements of scratch memory of a task that this number of threads share.
template<NeedsScratch K>
constexpr extent scratch_elements(typename K::steps_type const& steps, int threads) {
  return K::scratch(steps) * (NeedsScratchByThread<K> ? threads : 1);
}

/// Options as bits, the first in the lowest bit, and back.
template<class... Option>
constexpr unsigned to_bits(Option... option) {
  unsigned bits = 0;
  unsigned next = 1;
  ((bits |= option ? next : 0U, next <<= 1), ...);
  return bits;
}
constexpr bool has_bit(unsigned bits, int i) { return (bits >> i & 1U) != 0; }

/// Arithmetic steps of an elementwise function: `F::flops`, or one.
template<class F>
inline constexpr extent flops_of = 1;
template<class F>
  requires requires { F::flops; }
inline constexpr extent flops_of<F> = F::flops;

/// Elements of an operand that a nest touches. Prices are seldom asked for when a program runs: then one
/// small loop serves all of them.
[[gnu::cold, gnu::noinline]] constexpr extent elements_of(nest_steps const& nest, std::size_t operand) {
  extent n = 1;
  for (int i = 0; i < nest.rank; ++i)
    if (nest.stride[operand][i] != 0) n *= nest.size[i];
  return n;
}

/// Bytes of all operands of a nest. `T...` are the operands' element types in order, the result's last.
template<class... T>
constexpr extent bytes_of_nest(nest_steps const& nest) {
  extent bytes        = 0;
  std::size_t operand = 0;
  ((bytes += elements_of(nest, operand++) * extent{sizeof(T)}), ...);
  return bytes;
}

}  // namespace detail

/// The work of calls that need no plan: they walk through whole arrays of `n` elements.
namespace work_of {

template<class F, class... P>
constexpr work transform(extent n) {
  return {.kind        = "elementwise",
          .elementwise = n * detail::flops_of<F>,
          .bytes       = n * (extent{sizeof(P)} + ... + 0)};
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

}  // namespace work_of

}  // namespace v0
}  // namespace meshtf
