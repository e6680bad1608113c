// The folder of a run: the names of its checkpoints, the newest of them, and removing old ones.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/io/file_lock.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

inline constexpr std::string_view checkpoint_suffix = ".safetensors";

/// "step-00000200.safetensors", or, of the form in parts, "step-00000200".
std::string checkpoint_name(std::uint64_t step, bool in_parts = false);

/// A checkpoint in a folder of them: a file, or a folder of parts.
struct saved_checkpoint {
  std::uint64_t step = 0;
  bool in_parts      = false;

  std::string name() const { return checkpoint_name(step, in_parts); }
  friend auto operator<=>(saved_checkpoint const&, saved_checkpoint const&) = default;
};

/// The checkpoints in a folder, by ascending steps; of one step the folder of parts comes last. `left_over`
/// gets the files and folders of saves that were cut off.
std::vector<saved_checkpoint> saved_checkpoints(std::string const& folder,
                                                std::vector<std::string>* left_over = nullptr);

/// The place of a new checkpoint.
struct checkpoint_path {
  std::string path;
  std::vector<std::string> taken;      // by checkpoints of the same step
  std::vector<std::string> left_over;  // by saves that were cut off
};

/// Says that this process is writing an unfinished checkpoint, as long as it lives: no other save may take it
/// for what an earlier job has left.
class under_way {
public:
  /// `path`: of the unfinished folder, whose name is unique.
  explicit under_way(std::string const& path);
  under_way(under_way const&)            = delete;
  under_way& operator=(under_way const&) = delete;
  ~under_way();

  /// Whether one of this process has the name that `path` ends with.
  static bool has(std::string const& path);

private:
  static std::vector<std::string>& names();
  std::string name_;
};

/// Makes the folder if it does not exist, and takes its lock for this process. Errors: `usage_error` if this
/// process is saving in it already.
checkpoint_path find_checkpoint_path(std::string const& folder, std::uint64_t step, bool in_parts = false);

/// What a folder of parts is called until it is complete: its name, this, and 16 hexadecimal digits.
inline constexpr std::string_view unfinished_infix = ".tmp-";

/// Removes what an interrupted save has left: a file whose writer has ended, or a folder of parts.
void remove_left_over(std::string const& folder, std::string const& path);

/// Removes a folder with the files in it, the file of its lock last.
void remove_folder(std::string const& path);

/// Also removes what interrupted saves have left in the folder. Returns the name of the new file or folder.
/// `unless(path)` is called if there is a checkpoint of the same step, and may throw.
template<class Unless>
std::string reserve_path(std::string const& folder, std::uint64_t step, Unless const& unless,
                         bool in_parts = false) {
  auto const found = find_checkpoint_path(folder, step, in_parts);
  for (auto const& path : found.taken) unless(path);
  for (auto const& path : found.left_over) remove_left_over(folder, path);
  return found.path;
}

struct found_checkpoint {
  std::string path;
  std::string remedy;  // empty if there is one before it
  bool in_parts = false;
  bool is_index = false;  // of several files
  std::string before{};   // the name of the checkpoint to take if this one is damaged; empty if there is none
};

inline constexpr std::string_view index_suffix = ".safetensors.index.json";
inline constexpr std::string_view only_file    = "model.safetensors";

/// `path` itself if it is a file or has parts; else the checkpoint in it that is the newest but `skipped`; if
/// it has none, the model in it: an index of several files, or the file model.safetensors.
found_checkpoint find_checkpoint(std::string const& path, std::size_t skipped = 0);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::string checkpoint_name(std::uint64_t step, bool in_parts) {
  std::string const digits = std::to_string(step);
  return "step-" + std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits +
         (in_parts ? "" : std::string{checkpoint_suffix});
}

template<class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size() ? std::optional{number} : std::nullopt;
}

/// f(name) for each entry of a folder. Errors: `no_input` if it can't be read.
template<class F>
void for_each_name(std::string const& folder, F const& f) {
  struct closes {
    void operator()(DIR* d) const { closedir(d); }
  };
  std::unique_ptr<DIR, closes> const opened{opendir(folder.c_str())};
  if (!opened)
    throw no_input("expected " + folder + " to be a folder of checkpoints, got: " + std::strerror(errno));
  while (dirent const* const entry = readdir(opened.get())) f(std::string_view{entry->d_name});
}

