// Prices of one record under many layouts: what depends on the same dimensions is priced together, and once for each way to split them.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include <meshtf/plan/search/record_price.hpp>

namespace meshtf::inline v0 {

/// Seconds and peak bytes of a step under a layout.
struct layout_figures {
  double seconds = 0;
  extent peak    = 0;
};

namespace detail {

/// What a layout costs depends on few figures: which dimension of a loop nest, if any, each axis splits. Calls are put into groups that depend on the same
/// dimensions, and each group has a table with an entry for each way to split these, filled when it is first needed: to price a layout is then to add up one
/// entry of each table. What lives is one sum of products for each moment that may be the peak.
///
/// Where nothing but `searched` is ever split. It holds references, and lives in one evaluation.
template<Mesh M, class Record>
class layout_pricer {
public:
  constexpr layout_pricer(Record const& record, axis_set searched, machine_model const& machine)
      : record_(record),
        machine_(machine),
        searched_(searched),
        next_of_call_(new int[record.call_count + 1]),
        group_of_call_(new int[record.call_count + 1]),
        scratch_of_call_(new int[record.call_count + 1]),
        least_scratch_(new extent[record.call_count + 1]),
        most_scratch_(new extent[record.call_count + 1]),
        waiting_(new bucket_member[record.send_count + 1]),
        moment_bytes_(new extent[(record.moment_count + 1) * Record::most_kinds]),
        moment_call_(new int[record.moment_count + 1]) {
    for (std::size_t i = 0; i < record.call_count; ++i) {
      scratch_of_call_[i] = -1;
      least_scratch_[i]   = std::numeric_limits<extent>::max();
      most_scratch_[i]    = 0;
    }
    for (std::size_t i = 0; i < record.moment_count; ++i)
      if (record.moments[i].call >= 0) scratch_of_call_[record.moments[i].call] = 0;
    put_calls_into_groups();
    put_kinds_together();
    for (std::size_t i = 0; i < record.moment_count; ++i) add_moment(record.moments[i].bytes, record.moments[i].call);
  }
  layout_pricer(layout_pricer const&)  = delete;
  void operator=(layout_pricer const&) = delete;
  constexpr ~layout_pricer() {
    delete[] next_of_call_;
    delete[] group_of_call_;
    delete[] scratch_of_call_;
    delete[] least_scratch_;
    delete[] most_scratch_;
    delete[] waiting_;
    delete[] moment_bytes_;
    delete[] moment_call_;
    delete[] table_;
    delete[] scratch_;
  }

  /// The seconds, and of the peak what an optimizer takes for its messages.
  constexpr layout_figures seconds(layout_numbers const& l) {
    axis_set split_by[max_axes]{};
    dims_split_by_axes(l, split_by);
    extent flops = 0, passes = 0;
    double messages = 0;
    for (int g = 0; g < group_count_; ++g) {
      int const i = entry_of(groups_[g], split_by);
      if (!table_[i].known) fill(groups_[g], i, l);
      entry const& e = table_[i];
      flops += e.flops;
      passes += e.passes;
      messages += e.messages;
    }
    extent const sending = price_sends<M>(
        record_, l, waiting_, [&passes](work const& w) { passes += w.bytes; },
        [&messages, this](collective_call const& c) { messages += cost<M>::seconds_of(c, machine_); });
    return {static_cast<double>(flops) / machine_.flops_per_second + static_cast<double>(passes) / machine_.memory_bytes_per_second + messages,
            sending};
  }

  /// To be called between the last `seconds` and the first `peak`: moments whose scratch memory turned out to be the same under all layouts, most often none,
  /// are moments like others.
  constexpr void know_scratch() {
    int const before = std::exchange(moment_count_, 0);
    struct order {
      int moment, call;
      extent scratch;
    };
    auto* const all = new order[static_cast<std::size_t>(before) + 1];
    int count       = 0;
    for (int pass = 0; pass < 2; ++pass)  // those that keep their scratch come last: they never make others needless
      for (int m = 0; m < before; ++m) {
        int const call   = moment_call_[m];
        bool const fixed = call < 0 || least_scratch_[call] == most_scratch_[call];
        if (fixed == (pass == 0)) all[count++] = {m, fixed ? -1 : call, call >= 0 && fixed ? most_scratch_[call] : 0};
      }
    auto* const old = std::exchange(moment_bytes_, new extent[static_cast<std::size_t>((before + 1) * kind_count_)]);
    for (int i = 0; i < before; ++i) {
      extent* const mine = moment_bytes_ + moment_count_ * kind_count_;
      for (int k = 0; k < kind_count_; ++k) mine[k] = old[all[i].moment * kind_count_ + k];
      mine[0] += all[i].scratch;
      keep_moment(all[i].call);
    }
    delete[] old;
    delete[] all;
  }

