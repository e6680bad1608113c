// If it compiles, it passes: schedules of pipelines end, have the bubble and the memory that their papers
// say, and those that are edited wrongly are refused, with stage and turn.
#include <concepts>
#include <utility>

#include <meshtf/plan/schedule.hpp>

namespace {

using namespace meshtf;

// ---- two stages and two micro-batches, turn by turn

constexpr auto two = one_forward_one_backward::table<2, 2>();
static_assert(two.at(0, 0) == forward_pass(0) && two.at(0, 1) == forward_pass(1) &&
              two.at(0, 2) == backward_pass(0) && two.at(0, 3) == backward_pass(1));
static_assert(two.at(1, 0) == forward_pass(0) && two.at(1, 1) == backward_pass(0) &&
              two.at(1, 2) == forward_pass(1) && two.at(1, 3) == backward_pass(1));
static_assert(schedule_ticks<one_forward_one_backward, 2, 2> == 6 && schedule_ticks<gpipe, 2, 2> == 6);

// ---- what the papers say

template<int K, int M, int... Stage>
constexpr bool as_in_papers(std::integer_sequence<int, Stage...>) {
  static_assert(runs<gpipe, K, M> && runs<one_forward_one_backward, K, M>);
  static_assert(schedule_ticks<gpipe, K, M> == 2 * (M + K - 1));  // a bubble of (K - 1) / (M + K - 1)
  static_assert(schedule_ticks<one_forward_one_backward, K, M> == 2 * (M + K - 1));
  return ((held_micro_batches<gpipe, K, M, Stage> == M &&
           held_micro_batches<one_forward_one_backward, K, M, Stage> == (K - Stage < M ? K - Stage : M)) &&
          ...);
}
template<int K, int... M>
constexpr bool for_stages(std::integer_sequence<int, M...>) {
  return (as_in_papers<K, M + 1>(std::make_integer_sequence<int, K>{}) && ...);
}
static_assert(for_stages<1>(std::make_integer_sequence<int, 4>{}));
static_assert(for_stages<2>(std::make_integer_sequence<int, 9>{}));
static_assert(for_stages<3>(std::make_integer_sequence<int, 9>{}));
static_assert(for_stages<4>(std::make_integer_sequence<int, 16>{}));
static_assert(for_stages<8>(std::make_integer_sequence<int, 16>{}));

// ---- edited tables

template<int Stage, int Turn, class S = one_forward_one_backward>
struct swapped {  // this turn and the next
  template<int K, int M>
  static constexpr schedule_table<K, M> table() {
    auto t = S::template table<K, M>();
    std::swap(t.at(Stage, Turn), t.at(Stage, Turn + 1));
    return t;
  }
};
template<class S, class Expected, int K = 4, int M = 8>
inline constexpr bool refused = std::same_as<schedule_verdict<S, K, M>, Expected> && !runs<S, K, M>;

static_assert(refused<swapped<3, 0>, backward_comes_before_forward<3, 0>>);
static_assert(refused<swapped<0, 0>, receives_another_micro_batch<1, 0>>);  // a receive waits for a later one
static_assert(refused<swapped<1, 8, gpipe>, backward_is_out_of_order<1, 8>>);
static_assert(runs<swapped<3, 1>, 4, 8>);  // it holds one more, and ends

struct again {
  template<int K, int M>
  static constexpr schedule_table<K, M> table() {
    auto t     = gpipe::table<K, M>();
    t.at(2, 1) = forward_pass(0);
    return t;
  }
};
static_assert(refused<again, pass_is_not_due<2, 1>>);
struct beyond {
  template<int K, int M>
  static constexpr schedule_table<K, M> table() {
    auto t     = gpipe::table<K, M>();
    t.at(2, 1) = forward_pass(M);
    return t;
  }
};
static_assert(refused<beyond, pass_is_not_due<2, 1>>);

// Each stage waits for what the other does next.
struct crossed {
  template<int K, int M>
  static constexpr schedule_table<K, M> table() {
    schedule_table<K, M> t;
    t.passes = {{{{forward_pass(0), backward_pass(0), forward_pass(1), backward_pass(1)}},
                 {{forward_pass(0), forward_pass(1), backward_pass(0), backward_pass(1)}}}};
    return t;
  }
};
static_assert(refused<crossed, stage_waits_for_ever<0, 1>, 2, 2>);

// Stage 0 wants to send a fourth micro-batch before it receives a gradient, stage 1 a second gradient before
// it receives a third micro-batch: that takes two messages in flight.
struct far_ahead {
  template<int K, int M>
  static constexpr schedule_table<K, M> table() {
    schedule_table<K, M> t = gpipe::table<K, M>();
    t.passes[1] = {{forward_pass(0), forward_pass(1), backward_pass(0), backward_pass(1), forward_pass(2),
                    forward_pass(3), backward_pass(2), backward_pass(3)}};
    return t;
  }
};
static_assert(refused<far_ahead, stage_waits_for_ever<0, 3>, 2, 4>);
static_assert(runs<far_ahead, 2, 4, in_flight<2>>);
static_assert(held_micro_batches<far_ahead, 2, 4, 0> == 4 && held_micro_batches<far_ahead, 2, 4, 1> == 2);

}  // namespace
