// The seconds of one record under many layouts: what depends on the same dimensions is priced together, once
// for each way to split them.
#pragma once

#include <limits>

#include <meshtf/core/exchange.hpp>
#include <meshtf/search/layout_keys.hpp>
#include <meshtf/search/work_terms.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The modelled seconds of a record.
///
/// What a layout costs depends on few figures: the number of parts of each dimension, and the number of
/// processes that a sum joins.
///
/// * Flops and bytes touched are sums of products of local sizes (`work_terms`).
/// * What is sent is decided by sizes. Calls and gradients that depend on the same dimensions are a group,
///   and each group remembers its price for each list of figures that it has met.
///
/// The evaluators of constant expressions take tens of nanoseconds for each node of an expression and about a
/// microsecond for each call. So the loop that runs for each layout makes few calls and indexes plain arrays.
///
/// Only dimensions in `searched` may be split. The object holds references and lives in one evaluation.
template<Mesh M, class Record>
class layout_seconds {
public:
  constexpr layout_seconds(Record const& record, dim_set searched, machine_model const& machine)
      : record_(record),
        machine_(machine),
        searched_(searched & ~record.whole),
        terms_(record, searched_),
        next_of_call_(new int[record.call_count + 1]),
        waiting_(new bucket_member[record.send_count + 1]) {
    for (extent bytes : record.spilled) spills_ = spills_ || bytes != 0;
    put_calls_into_groups();
    put_sends_into_groups();
  }
  layout_seconds(layout_seconds const&) = delete;
  void operator=(layout_seconds const&) = delete;
  constexpr ~layout_seconds() {
    delete[] next_of_call_;
    delete[] waiting_;
  }

  constexpr double operator()(layout_numbers const& l) {
    axis_set const* const over = l.over.data();
    work_sum sum               = terms_.under(l);
    double messages            = 0;
    sent by_optimizer;
    message open[max_open_messages]{};
    int open_count            = 0;
    int round                 = 0;
    group const* const groups = groups_.data();
    int const group_count     = groups_.size();
    entry const* entries      = entries_.data();
    for (int g = 0; g < group_count; ++g) {
      group const& mine = groups[g];
      extent key        = 0;
      axis_set others   = 0;
      if (mine.moves) key = key_of_axes(mine.size, over);
      else
        for (int k = 0; k < mine.size.count; ++k)
          key = key * number_.count + number_.numbers[over[mine.size.dim[k]]];
      if (mine.decide.count > 0) {
        for (int k = 0; k < mine.decide.count; ++k) others |= over[mine.decide.dim[k]];
        key = key * number_.count + number_.numbers[others];
      }
      int e = mine.entry[key % chains];
      while (e >= 0 && entries[e].key != key) e = entries[e].next;
      if (e < 0) {
        e       = fill(g, key, l);
        entries = entries_.data();
      }
      entry const& found = entries[e];
      if (g < first_of_sends_) {
        sum.flops += found.flops;
        sum.passes += found.passes;
        messages += found.messages;
        continue;
      }
      by_optimizer.messages += found.messages;
      if (found.packed_members == 0) continue;
      // small gradients of one round over the same axes are one message, unless there are too many of them
      if (mine.round != round) {
        send(open, detail::exchange(open_count, 0), by_optimizer);
        round = mine.round;
      }
      if (mine.over_all) others = l.joining;
      int i = 0;
      while (i < open_count && (open[i].over != others || open[i].type != mine.type)) ++i;
      if (i == max_open_messages || (i < open_count ? open[i].bytes : 0) + found.packed > largest_bucket) {
        by_optimizer = one_by_one(l);
        open_count   = 0;
        break;
      }
      if (i == open_count) open[open_count++] = {others, mine.type, 0, 0};
      open[i].bytes += found.packed;
      open[i].members += found.packed_members;
    }
    send(open, open_count, by_optimizer);
    modelled_time t{
        .products = static_cast<double>(sum.flops) / machine_.flops_per_second,
        .passes   = static_cast<double>(sum.passes + by_optimizer.passes) / machine_.memory_bytes_per_second,
        .within_node = messages + by_optimizer.messages};
    if (spills_) t.note_file(bytes_to_file(record_, l), machine_);
    return t.total();
  }

private:
  static constexpr int chains = 64;

