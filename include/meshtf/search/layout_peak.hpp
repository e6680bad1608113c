// The peak memory of one record under many layouts.
#pragma once

#include <algorithm>

#include <meshtf/core/exchange.hpp>
#include <meshtf/search/layout_seconds.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The most bytes that live under a layout: one sum of quotients for each moment that may be the peak.
///
/// Only dimensions in `searched` may be split. The object holds references and lives in one evaluation.
template<Mesh M, class Record>
class layout_peak {
public:
  constexpr layout_peak(Record const& record, dim_set searched)
      : record_(record),
        searched_(searched & ~record.whole),
        waiting_(new bucket_member[record.send_count + 1]),
        known_of_call_(new int[record.call_count + 1]),
        moment_bytes_(new extent[(record.moment_count + 1) * Record::max_kinds]),
        moment_call_(new int[record.moment_count + 1]),
        max_scratch_(new extent[record.call_count + 1]) {
    for (std::size_t i = 0; i < record.call_count; ++i) known_of_call_[i] = -1;
    put_kinds_together();
    put_sends_together();
    for (std::size_t i = 0; i < record.moment_count; ++i)
      add_moment(record.moments[i].bytes, record.moments[i].call);
  }
  layout_peak(layout_peak const&)    = delete;
  void operator=(layout_peak const&) = delete;
  constexpr ~layout_peak() {
    delete[] waiting_;
    delete[] known_of_call_;
    delete[] moment_bytes_;
    delete[] moment_call_;
    delete[] max_scratch_;
  }

  /// The most bytes that live at any moment.
  constexpr extent operator()(layout_numbers const& l) {
    extent allocated[Record::max_kinds]{};  // 0 for what lives only under other layouts
    for (int k = 0; k < kind_count_; ++k) allocated[k] = kinds_[k].lives(l) ? l.room_of(kinds_[k].dims) : 0;
    extent peak = 0;
    extent sums[Record::max_moments]{};
    for (std::size_t c = 0; c < record_.call_count; ++c) max_scratch_[c] = -1;
    for (int m = 0; m < moment_count_; ++m) {
      extent const* const bytes = moment_bytes_ + m * kind_count_;
      extent sum                = 0;
      for (int k = 0; k < kind_count_; ++k)
        if (bytes[k] != 0 && allocated[k] != 0) sum += bytes[k] / whole_[k] * allocated[k];
      sums[m] = sum;
      if (sum > peak) peak = sum;
    }
    // few moments with scratch memory can be the peak: only for these is it planned
    for (int m = 0; m < moment_count_; ++m) {
      if (moment_call_[m] < 0) continue;
      recorded_call const& c = record_.calls.element[moment_call_[m]];
      if (c.is_product) {
        extent& scratch = max_scratch_[moment_call_[m]];
        if (scratch < 0) scratch = c.max_scratch_of_contraction(l);
        if (sums[m] + scratch <= peak) continue;
      }
      extent const scratch = scratch_of(m, l);
      if (sums[m] + scratch > peak) peak = sums[m] + scratch;
    }
    // nor can gradients that are sent, unless there is little else
    if (record_.round_count == 0 || max_of_sends(l) <= peak) return peak;
    return std::max(peak,
                    price_sends<M>(record_, l, waiting_, [](work const&) {}, [](collective_call const&) {}));
  }

private:
  /// What the gradients of one kind take at most.
  struct sends_of_kind {
    extent made     = 0;  // bytes that are taken before they are sent
    extent bytes    = 0;
    extent count    = 0;
    extent messages = 0;  // the scratch memory of the largest
  };
  constexpr void put_sends_together() {
    for (std::size_t i = 0; i < record_.send_count; ++i) {
      recorded_send const& s = record_.sends[i];
      sends_of_kind& mine    = sends_[s.kind];
      mine.made += s.made;
      mine.bytes += s.n * bytes_of(s.type);
      mine.messages = std::max(mine.messages, max_scratch_of_message(s.n, s.type));
      ++mine.count;
    }
  }
  /// A message that arrives, and a sum that is not rounded yet.
  static constexpr extent max_scratch_of_message(extent n, element type) {
    return n * (bytes_of(type) + bytes_of(added_as(type)));
  }
  /// No less than `price_sends` says: all that lives when some gradients are sent, with all that is taken for
  /// any of them, the largest message of one, and one of all that can be packed, which are copied.
  constexpr extent max_of_sends(layout_numbers const& l) const {
    extent live = 0;
    for (std::size_t r = 0; r < record_.round_count; ++r)
      live = std::max(live,
                      bytes_under(record_.rounds[r].bytes, {record_.kinds.element, record_.kind_count}, l));
    extent made    = 0;
    extent packed  = 0;
    extent message = 0;
    for (std::size_t k = 0; k < record_.send_kind_count; ++k) {
      recorded_send_kind const& kind = record_.send_kinds.element[k];
      sends_of_kind const& mine      = sends_[k];
      extent const whole             = l.whole_of(kind.dims);
      extent const allocated         = l.room_of(kind.dims);
      made += mine.made / whole * allocated;
      if (l.split(kind.over) == 0) continue;
      packed += std::min(mine.bytes / whole * allocated, mine.count * largest_packed);
      message = std::max(message, mine.messages / whole * allocated);
    }
    // a sum of packed gradients has at most thrice their bytes as scratch memory
    return live + made + 4 * packed + message;
  }

