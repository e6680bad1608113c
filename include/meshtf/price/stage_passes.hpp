// The passes of one stage of a pipeline, in the order in which it made them.
#pragma once

#include <array>
#include <cstddef>

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {

/// What a process had done when it began a pass; `micro_batch` is -1 where the passes of an `accumulate` end.
struct pass_begin {
  bool backward            = false;
  int micro_batch          = -1;
  extent flops             = 0;
  extent elementwise_bytes = 0;
  extent bytes_spilled     = 0;
  std::size_t calls        = 0;

  friend constexpr bool operator==(pass_begin const&, pass_begin const&) = default;
};

/// The passes of a stage in a step, each `accumulate` with its end after its last one.
struct stage_passes {
  static constexpr std::size_t max_count = 514;  // 256 micro-batches

  std::array<pass_begin, max_count> begins{};
  std::size_t count = 0;

  constexpr void note(pass_begin const& p) {
    if (count == max_count) throw "meshtf: the price of a step has the passes of at most 256 micro-batches";
    begins[count++] = p;
  }
  constexpr pass_begin const& operator[](std::size_t i) const { return begins[i]; }

  friend constexpr bool operator==(stage_passes const&, stage_passes const&) = default;
};

}  // namespace v0
}  // namespace meshtf
