// A few steps of a program under each of several layouts, side by side: equal losses, and at the price that
// the compiler promised.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

#include <meshtf/meshtf.hpp>

#include "promise.hpp"

using wall_clock = std::chrono::steady_clock;
inline double seconds_since(wall_clock::time_point start) {
  return std::chrono::duration<double>(wall_clock::now() - start).count();
}

/// printf, by one process for all.
template<class M>
[[gnu::format(printf, 2, 3)]] void say(meshtf::process_mesh<M> const& m, char const* format, ...) {
  if (m.rank() != 0) return;
  std::va_list values;
  va_start(values, format);
  std::vprintf(format, values);
  va_end(values);
  std::fflush(stdout);
}

template<class L>
std::string const name{meshtf::name_of<L>()};

template<class... L>
struct layouts {
  static std::vector<std::string> names() { return {name<L>...}; }

  /// f.operator()<L>() for the layout of that name, for all of them if it is empty.
  template<class F>
  static void visit(std::string const& wanted, F f) {
    ((wanted.empty() || wanted == name<L> ? f.template operator()<L>() : void()), ...);
  }
};

/// The table: a row for each layout. `Rows` and `Cols` are the axes of the mesh `M`.
template<class M, class Rows, class Cols>
class side_by_side {
public:
  /// Of `steps` steps each, 2 at least.
  explicit side_by_side(meshtf::process_mesh<M>& m, std::size_t steps = 5) : machine_{m}, steps_{steps} {
    say(m, "                        bytes a step along rows  bytes a step along cols   seconds\n");
    say(m, "layout          loss    promised        counted    promised      counted    a step\n");
  }

  /// Some steps of `program`; `next()` gives it the next batch. Throws if the first step costs other than the
  /// compiler says.
  template<class Program, class Next>
  void add(Program& program, Next const& next) {
    using L                         = typename promise_of<Program>::layout;
    static constexpr auto& promised = promise_of<Program>::cost;  // the step, run by the compiler

    machine_.agree(promised);  // another binary on some processes would promise something else
    machine_.agree(parameters(program.net));

    trial losses(steps_);
    next();
    // the same step, as it happens
    auto const counted =
        meshtf::recorded<L>(machine_, [&]<class>(auto&) { losses[0] = program.step().value(); });

    machine_.world().barrier();  // the time of all processes, not of the one that is ahead
    auto const start = wall_clock::now();
    for (std::size_t i = 1; i < steps_; ++i) {
      next();
      losses[i] = program.step().value();
    }
    machine_.world().barrier();
    double const seconds = seconds_since(start) / static_cast<double>(steps_ - 1);

    say(machine_, "%-10s  %.6f  %10ld  %13ld  %10ld  %11ld  %8.4f\n", name<L>.c_str(), losses.back(),
        promised.template bytes_sent<Rows>(), counted.template bytes_sent<Rows>(),
        promised.template bytes_sent<Cols>(), counted.template bytes_sent<Cols>(), seconds);
    check_promise<L>(promised, counted);  // every call in its order, arithmetic, memory
    trials_.push_back(losses);
    rows_.push_back({name<L>, seconds, counted.template bytes_sent<Rows>(),
                     counted.template bytes_sent<Cols>(), promised.peak_bytes()});
  }

  /// A layout, and what a step of one process took under it.
  struct row {
    std::string layout;
    double seconds;
    meshtf::extent along_rows;
    meshtf::extent along_cols;
    meshtf::extent peak;
  };
  std::vector<row> const& rows() const { return rows_; }

  /// Every step's loss is the same under every layout, up to the rounding of sums: relative to the loss, at
  /// most `tolerance`.
  void finish(float tolerance = 1e-5F) const {
    for (auto const& losses : trials_)
      for (std::size_t i = 0; i < steps_; ++i)
        if (!(std::abs(losses[i] / trials_[0][i] - 1) <= tolerance))
          throw meshtf::software_error("expected equal losses under all layouts, got " +
                                       std::to_string(trials_[0][i]) + " and " + std::to_string(losses[i]) +
                                       " in step " + std::to_string(i + 1));
    if (trials_.size() > 1)
      say(machine_,
          "The losses are equal under all layouts, and what was counted is what the compiler promised.\n");
  }

private:
  using trial = std::vector<float>;  // the loss of each step

  meshtf::process_mesh<M>& machine_;
  std::size_t steps_;
  std::vector<trial> trials_;
  std::vector<row> rows_;
};
