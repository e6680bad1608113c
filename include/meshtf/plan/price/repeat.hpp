// The price of a program with many equal blocks, from its prices with one, two and three.
#pragma once

#include <array>
#include <cstddef>

#include <meshtf/plan/price/cost.hpp>

namespace meshtf::inline v0 {

namespace detail {

/// How the calls of a program with two blocks come from those with one: what is inserted, and where.
class inserted_calls {
public:
  struct piece {
    std::size_t before = 0;  // this call of the shorter program
    std::size_t first  = 0;  // in the longer program
    std::size_t length = 0;
  };
  static constexpr std::size_t most_pieces = 24;

  constexpr inserted_calls(std::span<collective_call const> shorter, std::span<collective_call const> longer) : a_(shorter), b_(longer) {
    fits_ = shorter.size() <= longer.size() && align(0, 0);
  }

  constexpr explicit operator bool() const { return fits_; }
  constexpr std::span<piece const> pieces() const { return {pieces_.data(), count_}; }
  /// The call of the longer program that call i of the shorter one became.
  constexpr collective_call const& became(std::size_t i) const {
    std::size_t at = i;
    for (piece const& p : pieces())
      if (p.before <= i) at += p.length;
    return b_[at];
  }

private:
  /// The same call for the same line; its length may be another where `grows`.
  static constexpr bool alike(collective_call const& x, collective_call const& y, bool grows) {
    return x.kind == y.kind && x.how == y.how && x.type == y.type && x.over == y.over && x.site == y.site && (grows || x.count == y.count);
  }

  constexpr bool align(std::size_t i, std::size_t j) {
    while (i < a_.size() && alike(a_[i], b_[j], false)) ++i, ++j;
    std::size_t const more = (b_.size() - j) - (a_.size() - i);
    if (i == a_.size()) return more == 0 || insert(i, j, more);
    for (std::size_t n = 1; n <= more; ++n)
      if (alike(a_[i], b_[j + n], false) && insert(i, j, n)) return true;
    return alike(a_[i], b_[j], true) && align(i + 1, j + 1);  // a bucket that holds more
  }
  constexpr bool insert(std::size_t i, std::size_t j, std::size_t n) {
    if (count_ == most_pieces) return false;
    pieces_[count_++] = {i, j, n};
    if (i == a_.size() || align(i, j + n)) return true;
    --count_;
    return false;
  }

