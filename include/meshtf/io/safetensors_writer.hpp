// Writes safetensors files, whole or not at all.
#pragma once

#if MESHTF_WITH_JANSSON

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <meshtf/io/safetensors.hpp>

namespace meshtf::inline v0 {

/// Writes a safetensors file so that nobody ever finds a part of one: under the temporary name `path`.partial, which becomes `path` in one step when
/// all is on the disk. A file of this name that was there before stays what it was until then.
///
/// The arrays come in the order in which they were named, by `write`; then `commit`. Without `commit` the temporary file goes with the writer, and a
/// killed process leaves it behind. Put arrays of larger elements first: others would begin where no such element may.
/// Errors: `unavailable` if the disk is full or the system refuses otherwise.
class safetensors_writer {
public:
  /// `arrays`: name, element type and shape of each. `metadata`: texts for whoever reads the file.
  safetensors_writer(std::string path, std::vector<std::pair<std::string, std::string>> metadata,
                     std::vector<std::pair<std::string, safetensors_array>> arrays)
      : path_{std::move(path)}, partial_{path_ + ".partial"}, file_{partial_.path(), O_WRONLY | O_CREAT | O_EXCL} {
    static_assert(std::endian::native == std::endian::little, "meshtf: safetensors files are little-endian, and this machine is not");
    if (!file_) throw_refused(errno);
#if MESHTF_WITH_ZLIB
    metadata.insert(metadata.begin(), {"crc32", std::string{detail::no_checksum}});
#endif
    text_   = detail::safetensors_header_text(metadata, arrays);
    wanted_ = arrays.empty() ? 0 : arrays.back().second.end;
    std::array<unsigned char, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<unsigned char>(text_.size() >> 8 * i);
    write_at(0, length.data(), length.size());
    write_at(length.size(), text_.data(), text_.size());
    sum_.add(text_.data(), text_.size());
  }

  /// The next n bytes of the arrays' elements.
  void write(void const* bytes, std::size_t n) {
    write_at(8 + text_.size() + written_, bytes, n);
    sum_.add(bytes, n);
    written_ += n;
  }

  void commit() {
    if (written_ != wanted_)
      throw software_error("expected " + std::to_string(wanted_) + " bytes of arrays for " + path_ + ", got " + std::to_string(written_));
    if (auto const at = text_.find(detail::checksum_key); at != text_.npos) {
      std::string const digits = sum_.text();
      write_at(8 + at + detail::checksum_key.size(), digits.data(), digits.size());
    }
    if (::fsync(file_.number()) != 0 && errno != EINVAL) throw_refused(errno);  // EINVAL: a file system without it
    if (!file_.close()) throw_refused(errno);
    if (!partial_.rename(path_)) throw_refused(errno);
    // the new name is in the folder, and the folder must be on the disk too
    auto const slash = path_.rfind('/');
    detail::file_descriptor const folder{slash == path_.npos ? "." : path_.substr(0, slash + 1), O_RDONLY | O_DIRECTORY};
    if (folder && ::fsync(folder.number()) != 0 && errno != EINVAL) throw_refused(errno);
  }

private:
  [[noreturn]] void throw_refused(int reason) const {
    throw unavailable("expected to write the file " + path_ + ", got: " + std::strerror(reason) +
                      (reason == ENOSPC || reason == EDQUOT || reason == EFBIG ? ": make room; what was saved before is untouched" : ""));
  }

  void write_at(std::uint64_t at, void const* bytes, std::size_t n) const {
    for (auto const* from = static_cast<char const*>(bytes); n > 0;) {
      auto const done = ::pwrite(file_.number(), from, n, static_cast<off_t>(at));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) throw_refused(done == 0 ? ENOSPC : errno);
      at += static_cast<std::uint64_t>(done);
      from += done;
      n -= static_cast<std::size_t>(done);
    }
  }

  std::string path_;
  detail::temporary_file partial_;
  detail::file_descriptor file_;
  std::string text_;
  std::uint64_t wanted_ = 0, written_ = 0;
  detail::checksum sum_;
};

}  // namespace meshtf::inline v0

#endif
