// The end of a job that does not go on: each process that lives writes its last collectives to a folder, and
// one of them says which process is missing.
#pragma once

#include <string>

#include <mpi.h>

#include <meshtf/core/compiled.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <meshtf/core/error.hpp>
#include <meshtf/core/json_text.hpp>
#include <meshtf/runtime/call_ring.hpp>
#include <meshtf/runtime/switch_value.hpp>
#include <meshtf/runtime/waiting.hpp>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// What a thread that watches a process knows of the job.
struct watched_job {
  int rank        = 0;
  int size        = 1;
  double patience = 0;  // seconds until a process that waits says so; 0: never
  // seconds until a collective that does not end ends the job, and one that waits for a checkpoint; 0: never
  long limit        = 0;
  long save_limit   = 0;
  std::string rings = {};  // the folder that the last collectives are written to; empty: none
  long started      = 0;   // in seconds of the system's clock

  bool is_limited() const { return limit > 0 || save_limit > 0; }
};

/// What the launcher says of the job before MPI is up. A value that is no limit is refused later.
watched_job job_of_launcher();

/// The limits that MESHTF_TIMEOUT and MESHTF_SAVE_TIMEOUT set on any process of `world`, since mpirun passes
/// them to its own node alone. Collective: an all-reduce of two numbers; if there are limits, a broadcast of
/// the folder's name.
/// Errors: `usage_error` if a value is no whole number of seconds from 1 on.
watched_job agreed_job(MPI_Comm world);

/// "waits in all_reduce for mean, mlp.cpp:12", "waits for process 0, which writes a checkpoint", "computes
/// after all_reduce for mean, mlp.cpp:12"
std::string state_of_process();

/// Whether a process of the job has found that it does not go on, and asks for the others' collectives.
bool asks_for_rings(watched_job const& job);
/// Whether the last collectives of this process are written.
bool write_ring(watched_job const& job);

/// Writes the last collectives, waits `grace` seconds for those of the other processes, has one process say
/// who is missing, and ends this one with status 75.
[[noreturn]] void end_standing_job(watched_job const& job, double grace);

/// "process 1 does not answer (...); processes 0, 2-3 wait in all_reduce for mean, mlp.cpp:12", of what each
/// process does; an empty text is no answer.
std::string states_text(std::string const* does, int processes);

#if MESHTF_DEFINES_RUNTIME

// ---- what is known of the job

/// A number of seconds from 1 on; 0 if `text` is null or empty, -1 if it is something else.
MESHTF_DEFINE long read_limit(char const* text) {
  if (text == nullptr || *text == '\0') return 0;
  long seconds = 0;
  return read_number(text, seconds) && seconds > 0 && seconds <= 1'000'000'000 ? seconds : -1;
}

MESHTF_DEFINE void set_limits(watched_job& job, long limit, long save_limit) {
  job.limit      = std::max(limit, 0L);
  job.save_limit = save_limit > 0 ? save_limit : 20 * job.limit;
}

/// The folder of the trace, or the one in which the program was started.
MESHTF_DEFINE std::string folder_for_rings() {
  char const* const trace = std::getenv("MESHTF_TRACE");
  std::string folder      = trace == nullptr ? "" : trace;
  folder.resize(folder.find('/') == folder.npos ? 0 : folder.rfind('/') + 1);
  if (folder.starts_with('/')) return folder;
  char here[4096]{};
  if (::getcwd(here, sizeof here) == nullptr) return folder;
  return std::string{here} + "/" + folder;
}

MESHTF_DEFINE watched_job job_of_launcher() {
  watched_job job;
  job.started = static_cast<long>(::time(nullptr));
  set_limits(job, read_limit(std::getenv("MESHTF_TIMEOUT")), read_limit(std::getenv("MESHTF_SAVE_TIMEOUT")));
  auto const number = [](char const* open_mpi, char const* mpich, int otherwise) {
    char const* const said = open_mpi != nullptr ? open_mpi : mpich;
    int n                  = otherwise;
    return said != nullptr && read_number(said, n) ? n : otherwise;
  };
  job.rank = number(std::getenv("OMPI_COMM_WORLD_RANK"), std::getenv("PMI_RANK"), 0);
  job.size = number(std::getenv("OMPI_COMM_WORLD_SIZE"), std::getenv("PMI_SIZE"), 1);
  if (char const* const name = std::getenv("PMIX_NAMESPACE"))
    job.rings = folder_for_rings() + "meshtf-rings-" + name;
  return job;
}

