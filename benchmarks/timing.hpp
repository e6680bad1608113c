// Timing of variants side by side: interleaved in one run, medians, ratios to the best raw one, a table and a
// JSON file. And the memory it took.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// One way to do a piece of work. The fastest `raw` one of a group is what the others are compared with.
struct variant {
  std::string name;
  std::function<void()> step;
  bool raw                     = false;
  std::function<void()> before = {};  // called before each sample; not timed
};

/// Seconds of one step of a variant; of each sample, that of the slowest process.
struct timing {
  std::string name;
  bool raw = false;
  std::vector<double> samples;
};

/// The quantile `q` of some numbers, without interpolation: 0.5 is the median.
inline double quantile(std::vector<double> v, double q) {
  auto const at = std::min(v.size() - 1, static_cast<std::size_t>(q * static_cast<double>(v.size())));
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(at), v.end());
  return v[at];
}

inline double median(timing const& t) { return quantile(t.samples, 0.5); }
inline double best(timing const& t) { return *std::min_element(t.samples.begin(), t.samples.end()); }

/// A, B, C, then B, C, A, ...: every round measures each variant once, `repeat` steps after one that only
/// warms the cache. A disturbance that is longer than a round falls on all of them, and none always runs
/// after the same other.
inline std::vector<timing> interleave(MPI_Comm comm, std::vector<variant> const& variants, int rounds,
                                      int repeat) {
  std::vector<timing> timings;
  for (auto const& v : variants) timings.push_back({v.name, v.raw, {}});
  for (int round = -1; round < rounds; ++round)
    for (std::size_t i = 0; i < variants.size(); ++i) {
      std::size_t const which = (i + static_cast<std::size_t>(round + 1)) % variants.size();
      if (variants[which].before) variants[which].before();
      variants[which].step();
      MPI_Barrier(comm);
      auto const start = std::chrono::steady_clock::now();
      for (int k = 0; k < repeat; ++k) variants[which].step();
      std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - start;
      if (round >= 0) timings[which].samples.push_back(passed.count() / repeat);
    }
  for (auto& t : timings) MPI_Allreduce(MPI_IN_PLACE, t.samples.data(), rounds, MPI_DOUBLE, MPI_MAX, comm);
  return timings;
}

/// The most memory this process has had, in bytes.
inline double peak_resident() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return 1024 * std::stod(line.substr(6));
  return 0;
}

/// The raw variant with the lowest median.
inline timing const& best_raw(std::vector<timing> const& group) {
  timing const* found = nullptr;
  for (auto const& t : group)
    if (t.raw && (!found || median(t) < median(*found))) found = &t;
  if (!found) throw std::logic_error{"a group of variants has no raw one"};
  return *found;
}

/// How much longer `t` takes than `base`: of the medians; the median and the quartiles of the ratios round by
/// round.
struct ratio {
  double of_medians;
  double of_rounds;
  double low;
  double high;
};

inline ratio compare(timing const& t, timing const& base) {
  std::vector<double> rounds;
  for (std::size_t i = 0; i < t.samples.size(); ++i) rounds.push_back(t.samples[i] / base.samples[i]);
  return {median(t) / median(base), quantile(rounds, 0.5), quantile(rounds, 0.25), quantile(rounds, 0.75)};
}

/// The table on rank 0 and its rows for the file.
class report {
public:
  explicit report(MPI_Comm comm) { MPI_Comm_rank(comm, &rank_); }

  void say(std::string const& line) const {
    if (rank_ == 0) std::printf("%s\n", line.c_str());
  }

  /// Extra columns of a row: a name and a number.
  using extras = std::vector<std::pair<std::string, double>>;

  /// Prints and keeps one group: `extra` gives the columns a variant has besides its times.
  void add(std::string const& what, std::vector<timing> const& group,
           std::function<extras(timing const&)> const& extra = {}) {
    if (rank_ != 0) return;
    auto const& base = best_raw(group);
    std::printf("\n%-44s %12s %12s %7s  %s\n", what.c_str(), "median us", "best us", "ratio", "quartiles");
    for (auto const& t : group) {
      auto const r = compare(t, base);
      std::printf("  %-42s %12.2f %12.2f %7.3f  %.3f-%.3f", t.name.c_str(), 1e6 * median(t), 1e6 * best(t),
                  r.of_medians, r.low, r.high);
      std::string row = "{\"what\": \"" + what + "\", \"variant\": \"" + t.name +
                        "\", \"raw\": " + (t.raw ? "true" : "false");
      append(row, {{"samples", static_cast<double>(t.samples.size())},
                   {"median_s", median(t)},
                   {"best_s", best(t)},
                   {"ratio", r.of_medians},
                   {"ratio_of_rounds", r.of_rounds},
                   {"ratio_q1", r.low},
                   {"ratio_q3", r.high}});
      if (extra) {
        auto const more = extra(t);
        for (auto const& [name, value] : more) std::printf("  %s %.3g", name.c_str(), value);
        append(row, more);
      }
      std::printf("\n");
      rows_.push_back(row + "}");
    }
    std::fflush(stdout);
  }

  /// One JSON array of flat objects, a row a line.
  void write(std::string const& path) const {
    if (rank_ != 0 || path.empty()) return;
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (!file) throw std::runtime_error{"can't write " + path};
    for (std::size_t i = 0; i < rows_.size(); ++i)
      std::fprintf(file, "%s\n  %s", i == 0 ? "[" : ",", rows_[i].c_str());
    bool const written = std::fprintf(file, "\n]\n") > 0;
    if (std::fclose(file) != 0 || !written) throw std::runtime_error{"can't write " + path};
  }

private:
  static void append(std::string& row, extras const& columns) {
    for (auto const& [name, value] : columns) {
      char number[32];
      std::snprintf(number, sizeof number, "%.6g", value);
      row += ", \"" + name + "\": " + number;
    }
  }

  int rank_ = 0;
  std::vector<std::string> rows_;
};

}  // namespace bench