  /// The price of a group.
  struct entry {
    extent key      = 0;
    int next        = -1;  // the next one of the same chain
    extent flops    = 0;
    extent passes   = 0;  // bytes
    double messages = 0;  // seconds
    // bytes of gradients that share messages with others, and the number of these gradients
    extent packed      = 0;
    int packed_members = 0;
  };
  /// Calls whose sizes depend on `dims`, while what they are finished over, or whether they are done, depends
  /// on `others`; or gradients sent in one round.
  struct group {
    dim_set dims   = 0;
    dim_set others = 0;
    listed_dims size{};
    listed_dims decide{};
    int first = -1;  // its first call or gradients
    // of gradients
    int round = 0;
    int kind  = 0;
    element type{};
    // between pairs of dimensions
    bool over_all = false;
    bool moves    = false;
    int entry[chains]{};
  };
  /// Gradients of one size, in one group.
  struct gradients {
    extent n     = 0;
    extent times = 0;
    int next     = -1;
  };
  /// Gradients that are packed together.
  struct message {
    axis_set over = 0;
    element type{};
    extent bytes = 0;
    int members  = 0;
  };
  /// The bytes that optimizers copy for their messages, and the seconds of these messages.
  struct sent {
    extent passes   = 0;
    double messages = 0;
  };

  /// The number of the first group of these dimensions, from number `from` on, that `is_right`; that of a new
  /// group if there is none.
  template<class F>
  constexpr int group_for(dim_set dims, dim_set others, int from, F const& is_right) {
    int g = from;
    while (g < groups_.size() &&
           (groups_[g].dims != dims || groups_[g].others != others || !is_right(groups_[g])))
      ++g;
    if (g < groups_.size()) return g;
    group added{.dims = dims, .others = others, .size = listed_dims{dims}, .decide = listed_dims{others}};
    for (int& e : added.entry) e = -1;
    extent keys = 1;
    for (int k = 0; k <= added.size.count; ++k) {
      if (keys > std::numeric_limits<extent>::max() / number_.count)
        throw "meshtf: the axes of this mesh have too many different sizes for a search";
      keys *= number_.count;
    }
    groups_.push_back(added);
    return g;
  }
  constexpr recorded_call const& first_call(group const& g) const { return record_.calls[g.first]; }

  /// Puts calls that send into groups; the others become terms.
  constexpr void put_calls_into_groups() {
    layout_numbers const nothing_split = numbers_of_mesh<M>();
    for (std::size_t i = 0; i < record_.call_count; ++i) {
      recorded_call const& c = record_.calls[i];
      dim_set const others   = decides_on(c, searched_);
      if (c.if_.pairs.count != 0) {
        if (others == 0) continue;  // nothing moves
        int const g =
            group_for(dims_of_move(c, searched_), 0, 0, [](group const& other) { return other.moves; });
        groups_[g].moves = true;
        next_of_call_[i] = detail::exchange(groups_[g].first, static_cast<int>(i));
        continue;
      }
      if (others == 0 && !c.if_.holds(nothing_split)) continue;  // done under no layout
      int const g      = group_for(c.dims() & searched_, others, 0, [&](group const& other) {
        recorded_call const& first = first_call(other);
        return !other.moves && (first.price == nullptr) == (c.price == nullptr) &&
               (c.price == nullptr || others == 0 || first.if_ == c.if_);
      });
      next_of_call_[i] = detail::exchange(groups_[g].first, static_cast<int>(i));
    }
    int left = 0;
    for (int g = 0; g < groups_.size(); ++g)
      if (first_call(groups_[g]).price == nullptr ||
          !terms_.add(groups_[g].first, next_of_call_, groups_[g].size, groups_[g].others != 0))
        groups_[left++] = groups_[g];
    groups_.keep_first(left);
    first_of_sends_ = left;
  }
  constexpr void put_sends_into_groups() {
    for (std::size_t r = 0; r < record_.round_count; ++r) {
      int const from         = groups_.size();
      std::size_t const last = r + 1 < record_.round_count ? record_.rounds[r + 1].first : record_.send_count;
      for (std::size_t i = record_.rounds[r].first; i < last; ++i) {
        recorded_send const& s         = record_.sends[i];
        recorded_send_kind const& kind = record_.send_kinds[s.kind];
        dim_set const others           = (kind.over & every_axis) != 0 ? 0 : kind.over & searched_;
        auto const is_of_this_kind     = [&](group const& g) { return g.kind == s.kind && g.type == s.type; };
        int const g                    = group_for(kind.dims & searched_, others, from, is_of_this_kind);
        group& mine                    = groups_[g];
        mine.round                     = static_cast<int>(r);
        mine.kind                      = s.kind;
        mine.type                      = s.type;
        mine.over_all                  = (kind.over & every_axis) != 0;
        int same                       = mine.first;
        while (same >= 0 && gradients_[same].n != s.n) same = gradients_[same].next;
        if (same < 0) {
          same = gradients_.size();
          gradients_.push_back({s.n, 0, detail::exchange(mine.first, same)});
        }
        ++gradients_[same].times;
      }
    }
  }

