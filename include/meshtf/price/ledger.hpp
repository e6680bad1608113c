// The ledger: the machine of a dry layout. It stores, computes and sends nothing; it notes what that would
// cost.
#pragma once

#include <meshtf/core/threads.hpp>
#include <meshtf/plan/all_reduce_plan.hpp>
#include <meshtf/plan/packed_part.hpp>
#include <meshtf/plan/reshard/reshard_plan.hpp>
#include <meshtf/plan/work.hpp>
#include <meshtf/price/held_list.hpp>
#include <meshtf/price/machine.hpp>
#include <meshtf/price/stage_passes.hpp>

namespace meshtf {
inline namespace v0 {

/// Processes that exist only in constant evaluation. The ledger has the members of `process_mesh` that
/// operations call, and notes their price for one process.
template<Mesh M>
class ledger : public machine_base<ledger<M>, M> {
public:
  static constexpr bool computes = false;

  /// Sets the number of threads of the process.
  constexpr explicit ledger(threads t = {}) : own_(new cost<M>), cost_(own_), threads_{t.number} {
    this->begin_notes(cost_);
  }
  /// Notes in `c`, which is new: a cost holds thousands of calls, and the compiler takes long for each copy.
  constexpr ledger(threads t, cost<M>& c) : cost_(&c), threads_{t.number} { this->begin_notes(cost_); }
  constexpr ~ledger() {
    this->unwind_tape(false);
    delete own_;
  }

  /// The cost noted so far.
  constexpr cost<M> const& noted() {
    cost_->note_memory(this->live_bytes(), this->peak_bytes(), this->parameter_bytes(),
                       this->optimizer_bytes());
    held_.note(*cost_);
    return *cost_;
  }

  /// Forgets what has been noted. What lives goes on living, and the peak is counted from here.
  constexpr void start_over() {
    cost_->start_over();
    if (passes_.count > 0) passes_ = {};
    this->begin_notes(cost_);
    held_.start_over();
  }

  /// The ledger accounts for the process in the first corner of the mesh, or of a stage: all other processes
  /// of the stage cost the same.
  template<MeshAxis A>
  constexpr extent coordinate() const {
    return coordinates_[static_cast<std::size_t>(detail::number_of<A>(typename M::all_axes{}))];
  }
  /// From here on it accounts for a process of the stage number `k` along `A`.
  template<MeshAxis A>
  constexpr void stand_at(extent k) {
    coordinates_[static_cast<std::size_t>(detail::number_of<A>(typename M::all_axes{}))] = k;
  }
  constexpr extent rank_along(axis_set) const { return 0; }
  constexpr bool counts(axis_set) const { return true; }

  // ---- memory
  /// Scratch memory, which is given back before anything else is asked for.
  template<class T>
  constexpr T* take(extent n) {
    if (n == 0) return nullptr;
    this->count_bytes(n * extent{sizeof(T)});
    held_.give(held_.take(this->now(), n * extent{sizeof(T)}, this->live_bytes(), held_for::buffer));
    return nullptr;
  }
  template<class T>
  constexpr void give(T*, extent n) {
    this->count_bytes(-n * extent{sizeof(T)});
  }
  /// An array of n elements of `each` bytes, and its entry in the list of held arrays. One of another stage
  /// has none.
  constexpr void hold(extent n, extent each, held_array*& entry) {
    if (this->idles()) {
      entry = nullptr;
      return;
    }
    this->count_bytes(n * each);
    entry = held_.take(this->now(), n * each, this->live_bytes(),
                       this->now().backward ? held_for::gradient : held_for::activation);
  }
  constexpr void release(extent n, extent each, held_array* entry) {
    if (entry == nullptr) return;
    this->count_bytes(-n * each);
    held_.give(entry);
  }
  constexpr void count_parameter(extent bytes) {
    held_.name_latest(bytes, held_for::parameter);
    machine_base<ledger<M>, M>::count_parameter(bytes);
  }
  constexpr void count_optimizer_state(extent bytes) {
    held_.name_latest(bytes, held_for::optimizer_state);
    machine_base<ledger<M>, M>::count_optimizer_state(bytes);
  }

  // ---- a file for arrays that leave memory: nothing moves, and the memory is counted as a process counts it
  /// Memory for an array that comes back, which is held for what it was before.
  constexpr void hold_again(extent n, extent each, held_array*& entry) {
    held_for const purpose = entry->what;
    hold(n, each, entry);
    entry->what = purpose;
  }
  constexpr void write_out(void const*, extent bytes, detail::file_place&) { this->note_spilled(bytes); }
  constexpr void read_back(void*, extent bytes, detail::file_place&) { this->note_spilled(bytes); }
  constexpr void wait_for(detail::file_place const&) const {}
  constexpr void recall(detail::file_place const&) const {}
  constexpr void forget(detail::file_place const&) const {}

  // ---- arithmetic
  template<Task K, class... A>
  constexpr void run(K const& task, typename K::steps_type const& steps, A const&...) {
    if (this->idles()) return;
    this->note(task.work(steps));
    if constexpr (NeedsScratch<K>) {
      extent const n      = detail::scratch_elements<K>(steps, threads_);
      auto* const scratch = take<typename K::scratch_type>(n);
      give(scratch, n);
    }
  }
  template<Task K, class... A>
  constexpr void run(K const& task, uneven_steps<typename K::steps_type> const& plan, A const&... arrays) {
    if (this->idles()) return;
    if (this->counted_number() == 0) run(task, plan.fullest, arrays...);
    else run(task, plan_fullest<typename K::steps_type>(*plan.loops, this->counted()), arrays...);
  }
  template<class F, class... P>
  constexpr void transform(extent n, F const&, P*...) {
    this->note(work_of::transform<F, P...>(n));
  }
  template<class T>
  constexpr void add_up(extent n, bool, bool, T const*, T const*, T*) {
    this->note(work_of::add_up<T>(n));
  }
  template<class T>
  constexpr void fill(extent n, T, T*) {
    this->note(work_of::fill<T>(n));
  }
  template<class T>
  constexpr void copy(extent n, T const*, T*) {
    this->note(work_of::copy<T>(n));
  }
  template<class T>
  constexpr void copy_filled(extent, extent size, T const*, T*) {
    this->note(work_of::copy<T>(size));
  }

  // ---- messages
  template<class T>
  constexpr void all_reduce(reduction op, T*, extent n, axis_set over) {
    if (this->idles()) return;
    carry_out(plan_all_reduce<M>(op, n, element_of<T>, over), *this, op, static_cast<T*>(nullptr));
  }
  template<class T>
  constexpr void all_reduce_at_once(reduction op, element type, T*, extent n, axis_set over) {
    if (this->idles()) return;
    extent const wide = type == element_of<T> ? 0 : n;
    auto* const copy  = take<computed<T>>(wide);
    this->note_collective(collective::all_reduce, op, type, n, over);
    give(copy, wide);
  }
  /// One number of the first process for all.
  template<class T>
  constexpr void broadcast(T*) {
    if (joining_axes<M> != 0)
      this->note_collective(collective::broadcast, reduction::sum, element_of<T>, 1, joining_axes<M>);
  }
  template<class T>
  constexpr void reduce_scatter(reduction op, T const*, extent part, T*, axis_set over) {
    if (this->idles()) return;
    extent const extra = exchange_scratch(part, element_of<T>);
    T* const buffer    = take<T>(extra);
    this->note_collective(collective::reduce_scatter, op, element_of<T>,
                          part * processes_along(axis_sizes<M>, over), over);
    give(buffer, extra);
  }
  template<class T>
  constexpr void all_gather(T*, extent part, axis_set over) {
    this->note_collective(collective::all_gather, reduction::sum, element_of<T>, part, over);
  }
  template<class T>
  constexpr void gather_rows(std::span<packed_array<T> const>, T const*, extent n, axis_set over) {
    T* const received = take<T>(n);
    this->note_collective(collective::all_gather, reduction::sum, element_of<T>, n, over);
    give(received, n);
  }
  template<class T>
  constexpr void reduce_scatter_rows(std::span<packed_array<T const> const>, extent n, T*, axis_set over) {
    T* const buffer = take<T>(2 * n);
    this->note_collective(collective::reduce_scatter, reduction::sum, element_of<T>,
                          n * processes_along(axis_sizes<M>, over), over);
    give(buffer, 2 * n);
  }
  /// The price is that of a process which has somebody to hand to.
  template<class T>
  constexpr void exchange_with_neighbours(T const*, T*, extent n, axis_list const& over, extent, bool) {
    this->note_collective(collective::neighbours, reduction::sum, element_of<T>, n, over.set());
  }
  template<class T>
  constexpr void exchange_in_pairs(T const*, T*, extent n, axis_list const& over, extent) {
    this->note_collective(collective::permute, reduction::sum, element_of<T>, n, over.set());
  }
  template<class T>
  constexpr void exclusive_scan(reduction op, T, T*, extent n, axis_list const& over, bool) {
    if (this->idles()) return;
    T* const buffer = take<T>(n);
    this->note_collective(collective::scan, op, element_of<T>, n, over.set());
    give(buffer, n);
  }
  /// One step of a reshard other than an all-reduce: `x` has `move.send` elements, `z` has `move.result`.
  template<class T>
  constexpr void move(reshard_move const& move, T const*, T*) {
    if (this->idles()) return;
    if (move.kind == transfer_kind::slice) return;
    extent const extra = scratch_of(move, element_of<T>);
    T* const scratch   = take<T>(extra);
    this->note_collective(collective_of(move), reduction::sum, element_of<T>, move.send, move.over);
    give(scratch, extra);
  }
  template<class T>
  constexpr void unslice(reshard_move const&, T const*, T*) {}

  // ---- sums that go on while others compute
  using sum_in_flight = typename machine_base<ledger<M>, M>::begun_call;
  template<class T>
  constexpr void begin_sum(collective kind, T*, extent n, T*, axis_set over, sum_in_flight& sum) {
    this->note_collective(kind, reduction::sum, element_of<T>, n, over);
    sum = this->last_call();
  }
  template<class T>
  constexpr bool advance_sum(T*, T*, sum_in_flight&) {
    return true;
  }
  template<class T>
  constexpr void finish_sum(T*, T*, sum_in_flight& sum) {
    this->note_needed(sum);
  }

  // ---- between stages
  /// Whether a stack leaves out the blocks of other stages, and takes what they get for what they return.
  constexpr bool leaves_out_idle_blocks() const { return leaves_out_; }
  constexpr void leave_out_idle_blocks(bool yes) { leaves_out_ = yes; }
  /// A block returned what cannot be told from what it got: another stage must call it.
  constexpr void note_changing_block() { has_changing_block_ = true; }
  constexpr bool has_changing_block() const { return has_changing_block_; }
  constexpr void begin_pass(bool backward, int micro_batch) {
    machine_base<ledger<M>, M>::begin_pass(backward, micro_batch);
    passes_.note({backward, micro_batch, cost_->flops(), cost_->elementwise_bytes(), cost_->bytes_spilled(),
                  cost_->collectives().size()});
  }
  constexpr void end_passes() {
    machine_base<ledger<M>, M>::end_passes();
    passes_.note({false, -1, cost_->flops(), cost_->elementwise_bytes(), cost_->bytes_spilled(),
                  cost_->collectives().size()});
  }
  /// What had been noted when each pass began.
  constexpr stage_passes const& passes() const { return passes_; }

  struct request_type {};
  template<class T>
  constexpr void begin_handing_on(T const*, extent n, axis_set over, int, bool, request_type&) {
    this->note_collective(collective::hand_on, reduction::sum, element_of<T>, n, over);
  }
  constexpr void end_handing_on(request_type&) {}
  template<class T>
  constexpr void receive_handed_on(T*, extent, axis_set, int, bool) {}

private:
  cost<M>* own_ = nullptr;
  cost<M>* cost_;
  int threads_ = 1;
  std::array<extent, max_axes> coordinates_{};
  stage_passes passes_{};
  held_list held_{};
  bool leaves_out_         = false;
  bool has_changing_block_ = false;
};

}  // namespace v0
}  // namespace meshtf
