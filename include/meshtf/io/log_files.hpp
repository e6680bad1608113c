// The two files of a log: where they go on, and what happens when they can't be written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/io/event_file.hpp>
#include <meshtf/io/growing_file.hpp>
#include <meshtf/io/training_position.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <sys/stat.h>
#include <time.h>

#include <meshtf/core/json_text.hpp>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The log of a training in a folder, on the process that writes it.
class log_files {
public:
  /// Continues after the step of `position`: what is there of later steps will come again, so it is taken
  /// away. Gives a training without an identity one. A training that begins moves the log of another one
  /// aside.
  /// Errors: `unavailable` if it can't be written; `usage_error` if the log is that of another training, or
  /// if another job writes it; `data_error` if a file is damaged.
  log_files(std::string const& folder, training_position& position);

  void scalar(std::string const& name, double x, std::uint64_t step);
  void text(std::string const& name, std::string_view words, std::uint64_t step);
  void histogram(std::string const& name, detail::histogram const& h, std::uint64_t step);

  /// A number that lies `score` deviations above the mean of those before.
  void spike(std::string const& name, double x, double mean, double deviation, double score,
             std::uint64_t step);
  void slow_process(int rank, double its_seconds, double median, std::uint64_t step);

private:
  static double now();
  /// Makes the folder, and those that it is in.
  static std::string const& made(std::string const& folder);
  /// JSON has no NaN and no infinity: these are texts.
  static std::string number(double x);
  /// Four digits, for words.
  static std::string plain(double x);
  static std::string line(double time, std::uint64_t step, std::string const& name);
  /// The end of a line that has a text.
  static std::string json_text_member(std::string_view words);
  static std::string spelled_steps(std::uint64_t first, std::uint64_t last);
  /// What the first line says: the identity of the training, 0 in a log of earlier versions, and the step
  /// from which on it has logged.
  struct beginning {
    std::uint64_t run  = 0;
    std::uint64_t step = 0;
  };
  beginning first_line() const;
  /// Keeps the log of another training, or of one that was cut off before its first checkpoint.
  void move_aside();
  /// Where the first event of a later step begins, or one that was not written to its end.
  std::uint64_t end_of_events(std::uint64_t completed_steps) const;
  [[noreturn]] void throw_damaged(std::uint64_t offset) const;
  /// The same of lines; sets `latest_` and `pace_`.
  std::uint64_t end_of_lines(std::uint64_t completed_steps);
  /// What is to be written at a step, in both files or in neither.
  void put(std::string const& event, std::string const& line, std::uint64_t step);
  bool add(std::string const& event, std::string const& line);
  /// Whether it could be written, by then, that these steps are missing.
  bool note_missing(std::uint64_t first, std::uint64_t last, std::uint64_t step);
  /// Says which completed steps the log lacks: those of a time when it could not be written.
  void say_what_is_missing(std::uint64_t first, std::uint64_t last);
  /// One line on stderr, once for each name.
  void say_not_finite(std::string const& name, double x, std::uint64_t step);

  std::string folder_;
  growing_file events_;
  growing_file lines_;
  std::uint64_t latest_  = 0;            // the last step that is there
  std::uint64_t pace_    = 0;            // the most steps between two that follow one another
  std::uint64_t missing_ = 0;            // the first step that could not be written, while nothing can be
  std::vector<std::string> not_finite_;  // the names of numbers that were not finite
};

#if MESHTF_DEFINES_RUNTIME

inline constexpr std::string_view begin_of_line = "{\"step\":";

