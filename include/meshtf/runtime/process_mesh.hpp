// The process mesh: the machine that runs operations on processes joined by MPI.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>

#include <boost/mpi/communicator.hpp>

#include <meshtf/core/distribution.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/philox.hpp>
#include <meshtf/kernel/attention.hpp>
#include <meshtf/kernel/bias.hpp>
#include <meshtf/kernel/contract.hpp>
#include <meshtf/kernel/dropout.hpp>
#include <meshtf/kernel/gather.hpp>
#include <meshtf/kernel/nest.hpp>
#include <meshtf/kernel/norm.hpp>
#include <meshtf/kernel/pick.hpp>
#include <meshtf/kernel/transform.hpp>
#include <meshtf/kernel/xtensor_view.hpp>
#include <meshtf/plan/work.hpp>
#include <meshtf/runtime/messages.hpp>
#include <meshtf/runtime/pool.hpp>
#include <meshtf/runtime/shard.hpp>

namespace meshtf::inline v0 {

namespace detail {

struct addition {
  static constexpr bool vectorised = true;
  constexpr auto operator()(auto const& x, auto const& y) const { return x + y; }
};

}  // namespace detail

/// The processes of a communicator as the mesh `M`: ranks are row-major over the mesh's list of axes.
///
/// It works on a duplicate of the communicator, and makes one communicator for each axis and each set of axes, named after them ("rows cols"). Several may
/// live at once. Tensors on it die before it. All processes of the communicator make it, and run the same operations in the same order.
/// Errors: `usage_error` if the number of processes is not that of the mesh, on all of them.
template<Mesh M>
class process_mesh : public messages<process_mesh<M>, M> {
public:
  static constexpr bool computes = true;

