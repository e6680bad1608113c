// The price of a program with many equal blocks, from its prices with one, two and three.
#pragma once

#include <cstddef>

#include <meshtf/plan/bucket_plan.hpp>
#include <meshtf/price/cost.hpp>
#include <meshtf/price/grown_list.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

constexpr bool are_on_a_line(extent one, extent two, extent three) { return three - two == two - one; }

/// Whether two amounts of work are the same but for the rounding of `rounded_work`.
constexpr bool near(computed_work const& a, computed_work const& b) {
  auto const within = [](extent x, extent y) {
    extent const apart = x < y ? y - x : x - y;
    return apart <= 2 || apart <= (x < y ? y : x) >> 21;
  };
  return within(a.flops, b.flops) && within(a.passed, b.passed);
}
constexpr bool are_on_a_line(rounded_work const& one, rounded_work const& two, rounded_work const& three) {
  return near(one.whole() + three.whole(), two.whole() + two.whole());
}

/// If calls go on while the process computes, `Overlap` asks that what is computed around them grows, too.
template<bool Overlap>
struct growing_calls {
  static constexpr bool alike(collective_call const& x, collective_call const& y) {
    return x.count == y.count && of_one_line(x, y) && (!Overlap || near(x.since.whole(), y.since.whole()));
  }
  static constexpr bool stays(collective_call const& x, collective_call const& y, collective_call const& z) {
    return x.count == y.count && x.count == z.count && grows(x, y, z);
  }
  /// The message of a bucket that holds more.
  static constexpr bool grows(collective_call const& x, collective_call const& y, collective_call const& z) {
    return are_on_a_line(x.count, y.count, z.count) && of_one_line(x, y) && of_one_line(x, z) &&
           (!Overlap ||
            (are_on_a_line(x.since, y.since, z.since) && are_on_a_line(x.until, y.until, z.until)));
  }

private:
  static constexpr bool of_one_line(collective_call const& x, collective_call const& y) {
    return x.kind == y.kind && x.op == y.op && x.type == y.type && x.over == y.over && x.site == y.site;
  }
};

struct growing_peaks {
  static constexpr bool alike(local_peak const& x, local_peak const& y) {
    return x.bytes == y.bytes && x.site == y.site;
  }
  static constexpr bool stays(local_peak const& x, local_peak const& y, local_peak const& z) {
    return x.bytes == y.bytes && grows(x, y, z);
  }
  static constexpr bool grows(local_peak const& x, local_peak const& y, local_peak const& z) {
    return are_on_a_line(x.live, y.live, z.live) && are_on_a_line(x.bytes, y.bytes, z.bytes) &&
           x.site == y.site && x.site == z.site;
  }
};

/// The value at n on the line through those at one, two and three.
constexpr extent on_a_line(extent n, extent one, extent two, extent three) {
  if (!are_on_a_line(one, two, three))
    throw "meshtf: repeat: the third block does not cost what the second does";
  return three + (n - 3) * (three - two);
}

/// The message of a bucket, which is longer with n blocks; `three` is the message with three blocks.
template<Mesh M>
constexpr collective_call longer_message(collective_call const& three, extent count) {
  collective_call call   = three;
  extent const processes = processes_along(axis_sizes<M>, call.over);
  extent const element   = bytes_of(call.type);
  call.count             = count;
  call.payload           = count * element;
  call.sent              = sent_for(call.kind, call.payload, processes);

  bool const scatters = call.kind == collective::reduce_scatter;
  auto const part_of  = [&](collective_call const& c) {
    return scatters ? c.count / (processes - 1) : c.count;
  };
  extent const whole =
      call.kind == collective::all_reduce ? call.payload : part_of(call) * processes * element;
  if (whole > largest_bucket)
    throw "meshtf: repeat: so many blocks fill an optimizer's bucket, so that it makes more calls: take a "
          "dry run of them all";
  sum_by_link const sum = by_link<M>(call.over);
  bool const by_nodes =
      call.kind == collective::all_reduce && reduces_by_nodes(count, element, sum.processes, sum.nodes);
  bool const by_pieces = scatters && exchange_piece(part_of(call), element) < part_of(call) &&
                         exchange_piece(part_of(three), element) == part_of(three);
  if (by_nodes || by_pieces)
    throw "meshtf: repeat: with so many blocks an optimizer's bucket is sent in another way: take a dry "
          "run of them all";
  return call;
}