MESHTF_DEFINE log_files::log_files(std::string const& folder, training_position& position)
    : folder_{made(folder)}, events_{folder + "/events.out.tfevents.meshtf"}, lines_{folder + "/log.jsonl"} {
  auto const first   = first_line();
  bool const has_log = events_.size() > 0 || lines_.size() > 0;
  // a training of which no checkpoint knows its log begins again
  bool const begins =
      position.step == 0 || (position.run == 0 && first.run != 0 && first.step >= position.step);
  if (has_log && begins) move_aside();
  else if (first.run != 0 && first.run != position.run)
    throw usage_error("expected " + lines_.path() + " to be the log of the training that goes on, " +
                      (position.run == 0 ? "which had none so far" : "run " + spelled_run(position.run)) +
                      ", got that of run " + spelled_run(first.run) + ": name its own folder, or a new one");
  events_.cut(end_of_events(position.step));
  lines_.cut(end_of_lines(position.step));
  bool const is_new = lines_.size() == 0;
  bool const lacks_some =
      position.run != 0 && position.step != 0 && (is_new || (pace_ != 0 && latest_ + pace_ <= position.step));
  std::uint64_t const first_missing = latest_ + 1;
  if (position.run == 0) position.run = new_run();
  double const time = now();
  put(events_.size() == 0 ? event_record::of_version(time)
                          : event_record::of_restart(time, position.step + 1),
      !is_new ? "" : line(time, position.step, run_key) + json_text_member(spelled_run(position.run)),
      position.step);
  if (lacks_some) say_what_is_missing(first_missing, position.step);
}

MESHTF_DEFINE void log_files::move_aside() {
  std::string to;
  for (int number = 1;; ++number) {
    to = folder_ + "/earlier-" + std::to_string(number);
    if (mkdir(to.c_str(), 0777) == 0) break;
    if (errno != EEXIST)
      throw unavailable("expected to make the folder " + to + " for the log that is in " + folder_ +
                        ", got: " + std::strerror(errno) + ": name another folder");
  }
  for (auto* file : {&events_, &lines_}) {
    std::string const path  = file->path();
    std::string const moved = to + path.substr(path.rfind('/'));
    if (std::rename(path.c_str(), moved.c_str()) != 0)
      throw unavailable("expected to move " + path + " to " + moved + ", got: " + std::strerror(errno) +
                        ": name another folder for the log");
    *file = growing_file{path};
  }
  std::fputs(
      ("meshtf: a training begins its log in " + folder_ + "; the one that was there is in " + to + "\n")
          .c_str(),
      stderr);
}

MESHTF_DEFINE void log_files::say_what_is_missing(std::uint64_t first, std::uint64_t last) {
  note_missing(first, last, last);
  std::fputs(("meshtf: the log " + folder_ + " has nothing of " + spelled_steps(first, last) +
              ", which the checkpoint has completed: they don't come again\n")
                 .c_str(),
             stderr);
}

MESHTF_DEFINE void log_files::scalar(std::string const& name, double x, std::uint64_t step) {
  if (!std::isfinite(x)) say_not_finite(name, x, step);
  double const time = now();
  put(event_record::of(time, step, event_record::scalar(in_utf8(name), x)),
      line(time, step, name) + "\"value\":" + number(x) + "}\n", step);
}

MESHTF_DEFINE void log_files::text(std::string const& name, std::string_view words, std::uint64_t step) {
  double const time = now();
  put(event_record::of(time, step, event_record::text(in_utf8(name), in_utf8(words))),
      line(time, step, name) + json_text_member(words), step);
}

MESHTF_DEFINE void log_files::histogram(std::string const& name, detail::histogram const& h,
                                        std::uint64_t step) {
  double const time = now();
  auto const list   = [](std::vector<double> const& all) {
    std::string text;
    for (double const x : all) (text += text.empty() ? "[" : ",") += number(x);
    return text.empty() ? "[]" : text + "]";
  };
  put(event_record::of(time, step, event_record::of_histogram(in_utf8(name), h)),
      line(time, step, name) + "\"histogram\":{\"min\":" + number(h.min_value) + ",\"max\":" +
          number(h.max_value) + ",\"count\":" + number(h.number) + ",\"not_finite\":" + number(h.not_finite) +
          ",\"sum\":" + number(h.sum) + ",\"sum_squares\":" + number(h.sum_of_squares) +
          ",\"limits\":" + list(h.limits) + ",\"counts\":" + list(h.counts) + "}}\n",
      step);
}