  constexpr int fill(int g, extent key, layout_numbers const& l) {
    group& mine = groups_[g];
    entry e{.key = key, .next = mine.entry[key % chains]};
    if (g < first_of_sends_) price_calls(mine, e, l);
    else price_gradients(mine, e, l);
    mine.entry[key % chains] = entries_.size();
    entries_.push_back(e);
    return entries_.size() - 1;
  }
  constexpr void price_calls(group const& g, entry& e, layout_numbers const& l) {
    for (int c = g.first; c >= 0; c = next_of_call_[c]) {
      recorded_call const& call = record_.calls[c];
      price_call<M>(
          call, l,
          [&](work const& w) {
            e.flops += w.flops * call.times;
            if (w.flops == 0) e.passes += w.bytes * call.times;
          },
          [&](collective_call const& m) {
            e.messages += static_cast<double>(call.times) * cost<M>::seconds_of(m, machine_);
          });
    }
  }
  constexpr void price_gradients(group const& g, entry& e, layout_numbers const& l) {
    recorded_send_kind const& kind = record_.send_kinds[g.kind];
    axis_set const over            = l.split(kind.over);
    if (over == 0) return;
    extent const whole     = l.whole_of(kind.dims);
    extent const allocated = l.room_of(kind.dims);
    for (int i = g.first; i >= 0; i = gradients_[i].next) {
      gradients const& s = gradients_[i];
      extent const n     = s.n / whole * allocated;
      extent const bytes = n * bytes_of(g.type);
      if (is_packed(bytes)) {
        e.packed += s.times * bytes;
        e.packed_members += static_cast<int>(s.times);
      } else
        for_each_message<M>(reduction::sum, g.type, n, over, {}, [&](collective_call const& m) {
          e.messages += static_cast<double>(s.times) * cost<M>::seconds_of(m, machine_);
        });
    }
  }

  /// Adds what it takes to pack, send and unpack these messages.
  constexpr void send(message const* messages, int count, sent& sum) const {
    for (int i = 0; i < count; ++i) {
      message const& m = messages[i];
      if (m.members > 1) sum.passes += 4 * m.bytes;
      for_each_message<M>(
          reduction::sum, m.type, m.bytes / bytes_of(m.type), m.over, {},
          [&](collective_call const& c) { sum.messages += cost<M>::seconds_of(c, machine_); });
    }
  }
  /// What optimizers send, priced gradient by gradient.
  constexpr sent one_by_one(layout_numbers const& l) {
    sent sum;
    price_sends<M>(
        record_, l, waiting_, [&](work const& w) { sum.passes += w.bytes; },
        [&](collective_call const& c) { sum.messages += cost<M>::seconds_of(c, machine_); });
    return sum;
  }

  Record const& record_;
  machine_model const& machine_;
  dim_set searched_;
  numbers_of_axis_sets<M> number_{};
  work_terms<M, Record> terms_;
  growing<group> groups_{};  // of calls, then of gradients
  int first_of_sends_ = 0;
  growing<entry> entries_{};
  growing<gradients> gradients_{};
  int* next_of_call_;
  bucket_member* waiting_;
  bool spills_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
