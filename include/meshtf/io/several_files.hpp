// A model as Hugging Face's programs keep it: some safetensors files of limited length in a folder, and an
// index that says which array is in which.
//
//   net/model-00001-of-00002.safetensors
//   net/model-00002-of-00002.safetensors
//   net/model.safetensors.index.json
#pragma once

#include <cstdint>

#if MESHTF_WITH_JANSSON
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/io/checkpoint_folder.hpp>
#include <meshtf/io/safetensors.hpp>
#include <meshtf/io/safetensors_writer.hpp>
#include <meshtf/io/step_folder.hpp>
#include <meshtf/io/training_position.hpp>
#include <meshtf/runtime/locked_file.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
#endif

namespace meshtf {
inline namespace v0 {

/// How `save` divides a model into files: each has one array, or as many as `max_bytes` has room for. The
/// default is that of Hugging Face's programs.
struct several_files {
  std::uint64_t max_bytes = 5'000'000'000;
};

#if MESHTF_WITH_JANSSON

namespace detail {

/// Where a model is saved so.
struct several_files_place {
  std::string folder;
  several_files options;
};

/// Writes the arrays of a model, in the order in which they were described, into several files, so that
/// nobody ever sees a part of the model: into a new folder, which gets its name when all is on disk. If there
/// is a folder of that name, the two are exchanged, and its other files are in both. Without `commit` the new
/// folder is removed; a killed process leaves it behind, and the next writer of the same model removes it.
///
/// Errors: `unavailable` if the system refuses; `usage_error` if the folder has checkpoints of training.
class several_files_writer {
public:
  several_files_writer(several_files_place place, std::vector<std::pair<std::string, std::string>> metadata,
                       std::vector<std::pair<std::string, safetensors_array>> arrays);
  several_files_writer(several_files_writer const&)            = delete;
  several_files_writer& operator=(several_files_writer const&) = delete;
  ~several_files_writer();

  /// Writes the next array.
  void write(void const* bytes, std::size_t n);

  void commit();

private:
  using described = std::vector<std::pair<std::string, safetensors_array>>;

  /// Finds the folder, or that there is none.
  void look_at_folder();
  void remove_left_over() const;
  void make_folder();
  void divide(described const& arrays, std::uint64_t max_bytes);
  std::string name_of_file(std::size_t number) const;
  std::string index() const;
  /// The other files of the folder are in the new one, too.
  void link_others() const;

  std::string path_;
  std::string unfinished_;
  file_descriptor lock_{-1};  // while it is held, the unfinished folder is nobody's to remove
  bool is_there_ = false;
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<described> files_;
  std::optional<safetensors_writer> file_;
  std::size_t at_file_  = 0;
  std::size_t at_array_ = 0;
};

inline constexpr std::string_view index_name = "model.safetensors.index.json";

static_assert(index_name.ends_with(index_suffix) && index_name.starts_with(only_file));

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE several_files_writer::several_files_writer(
    several_files_place place, std::vector<std::pair<std::string, std::string>> metadata, described arrays)
    : path_{std::move(place.folder)}, metadata_{std::move(metadata)} {
  look_at_folder();
  divide(arrays, place.options.max_bytes);
  remove_left_over();
  make_folder();
  try {
    file_.emplace(unfinished_ + "/" + name_of_file(0), metadata_, files_[0]);
  } catch (...) {
    remove_folder(unfinished_);
    throw;
  }
}

MESHTF_DEFINE several_files_writer::~several_files_writer() {
  file_.reset();
  if (!unfinished_.empty()) remove_folder(unfinished_);
}

MESHTF_DEFINE void several_files_writer::look_at_folder() {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  struct stat about{};
  is_there_ = ::stat(path_.c_str(), &about) == 0;
  if (!is_there_) return;
  if (!S_ISDIR(about.st_mode))
    throw unavailable("expected to write a model into the folder " + path_ +
                      ", got a file of that name: name another one");
  if (auto const found = saved_checkpoints(path_); !found.empty())
    throw usage_error("expected " + path_ + " to be a folder for a model, got one with the checkpoint " +
                      found.back().name() + ", which load would take in its place: save to another folder");
  struct frees {
    void operator()(char* text) const { std::free(text); }
  };
  // "." and links: a folder is renamed under its own name
  if (std::unique_ptr<char, frees> const own{::realpath(path_.c_str(), nullptr)}; own) path_ = own.get();
}

MESHTF_DEFINE void several_files_writer::divide(described const& arrays, std::uint64_t max_bytes) {
  std::uint64_t bytes = 0;
  for (auto const& [name, array] : arrays) {
    std::uint64_t own = bytes_of_type(array.type);
    for (extent n : array.extents) own *= static_cast<std::uint64_t>(n);
    if (files_.empty() || own > max_bytes || bytes > max_bytes - own) {
      files_.emplace_back();
      bytes = 0;
    }
    files_.back().emplace_back(name, array);
    bytes += own;
  }
  if (files_.empty()) files_.emplace_back();
}

MESHTF_DEFINE void several_files_writer::remove_left_over() const {
  std::string const folder    = folder_of(path_);
  std::string_view const own  = std::string_view{path_}.substr(path_.rfind('/') + 1);
  auto const remove_if_nobody = [](std::string const& left) {
    file_descriptor const file{left + "/" + folder_locks::name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW};
    if (file && lock(file) == lock_outcome::taken) remove_folder(left);
    // killed before the folder had its lock, or when it had nothing else any more: only an empty one goes
    else if (!file && errno == ENOENT) ::rmdir(left.c_str());
  };
  std::vector<std::string> found;
  for_each_name(folder, [&](std::string_view name) {
    if (name_when_finished(name) == own) found.push_back(folder + std::string{name});
  });
  for (auto const& left : found) remove_if_nobody(left);
}

MESHTF_DEFINE void several_files_writer::make_folder() {
  std::string const to_make = path_ + std::string{unfinished_infix} + spelled_run(new_run());
  do {
    if (::mkdir(to_make.c_str(), 0777) != 0)
      throw unavailable("expected to make the folder " + to_make + ", got: " + std::strerror(errno));
    lock_ = file_descriptor{to_make + "/" + folder_locks::name, O_WRONLY | O_CREAT | O_EXCL};
  } while (!lock_ && errno == ENOENT);  // another writer has removed it, which was empty
  unfinished_ = to_make;
  if (lock_) lock(lock_);
}

MESHTF_DEFINE std::string several_files_writer::name_of_file(std::size_t number) const {
  if (files_.size() == 1) return std::string{only_file};
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", number + 1, files_.size());
  return name;
}

MESHTF_DEFINE void several_files_writer::write(void const* bytes, std::size_t n) {
  if (at_array_ == files_[at_file_].size()) {
    file_->commit();
    ++at_file_;
    at_array_ = 0;
    file_.emplace(unfinished_ + "/" + name_of_file(at_file_), metadata_, files_[at_file_]);
  }
  ++at_array_;
  file_->write(bytes, n);
}

MESHTF_DEFINE std::string several_files_writer::index() const {
  auto names        = made(json_object());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < files_.size(); ++i)
    for (auto const& [name, array] : files_[i]) {
      put(names.get(), name, made(json_string(name_of_file(i).c_str())));
      std::uint64_t own = bytes_of_type(array.type);
      for (extent n : array.extents) own *= static_cast<std::uint64_t>(n);
      sum += own;
    }
  auto about = made(json_object());
  put(about.get(), "total_size", number_as_json(sum));
  auto const root = made(json_object());
  put(root.get(), "metadata", std::move(about));
  put(root.get(), "weight_map", std::move(names));
  struct frees {
    void operator()(char* text) const { std::free(text); }
  };
  std::unique_ptr<char, frees> const text{json_dumps(root.get(), JSON_INDENT(2) | JSON_SORT_KEYS)};
  if (!text) throw std::bad_alloc{};
  return std::string{text.get()} + "\n";
}

MESHTF_DEFINE void several_files_writer::link_others() const {
  for_each_name(path_, [&](std::string_view name) {
    bool const is_model = name == index_name || name == only_file ||
                          (name.starts_with("model-") && name.ends_with(checkpoint_suffix));
    if (is_model || name == "." || name == ".." || name == folder_locks::name) return;
    std::string const there = path_ + "/" + std::string{name};
    if (::link(there.c_str(), (unfinished_ + "/" + std::string{name}).c_str()) != 0)
      throw unavailable("expected to keep " + there + " next to the new model, got: " + std::strerror(errno) +
                        ": save to another folder");
  });
  // so that, if this process is killed, the exchanged folder too is known to be nobody's
  std::string const there = path_ + "/" + folder_locks::name;
  ::unlink(there.c_str());
  if (::link((unfinished_ + "/" + folder_locks::name).c_str(), there.c_str()) != 0) errno = 0;
}

MESHTF_DEFINE void several_files_writer::commit() {
  file_->commit();
  file_.reset();
  if (files_.size() > 1) write_file(unfinished_ + "/" + std::string{index_name}, index());
  if (is_there_) link_others();
  sync_folder(unfinished_);
  put_in_place(unfinished_, path_, is_there_);
  std::string earlier = std::exchange(unfinished_, {});
  sync_folder(folder_of(path_));
  if (is_there_) unfinished_ = std::move(earlier);  // only now it may go
  ::unlink((path_ + "/" + folder_locks::name).c_str());
}

#endif

}  // namespace detail

#endif

}  // namespace v0
}  // namespace meshtf