  /// The most bytes that live at any of the moments.
  constexpr extent peak(layout_numbers const& l) const {
    extent parts[Record::most_kinds]{};  // 0: what lives only under other layouts
    for (int k = 0; k < kind_count_; ++k) parts[k] = kinds_[k].if_.holds(l) ? l.parts_of(kinds_[k].dims) : 0;
    axis_set split_by[max_axes]{};
    dims_split_by_axes(l, split_by);
    extent most = 0;
    for (int m = 0; m < moment_count_; ++m) {
      extent const* const bytes = moment_bytes_ + m * kind_count_;
      extent sum                = 0;
      for (int k = 0; k < kind_count_; ++k)
        if (bytes[k] != 0 && parts[k] != 0) sum += bytes[k] / parts[k];
      if (int const call = moment_call_[m]; call >= 0) {
        group const& g = groups_[group_of_call_[call]];
        sum += scratch_[scratch_of_call_[call] + entry_of(g, split_by) - g.first];
      }
      if (sum > most) most = sum;
    }
    return most;
  }

private:
  struct entry {
    bool known      = false;
    extent flops    = 0;
    extent passes   = 0;  // bytes
    double messages = 0;  // seconds
    extent signature[max_axes + 2]{};
  };
  /// Calls whose sizes depend on `dims`, and what they are finished over, or done at all, on `others`.
  struct group {
    axis_set dims = 0, others = 0;
    int choices = 1;  // for each axis: none, one of the dimensions, others
    int first   = 0;  // in the table
    int head    = -1;  // its calls
  };
  static constexpr int most_groups = 96;
  static constexpr int axes        = M::all_axes::count;

  static constexpr void dims_split_by_axes(layout_numbers const& l, axis_set* split_by) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(Record::dims); ++d)
      for (axis_set over = l.over[d]; over != 0; over &= over - 1) split_by[std::countr_zero(over)] |= axis_set{1} << d;
  }

  constexpr void put_calls_into_groups() {
    int entries = 0, scratches = 0;
    for (std::size_t i = 0; i < record_.call_count; ++i) {
      recorded_call const& c = record_.calls[i];
      axis_set const dims    = c.dims() & searched_;
      if (c.over != 0 && c.if_.dims != 0 && c.over != c.if_.dims) throw "meshtf: a sum within the condition of another one is not priced";
      axis_set const others = ((c.over & every_axis) != 0 ? 0 : c.over | c.if_.dims) & searched_;
      int g                 = 0;
      while (g < group_count_ && (groups_[g].dims != dims || groups_[g].others != others)) ++g;
      if (g == group_count_) {
        if (g == most_groups) throw "meshtf: the calls of this record depend on more different dimensions than a search holds";
        int const choices = std::popcount(dims) + 1 + (others != 0 ? 1 : 0);
        groups_[g]        = {.dims = dims, .others = others, .choices = choices, .first = entries};
        ++group_count_;
        entries += size_of(groups_[g]);
      }
      group_of_call_[i] = g;
      next_of_call_[i]  = groups_[g].head;
      groups_[g].head   = static_cast<int>(i);
      if (scratch_of_call_[i] >= 0) {
        scratch_of_call_[i] = scratches;
        scratches += size_of(groups_[g]);
      }
    }
    table_   = new entry[static_cast<std::size_t>(entries) + 1];
    scratch_ = new extent[static_cast<std::size_t>(scratches) + 1];
  }
  static constexpr int size_of(group const& g) {
    int n = 1;
    for (int a = 0; a < axes; ++a) n *= g.choices;
    return n;
  }
  static constexpr int entry_of(group const& g, axis_set const* split_by) {
    int i = 0;
    for (int a = 0; a < axes; ++a) {
      axis_set const split = split_by[a] & g.dims;
      i *= g.choices;
      if (split != 0) i += 1 + std::popcount(g.dims & (split - 1));
      else if ((split_by[a] & g.others) != 0) i += g.choices - 1;
    }
    return g.first + i;
  }
  constexpr void fill(group const& g, int i, layout_numbers const& l) {
    entry& e = table_[i];
    // another entry of as many parts over as many processes has the same price
    extent signature[max_axes + 2]{};
    int count = 0;
    for (axis_set left = g.dims; left != 0; left &= left - 1) signature[count++] = l.parts[static_cast<std::size_t>(std::countr_zero(left))];
    axis_set const others = g.others == 0 ? 0 : l.split(g.others);
    signature[count++]    = l.processes(others & axes_between_nodes<M>);
    signature[count++]    = l.processes(others & ~axes_between_nodes<M>);
    for (int k = g.first, end = g.first + size_of(g); k < end; ++k) {
      if (!table_[k].known) continue;
      int same = 0;
      while (same < count && table_[k].signature[same] == signature[same]) ++same;
      if (same < count) continue;
      e = table_[k];
      for (int c = g.head; c >= 0; c = next_of_call_[c])
        if (scratch_of_call_[c] >= 0) scratch_[scratch_of_call_[c] + i - g.first] = scratch_[scratch_of_call_[c] + k - g.first];
      return;
    }
    e.known = true;
    for (int k = 0; k < count; ++k) e.signature[k] = signature[k];
    for (int c = g.head; c >= 0; c = next_of_call_[c]) {
      recorded_call const& call = record_.calls[static_cast<std::size_t>(c)];
      extent const scratch      = price_call<M>(
          call, l,
          [&](work const& w) {
            e.flops += w.flops * call.times;
            if (w.flops == 0) e.passes += w.bytes * call.times;
          },
          [&](collective_call const& m) { e.messages += static_cast<double>(call.times) * cost<M>::seconds_of(m, machine_); });
      if (scratch_of_call_[c] < 0) continue;
      scratch_[scratch_of_call_[c] + i - g.first] = scratch;
      least_scratch_[c]                           = std::min(least_scratch_[c], scratch);
      most_scratch_[c]                            = std::max(most_scratch_[c], scratch);
    }
  }