/// What is computed around the calls of n blocks, from those of one, two and three.
class grown_work {
public:
  constexpr explicit grown_work(extent n) : n_{n} {}

  /// Whether all is known of the pieces.
  constexpr explicit operator bool() const { return fits_; }
  /// Around a call that is made once.
  constexpr void of_entry(collective_call& call, collective_call const& two, collective_call const& three) {
    call.since = grown(two.since, three.since);
    call.until = grown(two.until, three.until);
  }
  constexpr void begin_piece() { less_ = {}, first_ = true; }
  /// Around a call of a piece, which comes twice with three blocks.
  constexpr void of_piece(collective_call& call, collective_call const& two, collective_call const& first,
                          collective_call const& second) {
    if (two.until.is_nothing() && first.until.is_nothing() && second.until.is_nothing()) return;
    call.until               = grown(two.until, first.until);
    computed_work const less = first.until.whole() - second.until.whole();
    if (first_) less_ = less;
    fits_  = fits_ && near(less + first.until.whole(), less_ + first.until.whole());
    first_ = false;
  }
  /// `call_run::less` of the piece.
  constexpr computed_work less() const { return less_; }

private:
  constexpr rounded_work grown(rounded_work const& two, rounded_work const& three) const {
    return three.whole() + (n_ - 3) * (three.whole() - two.whole());
  }

  extent n_;
  bool fits_  = true;
  bool first_ = true;
  computed_work less_{};
};

