// A process in its mesh: where it is, whom it can send to, what checks and watches its calls. All this
// depends on the mesh in names and numbers, not in types, so it is compiled once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <boost/mpi/communicator.hpp>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/mesh.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/price/call_site.hpp>
#include <meshtf/price/cost.hpp>
#include <meshtf/runtime/check.hpp>
#include <meshtf/runtime/observer.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include <boost/mpi/environment.hpp>

#include <meshtf/core/error.hpp>
#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/environment.hpp>
#include <meshtf/runtime/waiting.hpp>
#endif

namespace meshtf {
inline namespace v0 {
/// The part of `process_mesh` that does not know the mesh: the position of a process, its communicators, what
/// checks and watches its calls.
class process_in_mesh {
public:
  process_in_mesh(process_in_mesh const&) = delete;
  void operator=(process_in_mesh const&)  = delete;

  /// The mesh's own duplicate of the communicator that it was made from.
  boost::mpi::communicator const& world() const { return *world_; }
  /// The rank of this process in `world()`, row-major in the mesh's order of axes.
  int rank() const { return rank_; }
  /// The coordinates by number of the axis.
  std::span<extent const> coordinates() const { return coordinates_; }

  /// The processes that differ from this one along a set of axes; row-major in the mesh's order.
  boost::mpi::communicator const& along(axis_set over) const { return sets_[over & joining_]; }
  /// The rank of this process among those.
  extent rank_along(axis_set over) const;

  /// Of the processes that hold the same elements, only the one at coordinate 0 of the axes counts.
  bool counts(axis_set over) const;

  /// For code that sends messages over `world()` itself: where calls are compared, `operation` with
  /// `object` ("save", a folder) is compared like a call.
  void compare_call(std::string_view operation, std::string_view object) const;

  /// Where calls are compared, a process that counts another number of elements is named.
  void expect_same_count(std::string_view dim, extent n) const;

  /// Where calls are compared, a process that has another number at the place `site` is named.
  void expect_same_number(std::int64_t number, call_site const& site) const;

  /// A number that the library has computed anyway, the loss or the norm of the gradients, is not finite. The
  /// first time, one process says so, with the last operation before it: with pipelines, one of the stage
  /// that has the number.
  void say_not_finite(std::string_view number, double value, long step, call_site const& last,
                      axis_set stages_over = 0) const;

  /// The norm of the gradients is not finite, so the step is skipped. The first time, one process says so.
  void say_skipped(long step, call_site const& last) const;

  /// That many steps in a row were skipped; all processes call it. This one has seen `value` in the element
  /// `index` of its part of the gradient of `parameter`, or nothing if that is empty.
  /// Errors: `data_error` on all processes, with what the first has seen.
  [[noreturn]] void end_not_finite(int steps_in_a_row, long step, std::string const& parameter, extent index,
                                   double value) const;

  /// Two runs from the same values differ; all processes call it, each with what it has seen, or nothing.
  /// Errors: `software_error` on all processes, with what the first has seen.
  [[noreturn]] void end_runs_differ(std::string const& seen_here) const;

protected:
  /// Makes the communicators from the processes of `given`, row-major over the axes of `mesh`. `joining`: the
  /// axes that are longer than 1.
  /// Errors: `usage_error` on all processes if their number is not that of the mesh; `software_error` if MPI
  /// is not up.
  process_in_mesh(named_mesh const& mesh, axis_set joining, boost::mpi::communicator const& given);
  ~process_in_mesh();

  /// Where calls are compared, this one; the other processes are about to make the same. If it is a call of
  /// one stage of those along `stages_over`, the processes of this stage are.
  void compare(collective_call const& c, axis_set stages_over = 0) const;
  /// The same before costs are compared.
  void compare_agreement() const;
  /// Called in the destructor: finds a process that leaves the mesh while others still want to send, and ends
  /// the job.
  void compare_ends() const;

  bool compares_calls() const { return check_ != nullptr; }

  /// The observer; null if neither a profile nor a trace is wanted.
  detail::observer* observer() const { return observer_; }
  /// The observer, which is made if there is none.
  detail::observer& ensure_observer();
  /// Of the first process, if the environment asked for it.
  void print_profile() const;

  std::array<extent, max_axes> coordinates_{};

private:
  struct owned;  // what it owns

  std::unique_ptr<owned> owned_;
  boost::mpi::communicator const* world_ = nullptr;
  boost::mpi::communicator const* sets_  = nullptr;
  axis_set joining_                      = 0;
  int rank_                              = 0;
  call_check* check_                     = nullptr;
  detail::observer* observer_            = nullptr;
};

#if MESHTF_DEFINES_RUNTIME

namespace detail {

MESHTF_DEFINE char const* not_finite_text(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

/// "adamw::step, src/mlp.cpp:12": an operator has no place.
MESHTF_DEFINE std::string full_place(call_site const& site) {
  std::string const operation = site.operation;
  if (site.at.line() == 0) return operation;
  return operation + ", " + site.at.file_name() + ":" + std::to_string(site.at.line());
}

}  // namespace detail

struct process_in_mesh::owned {
  named_mesh mesh;
  boost::mpi::communicator world;
  std::vector<boost::mpi::communicator> sets;
  std::unique_ptr<call_check> check;
  std::unique_ptr<call_check> check_of_stage;
  std::unique_ptr<detail::observer> observer;
  bool said_not_finite = false;
  bool said_skipped    = false;
  int exceptions       = std::uncaught_exceptions();
};

MESHTF_DEFINE process_in_mesh::process_in_mesh(named_mesh const& mesh, axis_set joining,
                                               boost::mpi::communicator const& given)
    : owned_{std::make_unique<owned>()}, joining_{joining} {
  if (!boost::mpi::environment::initialized() || detail::mpi_has_ended()) detail::throw_without_mpi();
  extent size = 1;
  for (extent const n : mesh.sizes) size *= n;
  if (given.size() != size)
    throw usage_error("compiled for " + detail::shape_of(mesh) + " = " + std::to_string(size) +
                      " processes, started with " + std::to_string(given.size()) + ": mpirun -n " +
                      std::to_string(size) + " ...");
  detail::waiting const here{"the making of a process_mesh"};
  owned& made = *owned_;
  made.mesh   = mesh;
  made.world  = boost::mpi::communicator{given, boost::mpi::comm_duplicate};
  throw_on_failure(made.world);
  world_     = &made.world;
  rank_      = made.world.rank();
  made.check = call_check::if_wanted(made.world);
  check_     = made.check.get();
  if (check_ != nullptr) {
    fnv1a hash;
    for (std::size_t a = 0; a < mesh.axes.size(); ++a)
      hash << mesh.axes[a] << static_cast<std::uint64_t>(mesh.sizes[a]);
    check_->compare(hash, [&mesh] { return "makes the mesh " + detail::shape_of(mesh); });
  }

  extent stride = size;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a)
    coordinates_[a] = rank_ / (stride /= mesh.sizes[a]) % mesh.sizes[a];

  made.sets.resize(std::size_t{1} << mesh.axes.size());
  sets_ = made.sets.data();
  for (axis_set over = 0; over < made.sets.size(); ++over) {
    if ((over & ~joining) != 0) continue;  // the same processes as without the axes of size 1
    int color = 0;
    std::string name;
    for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
      bool const differs = (over >> a & 1) != 0;
      color = color * static_cast<int>(mesh.sizes[a]) + (differs ? 0 : static_cast<int>(coordinates_[a]));
      if (differs) (name += name.empty() ? "" : " ") += mesh.axes[a];
    }
    made.sets[over] = over == joining ? made.world : made.world.split(color, rank_);
    throw_on_failure(made.sets[over]);
    MPI_Comm_set_name(made.sets[over], name.c_str());
  }

  made.observer = detail::observer::if_wanted(made.world, mesh, coordinates_);
  observer_     = made.observer.get();
}
MESHTF_DEFINE process_in_mesh::~process_in_mesh() = default;

MESHTF_DEFINE extent process_in_mesh::rank_along(axis_set over) const { return along(over).rank(); }

MESHTF_DEFINE bool process_in_mesh::counts(axis_set over) const {
  for (std::size_t a = 0; a < max_axes; ++a)
    if ((over >> a & 1) != 0 && coordinates_[a] != 0) return false;
  return true;
}

MESHTF_DEFINE void process_in_mesh::compare_call(std::string_view operation, std::string_view object) const {
  if (check_ == nullptr) return;
  detail::waiting const here{"the comparison of calls"};
  check_->compare(fnv1a{} << operation,
                  [&] { return "calls " + std::string{operation} + " of '" + std::string{object} + "'"; });
}
MESHTF_DEFINE void process_in_mesh::expect_same_count(std::string_view dim, extent n) const {
  if (check_ == nullptr) return;
  check_->compare(fnv1a{} << "counted" << dim << std::to_string(n),
                  [&] { return "counts " + std::to_string(n) + " elements of " + std::string{dim}; });
}
MESHTF_DEFINE void process_in_mesh::expect_same_number(std::int64_t number, call_site const& site) const {
  if (check_ == nullptr) return;
  detail::waiting const here{"the comparison of calls", site.operation, site.at, site.backward};
  check_->compare(fnv1a{} << "a number" << static_cast<std::uint64_t>(number), [&] {
    return "has the number " + std::to_string(number) + " for " + std::string{detail::site_text(site).view()};
  });
}
MESHTF_DEFINE void process_in_mesh::say_not_finite(std::string_view number, double value, long step,
                                                   call_site const& last, axis_set stages_over) const {
  if (std::exchange(owned_->said_not_finite, true) || !counts(joining_ & ~stages_over)) return;
  std::fputs(("meshtf: " + std::string{number} + " of step " + std::to_string(step) + " is " +
              detail::not_finite_text(value) + " (" + detail::full_place(last) +
              "): the gradients and the next weights are not finite either; later ones are not reported\n")
                 .c_str(),
             stderr);
}
MESHTF_DEFINE void process_in_mesh::say_skipped(long step, call_site const& last) const {
  if (std::exchange(owned_->said_skipped, true) || rank_ != 0) return;
  std::fputs(("meshtf: step " + std::to_string(step) + " is skipped (" + detail::full_place(last) +
              "): the norm of its gradients is not finite; later ones are not reported\n")
                 .c_str(),
             stderr);
}
[[noreturn]] MESHTF_DEFINE void process_in_mesh::end_not_finite(int steps_in_a_row, long step,
                                                                std::string const& parameter, extent index,
                                                                double value) const {
  std::string own;
  if (!parameter.empty())
    own = std::string{detail::not_finite_text(value)} + " in element " + std::to_string(index) +
          " of its part of the gradient of " + parameter;
  std::string seen = "each gradient was finite, their sum is not";
  detail::waiting const here{"the comparison of gradients"};
  auto const all = detail::said_by_each(world(), own);
  for (std::size_t rank = all.size(); rank-- > 0;)
    if (!all[rank].empty()) seen = "process " + std::to_string(rank) + " has " + all[rank];
  throw data_error("expected gradients that are finite, got " + std::to_string(steps_in_a_row) +
                   (steps_in_a_row == 1 ? " step" : " steps in a row") + " in which they are not, to step " +
                   std::to_string(step) + ": " + seen + ": look at its data, or take a lower rate");
}
namespace detail {
/// What an operation, `twice`, saw in two runs.
MESHTF_DEFINE std::string twice_words(std::string_view what, extent index, double first, double second) {
  auto const text = [](double x) {
    char digits[32];
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
  };
  return "element " + std::to_string(index) + " of its part of " + std::string{what} + " is " + text(first) +
         " the first time and " + text(second) + " the second";
}
}  // namespace detail
[[noreturn]] MESHTF_DEFINE void process_in_mesh::end_runs_differ(std::string const& seen_here) const {
  detail::waiting const here{"the comparison of two runs"};
  auto const all   = detail::said_by_each(world(), seen_here);
  std::size_t rank = 0;
  while (rank + 1 < all.size() && all[rank].empty()) ++rank;
  throw software_error(
      "expected two runs from the same values to leave the same bits, got others on process " +
      std::to_string(rank) + ": " + all[rank] +
      ": a function that reads a counter or a clock does that; if this one does not, a "
      "machine has failed: go on from a checkpoint on others");
}
MESHTF_DEFINE void process_in_mesh::compare(collective_call const& c, axis_set stages_over) const {
  if (check_ == nullptr) return;
  call_check* check = check_;
  if ((stages_over & joining_) != 0) {
    auto& own = owned_->check_of_stage;
    if (own == nullptr) own = std::make_unique<call_check>(along(joining_ & ~stages_over));
    check = own.get();
  }
  check->compare(fnv1a{} << c,
                 [&] { return "calls " + detail::words_of_call(c, detail::axes_in(owned_->mesh, c.over)); });
}
MESHTF_DEFINE void process_in_mesh::compare_agreement() const {
  if (check_ != nullptr)
    check_->compare(fnv1a{} << "agree", [] { return "compares its cost with the others'"; });
}
MESHTF_DEFINE void process_in_mesh::compare_ends() const {
  if (check_ == nullptr || check_->found_a_difference() || std::uncaught_exceptions() > owned_->exceptions)
    return;
  detail::waiting const here{"the end of a process_mesh"};
  try {
    check_->compare(fnv1a{} << "the end", [] { return "has come to the end of its mesh"; });
  } catch (...) {
    // here, where the exception is known: when it leaves a destructor, g++ 12 may have lost it
    std::terminate();
  }
}

MESHTF_DEFINE detail::observer& process_in_mesh::ensure_observer() {
  if (observer_ == nullptr) {
    owned_->observer = std::make_unique<detail::observer>();
    observer_        = owned_->observer.get();
  }
  return *observer_;
}
MESHTF_DEFINE void process_in_mesh::print_profile() const {
  if (observer_ != nullptr && rank_ == 0) observer_->print_profile(owned_->mesh.name);
}

#endif

}  // namespace v0
}  // namespace meshtf
