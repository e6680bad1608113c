// The list of all arrays that a program ever asked the ledger for: what lived at the peak, and who made it.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include <meshtf/plan/price/cost.hpp>

namespace meshtf::inline v0 {

/// Written in constant time an array, while the program runs in the compiler; read once, when its cost is asked for.
class held_list {
public:
  /// The number of a new array; `live`: the bytes of all that lives from here on.
  constexpr std::size_t take(call_site const& site, extent bytes, extent live, held_for what) {
    ++clock_;
    if (live > peak_ || clock_ == 1) {
      peak_    = live;
      peak_at_ = clock_;
    }
    arrays_.push_back({site, bytes, live, clock_, never, what});
    return arrays_.size() - 1;
  }
  constexpr void give(std::size_t number) { arrays_[number].died = ++clock_; }

  /// The latest arrays, of `bytes` together, are held for this.
  constexpr void name_latest(extent bytes, held_for what) {
    for (std::size_t i = arrays_.size(); i > 0 && bytes > 0; --i) {
      auto& latest = arrays_[i - 1];
      if (latest.died != never) continue;
      latest.what = what;
      bytes -= latest.bytes;
    }
  }

  /// The peak is counted from here; what a program holds now is its data.
  constexpr void start_over() {
    peak_    = 0;
    begun_   = arrays_.size();
    peak_at_ = ++clock_;
    for (auto& a : arrays_)
      if (a.died == never) {
        peak_ += a.bytes;
        if (a.what == held_for::activation || a.what == held_for::gradient) a.what = held_for::data;
      }
  }

  /// Tells `cost` what lived at the peak, and the most that lived when each call site asked for memory.
  template<class Cost>
  constexpr void note(Cost& cost) const {
    held_at_peak held{};
    std::vector<held_arrays> by_site;
    std::vector<site_peak> peaks;
    std::size_t near = 0, near_peak = 0;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      array const& a = arrays_[i];
      if (i >= begun_) {
        site_peak& p = found(peaks, near_peak, [&](site_peak const& x) { return x.site == a.site; }, site_peak{a.site, 0});
        if (a.live > p.bytes) p.bytes = a.live;
      }
      if (a.born > peak_at_ || a.died < peak_at_ || a.bytes == 0) continue;
      held.by_kind[static_cast<std::size_t>(a.what)] += a.bytes;
      held_arrays& h = found(by_site, near, [&](held_arrays const& x) { return x.what == a.what && x.site == a.site; }, held_arrays{a.site, a.what});
      ++h.arrays;
      h.bytes += a.bytes;
    }
    for (std::size_t k = 0; k < held_at_peak::most_sites && k < by_site.size(); ++k) {
      std::size_t largest = k;
      for (std::size_t i = k + 1; i < by_site.size(); ++i)
        if (by_site[i].bytes > by_site[largest].bytes) largest = i;
      held_arrays const moved = by_site[k];
      held.largest[k]         = by_site[largest];
      by_site[largest]        = moved;
      held.sites              = k + 1;
    }
    cost.note_held(held);
    for (site_peak const& p : peaks) cost.note_site_peak(p.site, p.bytes);
  }

private:
  static constexpr extent never = std::numeric_limits<extent>::max();

  struct array {
    call_site site;
    extent bytes, live, born, died;
    held_for what;
  };

  /// The entry that fits, looked for behind the last one that was found: layers come in the same order. A new one if there is none.
  template<class Entry, class Fits>
  static constexpr Entry& found(std::vector<Entry>& list, std::size_t& near, Fits const& fits, Entry const& fresh) {
    for (std::size_t k = 0; k < list.size(); ++k) {
      std::size_t const at = near + k < list.size() ? near + k : near + k - list.size();
      if (!fits(list[at])) continue;
      near = at;
      return list[at];
    }
    list.push_back(fresh);
    near = list.size() - 1;
    return list[near];
  }

  std::vector<array> arrays_{};
  std::size_t begun_ = 0;
  extent clock_ = 0, peak_ = 0, peak_at_ = 0;
};

}  // namespace meshtf::inline v0
