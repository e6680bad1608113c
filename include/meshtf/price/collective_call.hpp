// A call to MPI, as costs list it.
#pragma once

#include <meshtf/core/element.hpp>
#include <meshtf/core/mesh.hpp>
#include <meshtf/core/placed.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/reason.hpp>
#include <meshtf/price/call_site.hpp>
#include <meshtf/price/overlap.hpp>

namespace meshtf {
inline namespace v0 {

/// One call to MPI, seen by one process.
struct collective_call {
  collective kind{};
  reduction op{};  // of all_reduce and reduce_scatter
  element type{};
  axis_set over  = 0;
  extent count   = 0;  // elements of the send buffer
  extent payload = 0;  // bytes of the send buffer handed to MPI
  extent sent    = 0;  // bytes that the process sends for it, under the ring model
  call_site site{};
  collective_reason const* why = nullptr;  // if the operation gives a reason
  rounded_work since{};                    // computed since the call before this one began
  rounded_work until{};                    // ... and while this one is in flight: nothing if it blocks

  /// Equal except for the call site and for what is computed around the call.
  friend constexpr bool operator==(collective_call const& a, collective_call const& b) {
    return a.kind == b.kind && a.op == b.op && a.type == b.type && a.over == b.over && a.count == b.count &&
           a.payload == b.payload && a.sent == b.sent;
  }
};

namespace detail {

/// A collective of `count` elements over these axes, with its price, as machines note it.
template<Mesh M>
constexpr collective_call call_over(axis_set over, collective kind, reduction op, element type, extent count,
                                    call_site const& site, collective_reason const* why = nullptr) {
  extent const n       = processes_along(axis_sizes<M>, over);
  extent const bytes   = count * bytes_of(type);
  extent const payload = payload_of(kind, bytes, n);
  return {kind, op, type, over, payload / bytes_of(type), payload, sent_by_one(kind, bytes, n), site, why};
}

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