  std::span<collective_call const> a_, b_;
  std::array<piece, most_pieces> pieces_{};
  std::size_t count_ = 0;
  bool fits_         = false;
};

/// On the line through one and two, the third must lie; the value at n.
constexpr extent on_a_line(extent n, extent one, extent two, extent three) {
  if (three - two != two - one) throw "meshtf: repeat: the third block does not cost what the second does";
  return one + (n - 1) * (two - one);
}

}  // namespace detail

/// What a program with `n` equal blocks costs, given its costs with one, two and three: calls in order, bytes, flops, parameters, state and peak. The blocks are
/// priced once, so `n` may be any number.
///
///     constexpr auto deep = repeat(96, dry_run<training, mixed>(1), dry_run<training, mixed>(2), dry_run<training, mixed>(3));
///
/// Exact as long as what grew from one to three grows on in the same way, and else it does not compile: the three must follow from each other. An optimizer's
/// small messages are packed into buckets of 1 MiB: where n blocks fill one that three did not, it makes one call more than this says. The peak is the largest
/// of the peaks of each call site, each of which grows from three on as it did from two to three. What lives at the peak is told where the same call site has it
/// that had it with three.
template<Mesh M, std::size_t Capacity>
constexpr cost<M, Capacity> repeat(extent n, cost<M, Capacity> const& one, cost<M, Capacity> const& two, cost<M, Capacity> const& three) {
  if (n < 1) throw "meshtf: repeat: a program has at least one block";
  if (n == 1) return one;
  if (n == 2) return two;
  if (n == 3) return three;
  if (one.run_count_ > 1 || two.run_count_ > 1 || three.run_count_ > 1) throw "meshtf: repeat takes the costs of dry runs";
  detail::inserted_calls const inserted{one.collectives(), two.collectives()};
  if (!inserted) throw "meshtf: repeat: the calls with two blocks are not those with one and some more";

  auto const with = [&](extent blocks) {
    cost<M, Capacity> result;
    auto const put = [&result](collective_call const& call) {
      if (result.count_ == Capacity) throw "meshtf: the blocks make more collectives than cost<M> holds (4096)";
      result.calls_[result.count_++] = call;
    };
    std::size_t begun     = 0;
    auto const end_of_run = [&](extent times) {
      result.note(call_run{begun, result.count_ - begun, times});
      begun = result.count_;
    };
    auto piece = inserted.pieces().begin();
    for (std::size_t i = 0; i <= one.count_; ++i) {
      for (; piece != inserted.pieces().end() && piece->before == i; ++piece) {
        end_of_run(1);
        for (std::size_t k = 0; k < piece->length; ++k) put(two.calls_[piece->first + k]);
        end_of_run(blocks - 1);
      }
      if (i == one.count_) break;
      collective_call call   = one.calls_[i];
      extent const processes = processes_along(axis_sizes<M>, call.over);
      if (extent const longer = inserted.became(i).count - call.count; longer != 0) {
        call.count += (blocks - 1) * longer;
        call.payload = call.count * bytes_of(call.type);
        call.sent    = sent_for(call.kind, call.payload, processes);
      }
      put(call);
    }
    end_of_run(1);
    return result;
  };

  if (!with(3).same_calls(three)) throw "meshtf: repeat: the third block does not send what the second does";
  cost<M, Capacity> result = with(n);
  auto const line          = [&](auto figure) { result.*figure = detail::on_a_line(n, one.*figure, two.*figure, three.*figure); };
  using all                = cost<M, Capacity>;
  line(&all::flops_);
  line(&all::elementwise_flops_);
  line(&all::bytes_touched_);
  line(&all::elementwise_bytes_);
  line(&all::parameter_bytes_);
  line(&all::optimizer_bytes_);
  line(&all::live_bytes_);

  if (!three.sites_whole_) throw "meshtf: repeat: this program has more call sites than cost<M> holds";
  std::size_t highest = 0, highest_of_three = 0;
  for (std::size_t i = 0; i < three.site_count_; ++i) {
    site_peak const& last = three.sites_[i];
    site_peak at          = last;
    for (std::size_t k = 0; k < two.site_count_; ++k)
      if (two.sites_[k].site == last.site) at.bytes += (n - 3) * (last.bytes - two.sites_[k].bytes);
    result.note_site_peak(at.site, at.bytes);
    if (at.bytes > result.sites_[highest].bytes) highest = i;
    if (last.bytes > three.sites_[highest_of_three].bytes) highest_of_three = i;
  }
  result.peak_bytes_ =
      result.site_count_ == 0 ? detail::on_a_line(n, one.peak_bytes_, two.peak_bytes_, three.peak_bytes_) : result.sites_[highest].bytes;
  if (highest == highest_of_three) {
    held_at_peak held = three.at_peak_;
    for (std::size_t k = 0; k < kinds_of_holding; ++k) held.by_kind[k] += (n - 3) * (three.at_peak_.by_kind[k] - two.at_peak_.by_kind[k]);
    for (std::size_t i = 0; i < held.sites; ++i)
      for (std::size_t k = 0; k < two.at_peak_.sites; ++k) {
        held_arrays const& before = two.at_peak_.largest[k];
        if (before.what != held.largest[i].what || !(before.site == held.largest[i].site)) continue;
        held.largest[i].arrays += (n - 3) * (three.at_peak_.largest[i].arrays - before.arrays);
        held.largest[i].bytes += (n - 3) * (three.at_peak_.largest[i].bytes - before.bytes);
      }
    if (held.bytes() == result.peak_bytes_) result.at_peak_ = held;
  }
  return result;
}

}  // namespace meshtf::inline v0
