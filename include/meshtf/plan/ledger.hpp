// The ledger: the machine of a dry layout. Nothing is stored, computed or sent; what it would cost is noted.
#pragma once

#include <meshtf/core/distribution.hpp>
#include <meshtf/plan/machine.hpp>
#include <meshtf/plan/nest.hpp>
#include <meshtf/plan/price/held_list.hpp>
#include <meshtf/plan/price/links.hpp>
#include <meshtf/plan/reshard/reshard_plan.hpp>
#include <meshtf/plan/work.hpp>

namespace meshtf::inline v0 {

/// Processes that exist only in constant evaluation. It has the members of `process_mesh` that operations call, and notes their price for one process.
template<Mesh M>
class ledger : public accounts<ledger<M>, M> {
public:
  static constexpr bool computes = false;

  constexpr ledger() { this->begin_notes(&cost_); }
  constexpr ~ledger() { this->unwind_tape(false); }

  /// What has been noted so far.
  constexpr cost<M> noted() {
    cost_.note_memory(this->live_bytes(), this->peak_bytes(), this->parameter_bytes(), this->optimizer_bytes());
    held_.note(cost_);
    return cost_;
  }

  /// Forgets what has been noted; what lives goes on living, and the peak is counted from here.
  constexpr void start_over() {
    cost_ = {};
    this->begin_notes(&cost_);
    held_.start_over();
  }

  /// The ledger keeps the books of the process in the first corner of the mesh; all others' are the same.
  template<MeshAxis A>
  constexpr extent coordinate() const {
    return 0;
  }
  constexpr extent rank_along(axis_set) const { return 0; }
  constexpr bool counts(axis_set) const { return true; }

  // ---- memory
  /// Scratch: given back before anything else is asked for.
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
  /// An array, and its entry in the list of what is held.
  template<class T>
  constexpr T* take(extent n, held_array*& entry) {
    this->count_bytes(n * extent{sizeof(T)});
    entry = held_.take(this->now(), n * extent{sizeof(T)}, this->live_bytes(), this->now().backward ? held_for::gradient : held_for::activation);
    return nullptr;
  }
  template<class T>
  constexpr void give(T* p, extent n, held_array* entry) {
    give(p, n);
    held_.give(entry);
  }
  constexpr void count_parameter(extent bytes) {
    held_.name_latest(bytes, held_for::parameter);
    accounts<ledger<M>, M>::count_parameter(bytes);
  }
  constexpr void count_optimizer_state(extent bytes) {
    held_.name_latest(bytes, held_for::optimizer_state);
    accounts<ledger<M>, M>::count_optimizer_state(bytes);
  }
  /// Handles' counts, slots and tape entries: not part of the price.
  template<class T, class... A>
  constexpr T* create(A&&... arguments) {
    return new T{std::forward<A>(arguments)...};
  }
  template<class T>
  constexpr void destroy(T* p) {
    delete p;
  }
  template<class T>
  constexpr T* create_array(std::size_t n) {
    return new T[n]{};
  }
  template<class T>
  constexpr void destroy_array(T* p, std::size_t) {
    delete[] p;
  }