/// The checkpoint that has this name.
MESHTF_DEFINE std::optional<saved_checkpoint> checkpoint_of(std::string_view name) {
  constexpr std::string_view prefix = "step-";
  if (!name.starts_with(prefix)) return std::nullopt;
  std::string_view digits = name.substr(prefix.size());
  bool const in_parts     = !digits.ends_with(checkpoint_suffix);
  if (!in_parts) digits.remove_suffix(checkpoint_suffix.size());
  auto const step = parsed<std::uint64_t>(digits);
  if (!step || checkpoint_name(*step, in_parts) != name) return std::nullopt;
  return saved_checkpoint{*step, in_parts};
}

/// "step-00000200" if the name is "step-00000200.tmp-0123456789abcdef"; else empty.
MESHTF_DEFINE std::string_view name_when_finished(std::string_view name) {
  constexpr std::size_t digits = 16;
  std::size_t const tail       = unfinished_infix.size() + digits;
  if (name.size() <= tail || name.substr(name.size() - tail, unfinished_infix.size()) != unfinished_infix ||
      name.substr(name.size() - digits).find_first_not_of("0123456789abcdef") != name.npos)
    return {};
  return name.substr(0, name.size() - tail);
}

MESHTF_DEFINE std::vector<saved_checkpoint> saved_checkpoints(std::string const& folder,
                                                              std::vector<std::string>* left_over) {
  std::vector<saved_checkpoint> found;
  for_each_name(folder, [&](std::string_view name) {
    if (auto const checkpoint = checkpoint_of(name)) return found.push_back(*checkpoint);
    auto const file  = checkpoint_of(whole_name(name));
    auto const parts = checkpoint_of(name_when_finished(name));
    if (left_over != nullptr && ((file && !file->in_parts) || (parts && parts->in_parts)))
      left_over->push_back(folder + "/" + std::string{name});
  });
  std::sort(found.begin(), found.end());
  return found;
}

MESHTF_DEFINE void remove_folder(std::string const& path) {
  std::vector<std::string> files;
  try {
    for_each_name(path, [&](std::string_view name) { files.push_back(path + "/" + std::string{name}); });
  } catch (no_input const&) {
    return;
  }
  std::string const last = path + "/" + folder_locks::name;
  std::partition(files.begin(), files.end(), [&last](std::string const& file) { return file != last; });
  for (auto const& file : files) unlink(file.c_str());
  rmdir(path.c_str());
}

MESHTF_DEFINE void remove_left_over(std::string const& folder, std::string const& path) {
  if (path.ends_with(partial_suffix)) remove_if_left_over(path);
  // its job had the lock of the folder
  else if (folder_locks::of_this_process().has(folder)) remove_folder(path);
}

MESHTF_DEFINE std::vector<std::string>& under_way::names() {
  static std::vector<std::string> all;
  return all;
}

MESHTF_DEFINE under_way::under_way(std::string const& path) : name_{path.substr(path.rfind('/') + 1)} {
  names().push_back(name_);
}

MESHTF_DEFINE under_way::~under_way() { std::erase(names(), name_); }

MESHTF_DEFINE bool under_way::has(std::string const& path) {
  auto const& all = names();
  return std::find(all.begin(), all.end(), path.substr(path.rfind('/') + 1)) != all.end();
}

MESHTF_DEFINE checkpoint_path find_checkpoint_path(std::string const& folder, std::uint64_t step,
                                                   bool in_parts) {
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    throw unavailable("expected to make the folder " + folder + ", got: " + std::strerror(errno));
  struct stat about{};
  if (stat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode))
    folder_locks::of_this_process().take(folder);
  checkpoint_path found;
  auto const there = [&] {
    try {
      return saved_checkpoints(folder, &found.left_over);
    } catch (no_input const& e) {
      throw unavailable{e.what()};  // who saves asks for no input
    }
  }();
  for (auto const& path : found.left_over)
    if (under_way::has(path))
      throw usage_error("expected no other save in " + folder + " while one is under way, got " + path +
                        ": call finish() of its asynchronous_saves first");
  if (!there.empty() && there.back().step > step)
    throw usage_error("expected " + folder +
                      " to hold no checkpoint later than the one to be saved, of step " +
                      std::to_string(step) + ", got " + there.back().name() +
                      ": load it and go on from there, or save to another folder");
  found.path = folder + "/" + checkpoint_name(step, in_parts);
  for (auto const& checkpoint : there)
    if (checkpoint.step == step) found.taken.push_back(folder + "/" + checkpoint.name());
  return found;
}