  /// Kinds that differ in dimensions only that are not searched are one.
  constexpr void put_kinds_together() {
    kind_count_ = 1;  // the first: what nothing divides
    for (std::size_t k = 0; k < record_.kind_count; ++k) {
      recorded_kind kind = record_.kinds[k];
      kind.dims &= searched_;
      bool const every = (kind.if_.dims & every_axis) != 0;
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
  }
  template<std::size_t N>
  constexpr void add_moment(std::array<extent, N> const& bytes, int call) {
    extent* const mine = moment_bytes_ + moment_count_ * kind_count_;
    for (int k = 0; k < kind_count_; ++k) mine[k] = 0;
    for (std::size_t k = 0; k < record_.kind_count; ++k)
      if (kind_of_[k] >= 0) mine[kind_of_[k]] += bytes[k];
    keep_moment(call);
  }
  /// Counts the moment that stands after the last, unless one before it is never lighter.
  constexpr void keep_moment(int call) {
    extent const* const mine = moment_bytes_ + moment_count_ * kind_count_;
    for (int m = 0; m < moment_count_; ++m)
      if ((call < 0 || moment_call_[m] == call) && covers(moment_bytes_ + m * kind_count_, mine)) return;
    moment_call_[moment_count_++] = call;
  }
  /// Is `a` no lighter than `b` under any layout? What is divided by fewer dimensions outweighs what is divided by these and others.
  constexpr bool covers(extent const* a, extent const* b) const {
    extent more[Record::most_kinds]{};
    for (int k = 0; k < kind_count_; ++k) more[k] = a[k] - b[k];
    for (int k = 0; k < kind_count_; ++k) {
      for (int j = 0; more[k] < 0 && j < kind_count_; ++j)
        if (more[j] > 0 && kinds_[j].if_.dims == 0 && (kinds_[j].dims & ~kinds_[k].dims) == 0) {
          extent const paid = std::min(more[j], -more[k]);
          more[j] -= paid;
          more[k] += paid;
        }
      if (more[k] < 0) return false;
    }
    return true;
  }

  Record const& record_;
  machine_model const& machine_;
  axis_set searched_;
  group groups_[most_groups]{};
  int group_count_ = 0;
  entry* table_    = nullptr;
  int* next_of_call_;
  int* group_of_call_;
  int* scratch_of_call_;  // where its scratch stands in `scratch_`; -1: it takes none at any peak
  extent* least_scratch_;
  extent* most_scratch_;
  extent* scratch_ = nullptr;
  bucket_member* waiting_;
  recorded_kind kinds_[Record::most_kinds]{};
  int kind_of_[Record::most_kinds]{};
  int kind_count_ = 0;
  extent* moment_bytes_;
  int* moment_call_;
  int moment_count_ = 0;
};

}  // namespace detail

}  // namespace meshtf::inline v0
