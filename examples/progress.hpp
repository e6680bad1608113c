// Where a training stands: lines that stay, and on a terminal a bar below them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

/// Says on stdout how far a loop over steps has come, and how long it will take. A line stays for each
/// `every` steps and the last one; without `every`, for the first, each tenth of the steps, and the last. A
/// terminal has a bar besides, which each step may draw anew; files and pipes never see it, nor does who asks
/// for `plain` lines. The bar has a colour unless NO_COLOR is set (https://no-color.org).
///
/// Whether there is a terminal only examples/processes can tell: Open MPI gives every process one, whatever
/// mpirun itself writes to.
class progress {
public:
  /// From step `first` + 1 to step `steps`. Only the process that `speaks` says anything.
  progress(bool speaks, long first, long steps, long every, bool plain = false)
      : speaks_(speaks), first_(first), steps_(steps), every_(every) {
    if (char const* const columns = std::getenv("MESHTF_TERMINAL"); columns != nullptr && !plain)
      columns_ = std::strtoul(columns, nullptr, 10);
    char const* const no_colour = std::getenv("NO_COLOR");
    colours_                    = (no_colour == nullptr || *no_colour == '\0') && columns_ > width + 2;
  }
  progress(progress const&)       = delete;
  void operator=(progress const&) = delete;
  ~progress() { erase_bar(); }  // before the message of an error

  /// Step number `step` is done; true if `say` is to say so.
  bool at(long step) {
    step_       = step;
    bool at_end = step == steps_;
    line_       = at_end ||
            (every_ != 0 ? step % every_ == 0 : step == first_ + 1 || step % std::max(steps_ / 10, 1L) == 0);
    draws_ = columns_ != 0 && !at_end && (line_ || seconds() - drawn_ > 0.1);
    return speaks_ && (line_ || draws_);
  }

  /// The mean of all steps so far.
  double seconds_a_step() const { return seconds() / static_cast<double>(step_ - first_); }

  /// printf, of what there is to know of this step besides its number and the time.
  [[gnu::format(printf, 2, 3)]] void say(char const* format, ...) {
    char words[200];
    char left[40];
    char number[40];
    std::va_list values;
    va_start(values, format);
    std::vsnprintf(words, sizeof words, format, values);
    va_end(values);
    std::snprintf(number, sizeof number, "step %6ld  ", step_);
    std::snprintf(left, sizeof left, "  %5.0f s left",
                  seconds_a_step() * static_cast<double>(steps_ - step_));
    auto const text = number + std::string{words} + left;
    erase_bar();
    if (line_) std::printf("%s\n", text.c_str());
    if (draws_) {
      // Cut before the last column: a bar that goes on in a second line can't be erased. A colour takes no
      // column.
      auto const shown = bar();
      std::printf("%.*s", static_cast<int>(columns_ - 1 + shown.size() - (width + 3)),
                  (shown + text).c_str());
      bar_is_there_ = true;
      drawn_        = seconds();
    }
    std::fflush(stdout);
  }

private:
  using clock = std::chrono::steady_clock;

  static constexpr std::size_t width = 20;  // of the bar, in columns

  double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

  std::string bar() const {
    auto const done        = static_cast<std::size_t>(static_cast<long>(width) * step_ / steps_);
    std::string const part = std::string(done, '=');
    return "[" + (colours_ ? "\033[36m" + part + "\033[0m" : part) + std::string(width - done, ' ') + "] ";
  }

  void erase_bar() {
    if (bar_is_there_) std::fputs("\r\033[K", stdout);
    bar_is_there_ = false;
  }

  bool speaks_;
  long first_;
  long steps_;
  long every_;
  unsigned long columns_   = 0;  // of the terminal; 0 where there is none
  clock::time_point start_ = clock::now();
  long step_               = 0;
  double drawn_            = -1;  // when the bar was drawn, in seconds from the start
  bool colours_            = false;
  bool line_               = false;
  bool draws_              = false;
  bool bar_is_there_       = false;
};
