// Transform: one functor over contiguous arrays, changed in place.
#pragma once

#include <tuple>
#include <type_traits>

#include <meshtf/core/function.hpp>
#include <meshtf/kernel/blocks.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/kernel/whole_arrays.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

namespace detail {

/// A batch of the array at `from`; const if the array is.
template<class Lanes, class P>
using batch_of = std::conditional_t<std::is_const_v<P>, typename Lanes::batch const, typename Lanes::batch>;

/// A piece of an array of narrow elements, widened; it is rounded and stored unless the array is const.
template<class P>
class widened_array {
  using wide = computed<std::remove_const_t<P>>;
  block_buffer<wide> copy_;

public:
  auto* fetch(extent n, P const* from) {
    widen(n, from, copy_.element.data());
    if constexpr (std::is_const_v<P>) return static_cast<wide const*>(copy_.element.data());
    else return copy_.element.data();
  }
  void store(extent n, P* to) const {
    if constexpr (!std::is_const_v<P>) narrow(n, copy_.element.data(), to);
  }
};

/// `transform` on the thread that calls it.
template<class Arch, class F, class P, class... Q>
void transform_some(extent n, F f, P* p, Q*... q) {
  if constexpr (NarrowElement<std::remove_const_t<P>>) {
    std::tuple<widened_array<P>, widened_array<Q>...> pieces;
    for (extent position = 0; position < n; position += block_elements) {
      extent const some = std::min(n - position, block_elements);
      std::apply(
          [&](auto& first, auto&... more) {
            transform_some<Arch>(some, f, first.fetch(some, p + position), more.fetch(some, q + position)...);
            first.store(some, p + position), (more.store(some, q + position), ...);
          },
          pieces);
    }
  } else if constexpr (Vectorised<F>) {
    using lanes            = kernel::lanes<std::remove_const_t<P>, Arch>;
    constexpr extent width = lanes::width;
    auto const store       = []<class X>(auto const& batch, X* to, extent count) {
      if constexpr (!std::is_const_v<X>) {
        if (count == width) lanes::store(batch, to);
        else store_first<lanes>(batch, to, count);
      }
    };
    extent i = 0;
    for (; i + width <= n; i += width)
      [&](batch_of<lanes, P> x, batch_of<lanes, Q>... y) {
        f(x, y...);
        store(x, p + i, width), (store(y, q + i, width), ...);
      }(lanes::load(p + i), lanes::load(q + i)...);
    if (extent const left = n - i; left > 0)
      [&](batch_of<lanes, P> x, batch_of<lanes, Q>... y) {
        f(x, y...);
        store(x, p + i, left), (store(y, q + i, left), ...);
      }(load_first<lanes>(p + i, left), load_first<lanes>(q + i, left)...);
  } else {
    for (extent i = 0; i < n; ++i) f(p[i], q[i]...);
  }
}

/// `transform` on all threads: a function of its own, as `map_parts`.
template<class Arch, class F, class P, class... Q>
[[gnu::noinline]] void transform_parts(extent n, F f, P* p, Q*... q) {
  parallel_for(n, block_elements, n, [&](extent begin, extent end) {
    transform_some<Arch>(end - begin, f, p + begin, (q + begin)...);
  });
}

}  // namespace detail

/// Calls f(a, b, ...) with references to the i-th elements of `p...`, for i < n; elements of const arrays are
/// read-only. With `F::vectorised` they are batches. Arrays may not overlap. Threads share the elements, if
/// the functor may be called by several.
template<class Arch = default_arch, class F, class P, class... Q>
  requires(std::same_as<std::remove_const_t<P>, std::remove_const_t<Q>> && ...)
void transform(extent n, F f, P* p, Q*... q) {
  if constexpr (ParallelFunction<F>)
    if (n >= worth_dividing && thread_count() > 1) return detail::transform_parts<Arch>(n, f, p, q...);
  detail::transform_some<Arch>(n, f, p, q...);
}

template<class F, class... P>
void update(extent n, F const& f, P*... p) {
  transform(n, f, p...);
}

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
