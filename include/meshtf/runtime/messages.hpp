// The messages of a process mesh: the position of a process, its communicators, and its collectives.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <boost/hana/at_key.hpp>
#include <boost/hana/map.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/type.hpp>
#include <boost/mpi/communicator.hpp>

#include <meshtf/core/error.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/kernel/kernels.hpp>
#include <meshtf/plan/all_reduce_plan.hpp>
#include <meshtf/plan/reshard/moves.hpp>
#include <meshtf/price/machine.hpp>
#include <meshtf/runtime/agreements.hpp>
#include <meshtf/runtime/carry_out.hpp>
#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/exchanged_sum.hpp>
#include <meshtf/runtime/observer.hpp>
#include <meshtf/runtime/packed_rows.hpp>
#include <meshtf/runtime/point_to_point.hpp>
#include <meshtf/runtime/process_in_mesh.hpp>
#include <meshtf/runtime/scratch_memory.hpp>

namespace meshtf {
inline namespace v0 {

/// The part of `process_mesh` that communicates with other processes. `Self` is the mesh; it lends buffers.
template<class Self, Mesh M>
class messages : public agreements<Self, M> {
public:
  using process_in_mesh::along;
  using process_in_mesh::counts;

  /// The coordinate of this process along the axis `A`.
  template<MeshAxis A>
  extent coordinate() const {
    static_assert(M::all_axes::template has<A>, "meshtf: this mesh has no such axis");
    return coordinates_[static_cast<std::size_t>(detail::number_of<A>(typename M::all_axes{}))];
  }
  place_in_mesh place() const { return {coordinates_, axis_sizes<M>}; }

  /// The processes that differ from this one along `A` alone.
  template<MeshAxis A>
  boost::mpi::communicator const& along() const {
    static_assert(M::all_axes::template has<A>, "meshtf: this mesh has no such axis");
    return *along_each(typename M::all_axes{})[hana::type_c<A>];
  }

  // ---- collectives

  template<class T>
  void all_reduce(reduction op, T* data, extent n, axis_set over) {
    if (this->idles()) return;
    carry_out(plan_all_reduce<M>(op, n, element_of<T>, over), *this, op, data);
  }
  /// One call of an all-reduce. Elements of a wider `type` travel if T is narrow.
  template<class T>
  void all_reduce_at_once(reduction op, element type, T* data, extent n, axis_set over) {
    if constexpr (NarrowElement<T>)
      if (type != element_of<T>) return add_up_widened(data, n, over);
    auto const span = begin_collective<T>(collective::all_reduce, op, n, over);
    meshtf::all_reduce(along(over), op, data, n);
  }

  /// All processes get the number of the first.
  template<class T>
  void broadcast(T* number) {
    if (this->idles()) return;
    if (joining_axes<M> == 0) return;
    auto const span = begin_collective<T>(collective::broadcast, reduction::sum, 1, joining_axes<M>);
    meshtf::broadcast(along(joining_axes<M>), number, 1, 0);
  }

  /// Along `over` there is a part of `part` elements for each process. `sum` gets this process's own part,
  /// joined over the processes; it may be that part itself.
  template<class T>
  void reduce_scatter(reduction op, T const* parts, extent part, T* sum, axis_set over) {
    if (this->idles()) return;
    extent const extra = exchange_scratch(part, element_of<T>);
    auto const span    = begin_collective<T>(collective::reduce_scatter, op,
                                             part * processes_along(axis_sizes<M>, over), over);
    detail::scratch_memory<T, Self> const buffer{self(), extra};
    meshtf::reduce_scatter(along(over), op, parts, part, buffer.data(), sum);
  }
  /// In place: each process along `over` knows its own part of `part` elements of `whole`; afterwards all
  /// know all parts.
  template<class T>
  void all_gather(T* whole, extent part, axis_set over) {
    if (this->idles()) return;
    auto const span = begin_collective<T>(collective::all_gather, reduction::sum, part, over);
    all_gather_in_place(along(over), whole, part);
  }

  /// Gathers the `n` elements of each process along `over`, in the order of ranks.
  template<class T>
  void gather_parts(T const* part, extent n, T* whole, axis_set over) {
    if (this->idles()) return;
    auto const span = begin_collective<T>(collective::all_gather, reduction::sum, n, over);
    meshtf::all_gather(along(over), part, n, whole);
  }

  /// Gathers several arrays, of which this process has the row `own` of n elements.
  template<class T>
  void gather_rows(std::span<packed_array<T> const> arrays, T const* own, extent n, axis_set over) {
    if (this->idles()) return;
    auto const span = begin_collective<T>(collective::all_gather, reduction::sum, n, over);
    detail::scratch_memory<T, Self> const received{self(), n};
    meshtf::gather_rows(along(over), arrays, own, n, received.data());
  }
  /// `sum` gets this process's row of several arrays, added up.
  template<class T>
  void reduce_scatter_rows(std::span<packed_array<T const> const> arrays, extent n, T* sum, axis_set over) {
    if (this->idles()) return;
    auto const span = begin_collective<T>(collective::reduce_scatter, reduction::sum,
                                          n * processes_along(axis_sizes<M>, over), over);
    detail::scratch_memory<T, Self> const buffer{self(), 2 * n};
    meshtf::reduce_scatter_rows(along(over), arrays, n, buffer.data(), sum);
  }

  /// A dimension is split over the axes `over`. Each process hands the n elements at `x` to the one whose
  /// part comes `by` parts after its own (before it, if `by` is negative), and gets into `z` what comes from
  /// the other side. Where nothing comes from, z stays as it was. If `wraps`, the last part is followed by
  /// the first.
  template<class T>
  void exchange_with_neighbours(T const* x, T* z, extent n, axis_list const& over, extent distance,
                                bool wraps) {
    if (this->idles()) return;
    auto const span = begin_collective<T>(collective::neighbours, reduction::sum, n, over.set());
    meshtf::exchange_with_neighbours(along(over.set()), x, neighbour(over, distance, wraps), z,
                                     neighbour(over, -distance, wraps), n);
  }

  /// A dimension is split over the axes `over`, into a power of two of parts. Each process and the one whose
  /// part has another bit `distance` in its number send each other the n elements at `x`; they arrive at `z`.
  template<class T>
  void exchange_in_pairs(T const* x, T* z, extent n, axis_list const& over, extent distance) {
    if (this->idles()) return;
    auto const span    = begin_collective<T>(collective::permute, reduction::sum, n, over.set());
    auto const part    = place().part_of(over) ^ distance;
    auto const partner = static_cast<int>(rank_of_part(over, part, axis_sizes<M>));
    meshtf::permute(along(over.set()), x, partner, z, partner, n);
  }

  /// In place: a dimension is split over the axes `over`; `data` becomes what the processes that hold the
  /// parts before this process's own have there, joined, or after it (`from_end`). Where there is none, it
  /// becomes `identity`.
  template<class T>
  void exclusive_scan(reduction op, T identity, T* data, extent n, axis_list const& over, bool from_end) {
    if (this->idles()) return;
    auto const span = begin_collective<T>(collective::scan, op, n, over.set());
    detail::scratch_memory<T, Self> const buffer{self(), n};
    int const onwards = from_end ? -1 : 1;
    meshtf::exclusive_scan(along(over.set()), op, identity, data, buffer.data(), n,
                           neighbour(over, -onwards, false), neighbour(over, onwards, false));
  }

  /// Process 0 of the mesh gets the n elements of each process along `over`: there, take(rank along `over`,
  /// offset, elements, length) is called for each piece of each process. All processes of the mesh call it;
  /// processes with other coordinates along the other axes hold the same elements and hand nothing over. It
  /// costs process 0 the memory of one piece, an eighth of n for a large n, and the others none. It runs
  /// between steps, so no price includes it. The elements are those of `stage`, or, if it is -1, of all.
  template<class T, class Take>
  void gather_on_first(T const* part, extent n, axis_set over, Take const& take, int stage = -1) {
    if (compares_calls())
      compare({.kind  = collective::all_gather,
               .op    = reduction::sum,
               .type  = element_of<T>,
               .over  = over,
               .count = n,
               .site  = this->now()});
    axis_set const stages = stage < 0 ? 0 : this->stages_over() & joining_axes<M>;
    if (!counts(joining_axes<M> & ~over & ~stages)) return;
    auto const& comm = along(over | stages);
    extent const piece =
        std::min({n, std::max(n / 8, extent{1 << 20} / extent{sizeof(T)}), detail::largest_count});
    bool const first = comm.rank() == 0;
    detail::elements<T> buffer(first && comm.size() > 1 ? static_cast<std::size_t>(piece) : 0);
    auto const span = trace_operation({.kind = "message", .bytes = n * extent{sizeof(T)}});
    for (int from = 0; from < comm.size(); ++from) {
      auto const [rank, its_stage] = rank_and_stage(from, over, stages);
      if (stages != 0 && its_stage != stage) continue;
      if (from == 0) {
        if (first && n > 0) take(rank, extent{0}, part, n);
      } else if (first || comm.rank() == from) {
        hand_over(comm, from, 0, part, buffer.data(), n, piece, [&](extent position, extent length) {
          take(rank, position, static_cast<T const*>(buffer.data()), length);
        });
      }
    }
  }

  /// One step of a reshard, except an all-reduce: `x` has `move.send` elements, `z` has `move.result`.
  template<class T>
  void move(reshard_move const& move, T const* x, T* z) {
    if (this->idles()) return;
    if (move.kind == transfer_kind::slice) {
      kernel::copy_nest(move.pack, z, x + offset_of(move));
      return;
    }
    extent const extra = scratch_of(move, element_of<T>);
    auto const span    = begin_collective<T>(collective_of(move), reduction::sum, move.send, move.over);
    detail::scratch_memory<T, Self> const scratch{self(), extra};
    detail::carry_out(along(move.over), axis_sizes<M>, move, x, z, scratch.data());
  }
  /// Undoes a slice: copies the `move.result` elements of `x` to their place among the `move.send` of `z`.
  template<class T>
  void unslice(reshard_move const& move, T const* x, T* z) {
    if (this->idles()) return;
    nest_steps back = move.pack;
    std::swap(back.stride[0], back.stride[1]);
    kernel::copy_nest(back, z + offset_of(move), x);
  }

  // ---- sums that go on while others compute

  struct sum_in_flight {
    exchanged_sum messages{};
    typename machine_base<Self, M>::begun_call noted{};
    detail::traced_call* traced = nullptr;
  };
  /// Begins to add up `data` over the processes along `over`, and goes on. Neither it nor `received`, of
  /// `received_in_sum` elements, is touched until `finish_sum`. `kind`: an all-reduce, or a reduce-scatter of
  /// equal parts, which leaves the sum of this process's part there.
  template<class T>
  void begin_sum(collective kind, T* data, extent n, T* received, axis_set over, sum_in_flight& sum) {
    auto const span     = begin_collective<T>(kind, reduction::sum, n, over);
    sum.noted           = this->last_call();
    sum.traced          = observer() == nullptr ? nullptr : observer()->open_call_in_trace();
    sum.messages.number = sums_begun_;  // its processes are at one stage, and begin the same sums
    sums_begun_         = (sums_begun_ + 1) % 8192;

    sum.messages.scatters = kind == collective::reduce_scatter;
    begin_exchanged_sum(along(over), data, n, received, sum.messages);
  }
  /// Goes on with what has arrived; whether all parts have been added up here.
  template<class T>
  bool advance_sum(T* data, T* received, sum_in_flight& sum) {
    return advance_exchanged_sum(data, received, sum.messages);
  }
  /// Waits until `data` is the sum.
  template<class T>
  void finish_sum(T* data, T* received, sum_in_flight& sum) {
    this->note_needed(sum.noted);
    call_site const& site  = this->now();
    char const* const name = sum.messages.scatters ? "reduce_scatter" : "all_reduce";
    detail::waiting const here{name, site.operation, site.at, site.backward};
    finish_exchanged_sum(data, received, sum.messages);
    if (sum.traced != nullptr) sum.traced->until = detail::trace_log::now();
  }

  // ---- between stages

  using request_type = detail::sending;
  /// Begins to send the n elements at `x` to the process at coordinate `to` along `over`, and goes on. They
  /// stay as they are until `end_handing_on`. `back`: a gradient, to an earlier stage.
  template<class T>
  void begin_handing_on(T const* x, extent n, axis_set over, int to, bool back, request_type& request) {
    auto const span = begin_collective<T>(collective::hand_on, reduction::sum, n, over);
    meshtf::begin_sending(along(over), x, n, to, back, request);
  }
  void end_handing_on(request_type& request) {
    call_site const& site = this->now();
    detail::waiting_for_stage const here{request.to, "hand_on", site.operation, site.at, site.backward};
    finish_sending(request);
  }
  /// Receives what the process at coordinate `from` along `over` sends.
  template<class T>
  void receive_handed_on(T* z, extent n, axis_set over, int from, bool back) {
    call_site const& site = this->now();
    detail::waiting_for_stage const here{from, "hand_on", site.operation, site.at, site.backward};
    meshtf::receive_sent(along(over), z, n, from, back);
  }

protected:
  using process_in_mesh::compare;
  using process_in_mesh::compares_calls;
  using process_in_mesh::coordinates_;
  using process_in_mesh::observer;

  explicit messages(boost::mpi::communicator const& given) : agreements<Self, M>{given} {}
  ~messages() = default;

  /// Measures the time until the end of the scope if there is an observer.
  detail::observer::span trace_operation(work const& w) {
    if (observer() == nullptr) return {};
    observer()->note_stages(this->stages_over());
    return observer()->operation(w, this->now(), this->step(), this->live_bytes());
  }

private:
  /// Of the process with this rank along `over` and `stages` together: its rank along `over`, and its stage.
  static std::pair<extent, extent> rank_and_stage(extent joint, axis_set over, axis_set stages) {
    extent rank   = 0;
    extent stride = 1;
    extent stage  = 0;
    for (std::size_t a = max_axes; a-- > 0;) {
      if (((over | stages) >> a & 1) == 0) continue;
      extent const at = joint % axis_sizes<M>[a];
      joint /= axis_sizes<M>[a];
      if ((stages >> a & 1) != 0) {
        stage = at;
      } else {
        rank += stride * at;
        stride *= axis_sizes<M>[a];
      }
    }
    return {rank, stage};
  }

  /// An all-reduce of a sum whose local terms travel in a wider type.
  template<NarrowElement T>
  void add_up_widened(T* data, extent n, axis_set over) {
    using wide      = computed<T>;
    auto const span = begin_collective<wide>(collective::all_reduce, reduction::sum, n, over);
    detail::scratch_memory<wide, Self> const copy{self(), n};
    kernel::widen(n, data, copy.data());
    meshtf::all_reduce(along(over), reduction::sum, copy.data(), n);
    kernel::narrow(n, copy.data(), data);
  }

  /// The rank along `over` of the process that holds the part `by` parts after this one's.
  int neighbour(axis_list const& over, extent distance, bool wraps) const {
    extent const parts = processes_along(axis_sizes<M>, over.set());
    extent const part  = place().part_of(over) + distance;
    if (!wraps && (part < 0 || part >= parts)) return MPI_PROC_NULL;
    return static_cast<int>(rank_of_part(over, (part + parts) % parts, axis_sizes<M>));
  }

  /// Lives during a collective: reports waiting, and measures the time if there is an observer.
  struct collective_at_work {
    detail::waiting here;
    detail::observer::span time;
  };

  Self& self() { return static_cast<Self&>(*this); }

  /// Begins a collective that sends `count` elements: compares it with the other processes' calls, notes its
  /// price, and measures the time until the end of the scope, each only if wanted.
  template<class T>
  collective_at_work begin_collective(collective kind, reduction op, extent count, axis_set over) {
    call_site const& site = this->now();
    return {detail::waiting{to_string(kind).data(),
                            site.operation,
                            site.at,
                            site.backward,
                            {count * extent{sizeof(T)}, over, &named_mesh_of<M>}},
            trace_collective<T>(kind, op, count, over)};
  }

  template<class T>
  detail::observer::span trace_collective(collective kind, reduction op, extent count, axis_set over) {
    if (compares_calls() || observer() != nullptr || this->takes_notes()) [[unlikely]]
      return compare_and_trace(kind, op, element_of<T>, count, over);
    return {};
  }
  [[gnu::cold, gnu::noinline]] detail::observer::span compare_and_trace(collective kind, reduction op,
                                                                        element type, extent count,
                                                                        axis_set over) {
    if (compares_calls()) {
      // the other stages make other calls, unless this one joins the stages
      bool const of_one_stage =
          this->stage() >= 0 || kind == collective::hand_on || (over & this->stages_over()) == 0;
      compare({.kind = kind, .op = op, .type = type, .over = over, .count = count, .site = this->now()},
              of_one_stage ? this->stages_over() : axis_set{0});
    }
    this->note_collective(kind, op, type, count, over);
    if (observer() == nullptr) return {};
    observer()->note_stages(this->stages_over());
    return observer()->collective(this->call_of(kind, op, type, count, over), this->step(),
                                  this->live_bytes());
  }

  extent offset_of(reshard_move const& move) const {
    extent offset = 0;
    for (std::size_t a = 0; a < max_axes; ++a) offset += move.offset[a] * coordinates_[a];
    return offset;
  }

  /// The communicator of each axis, by its type. It is made when asked: a program that asks for none need not
  /// compile it.
  template<class... A>
  auto along_each(axes<A...>) const {
    return hana::make_map(hana::make_pair(hana::type_c<A>, &along(axis_set_of<M, axes<A>>))...);
  }

  int sums_begun_ = 0;
};

}  // namespace v0
}  // namespace meshtf
