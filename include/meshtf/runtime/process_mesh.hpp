// The process mesh: the machine that runs operations on processes joined by MPI.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>

#include <boost/hana/at_key.hpp>
#include <boost/hana/map.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/type.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>

#include <meshtf/core/distribution.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/core/philox.hpp>
#include <meshtf/kernel/contract.hpp>
#include <meshtf/kernel/nest.hpp>
#include <meshtf/kernel/pick.hpp>
#include <meshtf/kernel/transform.hpp>
#include <meshtf/kernel/xtensor_view.hpp>
#include <meshtf/plan/cross_entropy_plan.hpp>
#include <meshtf/plan/machine.hpp>
#include <meshtf/plan/moves.hpp>
#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/pool.hpp>
#include <meshtf/runtime/shard.hpp>

namespace meshtf::inline v0 {

namespace detail {

struct addition {
  static constexpr bool vectorised = true;
  constexpr auto operator()(auto const& x, auto const& y) const { return x + y; }
};
struct unchanged {
  static constexpr bool vectorised = true;
  constexpr auto operator()(auto const& x) const { return x; }
};

/// n contiguous elements of `Operands` arrays.
template<int Operands>
constexpr nest_steps one_row(extent n) {
  nest_steps steps{.rank = 1, .operands = Operands, .turns = n, .results = n};
  steps.size[0] = n;
  for (std::size_t k = 0; k < Operands; ++k) steps.stride[k][0] = 1;
  return steps;
}

}  // namespace detail

/// The processes of a communicator as the mesh `M`: ranks are row-major over the mesh's list of axes.
///
/// It works on a duplicate of the communicator, and makes one communicator for each axis and each set of axes, named after them ("rows cols"). Several may
/// live at once. Tensors on it die before it. All processes of the communicator make it, and run the same operations in the same order.
/// Errors: `usage_error` if the number of processes is not that of the mesh, on all of them.
template<Mesh M>
class process_mesh : public accounts<process_mesh<M>, M> {
public:
  static constexpr bool computes = true;

  explicit process_mesh(boost::mpi::communicator const& world) { build(world, typename M::all_axes{}); }
  explicit process_mesh(MPI_Comm world) : process_mesh(boost::mpi::communicator{world, boost::mpi::comm_attach}) {}
  ~process_mesh() { this->unwind_tape(false); }

  boost::mpi::communicator const& world() const { return world_; }
  int rank() const { return world_.rank(); }

  /// Where this process stands along the axis `A`.
  template<MeshAxis A>
  extent coordinate() const {
    static_assert(M::all_axes::template has<A>, "meshtf: this mesh has no such axis");
    return coordinates_[static_cast<std::size_t>(detail::number_of<A>(typename M::all_axes{}))];
  }
  /// By number of the axis.
  std::span<extent const> coordinates() const { return coordinates_; }

  /// The processes that differ from this one along `A` alone.
  template<MeshAxis A>
  boost::mpi::communicator const& along() const {
    static_assert(M::all_axes::template has<A>, "meshtf: this mesh has no such axis");
    return axes_[hana::type_c<A>];
  }
  /// The processes that differ from this one along a set of axes; row-major over the mesh's order.
  boost::mpi::communicator const& along(axis_set over) const { return sets_[over & joining_axes<M>]; }

  /// Of several processes that hold the same, exactly the one at coordinate 0 of the axes counts.
  bool counts(axis_set over) const {
    for (std::size_t a = 0; a < max_axes; ++a)
      if ((over >> a & 1) != 0 && coordinates_[a] != 0) return false;
    return true;
  }

  // ---- memory