MESHTF_DEFINE void log_files::say_not_finite(std::string const& name, double x, std::uint64_t step) {
  if (std::find(not_finite_.begin(), not_finite_.end(), name) != not_finite_.end()) return;
  not_finite_.push_back(name);
  char const* value = x > 0 ? "inf" : "-inf";
  if (std::isnan(x)) value = "nan";
  std::fputs(
      ("meshtf: '" + name + "' of step " + std::to_string(step) + " is " + value + " in the log " + folder_ +
       ": a step with a loss that is not finite makes the weights so, and later ones are not reported\n")
          .c_str(),
      stderr);
}

MESHTF_DEFINE void log_files::spike(std::string const& name, double x, double mean, double deviation,
                                    double score, std::uint64_t step) {
  std::string const words = plain(x) + ", " + plain(score) +
                            " deviations above the mean before: " + plain(mean) + " with a deviation of " +
                            plain(deviation);
  std::fputs(
      ("meshtf: '" + name + "' of step " + std::to_string(step) + " is a spike: " + words + "\n").c_str(),
      stderr);
  text(name + "/spike", words, step);
}

MESHTF_DEFINE void log_files::slow_process(int rank, double its_seconds, double median, std::uint64_t step) {
  std::string const words = "process " + std::to_string(rank) + " is slow: up to step " +
                            std::to_string(step) + " it has worked " + plain(its_seconds) +
                            " s outside of collectives since times were compared last, the median process " +
                            plain(median) + " s";
  std::fputs(("meshtf: " + words + "\n").c_str(), stderr);
  text("slow process", words, step);
}

MESHTF_DEFINE std::string log_files::plain(double x) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, x, std::chars_format::general, 4).ptr};
}

MESHTF_DEFINE double log_files::now() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

MESHTF_DEFINE std::string const& log_files::made(std::string const& folder) {
  if (folder.empty()) throw usage_error("expected a folder for the log, got '': for example build/log");
  for (std::size_t end = 0; end != std::string::npos;) {
    end = folder.find('/', end + 1);
    if (mkdir(folder.substr(0, end).c_str(), 0777) != 0 && errno != EEXIST)
      throw unavailable("expected a folder for the log that can be made, got '" + folder +
                        "': " + std::strerror(errno) + ": name another one");
  }
  return folder;
}

MESHTF_DEFINE std::string log_files::number(double x) {
  char text[40];
  if (std::isnan(x)) return "\"nan\"";
  if (std::isinf(x)) return x > 0 ? "\"inf\"" : "\"-inf\"";
  auto const end = std::to_chars(text, text + sizeof text, x).ptr;  // the shortest text that is this number
  return {text, end};
}

MESHTF_DEFINE std::string log_files::line(double time, std::uint64_t step, std::string const& name) {
  char text[40];
  std::string const seconds{text,
                            std::to_chars(text, text + sizeof text, time, std::chars_format::fixed, 6).ptr};
  return "{\"step\":" + std::to_string(step) + ",\"time\":" + seconds + ",\"name\":" + json_text(name) + ",";
}

MESHTF_DEFINE log_files::beginning log_files::first_line() const {
  std::string first = lines_.read(0, 256);
  first.resize(std::min(first.find('\n'), first.size()));
  constexpr std::string_view name = "\"name\":\"run\",\"text\":\"";
  auto const found                = first.find(name);
  beginning read;
  if (found == std::string::npos) return read;
  auto const run = std::string_view{first}.substr(found + name.size(), digits_of_run);
  read.run       = parsed_run(run).value_or(0);
  std::from_chars(first.data() + begin_of_line.size(), first.data() + first.size(), read.step);
  return read;
}

