// For tests: whether a record's price is a dry run's.
#pragma once

#include <cstddef>
#include <utility>

#include <meshtf/price/dry_run.hpp>
#include <meshtf/search/record_price.hpp>

namespace meshtf::tests {

/// All figures, and the same calls as often, in any order.
template<Mesh M>
constexpr bool same_price(cost<M> const& a, cost<M> const& b) {
  auto const times = [](cost<M> const& in, collective_call const& wanted) {
    int n = 0;
    for (auto const& c : in.collectives()) n += c == wanted ? 1 : 0;
    return n;
  };
  for (auto const& c : a.collectives())
    if (times(a, c) != times(b, c)) return false;
  return a.calls() == b.calls() && a.bytes_sent() == b.bytes_sent() && a.payload() == b.payload() &&
         a.flops() == b.flops() && a.elementwise_flops() == b.elementwise_flops() &&
         a.bytes_touched() == b.bytes_touched() && a.elementwise_bytes() == b.elementwise_bytes() &&
         a.parameter_bytes() == b.parameter_bytes() && a.optimizer_bytes() == b.optimizer_bytes() &&
         a.peak_bytes() == b.peak_bytes();
}

/// Whether the price of layout `number` is compared with a dry run: each with `tests/run --long`,
/// otherwise every second one, from the last on. A dry run of a block's step takes a compiler seconds.
constexpr bool is_compared([[maybe_unused]] std::size_t number, [[maybe_unused]] std::size_t layouts) {
#ifdef MESHTF_LONG_ZOO
  return true;
#else
  return (layouts - number) % 2 == 1;
#endif
}

template<bool Compared, auto const& Step, template<Layout> class Program, Layout L>
constexpr bool priced_as_dry_run() {
  if constexpr (Compared) return same_price(price<L>(Step), dry_run<Program, L>());
  else return true;
}

template<auto const& Step, template<Layout> class Program, Layout... L, std::size_t... I>
constexpr bool all_priced_as_dry_runs(std::index_sequence<I...>) {
  return (priced_as_dry_run<is_compared(I, sizeof...(L)), Step, Program, L>() && ...);
}

/// Whether a record's price is a dry run's under these layouts.
template<auto const& Step, template<Layout> class Program, Layout... L>
inline constexpr bool priced_as_dry_runs =
    all_priced_as_dry_runs<Step, Program, L...>(std::index_sequence_for<L...>{});

/// Which of N ranked layouts are compared with dry runs: all with `tests/run --long`, otherwise the first and
/// one of the last third.
#ifdef MESHTF_LONG_ZOO
template<std::size_t N>
using some_of = std::make_index_sequence<N>;
#else
template<std::size_t N>
using some_of = std::index_sequence<0, 2 * N / 3>;
#endif

}  // namespace meshtf::tests