  template<class T>
  T* take(extent n) {
    this->count_bytes(n * extent{sizeof(T)});
    return n == 0 ? nullptr : static_cast<T*>(pool_.allocate(static_cast<std::size_t>(n) * sizeof(T)));
  }
  template<class T>
  void give(T* p, extent n) {
    this->count_bytes(-n * extent{sizeof(T)});
    if (n != 0) pool_.deallocate(p, static_cast<std::size_t>(n) * sizeof(T));
  }
  /// Handles' counts, slots and tape entries: from the same pool, but not part of the price.
  template<class T, class... A>
  T* create(A&&... arguments) {
    return ::new (pool_.allocate(sizeof(T))) T{std::forward<A>(arguments)...};
  }
  template<class T>
  void destroy(T* p) {
    p->~T();
    pool_.deallocate(p, sizeof(T));
  }
  /// The allocator: how many blocks it took from the system, and how large.
  pool const& memory() const { return pool_; }

  /// This process's elements as an xtensor view.
  template<class T, std::size_t N>
  auto view(T* data, std::array<extent, N> const& extents) const {
    return kernel::xtensor_view(data, extents);
  }

  // ---- arithmetic: a plan says what, a kernel does it

  template<class F, class R, class... T>
  void map(nest_steps const& steps, F const& f, R* z, T const*... x) {
    this->note_elementwise(steps.turns * detail::flops_of<F>);
    kernel::map_nest(steps, f, z, x...);
  }
  template<reduction Op, class F, class R, class... T>
  void reduce(nest_steps const& steps, F const& f, R* z, T const*... x) {
    this->note_elementwise(steps.turns * (detail::flops_of<F> + 1));
    kernel::reduce_nest<Op>(steps, f, z, x...);
  }
  template<class T>
  void contract(contraction_steps const& steps, T const* x, T const* y, T* z) {
    T* const scratch = take<T>(steps.scratch);
    this->note_flops(steps.flops);
    kernel::contract(steps, x, y, z, scratch);
    give(scratch, steps.scratch);
  }
  template<class F, class... P>
  void transform(extent n, F const& f, P*... p) {
    this->note_elementwise(n * detail::flops_of<F>);
    kernel::transform(n, f, p...);
  }
  /// z = x and y added up, each only if it counts. z may be x.
  template<class T>
  void add_up(extent n, bool x_counts, bool y_counts, T const* x, T const* y, T* z) {
    this->note_elementwise(n);
    if (x_counts && y_counts) kernel::map_nest(detail::one_row<3>(n), detail::addition{}, z, x, y);
    else if (x_counts || y_counts) copy(n, x_counts ? x : y, z);
    else fill(n, T{}, z);
  }
  template<class T>
  void fill(extent n, T value, T* z) {
    kernel::fill(n, value, z);
  }
  template<class T>
  void copy(extent n, T const* x, T* z) {
    if (x != z) std::copy_n(x, n, z);
  }

  /// Random values of a shard of placement `dims`, by where each element stands in the whole.
  template<class T>
  void draw(std::span<placed const> dims, uniform_distribution const& how, T* z) {
    philox const random{how.key.seed, how.key.stream};
    for_each_run(dims, first_indices(dims, coordinates_, axis_sizes<M>), [&](extent local, extent whole, extent n) {
      fill_uniform(random, whole, n, static_cast<T>(how.low), static_cast<T>(how.high), z + local);
    });
  }
  template<class T>
  void draw(std::span<placed const> dims, normal_distribution const& how, T* z) {
    philox const random{how.key.seed, how.key.stream};
    for_each_run(dims, first_indices(dims, coordinates_, axis_sizes<M>), [&](extent local, extent whole, extent n) {
      fill_normal(random, whole, n, static_cast<T>(how.mean), static_cast<T>(how.stddev), z + local);
    });
  }