MESHTF_DEFINE watched_job agreed_job(MPI_Comm world) {
  watched_job job;
  job.started = static_cast<long>(::time(nullptr));
  MPI_Comm_rank(world, &job.rank);
  MPI_Comm_size(world, &job.size);
  auto const limit = [](char const* name, char const* text) {
    long const seconds = read_limit(text);
    if (seconds < 0)
      throw usage_error("expected " + std::string{name} +
                        " to be a whole number of seconds from 1 on, got '" + text +
                        "': for example 600; unset, a job that does not go on waits for ever");
    return seconds;
  };
  long limits[]{limit("MESHTF_TIMEOUT", std::getenv("MESHTF_TIMEOUT")),
                limit("MESHTF_SAVE_TIMEOUT", std::getenv("MESHTF_SAVE_TIMEOUT"))};
  MPI_Allreduce(MPI_IN_PLACE, limits, 2, MPI_LONG, MPI_MAX, world);
  set_limits(job, limits[0], limits[1]);
  if (!job.is_limited()) return job;
  std::array<char, 4096> rings{};
  std::string const own =
      folder_for_rings() + "meshtf-rings-" + std::to_string(::getpid()) + "-" + std::to_string(job.started);
  if (job.rank == 0) std::copy_n(own.data(), std::min(own.size(), rings.size() - 1), rings.data());
  MPI_Bcast(rings.data(), static_cast<int>(rings.size()), MPI_CHAR, 0, world);
  job.rings = rings.data();
  return job;
}

// ---- what each process does

MESHTF_DEFINE std::string state_of_process() {
  std::string const latest = last_calls.latest();
  if (waits.number.load(std::memory_order_acquire) % 2 == 0)
    return "computes " + (latest.empty() ? "before its first collective" : "after " + latest);
  if (char const* const file = waits.file_of.load(std::memory_order_relaxed))
    return "waits for " + std::string{file};
  int const stage = waits.stage.load(std::memory_order_relaxed);
  return "waits " + (stage < 0 ? "" : "for stage " + std::to_string(stage) + " ") + "in " + latest;
}

// ---- the folder

MESHTF_DEFINE std::string path_of_ring(watched_job const& job, int rank) {
  return job.rings + "/" + std::to_string(rank) + ".json";
}

/// Whether the file is there, and of this job: one of an earlier job of the same name does not count.
MESHTF_DEFINE bool is_of_job(watched_job const& job, std::string const& path) {
  constexpr long clocks_differ = 60;  // in seconds, those of the machines of a job
  struct stat about{};
  return ::stat(path.c_str(), &about) == 0 && about.st_mtime >= job.started - clocks_differ;
}

MESHTF_DEFINE bool asks_for_rings(watched_job const& job) {
  return !job.rings.empty() && is_of_job(job, job.rings);
}

MESHTF_DEFINE bool write_ring(watched_job const& job) {
  if (job.rings.empty()) return false;
  ::mkdir(job.rings.c_str(), 0777);  // it may be there
  std::string const path = path_of_ring(job, job.rank);
  std::string const text =
      "{\"does\":" + json_text(state_of_process()) + ",\n\"process\":" + std::to_string(job.rank) +
      ",\"processes\":" + std::to_string(job.size) +
      ",\"collectives\":" + std::to_string(last_calls.begun()) + ",\n\"last\":" + last_calls.json() + "}\n";
  // under another name until it is whole: other processes read it
  std::string const unfinished = path + ".tmp";
  std::FILE* const file        = std::fopen(unfinished.c_str(), "we");
  if (file == nullptr) return false;
  bool const written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written && ::rename(unfinished.c_str(), path.c_str()) == 0;
}

/// What the process `rank` said that it does; empty if it has said nothing.
MESHTF_DEFINE std::string state_in_ring(watched_job const& job, int rank) {
  std::string const path = path_of_ring(job, rank);
  if (!is_of_job(job, path)) return "";
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return "";
  char line[1024]{};
  bool const read = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  std::string_view text         = read ? line : "";
  std::string_view const before = "{\"does\":\"";
  if (!text.starts_with(before)) return "";
  text.remove_prefix(before.size());
  return std::string{text.substr(0, text.rfind('"'))};
}

// ---- the end

/// "process 1", "processes 0, 2-3"
MESHTF_DEFINE std::string ranks_text(std::vector<int> const& ranks) {
  std::string text = ranks.size() == 1 ? "process " : "processes ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(ranks[last]);
    i = last;
  }
  return text;
}

