// The process mesh: the machine that runs operations on processes joined by MPI.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/mpi/communicator.hpp>

#include <meshtf/core/error.hpp>
#include <meshtf/kernel/kernels.hpp>
#include <meshtf/runtime/environment.hpp>
#include <meshtf/runtime/kept_plans.hpp>
#include <meshtf/runtime/messages.hpp>
#include <meshtf/runtime/one_program.hpp>
#include <meshtf/runtime/pool.hpp>
#include <meshtf/runtime/spill_file.hpp>

#if !MESHTF_DECLARES_ONLY
#include <meshtf/kernel/xtensor_view.hpp>
#endif

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Nothing of a process lies here, nor in the next 2^54 bytes: these addresses are the kernel's, or between
/// its and ours (x86-64, aarch64).
inline constexpr std::uintptr_t never_mapped = std::uintptr_t{1} << 55;

/// Arrays that outlive their mesh would free their memory after the pool is gone, and sooner or later crash:
/// so the job ends here, with a sentence.
[[noreturn]] void end_with_arrays(std::string_view mesh, extent arrays, extent bytes);

#if MESHTF_DEFINES_RUNTIME

[[noreturn]] MESHTF_DEFINE void end_with_arrays(std::string_view mesh, extent arrays, extent bytes) {
  try {
    if (std::uncaught_exceptions() > 0) {  // that exception is what must be reported
      auto const [text, status] = failure_passing("a process_mesh with arrays on it");
      throw error(text, status);
    }
    throw software_error(
        "the process_mesh of " + std::string{mesh} + " ends before what lives on it, " +
        std::to_string(arrays) + (arrays == 1 ? " array" : " arrays") + " (" + std::to_string(bytes) +
        " bytes) of tensors, parameters, gradients or optimizers: what is on a mesh dies before it, so "
        "declare the mesh " +
        "first, and nothing on it static");
  } catch (...) {
    end_by_exception();  // the mesh's destructor calls this
  }
}

#endif

}  // namespace detail

/// The processes of a communicator as the mesh `M`: ranks are row-major over the mesh's list of axes.
///
/// It works on a duplicate of the communicator, and makes one communicator for each axis and each set of
/// axes, named after them ("rows cols"). Several meshes may live at once. Tensors on a mesh must be destroyed
/// before it: if one is left, its destructor ends the job with status 70. All processes of the communicator
/// construct it, and run the same operations in the same order.
/// Errors: `usage_error` on all processes if their number is not that of the mesh.
template<Mesh M>
  requires(sizeof(M) != 0)
class process_mesh<M> : public messages<process_mesh<M>, M> {
  // It is constrained to be more special than what planning.hpp has in its place, which says what to include:
  // see price/no_processes.hpp.
public:
  static constexpr bool computes = true;

  explicit process_mesh(boost::mpi::communicator const& world) : messages<process_mesh, M>{world} {}
  explicit process_mesh(MPI_Comm world)
      : process_mesh(boost::mpi::communicator{world, boost::mpi::comm_attach}) {}
  ~process_mesh() {
    if (detail::mpi_has_ended()) detail::end_after_mpi(name_of<M>(), this->rank());
    this->unwind_tape(false);
    this->compare_ends();
    this->print_profile();
    expect_nothing_alive();
  }

  /// From the first call on, the time that this process spends on each operation is measured, for the program
  /// to show. (MESHTF_PROFILE prints it.)
  profile const& time_spent() { return this->ensure_observer().time_spent(); }

  // ---- memory

