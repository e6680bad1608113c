// The log of a training: numbers, histograms and texts by step, for TensorBoard and as lines of JSON.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/io/log_files.hpp>
#include <meshtf/io/spikes.hpp>
#include <meshtf/io/training_position.hpp>
#include <meshtf/ops/shape/finish.hpp>
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/own_time.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/runtime/scratch_memory.hpp>
#include <meshtf/tensor/counted.hpp>
#include <meshtf/tensor/gradient.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Whether a log has histograms of such a tensor.
template<class W>
inline constexpr bool has_histogram = FloatingElement<typename W::element_type>;

/// The histograms of some tensors, each a row of sums and two maxima. Processes fill in the parts that they
/// hold, and one all-reduce of all sums and one of all maxima make the whole.
template<class Machine>
class summed_histograms {
public:
  summed_histograms(Machine& m, extent rows)
      : machine_(m), rows_(rows), sums_(m, rows * row), maxima_(m, 2 * rows) {
    std::fill_n(sums_.data(), rows * row, 0.0);
    std::fill_n(maxima_.data(), 2 * rows, -std::numeric_limits<double>::infinity());
  }

  template<class T, class L, class... D>
  void add(tensor<T, L, D...> const& x) {
    double* const sums   = sums_.data() + filled_ * row;
    double* const maxima = maxima_.data() + 2 * filled_;
    ++filled_;
    auto& m = x.machine();
    if (x.handle()->is_absent()) return;  // another stage has it
    // another process has these elements, too
    if (!m.counts(replica_axes<L, shape<D...>>)) return;
    for_each_run(placed_dims<L, shape<D...>>, m.place(), m.counted(), [&](extent local, extent, extent n) {
      for (T const* e = std::as_const(x).data() + local; n > 0; ++e, --n) {
        auto const v = static_cast<double>(static_cast<computed<T>>(*e));
        if (!(v - v == 0)) {
          ++sums[not_finite];
          continue;
        }
        ++sums[histogram_bins::bin_of(v)];
        sums[sum] += v;
        sums[squares] += v * v;
        if (v > maxima[0]) maxima[0] = v;
        if (-v > maxima[1]) maxima[1] = -v;
      }
    });
  }

  void join() {
    constexpr axis_set all = joining_axes<typename Machine::mesh_type>;
    if (all == 0 || rows_ == 0) return;
    machine_.all_reduce(reduction::sum, sums_.data(), rows_ * row, all);
    machine_.all_reduce(reduction::max, maxima_.data(), 2 * rows_, all);
  }

  histogram at(std::size_t i) const {
    double const* const s = sums_.data() + static_cast<extent>(i) * row;
    double const* const m = maxima_.data() + 2 * i;
    return histogram::of({s, histogram_bins::count}, -m[1], m[0], s[sum], s[squares], s[not_finite]);
  }

private:
  static constexpr std::size_t sum        = histogram_bins::count;
  static constexpr std::size_t squares    = sum + 1;
  static constexpr std::size_t not_finite = sum + 2;
  static constexpr extent row             = static_cast<extent>(not_finite) + 1;

  Machine& machine_;
  extent rows_;
  extent filled_ = 0;
  scratch_memory<double, Machine> sums_;
  scratch_memory<double, Machine> maxima_;
};

}  // namespace detail

/// The log of a training in a folder, which is made if it does not exist: TensorBoard's events in
/// `events.out.tfevents.meshtf`, and the same as lines of JSON in `log.jsonl`. All processes call all of it,
/// alike; process 0 writes. docs/traces_and_logs.md has an example.
///
///     meshtf::log_to log{"build/log", position};
///     log.scalar("loss", loss, step);
///     log.histograms(parameters(net), step);
///
/// A training that resumes says at which position, the one that `load` returned. What the log has of later
/// steps (the training was cut off after its last checkpoint) is taken away, as it will come again, and what
/// is logged of completed steps is not written again, so no step is there twice. Steps count from 1 and never
/// decrease.
///
/// A log knows its training: `position.run` is in its first line, and in the checkpoints that are saved with
/// this position. A position without one gets a new one here, so pass it before the first `save`. A training
/// that goes on refuses the log of another one. A training that begins moves what is there to
/// `folder`/earlier-1, so one that was cut off before its first checkpoint can begin again.
///
/// The first number of a name that is not finite, such as a loss that is NaN, is reported by process 0 in one
/// line on stderr, with its step. Training goes on.
///
/// If the disk is full, if the folder is removed, or if the system refuses otherwise, process 0 says so in
/// one line, and the training goes on. It says in another line when the log can be written again, and which
/// steps are missing; so does a training that resumes. The log has the entry "missing" then. Errors of the
/// constructor, the same on all processes: `unavailable` if the folder or its files can't be written;
/// `usage_error` if a training that begins finds a log there, if the log is that of another training, or if
/// another job writes it; `data_error` if a file there is damaged.
class log_to {
public:
  /// Of a training that has no checkpoints.
  explicit log_to(std::string const& folder, boost::mpi::communicator const& world = {});
  /// Of one that begins at `position`, or goes on from there.
  log_to(std::string const& folder, training_position& position, boost::mpi::communicator const& world = {});

