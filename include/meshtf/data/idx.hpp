// IDX files: arrays of bytes in the format of the MNIST database, plain or compressed with gzip.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/dim.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/runtime/locked_file.hpp>
#include <meshtf/runtime/one_program.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#if MESHTF_WITH_ZLIB
#include <zlib.h>
#endif
#endif

namespace meshtf {
inline namespace v0 {

/// The content of an IDX file: `bytes`, row-major in `extents`.
struct idx_array {
  std::vector<extent> extents;
  std::vector<std::uint8_t> bytes;
};

/// Reads an IDX file of unsigned bytes with `rank` dimensions.
///
/// The file must have exactly the bytes that its header promises. Memory is allocated as they arrive, so a
/// damaged header allocates none.
/// Errors: `no_input` if the file can't be read, `data_error` if it has other content; both name the file.
/// Source: LeCun, Cortes, Burges, The MNIST database of handwritten digits, "the IDX file format".
idx_array read_idx(std::string const& path, int rank);

#if MESHTF_DEFINES_RUNTIME

namespace detail {

/// The most bytes that an IDX file may claim to hold: twice those of EMNIST, the largest set of its kind. So
/// the number of an image fits in 32 bits.
inline constexpr extent largest_idx = extent{1} << 30;

[[noreturn]] MESHTF_DEFINE void throw_unreadable(std::string const& path, int reason) {
  throw no_input("expected to read the file " + path + ", got: " + std::strerror(reason));
}

/// A FIFO would wait for a writer.
MESHTF_DEFINE void refuse_what_is_no_file(std::string const& path) {
  if (auto const objection = objection_to_file(path); !objection.empty())
    throw no_input("expected to read the file " + path + ", got: " + objection);
}

[[noreturn]] MESHTF_DEFINE void throw_damaged(std::string const& path, std::string const& expected,
                                              std::string const& actual) {
  throw data_error("expected " + path + " to have " + expected + ", got " + actual +
                   ": the file is damaged or of another kind, fetch it again");
}

#if MESHTF_WITH_ZLIB

/// The bytes of a file, decompressed if gzip made it.
class byte_reader {
public:
  explicit byte_reader(std::string const& path) : path_{path} {
    refuse_what_is_no_file(path);
    errno = 0;
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) throw_unreadable(path, errno != 0 ? errno : ENOMEM);
    gzbuffer(file_.get(), 1 << 17);
  }

  /// Reads the next n bytes, or fewer at the end of the file.
  std::size_t read(std::uint8_t* into, std::size_t n) {
    errno          = 0;
    auto const got = gzfread(into, 1, n, file_.get());
    if (got < n) {
      int failure        = Z_OK;
      std::string reason = gzerror(file_.get(), &failure);  // "path: reason"
      if (reason.starts_with(path_ + ": ")) reason.erase(0, path_.size() + 2);
      if (failure == Z_ERRNO) throw_unreadable(path_, errno);
      if (failure == Z_BUF_ERROR)
        throw_damaged(path_, "the end of its compressed data", "the end of the file before it");
      if (failure != Z_OK) throw_damaged(path_, "sound compressed data", reason);
    }
    return got;
  }

private:
  struct closes {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };
  std::string path_;
  std::unique_ptr<gzFile_s, closes> file_;
};

#else

/// The bytes of a file. Without zlib, a compressed file is refused.
class byte_reader {
public:
  explicit byte_reader(std::string const& path) : path_{path} {
    refuse_what_is_no_file(path);
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (!file_) throw_unreadable(path, errno);
    std::uint8_t start[2]{};
    if (read(start, 2) == 2 && start[0] == 0x1f && start[1] == 0x8b)
      throw data_error(
          "expected " + path +
          " to be uncompressed, since this program was built without zlib, got a file made by gzip: " +
          "gunzip it, or build with zlib (Debian: apt install zlib1g-dev)");
    std::rewind(file_.get());
  }

  /// Reads the next n bytes, or fewer at the end of the file.
  std::size_t read(std::uint8_t* into, std::size_t n) {
    auto const got = std::fread(into, 1, n, file_.get());
    if (got < n && std::ferror(file_.get()) != 0) throw_unreadable(path_, errno);
    return got;
  }

private:
  struct closes {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, closes> file_;
};

#endif

/// "0x00000803"
MESHTF_DEFINE std::string spelled_word(std::uint32_t word) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", static_cast<unsigned>(word));
  return text;
}

}  // namespace detail

MESHTF_DEFINE idx_array read_idx(std::string const& path, int rank) {
  detail::byte_reader file{path};
  auto const next_word = [&](char const* content) {
    std::array<std::uint8_t, 4> bytes{};
    auto const got = file.read(bytes.data(), bytes.size());
    if (got < bytes.size())
      detail::throw_damaged(path, std::string{"a header with "} + content, "the end of the file");
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
           std::uint32_t{bytes[3]};
  };

  // two zero bytes, the element type (8: unsigned bytes), the number of dimensions
  auto const magic = next_word("a magic number");
  if (auto const wanted = 0x00000800u + static_cast<std::uint32_t>(rank); magic != wanted)
    detail::throw_damaged(path,
                          "the magic number " + detail::spelled_word(wanted) + " (unsigned bytes in " +
                              std::to_string(rank) + " dimensions)",
                          detail::spelled_word(magic));
  idx_array array;
  extent promised = 1;
  for (int d = 0; d < rank; ++d) {
    auto const size = extent{next_word("all its dimensions")};
    array.extents.push_back(size);
    if (size > 0 && promised > detail::largest_idx / size)
      detail::throw_damaged(path, "at most " + std::to_string(detail::largest_idx) + " bytes",
                            "a header that promises more");
    promised *= size;
  }

  while (static_cast<extent>(array.bytes.size()) < promised) {
    auto const have = array.bytes.size();
    auto const more =
        std::min(static_cast<std::size_t>(promised) - have, std::max(have, std::size_t{1} << 20));
    array.bytes.resize(have + more);
    if (auto const got = file.read(array.bytes.data() + have, more); got < more)
      detail::throw_damaged(path, std::to_string(promised) + " bytes after its header",
                            std::to_string(have + got));
  }
  std::uint8_t beyond = 0;  // this read also checks a compressed file's checksum
  if (file.read(&beyond, 1) != 0)
    detail::throw_damaged(path, std::to_string(promised) + " bytes after its header", "more");
  return array;
}

#endif

}  // namespace v0
}  // namespace meshtf
