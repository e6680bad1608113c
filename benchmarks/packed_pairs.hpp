// Packed pairs of sequences for the benchmark of a translator, and the arithmetic that they need.
// benchmarks/peers/with_pytorch.py packs the same ones.
#pragma once

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

/// Pairs of 8 to 26 source and 10 to 30 target positions: in each row those of 64 that fit one after the
/// other.
struct packed_batch {
  packed_side source;
  packed_side target;
  double flops          = 0;  // of the products of a step, of what is no padding
  double target_tokens  = 0;
  double wasted_targets = 0;  // of all positions

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
    for (int row = 0; row < of.rows; ++row) {
      int in_source = 0;
      int in_target = 0;
      int pair      = 1;
      for (int tries = 0; tries < 64; ++tries) {
        int const s = 8 + draws.below(19);
        int const t = 10 + draws.below(21);
        if (in_source + s > of.source || in_target + t > of.target) continue;
        put(source, row * of.source + in_source, s, pair, of.vocab, draws);
        put(target, row * of.target + in_target, t, pair, of.vocab, draws);
        in_source += s;
        in_target += t;
        ++pair;
        flops += of_pair(of, s, t);
        target_tokens += t;
      }
    }
    wasted_targets = 1 - target_tokens / static_cast<double>(of.rows * of.target);
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
