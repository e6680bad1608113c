// Pairs of sequences packed into rows, and batches of such rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <xtensor/xbuilder.hpp>
#include <xtensor/xtensor.hpp>

#include <meshtf/core/dim.hpp>

using id_list = std::vector<std::int32_t>;

struct pair_of_ids {
  id_list source;
  id_list target;
};

/// Sorts numbers by the lengths of what they stand for.
template<class Length>
void sort_longest_first(std::vector<std::size_t>& numbers, Length const& length) {
  std::sort(numbers.begin(), numbers.end(), [&](std::size_t a, std::size_t b) {
    return length(a) != length(b) ? length(a) > length(b) : a < b;
  });
}

/// The numbers of the pairs that share a row.
using row_of_pairs = std::vector<std::size_t>;

/// Packs pairs into rows, the longest first, each into the first row where both sides have room. Only pairs
/// that are within `window` of each other in `order` share a row, so that rows differ from epoch to epoch.
inline std::vector<row_of_pairs> packed(std::vector<pair_of_ids> const& pairs,
                                        std::vector<std::size_t> const& order, meshtf::extent source,
                                        meshtf::extent target, std::size_t window = 4096) {
  struct room {
    std::size_t source;
    std::size_t target;
  };
  std::vector<row_of_pairs> rows;
  for (std::size_t first = 0; first < order.size(); first += window) {
    auto const begin = order.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<std::size_t> some{
        begin, begin + static_cast<std::ptrdiff_t>(std::min(window, order.size() - first))};
    sort_longest_first(some, [&](std::size_t i) { return pairs[i].target.size(); });
    std::vector<room> left;
    auto const first_row = rows.size();
    for (auto const pair : some) {
      auto const from = pairs[pair].source.size();
      auto const to   = pairs[pair].target.size();
      std::size_t row = 0;
      while (row < left.size() && (left[row].source < from || left[row].target < to)) ++row;
      if (row == left.size()) {
        left.push_back({static_cast<std::size_t>(source), static_cast<std::size_t>(target)});
        rows.emplace_back();
      }
      left[row].source -= from;
      left[row].target -= to;
      rows[first_row + row].push_back(pair);
    }
  }
  return rows;
}

/// One side of a batch: ids, and for each the number of its pair in the row; 0 where there is padding.
struct side_of_batch {
  xt::xtensor<std::int32_t, 2> ids;
  xt::xtensor<std::int32_t, 2> segments;

  side_of_batch(meshtf::extent rows, meshtf::extent length)
      : ids{xt::zeros<std::int32_t>({rows, length})}, segments{xt::zeros<std::int32_t>({rows, length})} {}

  void put(std::size_t row, std::size_t& at, id_list const& sentence, std::int32_t number) {
    for (auto const id : sentence) {
      ids(row, at)      = id;
      segments(row, at) = number;
      ++at;
    }
  }
};

/// A batch of rows, on all processes.
struct batch_of_pairs {
  side_of_batch source;
  side_of_batch target;

  batch_of_pairs(meshtf::extent rows, meshtf::extent from, meshtf::extent to)
      : source{rows, from}, target{rows, to} {}

  void put(std::size_t row, std::vector<pair_of_ids> const& pairs, row_of_pairs const& numbers) {
    std::size_t in_source = 0;
    std::size_t in_target = 0;
    std::int32_t number   = 0;
    for (auto const pair : numbers) {
      ++number;
      source.put(row, in_source, pairs[pair].source, number);
      target.put(row, in_target, pairs[pair].target, number);
    }
  }
};

/// Batches of packed pairs without end. In each epoch every pair comes once, in an order and in rows that
/// depend on the seed and the number of the epoch alone. So a training goes on from any step. The pairs must
/// outlive it.
class packed_batches {
public:
  packed_batches(std::vector<pair_of_ids> const& pairs, std::uint64_t seed, meshtf::extent rows,
                 meshtf::extent source, meshtf::extent target)
      : pairs_{pairs}, seed_{seed}, rows_{rows}, source_{source}, target_{target} {
    seek(0);
  }

  batch_of_pairs next() {
    batch_of_pairs batch{rows_, source_, target_};
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows_); ++row) {
      if (at_ == epoch_rows_.size()) start_epoch();
      batch.put(row, pairs_, epoch_rows_[at_++]);
    }
    return batch;
  }

  /// The next batch is number `step`, counted from 0.
  void seek(meshtf::extent step) {
    epoch_ = 0;
    start_epoch();
    auto skip = static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(rows_);
    for (; skip > epoch_rows_.size(); start_epoch()) skip -= epoch_rows_.size();
    at_ = static_cast<std::size_t>(skip);
  }

  struct position_type {
    std::uint64_t epoch = 1;  // of the row that came last
    std::size_t row     = 0;  // how many of its rows have come
    std::size_t rows    = 0;  // of that epoch
  };
  position_type position() const { return {epoch_, at_, rows()}; }
  void seek(position_type const& position) {
    if (epoch_ != position.epoch) {
      epoch_ = position.epoch - 1;
      start_epoch();
    }
    at_ = position.row;
  }

  /// Of this epoch.
  std::size_t rows() const { return epoch_rows_.size(); }
  std::uint64_t epoch() const { return epoch_; }

  /// The share of positions that no id has, of both sides together.
  double wasted() const {
    std::size_t used = 0;
    for (auto const& pair : pairs_) used += pair.source.size() + pair.target.size();
    return 1 -
           static_cast<double>(used) / (static_cast<double>(rows()) * static_cast<double>(source_ + target_));
  }

private:
  void start_epoch() {
    ++epoch_;
    std::seed_seq seeds{seed_ & 0xffffffff, seed_ >> 32, epoch_};
    std::mt19937_64 draws{seeds};
    auto const shuffle = [&](auto& list) {
      for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[draws() % i]);
    };
    std::vector<std::size_t> order(pairs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(order);
    epoch_rows_ = packed(pairs_, order, source_, target_);
    shuffle(epoch_rows_);
    at_ = 0;
  }

  std::vector<pair_of_ids> const& pairs_;
  std::uint64_t seed_;
  meshtf::extent rows_;
  meshtf::extent source_;
  meshtf::extent target_;
  std::uint64_t epoch_ = 0;  // counted from 1
  std::vector<row_of_pairs> epoch_rows_;
  std::size_t at_ = 0;
};