MESHTF_DEFINE std::string states_text(std::string const* does, int processes) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (int rank = 0; rank < processes; ++rank) {
    auto const known =
        std::find_if(groups.begin(), groups.end(), [&](auto const& g) { return g.first == does[rank]; });
    if (known == groups.end()) groups.emplace_back(does[rank], std::vector{rank});
    else known->second.push_back(rank);
  }
  // the missing ones come first: those that say nothing, then those that do what few do
  std::sort(groups.begin(), groups.end(), [](auto const& a, auto const& b) {
    if (a.first.empty() != b.first.empty()) return a.first.empty();
    if (a.second.size() != b.second.size()) return a.second.size() < b.second.size();
    return a.second.front() < b.second.front();
  });
  constexpr std::size_t told = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), told); ++i) {
    auto [state, ranks] = groups[i];
    bool const is_one   = ranks.size() == 1;
    if (state.empty()) state = "does not answer (stopped, ended, or another program)";
    if (!is_one) {  // "process 1 waits", "processes 1, 2 wait"
      if (state.starts_with("does not")) state.replace(0, 4, "do");
      else state.erase(state.find(' ') - 1, 1);
    }
    text += (i == 0 ? "" : "; ") + ranks_text(ranks) + " " + state;
  }
  if (groups.size() > told) text += "; and " + std::to_string(groups.size() - told) + " other states";
  return text;
}

MESHTF_DEFINE std::string standstill_text(watched_job const& job, bool has_rings) {
  std::vector<std::string> does(static_cast<std::size_t>(job.size));
  for (int rank = 0; has_rings && rank < job.size; ++rank)
    does[static_cast<std::size_t>(rank)] = state_in_ring(job, rank);
  std::string const who = has_rings ? states_text(does.data(), job.size)
                                    : "process " + std::to_string(job.rank) + " of " +
                                          std::to_string(job.size) + " " + state_of_process();
  bool const saves      = waits.file_of.load(std::memory_order_relaxed) != nullptr;
  return "meshtf: the job has not gone on for " + std::to_string(saves ? job.save_limit : job.limit) +
         " s (" + (saves ? "MESHTF_SAVE_TIMEOUT" : "MESHTF_TIMEOUT") + "): " + who +
         ": it ends with status 75; " +
         (has_rings ? "the last collectives of each process are in " + job.rings
                    : "the last collectives can't be written to " + job.rings) +
         "\n";
}

/// Whether this process is the one that speaks for all: the first that makes the file of the report.
MESHTF_DEFINE bool speaks_for_all(watched_job const& job, std::string const& path) {
  if (!is_of_job(job, path)) ::unlink(path.c_str());
  int const file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file >= 0) ::close(file);
  return file >= 0;
}

MESHTF_DEFINE void rest_for(double seconds) {
  timespec const rest{
      .tv_sec  = static_cast<time_t>(seconds),
      .tv_nsec = static_cast<long>((seconds - static_cast<double>(static_cast<long>(seconds))) * 1e9)};
  nanosleep(&rest, nullptr);
}

[[noreturn]] MESHTF_DEFINE void end_standing_job(watched_job const& job, double grace) {
  constexpr int status  = 75;  // that of BSD's sysexits.h for "try again"
  bool const has_rings  = write_ring(job);
  constexpr double look = 0.1;
  auto const answered   = [&job] {
    for (int rank = 0; rank < job.size; ++rank)
      if (!is_of_job(job, path_of_ring(job, rank))) return false;
    return true;
  };
  for (double waited = 0; has_rings && waited < grace && !answered(); waited += look) rest_for(look);
  rest_for(0.02 * std::min(job.rank, 50));  // process 0, if it is there
  std::string const report = job.rings + "/report.txt";
  if (has_rings && !speaks_for_all(job, report)) {
    rest_for(2);  // mpirun ends this process meanwhile
    ::_exit(status);
  }
  if (ftrylockfile(stdout) == 0) {  // what the program has printed; the main thread may be in printf
    std::fflush(stdout);
    funlockfile(stdout);
  }
  std::string const line = standstill_text(job, has_rings);
  if (std::FILE* const file = has_rings ? std::fopen(report.c_str(), "we") : nullptr) {
    std::fwrite(line.data(), 1, line.size(), file);
    std::fclose(file);
  }
  std::fwrite(line.data(), 1, line.size(), stderr);  // one write, so lines of different processes don't mix
  ::_exit(status);
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
