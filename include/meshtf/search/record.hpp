// A record: what one step asks of its machine, before a layout is chosen.
#pragma once

#include <array>

#include <meshtf/core/common_divisor.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/core/small_array.hpp>
#include <meshtf/price/cost.hpp>
#include <meshtf/search/recorded_call.hpp>
#include <meshtf/search/recorded_kind.hpp>
#include <meshtf/search/recorded_needs.hpp>
#include <meshtf/search/recorded_send.hpp>
#include <meshtf/search/undecided_plans.hpp>

namespace meshtf {
inline namespace v0 {

/// The price of a step under every layout that splits only dimensions of `D...`: its calls without their
/// sizes, and what lives when memory is at a local maximum. It is a literal value: `record` makes it;
/// `price`, `rank_layouts` and `best_layout` read it.
template<Dimension... D>
struct step_record : recorded_needs<sizeof...(D)> {
  static constexpr std::size_t max_calls   = 320;
  static constexpr std::size_t max_kinds   = 64;
  static constexpr std::size_t max_moments = 160;
  static constexpr std::size_t max_sends   = 512;
  static constexpr std::size_t max_rounds  = 4;
  // the former names
  [[deprecated("use max_calls")]] static constexpr std::size_t most_calls     = max_calls;
  [[deprecated("use max_kinds")]] static constexpr std::size_t most_kinds     = max_kinds;
  [[deprecated("use max_moments")]] static constexpr std::size_t most_moments = max_moments;
  [[deprecated("use max_sends")]] static constexpr std::size_t most_sends     = max_sends;
  [[deprecated("use max_rounds")]] static constexpr std::size_t most_rounds   = max_rounds;
  using undecided_dims                                                        = shape<D...>;

  /// A local maximum of live memory: the bytes of each kind, and the call that takes scratch memory in
  /// addition to them, if one does.
  struct moment {
    small_array<extent, max_kinds> bytes{};
    int call   = -1;
    extent sum = 0;  // of these bytes, as `note_moment` keeps it
  };

  small_array<recorded_call, max_calls> calls{};
  std::size_t call_count  = 0;
  std::size_t latest_call = 0;
  small_array<recorded_kind, max_kinds> kinds{};
  std::size_t kind_count = 0;
  small_array<moment, max_moments> moments{};
  std::size_t moment_count = 0;
  std::array<recorded_send, max_sends> sends{};
  std::size_t send_count = 0;
  small_array<recorded_send_kind, max_kinds> send_kinds{};
  std::size_t send_kind_count = 0;
  /// Gradients that are sent together, up to the first of the next round, and what lives before.
  struct round {
    std::size_t first = 0;
    small_array<extent, max_kinds> bytes{};
  };
  std::array<round, max_rounds> rounds{};
  std::size_t round_count = 0;
  small_array<extent, max_kinds> optimizer{};   // bytes of each kind: what optimizers remember
  small_array<extent, max_kinds> parameters{};  // bytes of each kind: parameters
  small_array<extent, max_kinds> spilled{};     // bytes of each kind that leave for a file or come back
  static constexpr int dims = int{sizeof...(D)};
  static constexpr std::array<extent, sizeof...(D)> sizes{D::size...};
  static constexpr extent size_of(int dim) { return sizes[static_cast<std::size_t>(dim)]; }

  /// The number of the call of this price, which is added if there is none.
  constexpr int note(recorded_call const& call) {
    std::size_t i = calls[latest_call].followed_by;
    for (std::size_t left = call_count; left > 0; --left, ++i) {
      if (i >= call_count) i = 0;
      if (calls.element[i].same_price(call)) return note_again(i);
    }
    static_assert(max_calls == 320);  // as the message says
    if (call_count == max_calls)
      throw "meshtf: this program makes more different calls than a record holds (320)";
    calls[call_count]             = call;
    calls[call_count].times       = 1;
    calls[call_count].followed_by = call_count + 1;
    latest_call                   = call_count;
    return static_cast<int>(call_count++);
  }
  /// The number of the call of a task, or of a pass over `n` elements, with this price, if it has been noted:
  /// then it has been once more. -1 if it has not. Blocks are alike, so the search begins after the call that
  /// was noted last.
  template<class Price>
  constexpr int noted_again(Price price, undecided_loops const* loops, undecided_size const& n,
                            unsigned wishes, undecided_condition const& if_) {
    recorded_call const* const all = calls.element;
    std::size_t i                  = all[latest_call].followed_by;
    for (std::size_t left = call_count; left > 0; --left, ++i) {
      if (i >= call_count) i = 0;
      recorded_call const& c = all[i];
      if (c.price == price && c.n.whole == n.whole && c.n.dims == n.dims && c.wishes == wishes &&
          (loops == nullptr || detail::same_loops(c.loops, *loops)) && c.if_ == if_)
        return note_again(i);
    }
    return -1;
  }

  constexpr std::size_t kind(recorded_kind const& wanted) {
    for (std::size_t i = 0; i < kind_count; ++i)
      if (kinds.element[i].dims == wanted.dims && kinds.element[i] == wanted) return i;
    static_assert(max_kinds == 64);  // as the message says
    if (kind_count == max_kinds)
      throw "meshtf: the tensors of this program have more different shapes than a record holds (64)";
    kinds[kind_count] = wanted;
    return kind_count++;
  }

  constexpr int send_kind(dim_set sent_dims, dim_set over) {
    for (std::size_t i = 0; i < send_kind_count; ++i)
      if (send_kinds[i].dims == sent_dims && send_kinds[i].over == over) return static_cast<int>(i);
    static_assert(max_kinds == 64);  // as the message says
    if (send_kind_count == max_kinds)
      throw "meshtf: the parameters of this program have more different shapes than a record holds (64)";
    send_kinds[send_kind_count] = {sent_dims, over};
    return static_cast<int>(send_kind_count++);
  }

  /// Keeps a moment unless another one is no lighter under any layout.
  constexpr void note(moment const& m) { note_moment(m.bytes.element, m.call); }
  /// The same, of the bytes of each kind. Dry runs ask for this thousands of times, so the loops index plain
  /// arrays, which the compilers evaluate fastest, and compare kinds only where the sums leave it open.
  constexpr void note_moment(extent const* bytes, int call) {
    moment* const all   = moments.element;
    std::size_t const n = kind_count;
    extent sum          = 0;
    for (std::size_t k = 0; k < n; ++k) sum += bytes[k];
    moment* latest = nullptr;  // the two latest ones of this call
    moment* before = nullptr;
    for (std::size_t i = moment_count; i-- > 0;) {  // the latest are the likeliest to be alike
      moment& m = all[i];
      if (call >= 0 && m.call != call) continue;
      if (m.sum >= sum) {
        extent const* const other = m.bytes.element;
        std::size_t k             = 0;
        while (k < n && other[k] >= bytes[k]) ++k;
        if (k == n) return;
      }
      if (latest == nullptr) latest = &m;
      else if (before == nullptr) before = &m;
    }
    // the first moment that is lighter gives its place
    std::size_t place = moment_count;
    std::size_t left  = 0;
    for (std::size_t i = 0; i < moment_count; ++i) {
      moment const& m = all[i];
      if (m.sum <= sum && (m.call < 0 || m.call == call)) {
        extent const* const other = m.bytes.element;
        std::size_t k             = 0;
        while (k < n && other[k] <= bytes[k]) ++k;
        if (k == n) {
          if (place == moment_count) place = left++;
          continue;
        }
      }
      if (left != i) put_moment(all[left], m.bytes.element, m.call, m.sum);
      ++left;
    }
    if (place == moment_count) {
      // in equal blocks the moments of a call lie on a line
      if (call >= 0 && before != nullptr && lies_below(latest->bytes.element, before->bytes.element, bytes))
        return put_moment(*latest, bytes, call, sum);
      static_assert(max_moments == 160);  // as the message says
      if (left == max_moments) left = keep_hull(left);
      if (left == max_moments)
        throw "meshtf: the memory of this program has more peaks than a record holds (160)";
      place = left++;
    }
    put_moment(all[place], bytes, call, sum);
    moment_count = left;
  }

  /// Drops moments that lie between two others, and returns how many of these `count` are left.
  ///
  /// In equal blocks the bytes of a moment grow along a line: the first and the last block are never lighter
  /// than those between, whatever the layout, since each kind of bytes is multiplied by a number.
  constexpr std::size_t keep_hull(std::size_t count) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (is_between(i, left, count)) continue;
      moment const& m = moments[i];
      if (left != i) put_moment(moments[left], m.bytes.element, m.call, m.sum);
      ++left;
    }
    return left;
  }

private:
  constexpr int note_again(std::size_t number) {
    ++calls[number].times;
    calls[latest_call].followed_by = number;
    latest_call                    = number;
    return static_cast<int>(number);
  }
  /// Kinds that are noted later have no bytes here: what is copied is what there is.
  constexpr void put_moment(moment& to, extent const* bytes, int call, extent sum) const {
    extent* const mine = to.bytes.element;
    for (std::size_t k = 0; k < kind_count; ++k) mine[k] = bytes[k];
    to.call = call;
    to.sum  = sum;
  }
  /// Whether moment i lies between one of the first `kept` moments and one after it, of the same call.
  constexpr bool is_between(std::size_t i, std::size_t kept, std::size_t count) const {
    moment const* const all = moments.element;
    moment const& m         = all[i];
    for (std::size_t a = 0; a < kept; ++a) {
      if (all[a].call != m.call) continue;
      for (std::size_t b = i + 1; b < count; ++b)
        if (all[b].call == m.call && lies_below(m.bytes.element, all[a].bytes.element, all[b].bytes.element))
          return true;
    }
    return false;
  }
  /// Whether m <= (p a + (q - p) b) / q in each kind, for some 0 <= p <= q.
  constexpr bool lies_below(extent const* m, extent const* a, extent const* b) const {
    constexpr extent max_q = 4096;  // bytes * q fit into an extent
    for (std::size_t k = 0; k < kind_count; ++k)
      if (m[k] > a[k] && m[k] > b[k]) return false;
    extent p = 0;
    extent q = 1;
    for (std::size_t k = 0; k < kind_count; ++k) {
      if (m[k] <= b[k]) continue;
      extent const common = detail::common_divisor(a[k] - b[k], m[k] - b[k]);
      extent const of     = (a[k] - b[k]) / common;
      if (of > max_q) return false;
      if ((m[k] - b[k]) / common * q > p * of) p = (m[k] - b[k]) / common, q = of;
    }
    for (std::size_t k = 0; k < kind_count; ++k)
      if (q * m[k] > p * a[k] + (q - p) * b[k]) return false;
    return true;
  }
};

}  // namespace v0
}  // namespace meshtf
