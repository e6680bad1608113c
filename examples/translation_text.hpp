// The text of translation.cpp: sentences as ids of pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/serialization/vector.hpp>

#include <meshtf/data/sentencepiece_tokenizer.hpp>
#include <meshtf/data/text.hpp>
#include <meshtf/meshtf.hpp>

#include "translation_pairs.hpp"

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
