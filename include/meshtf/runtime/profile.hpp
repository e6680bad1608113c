// The profile of a program: the time spent in each operation at each call site.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <forward_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/text.hpp>
#include <meshtf/price/call_site.hpp>
#include <meshtf/price/cost.hpp>
#include <meshtf/runtime/switch_value.hpp>

namespace meshtf {
inline namespace v0 {

/// Seconds, calls, flops and bytes of every operation at every call site. It is on if the environment
/// variable MESHTF_PROFILE is "1" or "all": when the machine is destroyed, it prints the profile of the
/// process of rank 0: the twenty most expensive call sites and the sum of the rest, or with
/// MESHTF_PROFILE=all every call site. Where it is off, a kernel call costs one more comparison.
class profile {
public:
  static std::unique_ptr<profile> if_wanted();

  struct figures {
    double seconds = 0;
    extent calls   = 0;
    extent flops   = 0;
    extent bytes   = 0;

    void add(figures const& more) {
      seconds += more.seconds;
      calls += more.calls;
      flops += more.flops;
      bytes += more.bytes;
    }
  };

  /// Counts a call; its seconds are to be added to what is returned.
  figures& count(work const& w, call_site const& site) {
    figures& f = entry_of(w, site).spent;
    ++f.calls;
    f.flops += w.flops;
    f.bytes += w.bytes;
    return f;
  }

  /// Prints `text` to stderr, if the environment asked for it.
  void print(std::string_view mesh) const {
    if (wanted_) std::fputs(text(mesh).c_str(), stderr);
  }

  struct line {
    std::string words;
    figures spent;
  };

  /// What was spent on each kind of operation, the most expensive first.
  std::vector<line> by_kind() const;

  /// Two tables, by kind and by call site, the most expensive first.
  std::string text(std::string_view mesh) const;

private:
  struct entry {
    work done;  // its kind, and m, n, k of a product
    call_site site;
    figures spent{};
    entry* next;  // with the same hash
  };

  /// A simple hash table: every program compiles this, and standard maps and sorting would take 0.3 s more.
  entry& entry_of(work const& w, call_site const& site);

  static std::string words_of(entry const& e);

  /// The `max_lines` most expensive lines come first, in order of cost.
  static void bring_forward(std::vector<line>& lines, std::size_t max_lines);

  /// A row for each of the `max_lines` most expensive lines, in order of cost, and one for the sum of the
  /// rest; a rest of one line is printed as itself.
  static std::string table(std::vector<line>& lines, double all, std::size_t max_lines);

  static std::string row(line const& one, double all);

  bool wanted_           = false;  // by the environment
  std::size_t max_lines_ = 20;     // the most call sites that are printed
  std::forward_list<entry> entries_;
  std::array<entry*, 256> first_{};
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::unique_ptr<profile> profile::if_wanted() {
  auto const wanted =
      detail::switch_value("MESHTF_PROFILE", std::getenv("MESHTF_PROFILE"), {"0", "1", "all"});
  if (wanted.empty() || wanted == "0") return nullptr;
  auto made        = std::make_unique<profile>();
  made->wanted_    = true;
  made->max_lines_ = wanted == "all" ? std::string_view::npos : 20;
  return made;
}

MESHTF_DEFINE std::vector<profile::line> profile::by_kind() const {
  std::vector<line> kinds;
  for (auto const& e : entries_) {
    std::size_t k = 0;
    while (k < kinds.size() && kinds[k].words != e.done.kind) ++k;
    if (k == kinds.size()) kinds.push_back({e.done.kind, {}});
    kinds[k].spent.add(e.spent);
  }
  bring_forward(kinds, kinds.size());
  return kinds;
}

MESHTF_DEFINE std::string profile::text(std::string_view mesh) const {
  figures all;
  std::vector<line> kinds = by_kind();
  std::vector<line> sites;
  for (auto const& e : entries_) {
    all.add(e.spent);
    sites.push_back({words_of(e), e.spent});
  }
  std::string text = "meshtf: profile of rank 0 on " + std::string{mesh} + "\n";
  text += "   seconds   share      calls    GF/s    GB/s  kind\n" + table(kinds, all.seconds, kinds.size());
  text += "   seconds   share      calls    GF/s    GB/s  operation, call site\n" +
          table(sites, all.seconds, max_lines_);
  return text;
}

MESHTF_DEFINE profile::entry& profile::entry_of(work const& w, call_site const& site) {
  auto const slot = reinterpret_cast<std::uintptr_t>(site.operation) ^
                    reinterpret_cast<std::uintptr_t>(site.at.file_name());
  auto const hash = (slot >> 3) + 31 * site.at.line() + 7 * static_cast<std::size_t>(w.m + w.n + w.k) +
                    (site.backward ? 1 : 0);
  entry*& first = first_[hash % first_.size()];
  for (entry* e = first; e != nullptr; e = e->next)
    if (e->done.kind == w.kind && e->site.operation == site.operation && e->site.backward == site.backward &&
        e->site.at.line() == site.at.line() && e->site.at.file_name() == site.at.file_name() &&
        e->done.m == w.m && e->done.n == w.n && e->done.k == w.k)
      return *e;
  entries_.push_front({.done = w, .site = site, .next = first});
  first = &entries_.front();
  return *first;
}

MESHTF_DEFINE std::string profile::words_of(entry const& e) {
  std::string text = *e.site.operation == '\0' ? "(set up)" : e.site.operation;
  if (e.site.backward) text += "'s gradient";
  text += ", ";
  text += e.done.kind;
  if (e.done.m != 0 && e.spent.flops != 0)
    text += " " + std::to_string(e.done.m) + "x" + std::to_string(e.done.n) + "x" + std::to_string(e.done.k);
  if (e.site.has_line()) (text += ", ") += detail::place_text(e.site).view();
  return text;
}

MESHTF_DEFINE void profile::bring_forward(std::vector<line>& lines, std::size_t max_lines) {
  for (std::size_t i = 0; i < max_lines; ++i) {
    std::size_t dearest = i;
    for (std::size_t k = i + 1; k < lines.size(); ++k)
      if (lines[k].spent.seconds > lines[dearest].spent.seconds) dearest = k;
    std::swap(lines[i], lines[dearest]);
  }
}

MESHTF_DEFINE std::string profile::table(std::vector<line>& lines, double all, std::size_t max_lines) {
  std::string text;
  auto const told = lines.size() <= max_lines || lines.size() - max_lines == 1 ? lines.size() : max_lines;
  bring_forward(lines, told);
  for (std::size_t i = 0; i < told; ++i) text += row(lines[i], all);
  if (told == lines.size()) return text;
  line rest{std::to_string(lines.size() - told) + " more call sites (MESHTF_PROFILE=all tells each)", {}};
  for (std::size_t i = told; i < lines.size(); ++i) rest.spent.add(lines[i].spent);
  return text + row(rest, all);
}

MESHTF_DEFINE std::string profile::row(line const& one, double all) {
  auto const& [words, f] = one;
  fixed_text<255> columns;
  auto const rate = [seconds = f.seconds](extent n) {
    return seconds > 0 ? 1e-9 * static_cast<double>(n) / seconds : 0;
  };
  columns += right_column(decimal_text(f.seconds, 4), 10).view();
  columns += "  ";
  columns += right_column(decimal_text(100 * f.seconds / all, 1), 5).view();
  columns += " %  ";
  columns += right_column(number_text(f.calls), 9).view();
  for (extent const n : {f.flops, f.bytes}) {
    columns += "  ";
    columns += right_column(decimal_text(rate(n), 1), 6).view();
  }
  return std::string{columns.view()} + "  " + words + "\n";
}

#endif

}  // namespace v0
}  // namespace meshtf
