// Packed pairs of sequences for the benchmark of a translator, and the arithmetic that they need.
// benchmarks/peers/with_pytorch.py packs the same ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

/// Ids of one side in rows, and for each the number of its pair, from 1 on; 0 where there is padding.
struct packed_side {
  std::vector<int> ids;
  std::vector<int> segments;
};

/// Numbers of a linear congruential generator: the same in every language.
class plain_numbers {
public:
  int below(int n) {
    state_ = (state_ * 1103515245u + 12345u) & 0x7fffffffu;
    return static_cast<int>((state_ >> 16) % static_cast<std::uint32_t>(n));
  }

private:
  std::uint32_t state_ = 1;
};

/// 104 pairs of 8 to 26 source positions and up to 6 more of the target. The longest first, each goes to the
/// first row that has room for both, as examples/translation packs its pairs; those without room are left.
struct packed_batch {
  packed_side source;
  packed_side target;
  double flops         = 0;  // of the products of a step, of what is no padding
  double target_tokens = 0;
  double wasted        = 0;  // of all positions of both sides

  struct sizes {
    int rows;
    int source;
    int target;
    int vocab;
    double layers;  // on each side
    double model;
    double hidden;
  };

  explicit packed_batch(sizes const& of) {
    auto const positions = [&of](int length) { return static_cast<std::size_t>(of.rows * length); };
    source               = {std::vector<int>(positions(of.source)), std::vector<int>(positions(of.source))};
    target               = {std::vector<int>(positions(of.target)), std::vector<int>(positions(of.target))};
    plain_numbers draws;
    struct pair_of_lengths {
      int source;
      int target;
    };
    std::vector<pair_of_lengths> pairs(104);
    for (auto& pair : pairs) {
      pair.source = 8 + draws.below(19);
      pair.target = pair.source + draws.below(7);
    }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](auto const& a, auto const& b) { return a.target > b.target; });
    struct row_of_pairs {
      int source = 0;  // how many positions are taken
      int target = 0;
      int pairs  = 0;
    };
    std::vector<row_of_pairs> rows(static_cast<std::size_t>(of.rows));
    double tokens = 0;
    for (auto const [s, t] : pairs) {
      auto const row = std::find_if(rows.begin(), rows.end(), [&](row_of_pairs const& r) {
        return r.source + s <= of.source && r.target + t <= of.target;
      });
      if (row == rows.end()) continue;
      int const number = static_cast<int>(row - rows.begin());
      put(source, number * of.source + row->source, s, ++row->pairs, of.vocab, draws);
      put(target, number * of.target + row->target, t, row->pairs, of.vocab, draws);
      row->source += s;
      row->target += t;
      flops += of_pair(of, s, t);
      target_tokens += t;
      tokens += s + t;
    }
    wasted = 1 - tokens / static_cast<double>(of.rows * (of.source + of.target));
  }

private:
  static void put(packed_side& side, int first, int n, int pair, int vocab, plain_numbers& draws) {
    for (int i = first; i < first + n; ++i) {
      side.ids[static_cast<std::size_t>(i)]      = 1 + draws.below(vocab - 1);
      side.segments[static_cast<std::size_t>(i)] = pair;
    }
  }

  /// A pair of `s` and `t` tokens: what its products compute, three times for the step. A target sees half of
  /// its own sequence.
  static double of_pair(sizes const& of, double s, double t) {
    double const square  = of.model * of.model;
    double const feed    = 2 * of.model * of.hidden;
    double const encoder = s * (4 * square + feed) + 2 * s * s * of.model;
    double const own     = t * (4 * square + feed) + t * (t + 1) * of.model;
    double const cross   = t * 2 * square + s * 2 * square + 2 * s * t * of.model;
    return 3 * 2 * (of.layers * (encoder + own + cross) + t * of.model * of.vocab);
  }
};

}  // namespace bench
