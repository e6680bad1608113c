// Files for the tests of data/: a folder of this process's own, and IDX files in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>
#if MESHTF_WITH_ZLIB
#include <zlib.h>
#endif

namespace files {

using bytes = std::vector<std::uint8_t>;

/// Gone when the test case is over.
class folder {
public:
  folder() { std::filesystem::create_directories(path_); }
  folder(folder const&)            = delete;
  folder& operator=(folder const&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path() const { return path_.string(); }
  std::string operator/(std::string const& name) const { return (path_ / name).string(); }

private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("meshtf_data_" + std::to_string(getpid()));
};

inline std::string write(std::string const& path, bytes const& content) {
  std::ofstream out{path, std::ios::binary};
  out.write(reinterpret_cast<char const*>(content.data()), static_cast<std::streamsize>(content.size()));
  return path;
}

inline bytes read(std::string const& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

#if MESHTF_WITH_ZLIB
inline std::string write_compressed(std::string const& path, bytes const& content) {
  gzFile const out = gzopen(path.c_str(), "wb9");
  gzwrite(out, content.data(), static_cast<unsigned>(content.size()));
  gzclose(out);
  return path;
}
#endif

/// A header with `magic` and `extents`, then `content`.
inline bytes idx(std::uint32_t magic, std::vector<std::uint32_t> const& extents, bytes const& content) {
  bytes file;
  auto const word = [&](std::uint32_t w) {
    for (int shift : {24, 16, 8, 0}) file.push_back(static_cast<std::uint8_t>(w >> shift));
  };
  word(magic);
  for (auto n : extents) word(n);
  file.insert(file.end(), content.begin(), content.end());
  return file;
}

}  // namespace files
