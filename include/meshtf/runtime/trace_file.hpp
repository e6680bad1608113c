// How a trace begins and ends: its settings, the clocks of all processes in one time, and the file.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mpi.h>
#include <unistd.h>

#include <meshtf/core/error.hpp>
#include <meshtf/core/json_text.hpp>
#include <meshtf/runtime/locked_file.hpp>
#include <meshtf/runtime/switch_value.hpp>
#include <meshtf/runtime/trace.hpp>
#include <meshtf/runtime/trace_text.hpp>
#include <meshtf/version.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

// ---- settings

MESHTF_DEFINE void read_trace_steps(std::string const& said, std::string const& text, trace& settings) {
  std::string_view const all = said;
  auto const colon           = all.find(':');
  bool const one             = colon == all.npos;
  bool whole                 = read_number(all.substr(0, colon), settings.first);
  settings.last              = settings.first;
  if (!one) whole = read_number(all.substr(colon + 1), settings.last) && whole;
  if (!whole || settings.first < 1 || settings.last < settings.first)
    throw usage_error("expected " + text +
                      " to be the first and the last step of a trace, at least one from step 1 on, got '" +
                      said + "'" + (one || !whole ? "" : ", which are none") +
                      ": for example 3:5, or 3 for one");
}

/// What the environment variables ask for, or else the program.
MESHTF_DEFINE trace requested_trace(trace of_program) {
  auto const set = [](char const* name) {
    char const* const text = std::getenv(name);
    return std::string{text == nullptr ? "" : text};
  };
  if (auto const file = set("MESHTF_TRACE"); !file.empty()) of_program.file = file == "0" ? "" : file;
  // also where there is no trace: it is never another variable's mistake
  auto const steps = set("MESHTF_TRACE_STEPS");
  if (!steps.empty()) read_trace_steps(steps, "MESHTF_TRACE_STEPS", of_program);
  else if (!of_program.file.empty())
    read_trace_steps(std::to_string(of_program.first) + ":" + std::to_string(of_program.last),
                     "trace{file, first, last}", of_program);
  return of_program;
}

/// Empty, and locked for as long as it is open.
MESHTF_DEFINE std::FILE* opened_trace(std::string const& path) {
  auto [file, refusal] = open_to_write(path);
  if (refusal.empty() && lock(file) == lock_outcome::held_by_another)
    throw usage_error("expected one job to write the trace " + path +
                      ", got another that does: name another file (MESHTF_TRACE=trace2.json)");
  std::FILE* opened = nullptr;
  if (refusal.empty() && ::ftruncate(file.number(), 0) == 0) opened = ::fdopen(file.number(), "w");
  if (opened == nullptr)
    throw unavailable("expected a file for the trace that can be written, got '" + path +
                      "': " + (refusal.empty() ? std::strerror(errno) : refusal) +
                      ": name one in a folder that is there (MESHTF_TRACE=trace.json)");
  file.release();
  return opened;
}

MESHTF_DEFINE std::unique_ptr<trace_log> trace_log::if_wanted(MPI_Comm world, trace const& of_program) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  trace settings;
  std::FILE* file = nullptr;
  std::string refusal;
  int status = 0;
  if (rank == 0) try {
      settings = requested_trace(of_program);
      if (!settings.file.empty()) file = opened_trace(settings.file);
    } catch (error const& e) {
      refusal = e.what();
      status  = e.exit_status();
    }
  long said[]{file != nullptr ? 1 : 0, settings.first, settings.last, static_cast<long>(refusal.size()),
              status};
  MPI_Bcast(said, 5, MPI_LONG, 0, world);
  if (said[3] > 0) {
    refusal.resize(static_cast<std::size_t>(said[3]));
    MPI_Bcast(refusal.data(), static_cast<int>(refusal.size()), MPI_CHAR, 0, world);
    throw_error(refusal, static_cast<int>(said[4]));
  }
  if (said[0] == 0) return nullptr;
  return std::make_unique<trace_log>(world, trace{settings.file, said[1], said[2]}, file);
}

MESHTF_DEFINE trace_log::trace_log(MPI_Comm world, trace settings, std::FILE* file)
    : settings_{std::move(settings)}, file_{file} {
  MPI_Comm_dup(world, &world_);
  MPI_Comm_set_name(world_, "trace");
  MPI_Comm_rank(world_, &rank_);
  MPI_Comm_size(world_, &size_);
  add_block();
  start_ = compare_clocks();
  here() = this;
}

MESHTF_DEFINE trace_log::~trace_log() {
  here() = nullptr;
  end_   = compare_clocks();
  write(text());
  MPI_Comm_free(&world_);
}

