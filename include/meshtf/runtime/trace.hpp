// A trace of a program: what each process does and when, for the viewers of Chrome and Perfetto.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>
#include <time.h>

#include <meshtf/core/compiled.hpp>
#include <meshtf/price/call_site.hpp>
#include <meshtf/price/cost.hpp>

namespace meshtf {
inline namespace v0 {

/// Which steps of a program `environment` traces, and the file that it writes at its end: one for all
/// processes, in Chrome's JSON, which ui.perfetto.dev opens. Step n begins where the optimizer's step n - 1
/// on the same mesh has ended, and ends with its step n. Step 1 includes the setting up.
///
///     meshtf::environment env{argc, argv, meshtf::trace{"step.json", 3, 5}};
///
/// The environment variables MESHTF_TRACE=FILE and MESHTF_TRACE_STEPS=3:5 take precedence; those of process 0
/// count. docs/traces_and_logs.md says what is in the file. A program that ends with an error leaves it
/// empty.
struct trace {
  std::string file = {};  // empty: no trace
  long first       = 1;
  long last        = 10;
};

namespace detail {

/// Reads the steps of a trace, "3:5" or "3". Errors: `usage_error`, in which `what` says so, if these are
/// none.
void read_trace_steps(std::string const& said, std::string const& text, trace& settings);

/// An operation or a collective of this process.
struct traced_call {
  call_site site{};
  char const* kind = "";  // of the work, or the name of a collective
  // in nanoseconds of this process's clock
  std::int64_t begin = 0;
  std::int64_t end   = 0;
  std::int64_t until = 0;  // of a sum that goes on: when its end had been waited for
  // the bytes of a collective are its payload
  extent flops = 0;
  extent bytes = 0;
  // of a product
  extent m = 0;
  extent n = 0;
  extent k = 0;
  // of a collective
  extent count = 0;
  extent sent  = 0;
  extent live  = 0;  // bytes on the mesh when it began
  long step    = 0;
  int mesh     = 0;  // the number of the mesh on this process
  int number   = 0;  // of a collective among those of its mesh, from 1, or 0
  int among    = 0;  // ... and among those over the same axes
  axis_set over{};
  collective call{};
  reduction op{};
  element type{};
};

/// What the trace says of a mesh.
struct traced_mesh {
  std::string name;
  std::array<std::string_view, max_axes> axes{};
  std::array<extent, max_axes> sizes{};
  std::array<extent, max_axes> coordinates{};
  std::int64_t key = 0;  // the same on all of its processes, and no other mesh's
  axis_set stages  = 0;  // the axis along which the stages of a pipeline lie

  /// "rows cols"
  std::string axes_text(axis_set over) const {
    std::string text;
    for (std::size_t a = 0; a < max_axes; ++a)
      if ((over >> a & 1) != 0) (text += text.empty() ? "" : " ") += axes[a];
    return text;
  }
  /// The stage of this process; -1 if there are none.
  extent stage() const {
    for (std::size_t a = 0; a < max_axes; ++a)
      if ((stages >> a & 1) != 0) return coordinates[a];
    return -1;
  }
  /// The rank of the first of the processes that this one meets along `over`.
  std::int64_t first_along(axis_set over) const {
    std::int64_t rank = 0;
    for (std::size_t a = 0; a < max_axes && !axes[a].empty(); ++a)
      rank = rank * sizes[a] + ((over >> a & 1) != 0 ? 0 : coordinates[a]);
    return rank;
  }
};

/// A reading of two clocks: this process's, and how far it is ahead of that of process 0.
struct clock_reading {
  std::int64_t here  = 0;
  std::int64_t ahead = 0;
};

/// What this process has to tell, until the end of the program. It keeps calls in memory that it takes before
/// they come, and looks at the clock twice for each. How long one waits for others is found at the end, from
/// the times at which all began: a program that is traced sends nothing more.
class trace_log {
public:
  static constexpr std::size_t calls_a_piece = std::size_t{1} << 14;
  static constexpr std::size_t max_calls     = std::size_t{200'000};  // 70 MB of text: viewers take no more

  /// The log that the meshes of this process write to, or null.
  static trace_log*& here() {
    static trace_log* current = nullptr;
    return current;
  }
  /// Null unless the environment variable or the program wants a trace. All processes of `world` call it.
  /// Errors on all: `usage_error` if the steps are none, `unavailable` if the file can't be written.
  static std::unique_ptr<trace_log> if_wanted(MPI_Comm world, trace const& of_program);

  trace_log(MPI_Comm world, trace settings, std::FILE* file);
  trace_log(trace_log const&)      = delete;
  void operator=(trace_log const&) = delete;
  /// Gathers what all have to tell and writes it; all processes call it.
  ~trace_log();

  /// Nanoseconds.
  static std::int64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }

  /// Returns the number of the mesh on this process. All processes of `comm` call it.
  int add(MPI_Comm comm, traced_mesh mesh);

  void note_stages(int mesh, axis_set over) { meshes_[static_cast<std::size_t>(mesh)].stages = over; }

  /// The place of the next call in the trace, or null if it is not to be recorded.
  traced_call* next_slot(long step) {
    if (step > seen_) seen_ = step;
    if (step < settings_.first || step > settings_.last) return nullptr;
    if (count_ == max_calls) {
      ++left_out_;
      return nullptr;
    }
    if (count_ == pieces_.size() * calls_a_piece) add_block();
    return &call(count_++);
  }

private:
  // what comes of a collective that others take part in
  struct arrival {
    std::int64_t mesh;
    std::int64_t over;
    std::int64_t number;  // among those over these axes, which all who take part count alike
    std::int64_t group;
    std::int64_t begin;
    std::int64_t rank;
    std::int64_t index;
  };
  struct joint {
    // when the last one came; the arrow that joins them, and 's', 't' or 'f' for its start, middle and end,
    // or 0
    std::int64_t until;
    std::int64_t flow;
    std::int64_t role;
  };

  traced_call& call(std::size_t i) { return pieces_[i / calls_a_piece][i % calls_a_piece]; }
  void add_block() { pieces_.push_back(std::make_unique<traced_call[]>(calls_a_piece)); }
  clock_reading compare_clocks() const;
  std::int64_t in_time_of_all(std::int64_t t) const;
  std::vector<joint> join_collectives();
  static std::vector<joint> joined(std::vector<arrival>& all);
  std::string name_of_process() const;
  std::string text();
  void write(std::string const& mine);
  void say_what_is_missing(extent all, extent left_out, long steps, int failure) const;

  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_       = 0;
  int size_       = 1;
  trace settings_;
  std::FILE* file_ = nullptr;  // on process 0
  std::vector<traced_mesh> meshes_;
  std::vector<std::unique_ptr<traced_call[]>> pieces_;
  std::size_t count_ = 0;
  extent left_out_   = 0;
  long seen_         = 0;
  clock_reading start_;
  clock_reading end_;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf

#if MESHTF_DEFINES_RUNTIME
#include <meshtf/runtime/trace_file.hpp>
#include <meshtf/runtime/trace_joints.hpp>
#endif
