// A stack for the handlers of signals on the thread that computes.
#pragma once

#include <array>

#include <signal.h>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// While it lives, handlers with SA_ONSTACK run on a stack of their own on this thread, unless they already
/// do.
///
/// A handler on the thread's stack is not safe: oneDNN's matrix products keep their stack pointer inside an
/// array of the heap, so that it overwrites what lies before it (seen with oneDNN 2.7;
/// docs/troubleshooting.md).
class handler_stack {
public:
  handler_stack() {
    if (sigaltstack(nullptr, &before_) != 0 || (before_.ss_flags & SS_DISABLE) == 0) return;
    stack_t own{};
    own.ss_sp   = bytes_.data();
    own.ss_size = bytes_.size();
    is_ours_    = sigaltstack(&own, nullptr) == 0;
  }
  ~handler_stack() {
    if (is_ours_) sigaltstack(&before_, nullptr);
  }
  handler_stack(handler_stack const&)  = delete;
  void operator=(handler_stack const&) = delete;

private:
  stack_t before_{};
  bool is_ours_ = false;
  std::array<char, 1 << 16> bytes_;  // the registers of AVX-512 and AMX take 12 KiB
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