  /// z = the element of each line of x that `index` names, 0 where another process holds it.
  template<class T>
  void pick(line_steps const& lines, T const* x, std::int32_t const* index, T* z) {
    for (extent i = 0; i < lines.outer * lines.inner; ++i)
      if (index[i] < 0 || index[i] >= lines.whole)
        throw data_error("target number " + std::to_string(i) + " of this process is " + std::to_string(index[i]) + ", expected a class from 0 to " +
                         std::to_string(lines.whole - 1) + ": check the labels");
    kernel::pick(lines.outer, lines.along, lines.inner, first_of(lines), x, index, z);
  }
  template<class T>
  void pick_gradient(line_steps const& lines, T scale, T const* dz, std::int32_t const* index, T* dx) {
    this->note_elementwise(lines.outer * lines.inner);
    kernel::pick_gradient(lines.outer, lines.along, lines.inner, first_of(lines), scale, dz, index, dx);
  }
  /// The largest element of each line of x, and its index in the whole.
  template<class T>
  void argmax(line_steps const& lines, T const* x, T* best, std::int32_t* where) {
    this->note_elementwise(lines.outer * lines.along * lines.inner);
    kernel::argmax(lines.outer, lines.along, lines.inner, x, best, where);
    auto const first = static_cast<std::int32_t>(first_of(lines));
    for (extent i = 0; i < lines.outer * lines.inner; ++i) where[i] += first;
  }
  /// Where `best` is not the peak of all processes, `where` names no element.
  template<class T>
  void forget_smaller(extent n, T const* best, T const* peak, std::int32_t* where) {
    for (extent i = 0; i < n; ++i)
      if (best[i] < peak[i]) where[i] = std::numeric_limits<std::int32_t>::max();
  }

  // ---- messages

  template<class T>
  void all_reduce(reduction how, T* data, extent n, axis_set over) {
    if (over == 0) return;
    auto const& comm       = along(over);
    extent const processes = processes_along(axis_sizes<M>, over);
    if (!reduces_in_parts(n, extent{sizeof(T)}, processes)) {
      this->note_collective(collective::all_reduce, how, element_of<T>, n, over);
      meshtf::all_reduce(comm, how, data, n);
      return;
    }
    extent const part  = n / processes;
    extent const extra = exchange_piece(part, extent{sizeof(T)});
    T* const buffer    = take<T>(extra);
    this->note_collective(collective::reduce_scatter, how, element_of<T>, n, over);
    meshtf::reduce_scatter(comm, how, static_cast<T const*>(data), part, buffer, data + comm.rank() * part);
    this->note_collective(collective::all_gather, how, element_of<T>, part, over);
    all_gather_in_place(comm, data, part);
    give(buffer, extra);
  }

  /// The `n` elements of each process along `over`, in the order of ranks.
  template<class T>
  void gather_parts(T const* part, extent n, T* whole, axis_set over) {
    this->note_collective(collective::all_gather, reduction::sum, element_of<T>, n, over);
    meshtf::all_gather(along(over), part, n, whole);
  }

  /// One step of a reshard that is no all-reduce: `x` has `move.send` elements, `z` has `move.result`.
  template<class T>
  void move(reshard_move const& move, T const* x, T* z) {
    if (move.what == transfer::slice) {
      kernel::map_nest(move.pack, detail::unchanged{}, z, x + offset_of(move));
      return;
    }
    extent const extra = scratch_of(move, extent{sizeof(T)});
    T* const scratch   = take<T>(extra);
    this->note_collective(collective_of(move), reduction::sum, element_of<T>, move.send, move.over);
    auto const& comm  = along(move.over);
    T* const packed   = scratch;
    T* const received = scratch + (move.packs ? move.send : 0);
    T* const buffer   = received + (move.unpacks ? move.result : 0);
    if (move.packs) kernel::map_nest(move.pack, detail::unchanged{}, packed, x);
    T const* const sent = move.packs ? packed : x;
    T* const arriving   = move.unpacks ? received : z;
    switch (move.what) {
      case transfer::all_gather: meshtf::all_gather(comm, sent, move.block, arriving); break;
      case transfer::all_to_all: meshtf::all_to_all(comm, sent, move.block, arriving); break;
      case transfer::reduce_scatter: meshtf::reduce_scatter(comm, reduction::sum, sent, move.block, buffer, arriving); break;
      default: break;  // an all-reduce works in place: `all_reduce`
    }
    if (move.unpacks) kernel::map_nest(move.unpack, detail::unchanged{}, z, static_cast<T const*>(received));
    give(scratch, extra);
  }
  /// Undoes a slice: `x` has `move.result` elements and goes to its place among the `move.send` of `z`.
  template<class T>
  void unslice(reshard_move const& move, T const* x, T* z) {
    nest_steps back = move.pack;
    std::swap(back.stride[0], back.stride[1]);
    kernel::map_nest(back, detail::unchanged{}, z + offset_of(move), x);
  }