MESHTF_DEFINE std::uint64_t log_files::end_of_events(std::uint64_t completed_steps) const {
  std::uint64_t offset = 0;
  while (offset < events_.size()) {
    auto const head = events_.read(offset, 12);
    if (head.size() < 12) break;
    if (little_endian(masked_checksum::of(std::string_view{head}.substr(0, 8))) != head.substr(8))
      throw_damaged(offset);
    std::uint64_t size = 0;
    for (std::size_t i = 8; i-- > 0;) size = size << 8 | static_cast<unsigned char>(head[i]);
    if (size + 4 > events_.size() - offset - 12) break;
    auto const rest = events_.read(offset + 12, static_cast<std::size_t>(size) + 4);
    if (rest.size() != size + 4) break;
    auto const event = std::string_view{rest}.substr(0, static_cast<std::size_t>(size));
    if (little_endian(masked_checksum::of(event)) != rest.substr(event.size())) throw_damaged(offset);
    if (offset == 0 && event.find(event_record::version) == std::string_view::npos) throw_damaged(offset);
    if (auto const step = event_record::step_of(event); step && *step > completed_steps) break;
    offset += 16 + size;
  }
  return offset;
}

[[noreturn]] MESHTF_DEFINE void log_files::throw_damaged(std::uint64_t offset) const {
  throw data_error("expected TensorBoard's events in " + events_.path() + ", got something else at byte " +
                   std::to_string(offset) + ": the file is damaged or of another kind: move it away");
}

MESHTF_DEFINE std::uint64_t log_files::end_of_lines(std::uint64_t completed_steps) {
  std::uint64_t end = 0;
  std::string line;
  for (std::uint64_t offset = 0; offset < lines_.size();) {
    auto const some = lines_.read(offset, std::size_t{1} << 16);
    if (some.empty()) break;
    for (char const c : some) {
      ++offset;
      line += c;
      if (c != '\n') continue;
      std::uint64_t step = 0;
      if (!line.starts_with(begin_of_line) ||
          std::from_chars(line.data() + begin_of_line.size(), line.data() + line.size(), step).ec !=
              std::errc{})
        throw data_error("expected lines of a log in " + lines_.path() +
                         ", got another kind of line after byte " + std::to_string(end) +
                         ": the file is damaged or of another kind: move it away");
      if (step > completed_steps) return end;
      if (end != 0) pace_ = std::max(pace_, step - std::min(step, latest_));
      latest_ = step;
      end     = offset;
      line.clear();
    }
  }
  return end;
}

MESHTF_DEFINE std::string log_files::json_text_member(std::string_view words) {
  return "\"text\":" + json_text(words) + "}\n";
}

MESHTF_DEFINE std::string log_files::spelled_steps(std::uint64_t first, std::uint64_t last) {
  return first == last ? "step " + std::to_string(first)
                       : "steps " + std::to_string(first) + " to " + std::to_string(last);
}

MESHTF_DEFINE bool log_files::add(std::string const& event, std::string const& line) {
  auto const before = events_.size();
  if (!events_.add(event)) return false;
  if (lines_.add(line)) return true;
  events_.undo(before);
  return false;
}

MESHTF_DEFINE bool log_files::note_missing(std::uint64_t first, std::uint64_t last, std::uint64_t step) {
  double const time       = now();
  std::string const words = spelled_steps(first, last);
  return add(event_record::of(time, step, event_record::text("missing", words)),
             line(time, step, "missing") + json_text_member(words));
}

MESHTF_DEFINE void log_files::put(std::string const& event, std::string const& line, std::uint64_t step) {
  bool const goes_on = missing_ != 0 && note_missing(missing_, latest_, step);
  if (goes_on)
    std::fputs(("meshtf: the log " + folder_ + " can be written again at step " + std::to_string(step) +
                ": entries of " + spelled_steps(missing_, latest_) + " are missing\n")
                   .c_str(),
               stderr);
  if (goes_on) missing_ = 0;
  latest_ = std::max<std::uint64_t>(step, 1);
  if (missing_ != 0 || add(event, line)) return;
  missing_ = latest_;
  std::fputs(("meshtf: the log " + folder_ + " can't be written: " + std::strerror(errno) +
              ": training goes on, and entries from step " + std::to_string(step) + " on are missing\n")
                 .c_str(),
             stderr);
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