  /// n elements of `each` bytes.
  void* hold(extent n, extent each) {
    this->count_bytes(n * each);
    ++arrays_;
#ifdef MESHTF_POISON  // for tests: to touch an array of another stage is a crash, however far from its begin
    if (n == 0 && this->idles()) return reinterpret_cast<void*>(detail::never_mapped);
#endif
    if (n == 0) return nullptr;
    void* const p = pool_.allocate(static_cast<std::size_t>(n * each));
#ifdef MESHTF_POISON  // for tests: what nobody has written is NaN, or -1
    std::memset(p, 0xff, static_cast<std::size_t>(n * each));
#endif
    return p;
  }
  void release(void* p, extent n, extent each) {
    this->count_bytes(-n * each);
    --arrays_;
    if (n != 0) pool_.deallocate(p, static_cast<std::size_t>(n * each));
  }
  template<class T>
  T* take(extent n) {
    return static_cast<T*>(hold(n, sizeof(T)));
  }
  template<class T>
  void give(T* p, extent n) {
    release(p, n, sizeof(T));
  }
  /// Creates reference counts, slots and tape entries: from the same pool, but not part of the price.
  template<class T, class... A>
  T* create(A&&... arguments) {
    return ::new (pool_.allocate(sizeof(T))) T{static_cast<A&&>(arguments)...};
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
  /// The allocator: tells how many blocks it took from the system, and their total size.
  pool const& memory() const { return pool_; }

  // ---- a file for arrays that leave memory (`spill`, `spill_state`)

  /// The folder of the file, unless MESHTF_SPILL says it; without both it is /tmp.
  /// Errors: `usage_error` if an array has left already.
  void spill_to(std::string folder) { spilled_.put_into(std::move(folder)); }
  /// Seconds in which this process has waited for its file.
  double seconds_waited_for_file() const { return spilled_.seconds_waited(); }
  /// Bytes that the file has room for; in steady state it does not grow.
  extent spill_file_bytes() const { return spilled_.bytes(); }

  void write_out(void const* x, extent bytes, detail::file_place& p) {
    this->note_spilled(bytes);
    pool_.return_pages();  // who writes arrays to a file is short of memory
    spilled_.write(x, bytes, p, this->along(joining_axes<M> & ~this->stages_over()));
  }
  void read_back(void* x, extent bytes, detail::file_place& p) {
    this->note_spilled(bytes);
    spilled_.read(x, bytes, p);
  }
  void wait_for(detail::file_place const& p) { spilled_.wait(p); }
  void recall(detail::file_place const& p) noexcept { spilled_.recall(p); }
  void forget(detail::file_place const& p) noexcept { spilled_.forget(p); }

  /// This process's elements as an xtensor view.
  template<class T, std::size_t N>
  auto view(T* data, std::array<extent, N> const& extents) const {
    return viewer_of<T>::view(data, extents);
  }
  /// The same where its local extents are smaller than the allocated ones.
  template<class T, std::size_t N>
  auto view(T* data, std::array<extent, N> const& local, std::array<extent, N> const& allocated) const {
    return viewer_of<T>::view(data, local, allocated);
  }

  // ---- arithmetic: a plan says what to do, a kernel does it

  /// Where processes hold unequally much (`uneven_steps`), each works by its own steps, at the price of the
  /// fullest.
  template<Task K, class Steps, class... A>
  void run(K const& task, Steps const& plan, A const&... arrays) {
    if (this->idles()) return;
    typename K::steps_type const *priced, *own;
    if constexpr (std::is_same_v<Steps, uneven_steps<typename K::steps_type>>) {
      auto const& kept = own_steps(plan);
      priced           = &kept.fullest;
      own              = &kept.own;
    } else {
      priced = own = &plan;
    }
    auto const span = is_observed() ? trace_task(task, *priced) : detail::observer::span{};
    if constexpr (NeedsScratch<K>) {
      extent const n = detail::scratch_elements<K>(*priced, kernel::thread_count());
      detail::scratch_memory<typename K::scratch_type, process_mesh> const scratch{*this, n};
      kernel::execute(task, *own, this->place(), arrays..., scratch.data());
    } else {
      kernel::execute(task, *own, this->place(), arrays...);
    }
  }
  template<class F, class... P>
  void transform(extent n, F const& f, P*... p) {
    if (this->idles()) return;
    auto const span = is_observed() ? trace_work(work_of::transform<F, P...>(n)) : detail::observer::span{};
    kernel::update(n, f, p...);
  }
  /// z = x + y, where each is added only if it counts. z may be x.
  template<class T>
  void add_up(extent n, bool x_counts, bool y_counts, T const* x, T const* y, T* z) {
    if (this->idles()) return;
    auto const span = is_observed() ? trace_work(work_of::add_up<T>(n)) : detail::observer::span{};
    if (x_counts && y_counts) kernel::add(n, x, y, z);
    else if (!x_counts && !y_counts) kernel::fill(n, T{}, z);
    else if (T const* const from = x_counts ? x : y; from != z) std::copy_n(from, n, z);
  }
  template<class T>
  void fill(extent n, T value, T* z) {
    if (this->idles()) return;
    auto const span = is_observed() ? trace_work(work_of::fill<T>(n)) : detail::observer::span{};
    kernel::fill(n, value, z);
  }
  template<class T>
  void copy(extent n, T const* x, T* z) {
    if (this->idles()) return;
    auto const span = is_observed() ? trace_work(work_of::copy<T>(n)) : detail::observer::span{};
    if (x != z) kernel::copy(n, x, z);
  }

  /// Copies the first `filled` elements of x and fills z with zeros up to `size`. The price is the same on
  /// every process.
  template<class T>
  void copy_filled(extent filled, extent size, T const* x, T* z) {
    if (this->idles()) return;
    auto const span = trace_work(work_of::copy<T>(size));
    std::copy_n(x, filled, z);
    std::fill_n(z + filled, size - filled, T{});
  }

  using machine_base<process_mesh<M>, M>::begin_notes;
  using machine_base<process_mesh<M>, M>::end_notes;

private:
  template<class T>
  struct viewer_in {
    static_assert(
        requires { sizeof(kernel::viewer<T>); },
        "meshtf: local() needs xtensor: include <meshtf/kernel/xtensor_view.hpp>, or <meshtf/meshtf.hpp>");
    using type = kernel::viewer<T>;
  };
  template<class T>
  using viewer_of = typename viewer_in<T>::type;

  /// The steps of this process, and those of the fullest. They are planned once for each count, and kept for
  /// the counts that were used last.
  template<class Steps>
  struct planned {
    Steps fullest;
    Steps own;
  };
  template<class Steps>
  planned<Steps> const& own_steps(uneven_steps<Steps> const& plan) {
    using both            = planned<Steps>;
    unsigned const number = this->counted_number();
    if (void const* const known = own_steps_.find(plan.loops, number))
      return *static_cast<both const*>(known);
    counts const& counted = this->counted();
    auto made             = std::make_shared<both const>(
        both{number == 0 ? plan.fullest : plan_fullest<Steps>(*plan.loops, counted),
             Steps::plan(*plan.loops, extents_at(*plan.loops, this->place(), counted))});
    return *static_cast<both const*>(own_steps_.keep(plan.loops, number, std::move(made)));
  }

  /// The price of a task is computed here, and not wherever one is run: it is seldom wanted.
  template<class K>
  [[gnu::cold, gnu::noinline]] detail::observer::span trace_task(K const& task,
                                                                 typename K::steps_type const& steps) {
    return trace_work(task.work(steps));
  }
  /// Notes the work, and measures the time until the end of the scope if there is an observer.
  [[gnu::cold, gnu::noinline]] detail::observer::span trace_work(work const& w) {
    this->note(w);
    return this->trace_operation(w);
  }
  /// Whether work is noted or timed; if not, work that is costly to compute is not computed.
  bool is_observed() const {
    if (this->takes_notes() || this->observer() != nullptr) [[unlikely]]
      return true;
    return false;
  }

  void expect_nothing_alive() const {
    if (arrays_ != 0) detail::end_with_arrays(name_of<M>(), arrays_, this->live_bytes());
  }

  detail::kept_plans own_steps_;
  pool pool_;
  extent arrays_ = 0;
  detail::spill_file spilled_;
};

/// The cost of all that `f.operator()<L>(m)` does, recorded while it runs: the same figures, in the same
/// order, as `dry_run<L>(f)` promises.
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

}  // namespace v0
}  // namespace meshtf
