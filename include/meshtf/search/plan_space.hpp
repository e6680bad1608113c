// The plans of a step that a search looks at: layouts, and numbers that the program is made with.
#pragma once

#include <array>
#include <utility>

#include <meshtf/core/exchange.hpp>
#include <meshtf/price/machine_model.hpp>
#include <meshtf/search/search.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

inline constexpr machine_model default_machine{};

template<class Numbers>
struct from_nothing;
template<int... K>
struct from_nothing<std::integer_sequence<int, K...>> {
  static constexpr std::array<int, sizeof...(K)> values{K...};
};

}  // namespace detail

/// The limit of a process's bytes at the peak of a step; and the machine whose seconds are to be few,
/// a constexpr object of static storage.
template<extent Bytes, machine_model const& Machine = detail::default_machine>
struct budget {
  static_assert(Bytes > 0, "meshtf: a budget is a number of bytes, as in budget<24 * GiB>");
  static constexpr extent bytes                 = Bytes;
  static constexpr machine_model const& machine = Machine;
};

/// A coordinate of a plan: how many blocks are computed again in the backward pass, 0 to `Most`. The program
/// gets the number in its constructor, as do those of the other coordinates, in the order of the space.
template<int Most>
struct recomputed_blocks : detail::from_nothing<std::make_integer_sequence<int, Most + 1>> {
  /// Each further step takes no more memory and no less time: the search halves. Of two such coordinates, so
  /// do the steps of each where the other is at its first value, and those of the second wherever the first
  /// is; steps of both need no less memory than all of the one or all of the other.
  static constexpr bool is_monotone = true;
  using dims                        = shape<>;  // that a layout splits as it splits others

  /// What a plan has of it.
  template<int K>
  struct chosen {
    static constexpr int recomputed = K;
  };
};

/// A coordinate of a plan: how many blocks leave memory for a file until the backward pass (`spill`), 0 to
/// `Most`, after those that are computed again: with 2 of these, the blocks 2, 3, ... of a model.
template<int Most>
struct spilled_blocks : detail::from_nothing<std::make_integer_sequence<int, Most + 1>> {
  static constexpr bool is_monotone = true;
  using dims                        = shape<>;

  template<int K>
  struct chosen {
    static constexpr int spilled = K;
  };
};

/// A coordinate of a plan: how many micro-batches make a step. `micro_batches_of<batch, half, quarter>`: one,
/// or those of `micro_batch<batch, half>`, or of `micro_batch<batch, quarter>`. The layout splits a dimension
/// of micro-batches as it splits the batch.
template<Dimension Batch, Dimension... Micro>
struct micro_batches_of {
  static_assert(((Batch::size % Micro::size == 0) && ...),
                "meshtf: micro-batches of one size make a batch: its size is a multiple of theirs");
  static constexpr std::array<int, sizeof...(Micro) + 1> values{
      1, static_cast<int>(Batch::size / Micro::size)...};
  static constexpr bool is_monotone = false;
  using dims                        = shape<Micro...>;

  template<int N>
  struct chosen {
    static constexpr int micro_batches = N;
  };
};

/// The plans of a search: layouts that split these dimensions, with all values of the coordinates.
///
///     using space = meshtf::plan_space<meshtf::candidates<batch, heads, hidden>,
///                                      meshtf::recomputed_blocks<6>, meshtf::micro_batches_of<batch, half>>;
///
/// A coordinate is a type with `values`, which begin with those that change nothing, `is_monotone`, `dims`
/// and `chosen`, as `recomputed_blocks` has them: yours may be others.
template<class Candidates, class... Coordinates>
struct plan_space {
  static_assert(!Candidates::are_layouts,
                "meshtf: a space of plans takes dimensions: plan_space<candidates<batch, hidden>, ...>");
};

namespace detail {

inline constexpr std::size_t max_coordinates = 4;

/// A plan in a ranking.
struct found_plan {
  std::array<std::uint8_t, max_axes> over{};  // as in `ranked_layout`
  std::array<int, max_coordinates> values{};  // of the coordinates
  double seconds = 0;                         // modelled, of one step
  extent peak    = 0;                         // bytes
};

/// The plans that a search found, best first.
struct found_plans {
  static constexpr std::size_t max_plans = 8;

  std::size_t wanted = max_plans;  // the first `wanted` are the fastest of all, the rest were met on the way
  std::array<found_plan, max_plans> plan{};
  std::size_t count = 0;
  found_plan nearest{};  // if there are none: the one that needs least memory
  bool has_nearest = false;

  constexpr bool is_full() const { return count == max_plans; }
  /// Whether a plan that takes this time or more is too slow to be among those wanted. Of plans that take as
  /// long, the one that needs less memory is better.
  constexpr bool excludes(double seconds) const {
    return count >= wanted && seconds > plan[wanted - 1].seconds;
  }
  /// Whether a plan that takes this time may be the fastest.
  constexpr bool may_be_first(double seconds) const { return count == 0 || seconds < plan[0].seconds; }

  constexpr void note(found_plan const& p) {
    if (is_full() && !is_better(p, plan[max_plans - 1])) return;
    std::size_t i = is_full() ? max_plans - 1 : count++;
    for (; i > 0 && is_better(p, plan[i - 1]); --i) plan[i] = plan[i - 1];
    plan[i] = p;
  }
  constexpr void note_nearest(found_plan const& p) {
    bool const nearer = p.peak != nearest.peak ? p.peak < nearest.peak : p.seconds < nearest.seconds;
    if (!detail::exchange(has_nearest, true) || nearer) nearest = p;
  }

private:
  static constexpr bool is_better(found_plan const& a, found_plan const& b) {
    if (a.seconds != b.seconds) return a.seconds < b.seconds;
    if (a.peak != b.peak) return a.peak < b.peak;
    return false;
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
