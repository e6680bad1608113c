// The text of translation.cpp: sentences as ids of pieces, and pairs of them packed into rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/serialization/vector.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xtensor.hpp>

#include <meshtf/data/sentencepiece_tokenizer.hpp>
#include <meshtf/data/text.hpp>
#include <meshtf/meshtf.hpp>

using id_list = std::vector<std::int32_t>;

/// Where a sentence stands, for messages.
inline std::string line_of(std::string const& file, std::size_t line) {
  return "line " + std::to_string(line) + " of " + file;
}

/// The first byte that is not UTF-8, or `npos`.
inline std::size_t not_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto const first    = static_cast<unsigned char>(text[i]);
    std::size_t more    = 0;
    std::uint32_t least = 0;
    std::uint32_t point = first;
    if (first >= 0xf0 && first < 0xf8) more = 3, least = 0x10000, point = first & 7U;
    else if (first >= 0xe0 && first < 0xf0) more = 2, least = 0x800, point = first & 15U;
    else if (first >= 0xc0 && first < 0xe0) more = 1, least = 0x80, point = first & 31U;
    else if (first >= 0x80) return i;
    if (text.size() - i <= more) return i;
    for (std::size_t k = 1; k <= more; ++k) {
      auto const next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0U) != 0x80) return i;
      point = point << 6 | (next & 63U);
    }
    if (point < least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return i;
    i += 1 + more;
  }
  return std::string_view::npos;
}

/// Errors: `data_error` unless it is a sentence in UTF-8.
inline void check_sentence(std::string_view sentence, std::string const& file, std::size_t line) {
  if (sentence.find_first_not_of(" \t\r") == std::string_view::npos)
    throw meshtf::data_error("expected a sentence in " + line_of(file, line) +
                             ", got an empty one: take the line out");
  if (auto const bad = not_utf8(sentence); bad != std::string_view::npos) {
    char byte[8];
    std::snprintf(byte, sizeof byte, "0x%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(sentence[bad])));
    throw meshtf::data_error("expected UTF-8 in " + line_of(file, line) + ", got the byte " + byte +
                             " after " + std::to_string(bad) + " others: convert the file with iconv");
  }
}

/// The lines of a file, without their ends.
inline std::vector<std::string_view> lines_of(meshtf::text const& file) {
  std::vector<std::string_view> lines;
  std::string_view rest = file.bytes;
  while (!rest.empty()) {
    auto const end = std::min(rest.find('\n'), rest.size());
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

/// A vocabulary, and the ids that it keeps for the model.
struct vocabulary {
  meshtf::sentencepiece_tokenizer pieces;
  std::int32_t end;

  vocabulary(std::string const& file, meshtf::extent size) : pieces{file, size}, end{pieces.id_of("</s>")} {
    // 0 stands in front of a target, and where there is padding
    if (pieces.id_of("<pad>") != 0)
      throw meshtf::data_error("expected <pad> as the first piece of " + file +
                               ", got it elsewhere: train it with examples/translate --vocabulary");
  }

  /// Sentences that were too long.
  struct too_long {
    long cut          = 0;
    std::size_t first = 0;  // its line
  };

  /// The ids of a sentence and its end, `longest` at most: what is longer is cut, or refused if `strict`.
  id_list ids(std::string_view sentence, std::string const& file, std::size_t line, meshtf::extent longest,
              bool strict, too_long& seen) const {
    check_sentence(sentence, file, line);
    auto made       = pieces.encode(sentence);
    auto const room = static_cast<std::size_t>(longest - 1);
    if (made.size() > room) {
      if (strict)
        throw meshtf::data_error("expected at most " + std::to_string(room) + " pieces in " +
                                 line_of(file, line) + ", got " + std::to_string(made.size()) +
                                 ": shorten it, or leave --strict out, and it is cut");
      made.resize(room);
      if (seen.cut++ == 0) seen.first = line;
    }
    made.push_back(end);
    return made;
  }
};

struct pair_of_ids {
  id_list source;
  id_list target;
};

struct text_of_pairs {
  std::vector<pair_of_ids> pairs;
  vocabulary::too_long too_long;
};

/// The pairs of a file of columns, English and French first. Each process encodes a share of the lines, and
/// all get all of them.
inline text_of_pairs read_pairs(boost::mpi::communicator const& world, vocabulary const& words,
                                std::string const& path, meshtf::extent source, meshtf::extent target,
                                bool strict) {
  struct share {
    id_list ids;  // of each pair: how many in the source, in the target, and both
    vocabulary::too_long too_long;
  };
  auto mine = meshtf::agreed(world, [&] {
    auto const file  = meshtf::read_text(path);
    auto const lines = lines_of(file);
    auto const parts = static_cast<std::size_t>(world.size());
    auto const part  = static_cast<std::size_t>(world.rank());
    share made;
    for (std::size_t i = lines.size() * part / parts; i < lines.size() * (part + 1) / parts; ++i) {
      auto const tab  = lines[i].find('\t');
      auto const rest = tab == std::string_view::npos ? std::string_view{} : lines[i].substr(tab + 1);
      if (tab == std::string_view::npos)
        throw meshtf::data_error("expected English and French with a tab between them in " +
                                 line_of(path, i + 1) +
                                 ", got no tab: make the pairs anew with examples/translate --text");
      auto const from = words.ids(lines[i].substr(0, tab), path, i + 1, source, strict, made.too_long);
      auto const to = words.ids(rest.substr(0, rest.find('\t')), path, i + 1, target, strict, made.too_long);
      made.ids.push_back(static_cast<std::int32_t>(from.size()));
      made.ids.push_back(static_cast<std::int32_t>(to.size()));
      made.ids.insert(made.ids.end(), from.begin(), from.end());
      made.ids.insert(made.ids.end(), to.begin(), to.end());
    }
    made.ids.push_back(static_cast<std::int32_t>(made.too_long.cut));
    made.ids.push_back(static_cast<std::int32_t>(made.too_long.first));
    return made;
  });
  std::vector<id_list> all;
  boost::mpi::all_gather(world, mine.ids, all);
  text_of_pairs read;
  for (auto const& ids : all) {
    auto const end = ids.end() - 2;
    for (auto i = ids.begin(); i != end;) {
      auto const from = i + 2;
      auto const to   = from + i[0];
      auto const next = to + i[1];
      read.pairs.push_back({{from, to}, {to, next}});
      i = next;
    }
    if (read.too_long.cut == 0) read.too_long.first = static_cast<std::size_t>(end[1]);
    read.too_long.cut += end[0];
  }
  return read;
}

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
/// depend on the seed and the number of the epoch alone. So a training goes on from any step.
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
  void seek(std::uint64_t step) {
    epoch_ = 0;
    start_epoch();
    auto skip = step * static_cast<std::uint64_t>(rows_);
    for (; skip > epoch_rows_.size(); start_epoch()) skip -= epoch_rows_.size();
    at_ = static_cast<std::size_t>(skip);
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
