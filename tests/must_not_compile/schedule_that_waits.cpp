// error: stage_waits_for_ever<0, 1>
#include <meshtf/plan/schedule.hpp>

using meshtf::backward_pass;
using meshtf::forward_pass;

// stage 0 waits for a gradient before it sends the second micro-batch, for which stage 1 waits
struct crossed {
  template<int K, int M>
  static constexpr meshtf::schedule_table<K, M> table() {
    meshtf::schedule_table<K, M> t;
#ifdef FIXED
    t.passes = {{{{forward_pass(0), forward_pass(1), backward_pass(0), backward_pass(1)}},
#else
    t.passes = {{{{forward_pass(0), backward_pass(0), forward_pass(1), backward_pass(1)}},
#endif
                 {{forward_pass(0), forward_pass(1), backward_pass(0), backward_pass(1)}}}};
    return t;
  }
};
static_assert(meshtf::runs<crossed, 2, 2, meshtf::in_flight<1>>);