/// A friend of `cost`. clang 16 does not accept a function with a concept as a friend.
struct repetition {
  template<Mesh M, std::size_t Capacity>
  static constexpr cost<M, Capacity> of(extent n, cost<M, Capacity> const& one, cost<M, Capacity> const& two,
                                        cost<M, Capacity> const& three) {
    using all = cost<M, Capacity>;
    if (n < 1) throw "meshtf: repeat: a program has at least one block";
    for (all const* c : {&one, &two, &three}) {
      if (c->run_count_ > 1 || c->peak_count_ == 0) throw "meshtf: repeat takes the costs of dry runs";
      static_assert(all::max_peaks == 1024);  // as the message says
      if (!c->peaks_whole_)
        throw "meshtf: repeat: three blocks have more local peaks of memory than cost<M> holds (1024)";
    }
    if (n == 1) return one;
    if (n == 2) return two;
    if (n == 3) return three;
    all result;

    bool const overlaps = three.overlaps_ && put_calls<true>(result, n, one, two, three);
    if (!overlaps && !put_calls<false>(result, n, one, two, three))
      throw "meshtf: repeat: the calls with three blocks do not follow from those with one and two";
    result.overlaps_ = overlaps;

    auto const line = [&](auto figure) {
      result.*figure = detail::on_a_line(n, one.*figure, two.*figure, three.*figure);
    };
    line(&all::kernels_);
    line(&all::flops_);
    line(&all::elementwise_flops_);
    line(&all::bytes_touched_);
    line(&all::elementwise_bytes_);
    line(&all::bytes_spilled_);
    line(&all::parameter_bytes_);
    line(&all::optimizer_bytes_);
    line(&all::live_bytes_);

    // the peak: the bytes alive at a moment between pieces lie on a line over n; within pieces they lie on a
    // line over n and over the iteration of the piece, so that the first or the last iteration is the highest
    auto const peaks = [](all const& c) { return std::span{c.peaks_.data(), c.peak_count_}; };
    detail::grown_list<local_peak, detail::growing_peaks> const moments{peaks(one), peaks(two), peaks(three)};
    if (!moments)
      throw "meshtf: repeat: three blocks allocate memory in another order than one and two: dry_run the "
            "whole model";
    struct highest {
      extent live = -1;
      int moment  = 0;
    };
    highest of_n;
    highest of_three;
    int moment      = 0;
    auto const look = [&](extent with_n, extent with_three) {
      if (with_n > of_n.live) of_n = {with_n, moment};
      if (with_three > of_three.live) of_three = {with_three, moment};
      ++moment;
    };
    moments.for_each([&](local_peak const& x, local_peak const& y,
                         local_peak const& z) { look(detail::on_a_line(n, x.live, y.live, z.live), z.live); },
                     [&](auto const& piece) {
                       for (std::size_t k = 0; k < piece.length; ++k) {
                         extent const first           = three.peaks_[piece.third + k].live;
                         extent const last            = three.peaks_[piece.third + piece.length + k].live;
                         extent const with_each_block = first - two.peaks_[piece.first + k].live;
                         extent const with_each_turn  = last - first;
                         look(first + (n - 3) * with_each_block, first);
                         look(last + (n - 3) * (with_each_block + with_each_turn), last);
                       }
                     });
    result.peak_bytes_ = of_n.live;
    if (of_n.moment == of_three.moment) {
      held_at_peak held = three.at_peak_;
      for (std::size_t k = 0; k < kinds_of_holding; ++k)
        held.by_kind[k] += (n - 3) * (three.at_peak_.by_kind[k] - two.at_peak_.by_kind[k]);
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

private:
  /// The calls: those of one block come once, the pieces between them n - 1 times. Whether they follow from
  /// those of one, two and three blocks; if `Overlap`, also what is computed around them.
  template<bool Overlap, Mesh M, std::size_t Capacity>
  static constexpr bool put_calls(cost<M, Capacity>& result, extent n, cost<M, Capacity> const& one,
                                  cost<M, Capacity> const& two, cost<M, Capacity> const& three) {
    detail::grown_list<collective_call, detail::growing_calls<Overlap>> const calls{
        one.collectives(), two.collectives(), three.collectives()};
    if (!calls) return false;
    result.count_ = result.run_count_ = 0;
    auto const put                    = [&result](collective_call const& call) -> collective_call& {
      if (result.count_ == Capacity)
        throw "meshtf: the blocks make more collectives than cost<M> holds (4096)";
      return result.calls_[result.count_++] = call;
    };
    std::size_t begun     = 0;
    auto const end_of_run = [&](extent times, computed_work const& less = {}) {
      result.note(call_run{begun, result.count_ - begun, times, less});
      begun = result.count_;
    };
    detail::grown_work around{n};
    calls.for_each(
        [&](collective_call const& x, collective_call const& y, collective_call const& z) {
          extent const count = z.count + (n - 3) * (z.count - y.count);
          around.of_entry(put(x.count == y.count ? x : detail::longer_message<M>(z, count)), y, z);
        },
        [&](auto const& piece) {
          end_of_run(1);
          around.begin_piece();
          for (std::size_t k = 0; k < piece.length; ++k) {
            collective_call const* const again = &three.calls_[piece.third + k];
            collective_call const& call        = two.calls_[piece.first + k];
            around.of_piece(put(call), call, again[0], again[piece.length]);
          }
          end_of_run(n - 1, around.less());
        });
    end_of_run(1);
    return !Overlap || bool(around);
  }
};

}  // namespace detail

/// The cost of a program with `n` equal blocks, from its costs with one, two and three: calls in order,
/// bytes, flops, parameters, state and peak. The blocks are priced once, so `n` may be any number.
///
///     constexpr auto deep =
///         repeat(96, dry_run<training, mixed>(1), dry_run<training, mixed>(2), dry_run<training, mixed>(3));
///
/// The program may have several stacks of blocks, such as an encoder and a decoder, if all grow together:
/// from one block each to two, to three, to n.
///
/// The three costs must follow from each other: every call, and every local peak of memory, has its place
/// with one block, or comes once more with each further block; sizes, and the bytes alive at each local peak,
/// lie on a line. Then the result is exact: `tests/price/repeat.cpp` compares it with dry runs. Otherwise it
/// does not compile. It does not compile either if n blocks make an optimizer send in a different way than
/// three: its small messages are packed into buckets of 1 MiB, and more blocks may fill one. What lives at
/// the peak is known if the peak is where it was with three blocks. What is computed while a call goes on
/// (`early_sums`) is known, but for rounding, if it lies on lines, too; otherwise `time().overlapped()` is
/// `time().total()`.
template<Mesh M, std::size_t Capacity>
constexpr cost<M, Capacity> repeat(extent n, cost<M, Capacity> const& one, cost<M, Capacity> const& two,
                                   cost<M, Capacity> const& three) {
  return detail::repetition::of(n, one, two, three);
}

}  // namespace v0
}  // namespace meshtf