  /// A number that all processes have, or that process 0 knows best. Sends nothing.
  /// Errors of this and the others, on all processes: `software_error` if the step is before one that was
  /// logged.
  void scalar(std::string const& name, double x, std::uint64_t step);
  /// A tensor without dimensions, such as the loss.
  template<class T, class L>
  void scalar(std::string const& name, tensor<T, L> const& x, std::uint64_t step) {
    scalar(name, static_cast<double>(static_cast<computed<T>>(x.value())), step);
  }

  /// The same, and whether it belongs to a spike, alike on all processes. The first value of one is said by
  /// process 0 in a line on stderr, and logged as a text under `name`/spike.
  bool scalar(std::string const& name, double x, std::uint64_t step, spikes& of_it);
  template<class T, class L>
  bool scalar(std::string const& name, tensor<T, L> const& x, std::uint64_t step, spikes& of_it) {
    return scalar(name, static_cast<double>(static_cast<computed<T>>(x.value())), step, of_it);
  }

  /// Which process is slow: compares the seconds that each has spent outside of collectives since the last
  /// call, or since the log was opened, all of them in the steps up to `step`. If the slowest took more than
  /// `factor` times the median, and 10 ms more, process 0 says so in a line on stderr, once for each process
  /// that becomes slow, and it is logged as a text. Returns its rank, or -1, alike on all processes. The
  /// median and the most are logged as numbers. Sends one double of each process: one all-gather, priced and
  /// counted as all are.
  ///
  ///     if (step % 100 == 0) log.slowest_process(m, step);
  template<class Machine>
  int slowest_process(Machine& m, std::uint64_t step, double factor = 2,
                      std::source_location at = std::source_location::current()) {
    come_to(step);
    constexpr axis_set all = joining_axes<typename Machine::mesh_type>;
    detail::own_time const now;
    double const own = now.seconds_since(compared_);
    m.begin_operation("log_to::slowest_process", at);
    std::vector<double> seconds(static_cast<std::size_t>(Machine::mesh_type::size), own);
    if constexpr (all != 0) m.gather_parts(&own, 1, seconds.data(), all);
    compared_ = {};
    return compare_times(seconds, step, factor);
  }

  /// Bytes that are no UTF-8, here and in names, are written as "\xff".
  void text(std::string const& name, std::string_view words, std::uint64_t step);

  /// How large the elements of a tensor are, whatever its layout. Sends the sums of its bins, 4 KiB, and two
  /// numbers: two all-reduces, priced and counted as all are. Elements that are not finite are counted apart.
  template<class T, class L, class... D>
  void histogram(std::string const& name, tensor<T, L, D...> const& x, std::uint64_t step,
                 std::source_location at = std::source_location::current()) {
    static_assert(!is_dry<L>,
                  "meshtf: a tensor under a dry layout has no elements, so a log has nothing to show");
    come_to(step);
    auto& m = x.machine();
    m.begin_operation("log_to::histogram", at);
    detail::summed_histograms sums{m, 1};
    sums.add(x);
    sums.join();
    if (writes(step)) files_->histogram(name, sums.at(0), step);
  }

