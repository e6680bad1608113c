// Cost: what a step sends, computes and holds on one process, as a literal value.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <span>

#include <meshtf/core/element.hpp>
#include <meshtf/core/placed.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/work.hpp>

namespace meshtf::inline v0 {

inline constexpr extent KiB = 1024;
inline constexpr extent MiB = 1024 * KiB;
inline constexpr extent GiB = 1024 * MiB;

/// Where a collective or an allocation comes from: the operation and the line that called it. An operator can't take a location, so it has its name only.
struct call_site {
  char const* operation = "";
  std::source_location at{};
  bool backward = false;  // in the operation's gradient

  constexpr bool has_line() const { return at.line() != 0; }
};

/// One call to MPI, seen by one process.
struct collective_call {
  collective kind{};
  reduction how{};  // of all_reduce and reduce_scatter
  element type{};
  axis_set over  = 0;
  extent count   = 0;  // elements of the send buffer
  extent payload = 0;  // bytes of the send buffer handed to MPI
  extent sent    = 0;  // bytes that the process sends for it, under the ring model
  call_site site{};

  /// Alike but for the call site.
  friend constexpr bool operator==(collective_call const& a, collective_call const& b) {
    return a.kind == b.kind && a.how == b.how && a.type == b.type && a.over == b.over && a.count == b.count && a.payload == b.payload &&
           a.sent == b.sent;
  }
};

/// What a program costs one process: promised by `dry_run`, counted by `recorded`. Bytes are those requested, before any rounding.
template<Mesh M, std::size_t Capacity = 4096>
class cost {
public:
  /// Bytes that the process sends, under the ring model, for every collective whose axes include `A`; without brackets, for all of them, each once.
  template<MeshAxis... A>
  constexpr extent bytes_sent() const {
    return total<A...>([](collective_call const& c) { return c.sent; });
  }

  /// Bytes of the send buffers handed to MPI, for every collective whose axes include `A`; without brackets, for all of them, each once.
  template<MeshAxis... A>
  constexpr extent payload() const {
    return total<A...>([](collective_call const& c) { return c.payload; });
  }

  /// How often a kind of collective is called; without brackets, any kind. A pairwise reduce-scatter counts once.
  template<collective... Kind>
  constexpr extent calls() const {
    extent n = 0;
    for (auto const& c : collectives())
      if (sizeof...(Kind) == 0 || ((c.kind == Kind) || ...)) ++n;
    return n;
  }

  /// Of contractions: two for each multiply-add.
  constexpr extent flops() const { return flops_; }
  /// Of everything else: one for each arithmetic step of an elementwise function, a function like exp counting as one.
  constexpr extent elementwise_flops() const { return elementwise_flops_; }
  /// Of the arrays that kernels read and write, each counted once a pass: the least that travels between memory and processor where nothing stays in cache.
  constexpr extent bytes_touched() const { return bytes_touched_; }
  /// Of the parameters' shards.
  constexpr extent parameter_bytes() const { return parameter_bytes_; }
  /// The most that lived at once: tensors, what the tape keeps of them, gradients, optimizer state, packing and message buffers.
  constexpr extent peak_bytes() const { return peak_bytes_; }
  /// What still lives at the end.
  constexpr extent live_bytes() const { return live_bytes_; }

  /// Every call, in order.
  constexpr std::span<collective_call const> collectives() const { return {calls_.data(), count_}; }

  /// The same calls in the same order and the same figures; call sites, and what is kept alive at the end, may differ.
  friend constexpr bool operator==(cost const& a, cost const& b) {
    if (a.count_ != b.count_) return false;
    for (std::size_t i = 0; i < a.count_; ++i)
      if (!(a.calls_[i] == b.calls_[i])) return false;
    return a.flops_ == b.flops_ && a.elementwise_flops_ == b.elementwise_flops_ && a.bytes_touched_ == b.bytes_touched_ &&
           a.parameter_bytes_ == b.parameter_bytes_ && a.peak_bytes_ == b.peak_bytes_;
  }

  // What a machine notes. Not for users: a cost is read.
  constexpr void note(collective_call const& call) {
    if (count_ == Capacity) throw "meshtf: this program makes more collectives than cost<M> holds (4096)";
    calls_[count_++] = call;
  }
  constexpr void note(work const& w) {
    flops_ += w.flops;
    elementwise_flops_ += w.elementwise;
    bytes_touched_ += w.bytes;
  }
  constexpr void note_memory(extent live, extent peak, extent parameters) {
    live_bytes_      = live;
    peak_bytes_      = peak;
    parameter_bytes_ = parameters;
  }

private:
  template<class... A, class Of>
  constexpr extent total(Of of) const {
    static_assert(sizeof...(A) <= 1, "meshtf: a figure of cost is asked for one axis, or without brackets for all calls");
    static_assert((M::all_axes::template has<A> && ...), "meshtf: the mesh of this cost has no such axis");
    constexpr axis_set wanted = axis_set_of<M, axes<A...>>;
    extent sum                = 0;
    for (auto const& c : collectives())
      if (sizeof...(A) == 0 || (c.over & wanted) != 0) sum += of(c);
    return sum;
  }

  std::array<collective_call, Capacity> calls_{};
  std::size_t count_        = 0;
  extent flops_             = 0;
  extent elementwise_flops_ = 0;
  extent bytes_touched_     = 0;
  extent parameter_bytes_   = 0;
  extent peak_bytes_        = 0;
  extent live_bytes_        = 0;
};

}  // namespace meshtf::inline v0