MESHTF_DEFINE int trace_log::add(MPI_Comm comm, traced_mesh mesh) {
  int const number = static_cast<int>(meshes_.size());
  mesh.key         = (std::int64_t{rank_} << 32) + number;
  MPI_Bcast(&mesh.key, 1, MPI_INT64_T, 0, comm);
  meshes_.push_back(std::move(mesh));
  return number;
}

// ---- the file

/// "process 5", or "stage 2 (process 5)" if it is of a stage: that of its first mesh with stages.
MESHTF_DEFINE std::string trace_log::name_of_process() const {
  std::string const process = "process " + std::to_string(rank_);
  for (traced_mesh const& mesh : meshes_)
    if (extent const stage = mesh.stage(); stage >= 0)
      return "stage " + std::to_string(stage) + " (" + process + ")";
  return process;
}

/// What this process did, in the time of all. Each mesh has a track of its steps, of its forward passes, and
/// of its backward passes.
MESHTF_DEFINE std::string trace_log::text() {
  auto const joints = join_collectives();
  std::int64_t zero = in_time_of_all(start_.here);
  MPI_Bcast(&zero, 1, MPI_INT64_T, 0, world_);
  trace_text out{rank_, zero};
  out.text().reserve(count_ * 400);
  out.name("process_name", 0, name_of_process());
  auto const track = [](int mesh, int which) { return 3 * mesh + which; };
  for (std::size_t i = 0; i < meshes_.size(); ++i) {
    auto const& mesh = meshes_[i];
    std::string name = mesh.name;
    for (std::size_t a = 0; a < max_axes && !mesh.axes[a].empty(); ++a)
      (name += " ") += std::string{mesh.axes[a]} + "=" + std::to_string(mesh.coordinates[a]);
    auto const number = static_cast<int>(i);
    out.name("thread_name", track(number, 1), name + ": steps");
    out.name("thread_name", track(number, 2), name + ": forward");
    out.name("thread_name", track(number, 3), name + ": backward");
  }

  struct taken {
    long step         = 0;
    std::int64_t from = 0;
    std::int64_t to   = 0;
    extent live       = -1;
  };
  std::vector<taken> latest(meshes_.size());
  auto const end_step = [&](int mesh) {
    auto const& t = latest[static_cast<std::size_t>(mesh)];
    if (t.step != 0) out.slice(track(mesh, 1), t.from, t.to, "step " + std::to_string(t.step), "step", "");
  };
  std::size_t collectives = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    auto const& c            = call(i);
    auto const& mesh         = meshes_[static_cast<std::size_t>(c.mesh)];
    taken& so_far            = latest[static_cast<std::size_t>(c.mesh)];
    std::int64_t const begin = in_time_of_all(c.begin);
    std::int64_t const end   = in_time_of_all(c.end);
    int const on             = track(c.mesh, c.site.backward ? 3 : 2);
    std::string const whose  = *c.site.operation == '\0' ? "(set up)" : c.site.operation;
    bool const of_optimizer  = std::string_view{c.site.operation}.ends_with("::step");
    char const* label        = of_optimizer ? "optimizer" : "forward";
    if (c.site.backward) label = "backward";
    if (c.number != 0) label = "collective";
    if (c.step != so_far.step) {
      end_step(c.mesh);
      so_far.step = c.step;
      so_far.from = begin;
    }
    so_far.to = std::max(so_far.to, end);
    if (c.live != so_far.live) out.counter(begin, "memory of " + mesh.name, so_far.live = c.live);

    std::string arguments = "\"step\":" + std::to_string(c.step);
    auto const number     = [&arguments](char const* name, extent n) {
      arguments += ",\"" + std::string{name} + "\":" + std::to_string(n);
    };
    auto const words = [&arguments](char const* name, std::string_view text) {
      arguments += ",\"" + std::string{name} + "\":" + json_text(text);
    };
    words("call site", site_text(c.site));
    if (c.number == 0) {
      bool const is_product = c.flops != 0 && c.m != 0;
      words("kind", std::string{c.kind} + (is_product ? " " + std::to_string(c.m) + "x" +
                                                            std::to_string(c.n) + "x" + std::to_string(c.k)
                                                      : ""));
      number("flops", c.flops);
      number("bytes", c.bytes);
      out.slice(on, begin, end, whose + (c.site.backward ? "'s gradient" : ""), label, arguments);
      continue;
    }
    joint const& others = joints[collectives++];
    number("number", c.number);
    words("mesh", mesh.name);
    words("over", mesh.axes_text(c.over));
    words("operator", to_string(c.op));
    words("type", to_string(c.type));
    number("elements", c.count);
    number("payload", c.bytes);
    number("sent", c.sent);
    out.slice(on, begin, end, c.kind, label, arguments);
    if (c.until != 0)
      out.flight(on, begin, in_time_of_all(c.until), "sum number " + std::to_string(c.number), c.number,
                 arguments);
    // None of these can end before all have begun, unless it goes on.
    bool const joins =
        c.until == 0 && (c.call == collective::all_reduce || c.call == collective::all_gather ||
                         c.call == collective::reduce_scatter || c.call == collective::all_to_all);
    if (joins && others.role != 0) {
      std::int64_t const until = std::clamp(others.until, begin, end);
      if (until > begin) out.slice(on, begin, until, "wait for others", "wait", "");
      out.slice(on, until, end, "transfer", "transfer", "");
    }
    if (others.role != 0)
      out.arrow(on, begin, static_cast<char>(others.role), others.flow,
                std::string{c.kind} + " number " + std::to_string(c.number));
  }
  for (std::size_t i = 0; i < meshes_.size(); ++i) end_step(static_cast<int>(i));
  return std::move(out.text());
}