  /// The weights of a list under their names, "weights/blocks.0.mlp.up", and the gradients of those that have
  /// one at this time, which is between `backward` and the optimizer's step: "gradients/blocks.0.mlp.up".
  /// Gradients stay as unreduced as they are: what is logged is a finished copy. Sends what finishing them
  /// sends, and two all-reduces for all histograms together. Elements that are no floating-point numbers are
  /// left out.
  template<class... Part>
  void histograms(parameter_list<Part...> const& list, std::uint64_t step,
                  std::source_location at = std::source_location::current()) {
    come_to(step);
    auto& m = detail::machine_of(list, "histograms");
    m.begin_operation("log_to::histograms", at);
    detail::all_counted const all_elements{m};
    std::vector<std::string> names;
    list.for_each_named([&names]<class W>(std::string const& name, W& w) {
      if constexpr (detail::has_histogram<W>) names.push_back("weights/" + name);
      if constexpr (detail::has_histogram<W> && detail::Parameter<W>)
        if (w.slot().sum) names.push_back("gradients/" + name);
    });
    detail::summed_histograms sums{m, static_cast<extent>(names.size())};
    list.for_each_named([&sums, at]<class W>(std::string const&, W& w) {
      if constexpr (detail::has_histogram<W>) sums.add(w);
      if constexpr (detail::has_histogram<W> && detail::Parameter<W>)
        if (w.slot().sum) sums.add(finish(gradient(w), at));
    });
    m.begin_operation("log_to::histograms", at);
    sums.join();
    if (writes(step))
      for (std::size_t i = 0; i < names.size(); ++i) files_->histogram(names[i], sums.at(i), step);
  }

private:
  void open(std::string const& folder, training_position& position, boost::mpi::communicator const& world);
  void come_to(std::uint64_t step);
  int compare_times(std::vector<double> const& seconds, std::uint64_t step, double factor);
  bool writes(std::uint64_t step) const { return files_ && step > completed_steps_; }

  std::uint64_t completed_steps_;
  std::uint64_t latest_ = 0;
  detail::own_time compared_{};               // when times were compared last
  int slow_ = -1;                             // the process that was slow then
  std::unique_ptr<detail::log_files> files_;  // on process 0
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE log_to::log_to(std::string const& folder, boost::mpi::communicator const& world)
    : completed_steps_{0} {
  training_position beginning;
  open(folder, beginning, world);
}

MESHTF_DEFINE log_to::log_to(std::string const& folder, training_position& position,
                             boost::mpi::communicator const& world)
    : completed_steps_{position.step} {
  open(folder, position, world);
  auto words = std::bit_cast<std::array<std::int32_t, 2>>(position.run);
  meshtf::broadcast(world, words.data(), 2, 0);
  position.run = std::bit_cast<std::uint64_t>(words);
}

MESHTF_DEFINE void log_to::open(std::string const& folder, training_position& position,
                                boost::mpi::communicator const& world) {
  agreed(world, [&] {
    if (world.rank() == 0) files_ = std::make_unique<detail::log_files>(folder, position);
  });
}

MESHTF_DEFINE void log_to::scalar(std::string const& name, double x, std::uint64_t step) {
  come_to(step);
  if (writes(step)) files_->scalar(name, x, step);
}

MESHTF_DEFINE bool log_to::scalar(std::string const& name, double x, std::uint64_t step, spikes& of_it) {
  double const usual     = of_it.mean();
  double const deviation = of_it.deviation();
  bool const is_in       = of_it.add(x);
  scalar(name, x, step);
  if (of_it.begins() && writes(step)) files_->spike(name, x, usual, deviation, of_it.score(), step);
  return is_in;
}

MESHTF_DEFINE int log_to::compare_times(std::vector<double> const& seconds, std::uint64_t step,
                                        double factor) {
  auto sorted       = seconds;
  auto const middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  auto const slowest = std::max_element(seconds.begin(), seconds.end());
  bool const is_slow = *slowest > factor * *middle && *slowest > *middle + 0.01;
  int const rank     = is_slow ? static_cast<int>(slowest - seconds.begin()) : -1;
  bool const becomes = is_slow && rank != slow_;
  slow_              = rank;
  scalar("own seconds/median", *middle, step);
  scalar("own seconds/most", *slowest, step);
  if (becomes && writes(step)) files_->slow_process(rank, *slowest, *middle, step);
  return rank;
}

MESHTF_DEFINE void log_to::text(std::string const& name, std::string_view words, std::uint64_t step) {
  come_to(step);
  if (writes(step)) files_->text(name, words, step);
}

MESHTF_DEFINE void log_to::come_to(std::uint64_t step) {
  if (step < latest_)
    throw software_error("expected a step of at least " + std::to_string(latest_) +
                         ", which was logged last, got step " + std::to_string(step) +
                         ": log steps in ascending order");
  latest_ = step;
}

#endif

}  // namespace v0
}  // namespace meshtf
