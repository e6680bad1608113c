// The list of all arrays that a program ever asked the ledger for: what lived at the peak, and which call
// made it.
#pragma once

#include <cstddef>
#include <limits>

#include <meshtf/core/exchange.hpp>
#include <meshtf/core/growing.hpp>
#include <meshtf/price/cost.hpp>

namespace meshtf {
inline namespace v0 {

/// An array in the list.
struct held_array {
  static constexpr extent never = std::numeric_limits<extent>::max();

  call_site site;
  // live: bytes alive once it was made; born, died: the times of its life
  extent bytes;
  extent live;
  extent born;
  extent died;
  held_for what;
  held_array* before;
  held_array* next;
};

/// Each array is recorded in constant time, while the program runs in the compiler; the list is read once,
/// when the cost is asked for. It is linked, since the functions of a vector would take the compiler longer
/// than the rest of an operation.
class held_list {
public:
  constexpr held_list()            = default;
  held_list(held_list const&)      = delete;
  void operator=(held_list const&) = delete;
  constexpr ~held_list() {
    while (first_ != nullptr) delete detail::exchange(first_, first_->next);
  }

  /// Adds an array. `live` is the bytes of all arrays alive from here on.
  constexpr held_array* take(call_site const& site, extent bytes, extent live, held_for purpose) {
    ++clock_;
    if (live > peak_ || clock_ == 1) {
      peak_    = live;
      peak_at_ = clock_;
    }
    auto* const a = new held_array{site, bytes, live, clock_, held_array::never, purpose, last_, nullptr};
    if (last_ == nullptr) first_ = a;
    else last_->next = a;
    return last_ = a;
  }
  constexpr void give(held_array* a) { a->died = ++clock_; }

  /// The latest arrays, of `bytes` together, are held for `what`.
  constexpr void name_latest(extent bytes, held_for purpose) {
    for (held_array* a = last_; a != nullptr && bytes > 0; a = a->before) {
      if (a->died != held_array::never) continue;
      a->what = purpose;
      bytes -= a->bytes;
    }
  }

  /// Counts the peak from here on. What a program holds now is its data.
  constexpr void start_over() {
    peak_    = 0;
    begun_   = last_;
    peak_at_ = ++clock_;
    for (held_array* a = first_; a != nullptr; a = a->next)
      if (a->died == held_array::never) {
        peak_ += a->bytes;
        if (a->what == held_for::activation || a->what == held_for::gradient) a->what = held_for::data;
      }
    at_start_ = peak_;
  }

  /// Notes in `cost` what lived at the peak, and all local peaks in order. The first of them is what lived at
  /// the start.
  template<class Cost>
  constexpr void note(Cost& cost) const {
    cost.note_start(at_start_);
    for (held_array const* a = begun_ == nullptr ? first_ : begun_->next; a != nullptr; a = a->next)
      if (a->next == nullptr || a->next->born > a->born + 1)
        cost.note_local_peak({a->site, a->bytes, a->live});

    held_at_peak held{};
    detail::growing<held_arrays> by_site;
    int near = 0;
    for (held_array const* a = first_; a != nullptr && a->born <= peak_at_; a = a->next) {
      if (a->died < peak_at_ || a->bytes == 0) continue;
      held.by_kind[static_cast<std::size_t>(a->what)] += a->bytes;
      held_arrays& h = found(by_site, near, *a);
      ++h.arrays;
      h.bytes += a->bytes;
    }
    for (int k = 0; k < static_cast<int>(held_at_peak::max_sites) && k < by_site.size(); ++k) {
      int largest = k;
      for (int i = k + 1; i < by_site.size(); ++i)
        if (by_site[i].bytes > by_site[largest].bytes) largest = i;
      held_arrays const moved    = by_site[k];
      held.largest[held.sites++] = by_site[largest];
      by_site[largest]           = moved;
    }
    cost.note_held(held);
  }

private:
  /// The entry for such an array; a new one if there is none. The search begins at the entry found last,
  /// since layers come in the same order.
  static constexpr held_arrays& found(detail::growing<held_arrays>& list, int& near, held_array const& a) {
    int const count = list.size();
    for (int k = 0; k < count; ++k) {
      if (near == count) near = 0;
      held_arrays& entry = list[near];
      if (entry.what == a.what && entry.site == a.site) return entry;
      ++near;
    }
    list.push_back({a.site, a.what});
    near = count;
    return list[count];
  }

  held_array* first_ = nullptr;
  held_array* last_  = nullptr;
  held_array* begun_ = nullptr;  // the last array before the start
  extent clock_      = 0;
  extent peak_       = 0;
  extent peak_at_    = 0;
  extent at_start_   = 0;
};

}  // namespace v0
}  // namespace meshtf
