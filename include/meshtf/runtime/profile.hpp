// The profile: where the time of a program went, by operation and call site.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <meshtf/plan/price/cost.hpp>

namespace meshtf::inline v0 {

/// Seconds, calls, flops and bytes of every operation at every call site. It is on where the environment variable MESHTF_PROFILE is set, and not "0": the
/// machine then prints it when it ends, for the process of rank 0. Where it is off, a call of a kernel costs one comparison more.
class profile {
  using clock = std::chrono::steady_clock;

public:
  static std::unique_ptr<profile> if_wanted() {
    char const* const wanted = std::getenv("MESHTF_PROFILE");
    if (wanted == nullptr || std::string_view{wanted}.empty() || std::string_view{wanted} == "0") return nullptr;
    return std::make_unique<profile>();
  }

  struct figures {
    double seconds = 0;
    extent calls   = 0;
    extent flops   = 0;
    extent bytes   = 0;

    figures& operator+=(figures const& more) {
      seconds += more.seconds;
      calls += more.calls;
      flops += more.flops;
      bytes += more.bytes;
      return *this;
    }
  };

  /// Runs from where it is made to where it dies.
  class span {
  public:
    span() = default;
    explicit span(figures& to) : to_(&to), start_(clock::now()) {}
    span(span const&)           = delete;
    void operator=(span const&) = delete;
    ~span() {
      if (to_ != nullptr) to_->seconds += std::chrono::duration<double>(clock::now() - start_).count();
    }

  private:
    figures* to_ = nullptr;
    clock::time_point start_{};
  };

  span watch(work const& w, call_site const& site) {
    figures& f = entries_[key{w.kind, site.operation, site.backward, site.at.file_name(), site.at.line(), w.m, w.n, w.k}];
    ++f.calls;
    f.flops += w.flops;
    f.bytes += w.bytes;
    return span{f};
  }

  /// Two tables on stderr: by kind, and by call site, the dearest first.
  void print(std::string_view mesh) const {
    std::map<std::string_view, figures> kinds;
    std::vector<std::pair<key, figures>> sites{entries_.begin(), entries_.end()};
    figures all;
    for (auto const& [k, f] : sites) kinds[std::get<0>(k)] += f, all += f;
    std::vector<std::pair<std::string_view, figures>> by_kind{kinds.begin(), kinds.end()};
    auto const dearer = [](auto const& a, auto const& b) { return a.second.seconds > b.second.seconds; };
    std::sort(by_kind.begin(), by_kind.end(), dearer);
    std::sort(sites.begin(), sites.end(), dearer);

    std::string text = "meshtf: profile of rank 0 on " + std::string{mesh} + "\n";
    text += "   seconds   share      calls    GF/s    GB/s  kind\n";
    for (auto const& [kind, f] : by_kind) text += row(f, all.seconds) + std::string{kind} + "\n";
    text += "   seconds   share      calls    GF/s    GB/s  operation, call site\n";
    for (auto const& [k, f] : sites) {
      auto const& [kind, operation, backward, file, line, m, n, depth] = k;
      text +=
          row(f, all.seconds) + std::string{*operation == '\0' ? "(set up)" : operation} + (backward ? "'s gradient" : "") + ", " + std::string{kind};
      if (m != 0 && f.flops != 0) text += " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(depth);
      if (line != 0) text += ", " + std::string{short_name(file)} + ":" + std::to_string(line);
      text += "\n";
    }
    std::fputs(text.c_str(), stderr);
  }

private:
  // kind, operation, backward, file, line, and m, n, k of a product
  using key = std::tuple<std::string_view, char const*, bool, char const*, unsigned, extent, extent, extent>;

  static std::string_view short_name(std::string_view file) {
    auto const slash = file.rfind('/');
    return slash == file.npos ? file : file.substr(slash + 1);
  }

  static std::string row(figures const& f, double all) {
    char text[80];
    auto const rate = [&](extent n) { return f.seconds > 0 ? 1e-9 * static_cast<double>(n) / f.seconds : 0; };
    std::snprintf(text, sizeof text, "%10.4f  %5.1f %%  %9ld  %6.1f  %6.1f  ", f.seconds, 100 * f.seconds / all, static_cast<long>(f.calls),
                  rate(f.flops), rate(f.bytes));
    return text;
  }

  std::map<key, figures> entries_;
};

}  // namespace meshtf::inline v0
