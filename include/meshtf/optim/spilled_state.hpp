// The arrays of an optimizer that are in the file between two updates.
#pragma once

#include <meshtf/core/exchange.hpp>
#include <meshtf/price/spilled.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// What an optimizer keeps of one parameter, as far as it can leave for the file.
struct spilled_state {
  using move = spilled_array::move;
  void (*act)(spilled_state*, move);
  spilled_state* next = nullptr;  // what was used after it
};

/// The states that come back and leave during one step: while one is used, that of the parameter before it is
/// written, and that of the one after it is read. A step that ends in an exception leaves none in memory.
class spilled_states {
public:
  using move = spilled_state::move;

  constexpr spilled_states()            = default;
  spilled_states(spilled_states const&) = delete;
  void operator=(spilled_states const&) = delete;
  constexpr ~spilled_states() {
    if (used_ == nullptr && ahead_ == nullptr && leaving_ == nullptr) return;
    try {
      if (used_ != nullptr) send_away(*used_);
      finish();
    } catch (...) {  // of the file: whoever uses the state next waits for it again, and is told
    }
  }

  constexpr void use(spilled_state& s) {
    if (used_ == &s) return s.act(&s, move::be_back);
    if (ahead_ != nullptr && ahead_ != &s) send_away(*ahead_);  // this step does not use it
    if (before_ != nullptr && before_ != &s) before_->next = &s;
    before_ = &s;
    used_   = &s;
    ahead_  = s.next;
    s.act(&s, move::begin_return);
    if (ahead_ != nullptr) ahead_->act(ahead_, move::begin_return);
    s.act(&s, move::be_back);
  }
  constexpr void send_away(spilled_state& s) {
    if (used_ == &s) used_ = nullptr;
    if (leaving_ != nullptr) leaving_->act(leaving_, move::be_gone);
    s.act(&s, move::be_back);  // if it was read ahead and not used
    s.act(&s, move::leave);
    leaving_ = &s;
  }
  /// What was used last is followed by nothing, whatever it was in another order.
  constexpr void finish() {
    if (before_ != nullptr) before_->next = nullptr;
    if (ahead_ != nullptr) send_away(*detail::exchange(ahead_, nullptr));
    if (leaving_ != nullptr) leaving_->act(leaving_, move::be_gone);
    leaving_ = nullptr;
  }
  /// The next state that is used follows none.
  constexpr void start_over() {
    finish();
    before_ = used_ = nullptr;
  }

private:
  spilled_state* before_  = nullptr;
  spilled_state* used_    = nullptr;
  spilled_state* ahead_   = nullptr;
  spilled_state* leaving_ = nullptr;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
