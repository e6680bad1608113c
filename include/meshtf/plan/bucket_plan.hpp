// Buckets: which of many arrays go into one message.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>

#include <meshtf/core/element.hpp>
#include <meshtf/core/placed.hpp>
#include <meshtf/plan/collective.hpp>

namespace meshtf {
inline namespace v0 {

/// A larger array is sent by itself, from where it lies: copying it into a message and out again would take
/// longer than a message does. On 2 processes, 16 arrays of 32 KiB are summed in 134 us packed and in 198 us
/// one by one; of 64 KiB, in 322 and 304 us (docs/decisions/communication.md).
inline constexpr extent largest_packed = 32 * 1024;

/// A message has at most this many bytes, so that it stays in cache between packing and unpacking.
inline constexpr extent largest_bucket = 1024 * 1024;

/// The maximum number of open messages; one more closes the oldest. No program has more kinds of arrays at
/// once.
inline constexpr int max_open_messages = 8;

/// Whether an array of this number of bytes is packed with others. A longer one is worth a message of its
/// own.
constexpr bool is_packed(extent bytes) { return bytes <= largest_packed; }

/// An array that is to be sent, and its place in a message.
struct bucket_member {
  collective kind{};
  element type{};
  axis_set over      = 0;  // the axes of the collective
  axis_set unreduced = 0;  // of a gradient: the axes over which it is still a sum
  extent bytes       = 0;  // padding included

  bool leads = false;  // the first of its message
  int next   = -1;     // the number of the next in the message, or -1

  constexpr bool goes_with(bucket_member const& other) const {
    return kind == other.kind && type == other.type && over == other.over && unreduced == other.unreduced;
  }
};

/// Puts arrays into messages, in order: a small array goes into the open message of its kind, type and axes
/// until that is full; a long one is a message of its own. Returns the number of messages. The messages are
/// the same on all processes, because everything they depend on is.
template<std::derived_from<bucket_member> Member, std::size_t N>
constexpr int plan_buckets(std::span<Member, N> arrays) {
  struct bucket {
    int last     = -1;
    extent bytes = 0;
  };
  std::array<bucket, max_open_messages> open{};
  std::size_t oldest = 0;
  int messages       = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    Member& a     = arrays[i];
    a.next        = -1;
    a.leads       = true;
    bucket* found = nullptr;
    if (is_packed(a.bytes))
      for (bucket& b : open)
        if (b.last >= 0 && arrays[static_cast<std::size_t>(b.last)].goes_with(a)) found = &b;
    if (found != nullptr && found->bytes + a.bytes <= largest_bucket) {
      arrays[static_cast<std::size_t>(found->last)].next = static_cast<int>(i);
      found->last                                        = static_cast<int>(i);
      found->bytes += a.bytes;
      a.leads = false;
      continue;
    }
    ++messages;
    if (!is_packed(a.bytes)) continue;
    if (found == nullptr) found = &open[oldest++ % open.size()];
    *found = {static_cast<int>(i), a.bytes};
  }
  return messages;
}

}  // namespace v0
}  // namespace meshtf
