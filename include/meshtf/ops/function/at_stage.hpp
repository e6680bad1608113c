// at_stage: what one stage of a pipeline does alone.
#pragma once

#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// From here on the stage number `k` works on a program under `L`.
template<Layout L>
constexpr void work_on_stage(machine<L>& m, int k) {
  m.work_on(k, m.template coordinate<stage_axis<L>>() != k, stage_axes<L>);
}

/// Stages are cut where a function is not: it is computed again, or has a gradient of its own.
[[noreturn]] void throw_stage_ends_in_function(char const* function);

#if MESHTF_DEFINES_RUNTIME

[[noreturn]] MESHTF_DEFINE void throw_stage_ends_in_function(char const* function) {
  throw software_error(std::string{"hand_on in a function that "} + function +
                       " calls: its backward pass would be on two stages; put " + function +
                       " between the stages");
}

#endif

}  // namespace detail

/// While it lives, stage `k` of a pipeline works: the processes of other stages allocate, compute and send
/// nothing. Under a layout without stages it does nothing.
///
///     {
///       auto const here = meshtf::at_stage<L>(m, 0);
///       tokens.emplace_back(m, meshtf::normal{1});   // only stage 0 has these parameters
///     }
///
/// Errors: `software_error` if there is no stage `k`.
template<Layout L>
class at_stage {
public:
  constexpr at_stage(machine<L>& m, extent k)
      : machine_(m), stage_(m.stage()), idles_(m.idles()), over_(m.stages_over()) {
    if constexpr (is_staged<L>) {
      if (k < 0 || k >= stage_count<L>)
        throw software_error("expected a stage from 0 to " + std::to_string(stage_count<L> - 1) + ", got " +
                             std::to_string(k));
      detail::work_on_stage<L>(m, static_cast<int>(k));
    }
  }
  at_stage(at_stage const&)       = delete;
  void operator=(at_stage const&) = delete;
  constexpr ~at_stage() {
    if constexpr (is_staged<L>) machine_.work_on(stage_, idles_, over_);
  }

private:
  machine<L>& machine_;
  int stage_;
  bool idles_;
  axis_set over_;
};

}  // namespace v0
}  // namespace meshtf