  using accounts<process_mesh<M>, M>::begin_notes;
  using accounts<process_mesh<M>, M>::end_notes;

private:
  template<class... A>
  static auto communicator_for_each(axes<A...>) {
    return hana::make_map(hana::make_pair(hana::type_c<A>, boost::mpi::communicator{})...);
  }

  template<class... A>
  void build(boost::mpi::communicator const& given, axes<A...>) {
    if (!boost::mpi::environment::initialized())
      throw software_error("MPI is not up: make a meshtf::environment (or call MPI_Init) before a process_mesh");
    if (given.size() != M::size) {
      std::string shape;
      ((shape += (shape.empty() ? "" : " x "), shape += name_of<A>(), shape += "=" + std::to_string(A::size)), ...);
      throw usage_error("compiled for " + std::string{name_of<M>()} + " " + shape + " = " + std::to_string(M::size) + " processes, started with " +
                        std::to_string(given.size()) + ": mpirun -n " + std::to_string(M::size) + " ...");
    }
    world_ = boost::mpi::communicator{given, boost::mpi::comm_duplicate};
    throw_on_failure(world_);

    extent stride = M::size;
    std::size_t i = 0;
    ((stride /= A::size, coordinates_[i++] = world_.rank() / stride % A::size), ...);

    for (axis_set over = 0; over < sets_.size(); ++over) {
      if ((over & ~joining_axes<M>) != 0) continue;  // the same processes as without the axes of size 1
      int color = 0;
      i         = 0;
      ((color = color * static_cast<int>(A::size) + static_cast<int>((over >> i & 1) != 0 ? 0 : coordinates_[i]), ++i), ...);
      sets_[over] = over == joining_axes<M> ? world_ : world_.split(color, world_.rank());
      throw_on_failure(sets_[over]);
      std::string name;
      i = 0;
      (((over >> i++ & 1) != 0 ? void((name += name.empty() ? "" : " ") += name_of<A>()) : void()), ...);
      MPI_Comm_set_name(sets_[over], name.c_str());
    }
    ((axes_[hana::type_c<A>] = along(axis_set_of<M, axes<A>>)), ...);
  }

  extent first_of(line_steps const& lines) const {
    extent part = 0;
    for (int a : lines.over) part = part * axis_sizes<M>[static_cast<std::size_t>(a)] + coordinates_[static_cast<std::size_t>(a)];
    return part * lines.along;
  }
  extent offset_of(reshard_move const& move) const {
    extent offset = 0;
    for (std::size_t a = 0; a < max_axes; ++a) offset += move.offset[a] * coordinates_[a];
    return offset;
  }

  using axis_map = decltype(communicator_for_each(typename M::all_axes{}));

  boost::mpi::communicator world_;
  axis_map axes_ = communicator_for_each(typename M::all_axes{});
  std::array<boost::mpi::communicator, (std::size_t{1} << M::all_axes::count)> sets_;
  std::array<extent, max_axes> coordinates_{};
  pool pool_;
};

/// The cost of all that `f.operator()<L>(m)` does, as it happens: the same figures, in the same order, as `dry_run<L>(f)` promises.
template<Layout L, class F>
auto recorded(process_mesh<typename L::mesh_type>& m, F f) {
  using mesh_type   = typename L::mesh_type;
  auto notes        = std::make_unique<cost<mesh_type>>();
  auto const before = m.begin_notes(notes.get());
  struct restored {
    process_mesh<mesh_type>& m;
    decltype(before)& outer;
    ~restored() { m.end_notes(outer); }
  };
  {
    restored const guard{m, before};
    f.template operator()<L>(m);
    notes->note_memory(m.live_bytes(), m.peak_bytes(), m.parameter_bytes());
  }
  return *notes;
}

}  // namespace meshtf::inline v0
