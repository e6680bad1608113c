// Text for training or testing, in memory, and the part of it that is held out.
#pragma once

#include <string>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/dim.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/text.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>

#include <sys/stat.h>
#endif

namespace meshtf {
inline namespace v0 {

/// A text as bytes. Every process has the same text; each takes another part of a batch.
struct text {
  std::string name;  // the file, for messages
  std::string bytes;

  extent size() const { return static_cast<extent>(bytes.size()); }
};

/// The most bytes that `read_text` accepts: every process keeps all of them.
inline constexpr extent largest_text = extent{1} << 32;

/// Reads a whole file, as it is.
///
/// Every process reads it. A process that fails must not leave the others waiting:
/// `agreed(world, [&] { return read_text(path); })`. The file must be a regular one: from a pipe each process
/// would get a different part.
/// Errors: `no_input` if it can't be read; `data_error` if it is empty, a directory, a device or a pipe, or
/// larger than `largest_text`. Both name the file.
text read_text(std::string const& path);

/// A text in two parts: one to train with, and one that is held out.
struct text_parts {
  text training;
  text held_out;
};

/// Holds out the last `share` of a text, rounded to millionths. The cut is counted in whole bytes, so it is
/// the same on every machine.
///
/// Errors: `usage_error` unless 0 < share < 1, `data_error` if one part would be empty.
text_parts split_text(text const& whole, double share = 0.05);

#if MESHTF_DEFINES_RUNTIME

namespace detail {

[[noreturn]] MESHTF_DEFINE void throw_no_text(std::string const& path, int reason) {
  throw no_input("expected to read the text " + path + ", got: " + std::strerror(reason) +
                 ": name a file that is there and that you may read");
}

}  // namespace detail

MESHTF_DEFINE text read_text(std::string const& path) {
  // <filesystem> would add a third of a second of compile time to every program that includes this
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) detail::throw_no_text(path, errno);
  if (S_ISDIR(about.st_mode))
    throw data_error("expected " + path + " to be a file of text, got a directory: name a file in it");
  if (!S_ISREG(about.st_mode))
    throw data_error(
        "expected " + path +
        " to be a regular file, since every process reads it, got a device or a pipe: write its text to a "
        "file first");
  if (about.st_size > largest_text)
    throw data_error("expected " + path + " to have at most " + std::to_string(largest_text) +
                     " bytes, since every process keeps all of them, got " + std::to_string(about.st_size) +
                     ": take a part of it (head -c)");

  struct closes {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, closes> const file{std::fopen(path.c_str(), "rb")};
  if (!file) detail::throw_no_text(path, errno);
  text read{path, {}};
  // until the end of the file, whatever its size says: a file may grow, and some that the system generates
  // report 0
  for (std::size_t have = 0;;) {
    read.bytes.resize(std::max(2 * have, std::size_t{1} << 20));
    errno          = 0;
    auto const got = std::fread(read.bytes.data() + have, 1, read.bytes.size() - have, file.get());
    if (std::ferror(file.get()) != 0) detail::throw_no_text(path, errno);
    have += got;
    if (have < read.bytes.size()) {
      read.bytes.resize(have);
      break;
    }
  }
  if (read.bytes.empty())
    throw data_error("expected text in " + path + ", got an empty file: name another one");
  read.bytes.shrink_to_fit();
  return read;
}

MESHTF_DEFINE text_parts split_text(text const& whole, double share) {
  if (!(share > 0 && share < 1))
    throw usage_error("expected a held-out share of more than 0 and less than 1, got " +
                      std::string{decimal_text(share, 6).view()} + ": 0.05 holds out the last twentieth");
  extent const million = 1'000'000;
  extent const size    = whole.size();
  extent const held    = static_cast<extent>(std::llround(share * 1e6));
  // size * held / million, computed without overflow
  extent const last = size / million * held + size % million * held / million;
  if (last == 0 || last == size)
    throw data_error("expected " + whole.name + " to be long enough to hold out " + std::to_string(held) +
                     " millionths of it, got " + std::to_string(size) +
                     " bytes: take a longer text, or another share");
  auto const cut = static_cast<std::size_t>(size - last);
  return {{whole.name + " without its held-out end", whole.bytes.substr(0, cut)},
          {"the held-out end of " + whole.name, whole.bytes.substr(cut)}};
}

#endif

}  // namespace v0
}  // namespace meshtf
