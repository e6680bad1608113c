// Cost: the communication, the work and the memory of a step on one process, as a literal value.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <span>

#include <meshtf/core/element.hpp>
#include <meshtf/core/placed.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/links.hpp>
#include <meshtf/plan/reason.hpp>
#include <meshtf/plan/work.hpp>
#include <meshtf/price/call_site.hpp>
#include <meshtf/price/collective_algorithm.hpp>
#include <meshtf/price/collective_call.hpp>
#include <meshtf/price/held.hpp>
#include <meshtf/price/machine_model.hpp>
#include <meshtf/price/overlap.hpp>

namespace meshtf {
inline namespace v0 {

/// 1024 bytes.
inline constexpr extent KiB = 1024;
/// 1024 KiB.
inline constexpr extent MiB = 1024 * KiB;
/// 1024 MiB.
inline constexpr extent GiB = 1024 * MiB;

/// Calls that are made one after the other, several times: where they begin in `collectives()`, how many they
/// are, how often they are made. The calls of an ordinary cost are one run, made once; sums and multiples of
/// costs have more runs.
struct call_run {
  std::size_t first  = 0;
  std::size_t length = 0;
  extent times       = 1;
  computed_work less{};  // with each time less is computed while a call that goes on is in flight
};

/// A local maximum of live memory: the call that asked last, how many bytes it asked for, and how many lived
/// then.
struct local_peak {
  call_site site{};
  extent bytes = 0;
  extent live  = 0;
};

namespace detail {

struct repetition;

/// What an array of a new cost is copied from. In constant evaluation, clang takes a copy in a fifth of the
/// time that thousands of constructors take, and every dry run makes a cost.
template<class T, std::size_t N>
inline constexpr std::array<T, N> empty_ones{};

}  // namespace detail

/// What a program costs one process, as predicted by `dry_run` or counted by `recorded`. Bytes are as
/// requested, before any rounding.
template<Mesh M, std::size_t Capacity = 4096>
class cost {
public:
  using mesh_type = M;

  /// Bytes that the process sends, under the ring model, for every collective whose axes include `A`; without
  /// brackets, for all collectives, each counted once.
  template<MeshAxis... A>
  constexpr extent bytes_sent() const {
    return total<A...>([](collective_call const& c) { return c.sent; });
  }

  /// Bytes of the send buffers handed to MPI for every collective whose axes include `A`; without brackets,
  /// for all collectives, each counted once.
  template<MeshAxis... A>
  constexpr extent payload() const {
    return total<A...>([](collective_call const& c) { return c.payload; });
  }

  /// How often a kind of collective is called; without brackets, all kinds. A pairwise reduce-scatter counts
  /// once.
  template<collective... Kind>
  constexpr extent calls() const {
    extent n = 0;
    for_each_collective([&n](collective_call const& c, extent times) {
      if (sizeof...(Kind) == 0 || ((c.kind == Kind) || ...)) n += times;
    });
    return n;
  }

  /// Flops of contractions: two for each multiply-add.
  constexpr extent flops() const { return flops_; }
  /// Steps of everything else: one for each arithmetic step of an elementwise function. A function like exp
  /// counts as one step.
  constexpr extent elementwise_flops() const { return elementwise_flops_; }
  /// Bytes of the arrays that kernels read and write, each counted once a pass: the least traffic between
  /// memory and processor if nothing stays in cache.
  constexpr extent bytes_touched() const { return bytes_touched_; }
  /// The part of these bytes that belongs to passes other than contractions.
  constexpr extent elementwise_bytes() const { return elementwise_bytes_; }
  /// Bytes of the arrays that leave for a file and come back, each counted once a way.
  constexpr extent bytes_spilled() const { return bytes_spilled_; }
  /// Products, passes over memory and messages: the number of things that a machine was asked to do.
  constexpr extent operations() const { return kernels_ + calls(); }
  /// Bytes of the parameters' shards.
  constexpr extent parameter_bytes() const { return parameter_bytes_; }
  /// Bytes of the optimizers' state, also where it waits in a file.
  constexpr extent optimizer_bytes() const { return optimizer_bytes_; }
  /// The most bytes that lived at once: tensors, what the tape keeps of them, gradients, optimizer state,
  /// packing and message buffers.
  constexpr extent peak_bytes() const { return peak_bytes_; }
  /// Bytes that still live at the end.
  constexpr extent live_bytes() const { return live_bytes_; }
  /// What lived at the peak of a dry run; `recorded` does not tell.
  constexpr held_at_peak const& at_peak() const { return at_peak_; }

  /// The moments of a dry run at which memory is highest, in order, the first 1024; the first of them is the
  /// start. `recorded` and sums have none.
  constexpr std::span<local_peak const> local_peaks() const { return {peaks_.data(), peak_count_}; }

  /// Every call, in order. A repeated call appears once: see `runs()`.
  constexpr std::span<collective_call const> collectives() const { return {calls_.data(), count_}; }
  /// The runs in which the calls are made.
  constexpr std::span<call_run const> runs() const { return {runs_.data(), run_count_}; }
  /// f(call, times) for every call in `collectives()`, with the number of times that its run is made.
  template<class F>
  constexpr void for_each_collective(F const& f) const {
    // not `runs()`: with -D_GLIBCXX_DEBUG g++ makes no span of a temporary's array
    for (std::size_t r = 0; r < run_count_; ++r)
      for (std::size_t i = 0; i < runs_[r].length; ++i) f(calls_[runs_[r].first + i], runs_[r].times);
  }

  /// f(call) for every call in the order in which they are made, each as often as it is made.
  template<class F>
  constexpr void for_each_call(F const& f) const {
    for (next_call c{*this}; c; ++c) c.hand_to(f);
  }

  /// Modelled seconds of the step. The model and its limits: docs/cost.md.
  ///
  /// `gathers_ahead`: the prefetch distance k of weights that are kept in parts (`kept_over`). Each gather of
  /// weights then begins where the k-th gather before it is made. Processes do not prefetch yet: it says what
  /// they would gain.
  constexpr modelled_time time(machine_model const& machine = {}, int gathers_ahead = 0) const {
    modelled_time t{.products = static_cast<double>(flops_) / machine.flops_per_second,
                    .passes   = static_cast<double>(elementwise_bytes_) / machine.memory_bytes_per_second};
    for_each_collective([&](collective_call const& c, extent times) {
      bool const slow = (c.over & axes_between_nodes<M>) != 0;
      (slow ? t.between_nodes : t.within_node) +=
          static_cast<double>(times) *
          seconds_of(c, slow ? machine.between_nodes : machine.within_node, machine);
    });
    t.note_file(bytes_spilled_, machine);
    if (overlaps_ || gathers_ahead > 0) t.hidden = detail::hidden_seconds(*this, machine, gathers_ahead);
    return t;
  }

  /// Modelled seconds of one call.
  static constexpr double seconds_of(collective_call const& c, machine_model const& machine) {
    return seconds_of(c, (c.over & axes_between_nodes<M>) != 0 ? machine.between_nodes : machine.within_node,
                      machine);
  }

  /// Equal if the calls, their order and the figures are equal. Call sites, and the bytes still alive at the
  /// end, may differ.
  friend constexpr bool operator==(cost const& a, cost const& b) {
    return a.same_calls(b) && a.figures() == b.figures();
  }

  /// The cost of both, one after the other, on the same parameters: calls, flops and bytes touched add up; of
  /// bytes held, the larger counts.
  friend constexpr cost operator+(cost const& a, cost const& b) {
    cost sum        = a;
    sum.peak_count_ = 0;
    if (a.count_ + b.count_ > Capacity || a.run_count_ + b.run_count_ > max_runs)
      throw "meshtf: this sum of costs makes more calls than cost<M> holds";
    for (std::size_t i = 0; i < b.count_; ++i) sum.calls_[a.count_ + i] = b.calls_[i];
    for (std::size_t r = 0; r < b.run_count_; ++r)
      sum.runs_[a.run_count_ + r] = {b.runs_[r].first + a.count_, b.runs_[r].length, b.runs_[r].times,
                                     b.runs_[r].less};
    sum.count_ += b.count_;
    sum.run_count_ += b.run_count_;
    sum.kernels_ += b.kernels_;
    sum.flops_ += b.flops_;
    sum.elementwise_flops_ += b.elementwise_flops_;
    sum.bytes_touched_ += b.bytes_touched_;
    sum.elementwise_bytes_ += b.elementwise_bytes_;
    sum.bytes_spilled_ += b.bytes_spilled_;
    sum.live_bytes_ = b.live_bytes_;
    sum.overlaps_   = a.overlaps_ || b.overlaps_;
    if (b.parameter_bytes_ > a.parameter_bytes_) sum.parameter_bytes_ = b.parameter_bytes_;
    if (b.optimizer_bytes_ > a.optimizer_bytes_) sum.optimizer_bytes_ = b.optimizer_bytes_;
    if (b.peak_bytes_ > a.peak_bytes_) {
      sum.peak_bytes_ = b.peak_bytes_;
      sum.at_peak_    = b.at_peak_;
    }
    return sum;
  }
  /// The cost of n times, one after the other.
  friend constexpr cost operator*(extent n, cost const& a) {
    cost product        = a;
    product.peak_count_ = 0;
    product.kernels_ *= n;
    product.flops_ *= n;
    product.elementwise_flops_ *= n;
    product.bytes_touched_ *= n;
    product.elementwise_bytes_ *= n;
    product.bytes_spilled_ *= n;
    if (n == 0) {
      product.overlaps_ = false;
      product.count_ = product.run_count_ = 0;
      return product;
    }
    if (a.run_count_ == 1) {
      product.runs_[0].times *= n;
      return product;
    }
    product.run_count_ = 0;
    for (extent k = 0; k < n; ++k)
      for (call_run const& run : a.runs()) product.note(run);
    return product;
  }

  // For machines, which note; users only read a cost.
  /// Forgets all that was noted. What the lists held stays there, and nobody reads it.
  constexpr void start_over() {
    count_ = run_count_ = 0;
    runs_               = {};
    kernels_ = flops_ = elementwise_flops_ = bytes_touched_ = elementwise_bytes_ = bytes_spilled_ = 0;
    note_memory(0, 0, 0);
    overlaps_     = false;
    at_last_call_ = {};
    at_peak_      = {};
    peak_count_   = 0;
    peaks_whole_  = true;
  }
  constexpr void note(collective_call const& call) {
    if (count_ == Capacity) throw "meshtf: this program makes more collectives than cost<M> holds (4096)";
    calls_[count_]       = call;
    calls_[count_].since = computed() - at_last_call_;
    at_last_call_        = computed();
    ++count_;
    if (run_count_ == 0) run_count_ = 1;
    ++runs_[run_count_ - 1].length;
  }
  /// A call that has begun, and goes on.
  struct begun_call {
    std::size_t number = 0;
    computed_work computed{};
  };
  /// The last call that was noted goes on, until it is handed to `note_needed`.
  constexpr begun_call last_call() const { return {count_ - 1, computed()}; }
  constexpr void note_needed(begun_call const& call) {
    if (call.number >= count_) return;  // it began before these notes
    calls_[call.number].until = computed() - call.computed;
    overlaps_                 = true;
  }
  constexpr void note(call_run const& run) {
    if (run.length == 0 || run.times == 0) return;
    if (run_count_ == max_runs) throw "meshtf: this cost has more runs of calls than cost<M> holds";
    runs_[run_count_++] = run;
  }
  constexpr void note(work const& w) {
    ++kernels_;
    flops_ += w.flops;
    elementwise_flops_ += w.elementwise;
    bytes_touched_ += w.bytes;
    if (w.flops == 0) elementwise_bytes_ += w.bytes;
  }
  constexpr void note_spilled(extent bytes) { bytes_spilled_ += bytes; }
  constexpr void note_memory(extent live, extent peak, extent parameters, extent optimizer = 0) {
    live_bytes_      = live;
    peak_bytes_      = peak;
    parameter_bytes_ = parameters;
    optimizer_bytes_ = optimizer;
  }
  constexpr void note_held(held_at_peak const& held) { at_peak_ = held; }
  /// What lived at the start is the first local peak.
  constexpr void note_start(extent live) {
    peak_count_  = 0;
    peaks_whole_ = true;
    note_local_peak({{}, 0, live});
  }
  constexpr void note_local_peak(local_peak const& p) {
    if (peak_count_ == max_peaks) return void(peaks_whole_ = false);
    peaks_[peak_count_++] = p;
  }

private:
  static constexpr std::size_t max_runs  = 64;
  static constexpr std::size_t max_peaks = 1024;

  static constexpr double seconds_of(collective_call const& c, link_model const& link,
                                     machine_model const& machine) {
    extent const n     = processes_along(axis_sizes<M>, c.over);
    bool const goes_on = !c.until.is_nothing();  // not a call to MPI: an exchange of pairs
    auto const algorithm =
        goes_on ? collective_algorithm::pairwise : algorithm_of(c.kind, c.payload, c.count, n, link, machine);
    return steps_of(algorithm, c.kind, c.payload, n).seconds(link, machine.seconds_per_byte_added);
  }

  /// Walks from call to call, each as often as it is made.
  struct next_call {
    cost const& all;
    std::size_t run      = 0;
    std::size_t position = 0;
    extent turn          = 0;

    constexpr explicit operator bool() const { return run < all.run_count_; }
    constexpr collective_call const& operator*() const { return all.calls_[all.runs_[run].first + position]; }
    template<class F>
    constexpr void hand_to(F const& f) const {
      call_run const& now = all.runs_[run];
      if (turn == 0 || now.less == computed_work{} || (**this).until.is_nothing()) return f(**this);
      collective_call call = **this;
      call.until           = call.until.whole() - turn * now.less;
      f(call);
    }
    constexpr next_call& operator++() {
      if (++position < all.runs_[run].length) return *this;
      position = 0;
      if (++turn < all.runs_[run].times) return *this;
      turn = 0;
      ++run;
      return *this;
    }
  };

  constexpr bool same_calls(cost const& b) const {
    if (calls() != b.calls()) return false;
    next_call mine{*this};
    next_call others{b};
    for (; mine; ++mine, ++others)
      if (!(*mine == *others)) return false;
    return true;
  }
  constexpr computed_work computed() const { return {flops_, elementwise_bytes_}; }
  constexpr std::array<extent, 7> figures() const {
    return {flops_,           elementwise_flops_, bytes_touched_, bytes_spilled_,
            parameter_bytes_, optimizer_bytes_,   peak_bytes_};
  }

  template<class... A, class Of>
  constexpr extent total(Of value_of) const {
    static_assert(sizeof...(A) <= 1,
                  "meshtf: a figure of cost is asked for one axis, or without brackets for all calls");
    static_assert((M::all_axes::template has<A> && ...), "meshtf: the mesh of this cost has no such axis");
    constexpr axis_set wanted = axis_set_of<M, axes<A...>>;
    extent sum                = 0;
    for_each_collective([&](collective_call const& c, extent times) {
      if (sizeof...(A) == 0 || (c.over & wanted) != 0) sum += times * value_of(c);
    });
    return sum;
  }

  std::array<collective_call, Capacity> calls_ = detail::empty_ones<collective_call, Capacity>;
  std::size_t count_                           = 0;
  std::array<call_run, max_runs> runs_{};
  std::size_t run_count_    = 0;
  extent kernels_           = 0;
  extent flops_             = 0;
  extent elementwise_flops_ = 0;
  extent bytes_touched_     = 0;
  extent elementwise_bytes_ = 0;
  extent bytes_spilled_     = 0;
  extent parameter_bytes_   = 0;
  extent optimizer_bytes_   = 0;
  extent peak_bytes_        = 0;
  extent live_bytes_        = 0;
  bool overlaps_            = false;  // whether a call goes on while the process computes
  computed_work at_last_call_{};
  held_at_peak at_peak_{};
  // of a dry run, in order; `repeat` extrapolates them
  std::array<local_peak, max_peaks> peaks_ = detail::empty_ones<local_peak, max_peaks>;
  std::size_t peak_count_                  = 0;
  bool peaks_whole_                        = true;

  friend detail::repetition;
};

}  // namespace v0
}  // namespace meshtf