/// A folder of parts loses its name before its files, so that no name stands for a part of a checkpoint.
MESHTF_DEFINE void remove_checkpoint(std::string const& folder, saved_checkpoint const& checkpoint) {
  std::string const path = folder + "/" + checkpoint.name();
  if (!checkpoint.in_parts) {
    unlink(path.c_str());
    return;
  }
  std::string const unnamed = path + std::string{unfinished_infix} + "0000000000000000";
  if (std::rename(path.c_str(), unnamed.c_str()) == 0) remove_folder(unnamed);
}

/// Keeps the two newest checkpoints, and the newest for which `is_finite(path)` is true. Of the newest step
/// only the form `in_parts`, or the other, stays. Returns the name of the newest finite one, or an empty text
/// if there is none.
template<class IsFinite>
std::string remove_old_checkpoints(std::string const& folder, bool in_parts, IsFinite const& is_finite) {
  auto there = saved_checkpoints(folder);
  std::erase_if(there, [&, newest = there.empty() ? 0 : there.back().step](saved_checkpoint const& c) {
    bool const replaced = c.step == newest && c.in_parts != in_parts;
    if (replaced) remove_checkpoint(folder, c);
    return replaced;
  });
  auto const is_sound = [&](std::size_t i) { return is_finite(folder + "/" + there[i].name()); };
  std::size_t sound   = there.size();  // the index after that of the newest finite one
  while (sound > 0 && !is_sound(sound - 1)) --sound;
  for (std::size_t i = 0; i + 2 < there.size(); ++i)
    if (i + 1 != sound) remove_checkpoint(folder, there[i]);
  return sound == 0 ? "" : there[sound - 1].name();
}

/// The model of another program in a folder without checkpoints; nothing if there is none.
MESHTF_DEFINE std::optional<found_checkpoint> find_model(std::string const& folder,
                                                         std::string const& remedy) {
  std::vector<std::string> indices;
  bool has_file = false;
  for_each_name(folder, [&](std::string_view name) {
    if (name.ends_with(index_suffix)) indices.push_back(folder + "/" + std::string{name});
    has_file = has_file || name == only_file;
  });
  if (indices.size() > 1)
    throw no_input("expected one index of a model in " + folder + ", got " + indices[0] + " and " +
                   indices[1] + ": name one of them");
  if (!indices.empty()) return found_checkpoint{.path = indices[0], .remedy = remedy, .is_index = true};
  if (!has_file) return std::nullopt;
  return found_checkpoint{.path = folder + "/" + std::string{only_file}, .remedy = remedy};
}

MESHTF_DEFINE found_checkpoint find_checkpoint(std::string const& path, std::size_t skipped) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0)
    throw no_input("expected a checkpoint at " + path + ", got: " + std::strerror(errno));
  std::string const own = "take another copy of it";
  if (!S_ISDIR(about.st_mode)) return {.path = path, .remedy = own, .is_index = path.ends_with(index_suffix)};
  if (stat((path + "/manifest.json").c_str(), &about) == 0) return {path, own, true};
  auto const there = saved_checkpoints(path);
  if (there.empty())
    if (auto const model = find_model(path, own)) return *model;
  if (there.size() <= skipped)
    throw no_input("expected a checkpoint (" + checkpoint_name(0) + " or later) in " + path +
                   ", got none: save one there first");
  auto const& newest     = there[there.size() - 1 - skipped];
  std::string const name = path + "/" + newest.name();
  if (there.size() == 1 + skipped) return {name, "and no other is in the folder", newest.in_parts};
  return {.path     = name,
          .remedy   = "",
          .in_parts = newest.in_parts,
          .before   = there[there.size() - 2 - skipped].name()};
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
