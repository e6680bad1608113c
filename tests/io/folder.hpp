// A folder that all processes of a test share, and the bytes of files.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

#include <boost/mpi/communicator.hpp>

namespace files {

/// Empty at first, gone when the test case is over. The processes have one parent, whose number its name is
/// made of.
class folder {
public:
  folder() {
    if (world_.rank() == 0) {
      std::filesystem::remove_all(path_);
      std::filesystem::create_directories(path_);
    }
    world_.barrier();
  }
  folder(folder const&)            = delete;
  folder& operator=(folder const&) = delete;
  ~folder() {
    std::error_code ignored;
    world_.barrier();
    if (world_.rank() == 0) std::filesystem::remove_all(path_, ignored);
  }

  std::string path() const { return path_.string(); }
  std::string operator/(std::string const& name) const { return (path_ / name).string(); }

private:
  boost::mpi::communicator world_;
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("meshtf_io_" + std::to_string(getppid()));
};

inline std::string read(std::string const& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline void write(std::string const& path, std::string const& content) {
  std::ofstream out{path, std::ios::binary};
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// Of all files but the lock of a folder of checkpoints.
inline std::vector<std::string> names_in(std::string const& path) {
  std::vector<std::string> names;
  for (auto const& entry : std::filesystem::directory_iterator{path})
    names.push_back(entry.path().filename().string());
  std::erase(names, ".lock");
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace files
