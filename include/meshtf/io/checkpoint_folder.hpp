// The folder of a run: the names of its checkpoints, the newest of them, and removing old ones.
#pragma once

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

/// "step-00000200.safetensors"
std::string checkpoint_name(std::uint64_t step);

/// The steps of the checkpoints in a folder, in ascending order. `left_over` gets the files of saves that
/// were cut off.
std::vector<std::uint64_t> saved_steps(std::string const& folder,
                                       std::vector<std::string>* left_over = nullptr);

/// The place of a new checkpoint.
struct checkpoint_path {
  std::string path;
  bool is_taken = false;               // by a checkpoint of the same step
  std::vector<std::string> left_over;  // by saves that were cut off
};

/// Makes the folder if it does not exist, and takes its lock for this process.
checkpoint_path find_checkpoint_path(std::string const& folder, std::uint64_t step);

/// Also removes what interrupted saves have left in the folder. Returns the name of the new file.
/// `unless(path)` is called if there is a checkpoint of the same step, and may throw.
template<class Unless>
std::string reserve_path(std::string const& folder, std::uint64_t step, Unless const& unless) {
  auto const found = find_checkpoint_path(folder, step);
  if (found.is_taken) unless(found.path);
  for (auto const& name : found.left_over) remove_if_left_over(name);
  return found.path;
}

struct found_checkpoint {
  std::string path;
  std::string remedy;
};

/// `path` itself if it is a file; the newest checkpoint in it if it is a folder.
found_checkpoint find_checkpoint(std::string const& path);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::string checkpoint_name(std::uint64_t step) {
  std::string const digits = std::to_string(step);
  return "step-" + std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits +
         std::string{checkpoint_suffix};
}

template<class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size() ? std::optional{number} : std::nullopt;
}

MESHTF_DEFINE std::vector<std::uint64_t> saved_steps(std::string const& folder,
                                                     std::vector<std::string>* left_over) {
  struct closes {
    void operator()(DIR* d) const { closedir(d); }
  };
  std::unique_ptr<DIR, closes> const opened{opendir(folder.c_str())};
  if (!opened)
    throw no_input("expected " + folder + " to be a folder of checkpoints, got: " + std::strerror(errno));
  constexpr std::string_view prefix = "step-";
  std::vector<std::uint64_t> steps;
  while (dirent const* const entry = readdir(opened.get())) {
    std::string_view name   = entry->d_name;
    bool const is_left_over = name.ends_with(partial_suffix);
    if (is_left_over) name = whole_name(name);
    if (!name.starts_with(prefix) || !name.ends_with(checkpoint_suffix)) continue;
    auto const step = parsed<std::uint64_t>(
        name.substr(prefix.size(), name.size() - prefix.size() - checkpoint_suffix.size()));
    if (!step || checkpoint_name(*step) != name) continue;
    if (!is_left_over) steps.push_back(*step);
    else if (left_over != nullptr) left_over->push_back(folder + "/" + entry->d_name);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

MESHTF_DEFINE checkpoint_path find_checkpoint_path(std::string const& folder, std::uint64_t step) {
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    throw unavailable("expected to make the folder " + folder + ", got: " + std::strerror(errno));
  struct stat about{};
  if (stat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode))
    folder_locks::of_this_process().take(folder);
  checkpoint_path found;
  auto const steps = saved_steps(folder, &found.left_over);
  if (!steps.empty() && steps.back() > step)
    throw usage_error("expected " + folder +
                      " to hold no checkpoint later than the one to be saved, of step " +
                      std::to_string(step) + ", got " + checkpoint_name(steps.back()) +
                      ": load it and go on from there, or save to another folder");
  found.path     = folder + "/" + checkpoint_name(step);
  found.is_taken = !steps.empty() && steps.back() == step;
  return found;
}

/// Keeps the two newest checkpoints, and the newest for which `is_finite(path)` is true. Returns the name
/// of that one, or an empty text if there is none.
template<class IsFinite>
std::string remove_old_checkpoints(std::string const& folder, IsFinite const& is_finite) {
  auto const steps   = saved_steps(folder);
  auto const path_of = [&](std::size_t i) { return folder + "/" + checkpoint_name(steps[i]); };
  std::size_t sound  = steps.size();  // the index after that of the newest finite one
  while (sound > 0 && !is_finite(path_of(sound - 1))) --sound;
  for (std::size_t i = 0; i + 2 < steps.size(); ++i)
    if (i + 1 != sound) unlink(path_of(i).c_str());
  return sound == 0 ? "" : checkpoint_name(steps[sound - 1]);
}

MESHTF_DEFINE found_checkpoint find_checkpoint(std::string const& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0)
    throw no_input("expected a checkpoint at " + path + ", got: " + std::strerror(errno));
  if (!S_ISDIR(about.st_mode)) return {path, "take another copy of it"};
  auto const steps = saved_steps(path);
  if (steps.empty())
    throw no_input("expected a checkpoint (" + checkpoint_name(0) + " or later) in " + path +
                   ", got none: save one there first");
  std::string const newest = path + "/" + checkpoint_name(steps.back());
  if (steps.size() == 1) return {newest, "and no other is in the folder"};
  return {newest, "delete it to load the one before it, " + checkpoint_name(steps[steps.size() - 2])};
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
