// The arrays of parameters that the processes of another stage of a pipeline have.
#pragma once

#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// While it lives, the stage that has a parameter works, so what another process makes for it is absent too.
template<class Machine>
class idle_guard {
public:
  constexpr idle_guard(Machine& m, bool absent, int stage)
      : machine_(m), absent_(absent), stage_(m.stage()), idles_(m.idles()), kept_(m.keeps_tape()) {
    if (absent) m.work_on(stage, true, 0);
  }
  idle_guard(idle_guard const&)     = delete;
  void operator=(idle_guard const&) = delete;
  constexpr ~idle_guard() {
    if (!absent_) return;
    machine_.work_on(stage_, idles_, 0);
    machine_.keep_tape(kept_);
  }

private:
  Machine& machine_;
  bool absent_;
  int stage_;
  bool idles_;
  bool kept_;
};
struct nobody_idles {};

/// Errors: `software_error` while a stage works: the arrays of other stages' parameters would be missing.
template<class T, class L, class... D>
constexpr auto idle_if_absent(parameter<T, L, D...> const& w) {
  if constexpr (is_staged<L>) {
    if (w.machine().stage() >= 0)
      throw software_error(
          "an optimizer makes its arrays while a stage works: end the scope of at_stage before prepare");
    return idle_guard<machine<L>>{w.machine(), w.handle()->is_absent(), w.handle()->stage()};
  } else {
    return nobody_idles{};
  }
}

/// Whether `prepare` has something to do for `w`. Arrays of another stage's parameter are named in
/// checkpoints and have no elements; a dry run, which has no checkpoint, leaves them out.
template<class T, class L, class... D>
constexpr bool needs_arrays(parameter<T, L, D...> const& w) {
  if constexpr (is_staged<L> && !machine<L>::computes)
    return w.machine().stage() >= 0 || !w.handle()->is_absent();  // while a stage works, it is refused
  else return true;
}

/// Makes what an optimizer keeps of the parameters of other stages, so that each stage lists the same arrays
/// in a checkpoint. They have no elements here.
template<class Optimizer, class List>
constexpr void make_absent_arrays(Optimizer& opt, List const& list) {
  using first = typename first_parameter<List>::type;
  if constexpr (is_staged<typename first::layout_type> && first::machine_type::computes)
    list.for_each([&opt](auto& w) {
      if (w.handle()->is_absent()) opt.make_arrays(w);
    });
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