/// Process 0 writes the lines of each in turn, so it holds those of one alone.
MESHTF_DEFINE void trace_log::write(std::string const& mine) {
  constexpr std::size_t piece = std::size_t{1} << 30;
  long figures[]{static_cast<long>(count_), static_cast<long>(left_out_), seen_};
  long sums[3]{};
  long largest[3]{};
  MPI_Reduce(figures, sums, 3, MPI_LONG, MPI_SUM, 0, world_);
  MPI_Reduce(figures, largest, 3, MPI_LONG, MPI_MAX, 0, world_);
  if (rank_ != 0) {
    auto const size = static_cast<std::int64_t>(mine.size());
    MPI_Send(&size, 1, MPI_INT64_T, 0, 1, world_);
    for (std::size_t i = 0; i < mine.size(); i += piece)
      MPI_Ssend(mine.data() + i, static_cast<int>(std::min(piece, mine.size() - i)), MPI_CHAR, 0, 1, world_);
    return;
  }
  auto const version = std::to_string(MESHTF_VERSION_MAJOR) + "." + std::to_string(MESHTF_VERSION_MINOR) +
                       "." + std::to_string(MESHTF_VERSION_PATCH);
  std::fprintf(file_,
               "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"meshtf\":\"%s\",\"processes\":%d,\"first "
               "step\":%ld,\"last step\":%ld},\n\"traceEvents\":[\n",
               version.c_str(), size_, settings_.first, settings_.last);
  std::fwrite(mine.data(), 1, mine.size(), file_);
  std::string theirs;
  for (int r = 1; r < size_; ++r) {
    std::int64_t size = 0;
    MPI_Recv(&size, 1, MPI_INT64_T, r, 1, world_, MPI_STATUS_IGNORE);
    theirs.resize(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < theirs.size(); i += piece)
      MPI_Recv(theirs.data() + i, static_cast<int>(std::min(piece, theirs.size() - i)), MPI_CHAR, r, 1,
               world_, MPI_STATUS_IGNORE);
    std::fwrite(theirs.data(), 1, theirs.size(), file_);
  }
  // after the last one JSON wants no comma
  std::fputs("{\"ph\":\"M\",\"pid\":0,\"name\":\"trace\",\"args\":{}}\n]}\n", file_);
  bool const wrote  = std::fflush(file_) == 0 && std::ferror(file_) == 0;
  int const failure = wrote ? 0 : errno;
  std::fclose(file_);
  say_what_is_missing(sums[0], sums[1], largest[2], failure);
}

MESHTF_DEFINE void trace_log::say_what_is_missing(extent all, extent left_out, long steps,
                                                  int failure) const {
  std::string text;
  auto const requested =
      settings_.first == settings_.last
          ? "step " + std::to_string(settings_.first) + " was"
          : "steps " + std::to_string(settings_.first) + " to " + std::to_string(settings_.last) + " were";
  if (failure != 0) text = "the trace in " + settings_.file + " is not whole: " + std::strerror(failure);
  else if (all == 0)
    text = "the trace in " + settings_.file + " has nothing: " + requested +
           " asked for, and the program came to step " + std::to_string(steps) + ": set MESHTF_TRACE_STEPS";
  else if (left_out != 0)
    text = "the trace in " + settings_.file + " leaves out the last " + std::to_string(left_out) +
           " calls of all processes: it has room for " + std::to_string(max_calls) +
           " of each: trace fewer steps (MESHTF_TRACE_STEPS=3:5)";
  if (!text.empty()) std::fputs(("meshtf: " + text + "\n").c_str(), stderr);
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
