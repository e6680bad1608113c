// The events of a trace as text, in the form of Chrome's traces: JSON, a line for each event.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <meshtf/core/dim.hpp>
#include <meshtf/core/json_text.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The events of a trace in JSON, a line for each.
class trace_text {
public:
  explicit trace_text(int process, std::int64_t zero) : process_{std::to_string(process)}, zero_{zero} {}

  void name(char const* kind, int track, std::string_view text) {
    begin("M", track);
    text_ += ",\"name\":\"" + std::string{kind} + "\",\"args\":{\"name\":" + json_text(text) + "}},\n";
  }
  void slice(int track, std::int64_t from, std::int64_t to, std::string_view name, char const* category,
             std::string const& arguments) {
    begin("X", track);
    text_ += ",\"ts\":" + time(from - zero_) + ",\"dur\":" + time(to - from) +
             ",\"name\":" + json_text(name) + ",\"cat\":\"" + category + "\",\"args\":{" + arguments +
             "}},\n";
  }
  /// On a row of its own, since others of its kind begin before it ends.
  void flight(int track, std::int64_t from, std::int64_t to, std::string_view name, int number,
              std::string const& arguments) {
    auto const edge = [&](char const* phase, std::int64_t moment) {
      begin(phase, track);
      text_ += ",\"ts\":" + time(moment - zero_) + ",\"id2\":{\"local\":\"" + std::to_string(number) +
               "\"},\"name\":" + json_text(name) + ",\"cat\":\"sum\",\"args\":{" + arguments + "}},\n";
    };
    edge("b", from);
    edge("e", to);
  }
  /// An arrow between processes begins, goes on, or ends at the slice of this time.
  void arrow(int track, std::int64_t moment, char role, std::int64_t number, std::string_view name) {
    begin(std::string_view{&role, 1}, track);
    text_ += ",\"ts\":" + time(moment - zero_) + ",\"id\":" + std::to_string(number) +
             ",\"name\":" + json_text(name) + ",\"cat\":\"collective\"" +
             (role == 'f' ? ",\"bp\":\"e\"" : "") + "},\n";
  }
  void counter(std::int64_t moment, std::string_view name, extent bytes) {
    begin("C", 0);
    text_ += ",\"ts\":" + time(moment - zero_) + ",\"name\":" + json_text(name) +
             ",\"args\":{\"bytes\":" + std::to_string(bytes) + "}},\n";
  }

  std::string& text() { return text_; }

private:
  void begin(std::string_view phase, int track) {
    (((text_ += "{\"ph\":\"") += phase) += "\",\"pid\":") += process_;
    (text_ += ",\"tid\":") += std::to_string(track);
  }
  /// Microseconds, as the format wants.
  static std::string time(std::int64_t nanoseconds) {
    char text[40];
    std::snprintf(text, sizeof text, "%s%lld.%03lld", nanoseconds < 0 ? "-" : "",
                  std::llabs(nanoseconds) / 1000, std::llabs(nanoseconds) % 1000);
    return text;
  }

  std::string process_;
  std::string text_;
  std::int64_t zero_;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