  /// The scratch memory of a call under layouts that are the same to it.
  struct scratch_memory {
    extent key   = 0;
    extent bytes = 0;
    int next     = -1;  // the next one of the same call
  };
  constexpr extent scratch_of(int moment, layout_numbers const& l) {
    int const call         = moment_call_[moment];
    recorded_call const& c = record_.calls[call];
    extent key             = 0;
    if (c.if_.pairs.count != 0) {
      key = key_of_axes(listed_dims{dims_of_move(c, searched_)}, l.over);
    } else {
      key = number_.numbers[l.split(decides_on(c, searched_))];
      listed_dims const divisors{c.dims() & searched_};
      for (int k = 0; k < divisors.count; ++k)
        key = key * number_.count + number_.numbers[l.over[divisors.dim[k]]];
    }
    for (int i = known_of_call_[call]; i >= 0; i = known_[i].next)
      if (known_[i].key == key) return known_[i].bytes;
    extent const bytes = price_call<M>(c, l, [](work const&) {}, [](collective_call const&) {});
    known_.push_back({key, bytes, detail::exchange(known_of_call_[call], known_.size())});
    return bytes;
  }

  /// Merges kinds that differ only in dimensions that are not searched.
  constexpr void put_kinds_together() {
    kind_count_ = 1;  // the first kind: what no dimension divides
    for (std::size_t k = 0; k < record_.kind_count; ++k) {
      recorded_kind kind = record_.kinds[k];
      kind.dims &= searched_;
      bool const every = (kind.if_.dims & every_axis) != 0 || kind.if_.pairs.count != 0;
      if (kind.if_.dims != 0 && !every) {
        kind.if_.dims &= searched_;
        if (kind.if_.dims == 0 && kind.if_.joined) {
          kind_of_[k] = -1;
          continue;
        }
        if (kind.if_.dims == 0) kind.if_ = {};
      }
      int to = 0;
      while (to < kind_count_ && !(kinds_[to] == kind)) ++to;
      if (to == kind_count_) kinds_[kind_count_++] = kind;
      kind_of_[k] = to;
    }
    layout_numbers all;
    all.know(Record::sizes);
    for (int k = 0; k < kind_count_; ++k) whole_[k] = all.whole_of(kinds_[k].dims);
  }
  template<std::size_t N>
  constexpr void add_moment(small_array<extent, N> const& bytes, int call) {
    extent* const mine = moment_bytes_ + moment_count_ * kind_count_;
    for (int k = 0; k < kind_count_; ++k) mine[k] = 0;
    for (std::size_t k = 0; k < record_.kind_count; ++k)
      if (kind_of_[k] >= 0) mine[kind_of_[k]] += bytes[k];
    keep_moment(call);
  }
  /// Keeps the moment stored after the last, unless an earlier one is never lighter.
  constexpr void keep_moment(int call) {
    extent const* const mine = moment_bytes_ + moment_count_ * kind_count_;
    for (int m = 0; m < moment_count_; ++m)
      if ((call < 0 || moment_call_[m] == call) && covers(moment_bytes_ + m * kind_count_, mine)) return;
    moment_call_[moment_count_++] = call;
  }
  /// Whether `a` is no lighter than `b` under any layout. Bytes divided by fewer dimensions outweigh bytes
  /// divided by these and others.
  constexpr bool covers(extent const* a, extent const* b) const {
    extent more[Record::max_kinds]{};
    for (int k = 0; k < kind_count_; ++k) more[k] = a[k] - b[k];
    for (int k = 0; k < kind_count_; ++k) {
      for (int j = 0; more[k] < 0 && j < kind_count_; ++j)
        if (more[j] > 0 && kinds_[j].if_.dims == 0 && kinds_[j].array == 0 &&
            (kinds_[j].dims & ~kinds_[k].dims) == 0) {
          extent const paid = std::min(more[j], -more[k]);
          more[j] -= paid;
          more[k] += paid;
        }
      if (more[k] < 0) return false;
    }
    return true;
  }

  Record const& record_;
  dim_set searched_;
  numbers_of_axis_sets<M> number_{};
  growing<scratch_memory> known_{};
  bucket_member* waiting_;
  int* known_of_call_;  // the first one of each call in `known_`
  recorded_kind kinds_[Record::max_kinds]{};
  extent whole_[Record::max_kinds]{};  // elements of the dimensions of each kind
  int kind_of_[Record::max_kinds]{};
  int kind_count_ = 0;
  extent* moment_bytes_;
  int* moment_call_;
  int moment_count_ = 0;
  extent* max_scratch_;  // of each product, under one layout
  sends_of_kind sends_[Record::max_kinds]{};
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