  // ---- arithmetic
  template<class F, class R, class... T>
  constexpr void map(nest_steps const& steps, F const&, R*, T const*...) {
    this->note(work_of::map<F, R, T...>(steps));
  }
  template<reduction Op, class F, class R, class... T>
  constexpr void reduce(nest_steps const& steps, F const&, R*, T const*...) {
    this->note(work_of::reduce<F, R, T...>(steps));
  }
  template<class T>
  constexpr void contract(contraction_steps const& steps, T const*, T const*, T*) {
    this->note(work_of::contract<T>(steps));
    T* const scratch = take<T>(steps.scratch);
    give(scratch, steps.scratch);
  }
  template<class T>
  constexpr void attend(attention_steps const& steps, double, T const*, T const*, T const*, T*, T*) {
    this->note(work_of::attend<T>(steps));
    extent const n   = attention_scratch(steps);
    T* const scratch = take<T>(n);
    give(scratch, n);
  }
  template<class T>
  constexpr void attention_gradient(attention_steps const& steps, attention_wishes const& wants, double, attention_gradient_arrays<T> const&) {
    this->note(work_of::attention_gradient<T>(steps, wants));
    extent const n   = attention_gradient_scratch(steps);
    T* const scratch = take<T>(n);
    give(scratch, n);
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
  template<class T, class Distribution>
  constexpr void draw(std::span<placed const> dims, Distribution const&, T*) {
    this->note(work_of::draw<T>(dims));
  }
  template<class T>
  constexpr void pick(line_steps const& lines, T const*, std::int32_t const*, T*) {
    this->note(work_of::pick<T>(lines));
  }
  template<class T>
  constexpr void pick_gradient(line_steps const& lines, T, T const*, std::int32_t const*, T*) {
    this->note(work_of::pick_gradient<T>(lines));
  }
  template<class T>
  constexpr void gather_rows(line_steps const& lines, extent ids, T const*, std::int32_t const*, T*) {
    this->note(work_of::gather_rows<T>(lines, ids));
  }
  template<class T>
  constexpr void scatter_rows(line_steps const& lines, extent ids, T const*, std::int32_t const*, T*) {
    this->note(work_of::scatter_rows<T>(lines, ids));
  }
  template<class T>
  constexpr void iota(line_steps const& lines, T*) {
    this->note(work_of::iota<T>(lines));
  }
  template<class T>
  constexpr void argmax(line_steps const& lines, T const*, T*, std::int32_t*) {
    this->note(work_of::argmax<T>(lines));
  }
  template<class T>
  constexpr void forget_smaller(extent n, T const*, T const*, std::int32_t*) {
    this->note(work_of::forget_smaller<T>(n));
  }

  // ---- normalisation, dropout and fused passes
  template<class T>
  constexpr void normalise(norm_steps const& steps, double, norm_arrays<T> const&, bool adds) {
    this->note(work_of::normalise<T>(steps, adds));
  }
  template<class T>
  constexpr void row_moments(norm_steps const& steps, norm_arrays<T> const&, double*, bool adds) {
    this->note(work_of::row_moments<T>(steps, adds));
  }
  template<class T>
  constexpr void normalise_by(norm_steps const& steps, double, double const*, norm_arrays<T> const&) {
    this->note(work_of::normalise_by<T>(steps));
  }
  template<class T>
  constexpr void norm_gradient(norm_steps const& steps, norm_wishes const& wants, norm_gradient_arrays<T> const&) {
    this->note(work_of::norm_gradient<T>(steps, wants));
  }
  template<class T>
  constexpr void norm_gradient_sums(norm_steps const& steps, norm_wishes const& wants, norm_gradient_arrays<T> const&, T*) {
    this->note(work_of::norm_gradient_sums<T>(steps, wants));
  }
  template<class T>
  constexpr void norm_gradient_by(norm_steps const& steps, norm_wishes const& wants, T const*, norm_gradient_arrays<T> const&) {
    this->note(work_of::norm_gradient_by<T>(steps, wants));
  }
  template<class F, class T>
  constexpr void map_rows_and_sum(extent rows, extent n, F const&, T const*, T const*, T const*, T*, T*) {
    this->note(work_of::map_rows_and_sum<F, T>(rows, n));
  }
  template<class T>
  constexpr void drop(std::span<placed const>, random_key, double, extent n, T const*, T*) {
    this->note(work_of::drop<T>(n));
  }

  // ---- messages
  template<class T>
  constexpr void all_reduce(reduction how, T*, extent n, axis_set over) {
    if (over == 0) return;
    if (auto const sum = by_link<M>(over); reduces_by_nodes(n, extent{sizeof(T)}, sum.processes, sum.nodes)) {
      extent const part = n / sum.processes;
      reduce_scatter<T>(how, nullptr, part, nullptr, sum.within);
      all_reduce<T>(how, nullptr, part, sum.between);
      return all_gather<T>(nullptr, part, sum.within);
    }
    extent const processes = processes_along(axis_sizes<M>, over);
    if (!reduces_in_parts(n, extent{sizeof(T)}, processes)) return this->note_collective(collective::all_reduce, how, element_of<T>, n, over);
    extent const part = n / processes;
    reduce_scatter<T>(how, nullptr, part, nullptr, over);
    all_gather<T>(nullptr, part, over);
  }
  template<class T>
  constexpr void reduce_scatter(reduction how, T const*, extent part, T*, axis_set over) {
    extent const extra = exchange_piece(part, extent{sizeof(T)});
    T* const buffer    = take<T>(extra);
    this->note_collective(collective::reduce_scatter, how, element_of<T>, part * processes_along(axis_sizes<M>, over), over);
    give(buffer, extra);
  }
  template<class T>
  constexpr void all_gather(T*, extent part, axis_set over) {
    this->note_collective(collective::all_gather, reduction::sum, element_of<T>, part, over);
  }
  /// One step of a reshard that is no all-reduce: `x` has `move.send` elements, `z` has `move.result`.
  template<class T>
  constexpr void move(reshard_move const& move, T const*, T*) {
    if (move.what == transfer_kind::slice) return;
    extent const extra = scratch_of(move, extent{sizeof(T)});
    T* const scratch   = take<T>(extra);
    this->note_collective(collective_of(move), reduction::sum, element_of<T>, move.send, move.over);
    give(scratch, extra);
  }
  template<class T>
  constexpr void unslice(reshard_move const&, T const*, T*) {}

private:
  cost<M> cost_{};
  held_list held_{};
};

}  // namespace meshtf::inline v0