  explicit process_mesh(boost::mpi::communicator const& world) { this->join(world, typename M::all_axes{}); }
  explicit process_mesh(MPI_Comm world) : process_mesh(boost::mpi::communicator{world, boost::mpi::comm_attach}) {}
  ~process_mesh() {
    this->unwind_tape(false);
    this->compare_ends();
    if (this->profile_ && this->rank() == 0) this->profile_->print(name_of<M>());
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
  template<class T>
  T* create_array(std::size_t n) {
    T* const p = static_cast<T*>(pool_.allocate(n * sizeof(T)));
    std::uninitialized_value_construct_n(p, n);
    return p;
  }
  template<class T>
  void destroy_array(T* p, std::size_t n) {
    std::destroy_n(p, n);
    pool_.deallocate(p, n * sizeof(T));
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
    auto const span = watched() ? does(work_of::map<F, R, T...>(steps)) : profile::span{};
    kernel::map_nest(steps, f, z, x...);
  }
  template<reduction Op, class F, class R, class... T>
  void reduce(nest_steps const& steps, F const& f, R* z, T const*... x) {
    auto const span = watched() ? does(work_of::reduce<F, R, T...>(steps)) : profile::span{};
    kernel::reduce_nest<Op>(steps, f, z, x...);
  }
  template<class T>
  void contract(contraction_steps const& steps, T const* x, T const* y, T* z) {
    auto const span  = this->does(work_of::contract<T>(steps));
    T* const scratch = take<T>(steps.scratch);
    kernel::contract(steps, x, y, z, scratch);
    give(scratch, steps.scratch);
  }
  template<class T>
  void attend(attention_steps const& steps, double scale, T const* q, T const* k, T const* v, T* z, T* log_total) {
    auto const span  = this->does(work_of::attend<T>(steps));
    extent const n   = attention_scratch(steps);
    T* const scratch = take<T>(n);
    kernel::attend(steps, scale, q, k, v, z, log_total, scratch);
    give(scratch, n);
  }
  template<class T>
  void attention_gradient(attention_steps const& steps, attention_wishes const& wants, double scale, attention_gradient_arrays<T> const& arrays) {
    auto const span  = this->does(work_of::attention_gradient<T>(steps, wants));
    extent const n   = attention_gradient_scratch(steps);
    T* const scratch = take<T>(n);
    kernel::attention_gradient(steps, scale, arrays, scratch);
    give(scratch, n);
  }
  template<class F, class... P>
  void transform(extent n, F const& f, P*... p) {
    auto const span = watched() ? does(work_of::transform<F, P...>(n)) : profile::span{};
    kernel::transform(n, f, p...);
  }
  /// z = x and y added up, each only if it counts. z may be x.
  template<class T>
  void add_up(extent n, bool x_counts, bool y_counts, T const* x, T const* y, T* z) {
    auto const span = watched() ? does(work_of::add_up<T>(n)) : profile::span{};
    if (x_counts && y_counts) kernel::map_row(n, detail::addition{}, z, x, y);
    else if (!x_counts && !y_counts) kernel::fill(n, T{}, z);
    else if (T const* const from = x_counts ? x : y; from != z) std::copy_n(from, n, z);
  }
  template<class T>
  void fill(extent n, T value, T* z) {
    auto const span = watched() ? does(work_of::fill<T>(n)) : profile::span{};
    kernel::fill(n, value, z);
  }
  template<class T>
  void copy(extent n, T const* x, T* z) {
    auto const span = watched() ? does(work_of::copy<T>(n)) : profile::span{};
    if (x != z) std::copy_n(x, n, z);
  }

  /// The `held` elements of x, and zeros behind them: `size` together. The price is the same on every process.
  template<class T>
  void copy_filled(extent held, extent size, T const* x, T* z) {
    auto const span = this->does(work_of::copy<T>(size));
    std::copy_n(x, held, z);
    std::fill_n(z + held, size - held, T{});
  }

  /// Random values of a shard of placement `dims`, by where each element stands in the whole.
  template<class T>
  void draw(std::span<placed const> dims, uniform_distribution const& how, T* z) {
    auto const span = this->does(work_of::draw<T>(dims));
    philox const random{how.key.seed, how.key.stream};
    for_each_run(dims, first_indices(dims, this->coordinates(), axis_sizes<M>), [&](extent local, extent whole, extent n) {
      fill_uniform(random, whole, n, static_cast<T>(how.low), static_cast<T>(how.high), z + local);
    });
  }
  template<class T>
  void draw(std::span<placed const> dims, normal_distribution const& how, T* z) {
    auto const span = this->does(work_of::draw<T>(dims));
    philox const random{how.key.seed, how.key.stream};
    for_each_run(dims, first_indices(dims, this->coordinates(), axis_sizes<M>), [&](extent local, extent whole, extent n) {
      fill_normal(random, whole, n, static_cast<T>(how.mean), static_cast<T>(how.stddev), z + local);
    });
  }

  /// z = the element of each line of x that `index` names, 0 where another process holds it.
  template<class T>
  void pick(line_steps const& lines, T const* x, std::int32_t const* index, T* z) {
    auto const span = this->does(work_of::pick<T>(lines));
    extent const n  = lines.outer * lines.inner;
    if (extent const i = kernel::first_outside(n, index, lines.whole); i < n)
      throw data_error("target number " + std::to_string(i) + " of this process is " + std::to_string(index[i]) + ", expected a class from 0 to " +
                       std::to_string(lines.whole - 1) + ": check the labels");
    kernel::pick(lines.outer, lines.along, lines.inner, first_of(lines), x, index, z, lines.along == lines.whole);
  }
  template<class T>
  void pick_gradient(line_steps const& lines, T scale, T const* dz, std::int32_t const* index, T* dx) {
    auto const span = this->does(work_of::pick_gradient<T>(lines));
    kernel::pick_gradient(lines.outer, lines.along, lines.inner, first_of(lines), scale, dz, index, dx);
  }
  /// rows = those of the table that `index` names, 0 where another process holds them.
  template<class T>
  void gather_rows(line_steps const& lines, extent ids, T const* table, std::int32_t const* index, T* rows) {
    auto const span = this->does(work_of::gather_rows<T>(lines, ids));
    if (extent const i = kernel::first_outside(ids, index, lines.whole); i < ids)
      throw data_error("id number " + std::to_string(i) + " of this process is " + std::to_string(index[i]) + ", expected a row from 0 to " +
                       std::to_string(lines.whole - 1) + ": check the ids");
    kernel::gather_rows(ids, lines.outer, lines.along, lines.inner, first_of(lines), table, index, rows);
  }
  /// Adds `rows` to those of the table that `index` names. It has passed `gather_rows`.
  template<class T>
  void scatter_rows(line_steps const& lines, extent ids, T const* rows, std::int32_t const* index, T* table) {
    auto const span = this->does(work_of::scatter_rows<T>(lines, ids));
    kernel::scatter_rows(ids, lines.outer, lines.along, lines.inner, first_of(lines), rows, index, table);
  }
  /// z = the index in the whole of each element along a dimension.
  template<class T>
  void iota(line_steps const& lines, T* z) {
    auto const span    = this->does(work_of::iota<T>(lines));
    extent const first = first_of(lines);
    for (extent i = 0; i < lines.along; ++i) z[i] = static_cast<T>(first + i);
  }
  /// The largest element of each line of x, and its index in the whole.
  template<class T>
  void argmax(line_steps const& lines, T const* x, T* best, std::int32_t* where) {
    auto const span = this->does(work_of::argmax<T>(lines));
    kernel::argmax(lines.outer, lines.along, lines.inner, x, best, where);
    auto const first = static_cast<std::int32_t>(first_of(lines));
    for (extent i = 0; i < lines.outer * lines.inner; ++i) where[i] += first;
  }
  /// Where `best` is not the peak of all processes, `where` names no element.
  template<class T>
  void forget_smaller(extent n, T const* best, T const* peak, std::int32_t* where) {
    auto const span = this->does(work_of::forget_smaller<T>(n));
    for (extent i = 0; i < n; ++i)
      if (best[i] < peak[i] || (peak[i] != peak[i] && best[i] == best[i])) where[i] = std::numeric_limits<std::int32_t>::max();
  }

  // ---- normalisation, dropout and fused passes

  /// Whole rows; `adds`: something is added to x first.
  template<class T>
  void normalise(norm_steps const& steps, double epsilon, norm_arrays<T> const& arrays, bool adds) {
    auto const span = this->does(work_of::normalise<T>(steps, adds));
    kernel::normalise(steps, epsilon, arrays);
  }
  /// Parts of rows: what is to be summed over processes, and the rest when it is.
  template<class T>
  void row_moments(norm_steps const& steps, norm_arrays<T> const& arrays, double* moments, bool adds) {
    auto const span = this->does(work_of::row_moments<T>(steps, adds));
    kernel::row_moments(steps, arrays, moments);
  }
  template<class T>
  void normalise_by(norm_steps const& steps, double epsilon, double const* moments, norm_arrays<T> const& arrays) {
    auto const span = this->does(work_of::normalise_by<T>(steps));
    kernel::normalise_by(steps, epsilon, moments, arrays);
  }
  template<class T>
  void norm_gradient(norm_steps const& steps, norm_wishes const& wants, norm_gradient_arrays<T> const& arrays) {
    auto const span = this->does(work_of::norm_gradient<T>(steps, wants));
    kernel::norm_gradient(steps, wants, arrays);
  }
  template<class T>
  void norm_gradient_sums(norm_steps const& steps, norm_wishes const& wants, norm_gradient_arrays<T> const& arrays, T* sums) {
    auto const span = this->does(work_of::norm_gradient_sums<T>(steps, wants));
    kernel::norm_gradient_sums(steps, wants, arrays, sums);
  }
  template<class T>
  void norm_gradient_by(norm_steps const& steps, norm_wishes const& wants, T const* sums, norm_gradient_arrays<T> const& arrays) {
    auto const span = this->does(work_of::norm_gradient_by<T>(steps, wants));
    kernel::norm_gradient_by(steps, sums, arrays);
  }
  /// z = f(dz, x, b) of rows that share b, and its sum over the rows.
  template<class F, class T>
  void map_rows_and_sum(extent rows, extent n, F const& f, T const* dz, T const* x, T const* b, T* z, T* total) {
    auto const span = this->does(work_of::map_rows_and_sum<F, T>(rows, n));
    kernel::map_rows_and_sum(rows, n, f, dz, x, b, z, total);
  }
  /// Each element of a shard of placement `dims` is dropped with probability `rate` or else scaled, by where it stands in the whole.
  template<class T>
  void drop(std::span<placed const> dims, random_key key, double rate, extent n, T const* x, T* z) {
    auto const span = this->does(work_of::drop<T>(n));
    philox const random{key.seed, key.stream};
    auto const threshold = static_cast<std::uint64_t>(rate * 0x1p32);
    auto const scale     = static_cast<T>(1 / (1 - rate));
    for_each_run(dims, first_indices(dims, this->coordinates(), axis_sizes<M>),
                 [&](extent local, extent whole, extent run) { kernel::drop(random, whole, run, threshold, scale, x + local, z + local); });
  }

  using accounts<process_mesh<M>, M>::begin_notes;
  using accounts<process_mesh<M>, M>::end_notes;

private:
  /// Notes what is done, and watches the clock until the end of the scope if somebody wants to know.
  profile::span does(work const& w) {
    this->note(w);
    return this->profile_ ? this->profile_->watch(w, this->now()) : profile::span{};
  }
  /// Somebody wants to know what is done: work that is dear to reckon up is reckoned up only then.
  bool watched() const {
    if (this->takes_notes() || this->profile_) [[unlikely]]
      return true;
    return false;
  }

  extent first_of(line_steps const& lines) const {
    extent part = 0;
    for (int a : lines.over) part = part * axis_sizes<M>[static_cast<std::size_t>(a)] + this->coordinates()[static_cast<std::size_t>(a)];
    return part * lines.along;
  }

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
    notes->note_memory(m.live_bytes(), m.peak_bytes(), m.parameter_bytes(), m.optimizer_bytes());
  }
  return *notes;
}

}  // namespace meshtf::inline v0
