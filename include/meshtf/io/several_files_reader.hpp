// Reads a model that is in several safetensors files, with an index that says which array is in which, as
// Hugging Face's programs write it.
#pragma once

#if MESHTF_WITH_JANSSON

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/io/box_range.hpp>
#include <meshtf/io/safetensors.hpp>
#include <meshtf/io/safetensors_reader.hpp>
#include <meshtf/io/step_folder.hpp>
#include <meshtf/runtime/locked_file.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

struct json_t;  // of jansson, which only definitions need

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Where the arrays of an index are: the names of its files, and of each array the number of its file and the
/// byte at which its elements begin there. Process 0 tells it the others.
struct places_of_arrays {
  std::vector<std::string> files;
  std::vector<std::int64_t> numbers_and_bytes;
};

/// A model in several files. Process 0 reads the index and the header of each file, and checks both before
/// the first array is read; the others get from it where each array is, and read what they need.
///
/// Errors: `no_input` if a file can't be read; `data_error` if one is damaged or missing, if the index names
/// a file that is not in its folder, an array that its file has not, or another size than the sum of the
/// arrays, or if an array is in two files, or in one and not in the index. They name the file; `remedy` says
/// what to do. Source: https://huggingface.co/docs/huggingface_hub/package_reference/serialization.
class several_files_reader {
public:
  /// The text of an index. Errors: `no_input`; `data_error` if it has more than `longest` bytes.
  static std::string read_index(std::string const& path, std::string const& remedy, std::uint64_t longest);

  /// `path` is that of the index. A header of more than `longest` bytes is refused.
  several_files_reader(std::string path, std::string const& index, std::string remedy, std::uint64_t longest);

  /// On processes that have read no header: `header` is empty.
  several_files_reader(std::string path, places_of_arrays places, std::string remedy)
      : path_{std::move(path)}, remedy_{std::move(remedy)}, places_{std::move(places)} {}

  std::string const& path() const { return path_; }
  /// `begin` of an array is its number. The metadata are those of the first file.
  safetensors_header const& header() const { return header_; }
  places_of_arrays const& places() const { return places_; }

  /// As `safetensors_reader::rename_arrays`.
  template<class F>
  void rename_arrays(F const& new_name) {
    std::map<std::string, safetensors_array> renamed;
    for (auto const& [name, array] : header_.arrays)
      if (std::string to = new_name(name); !to.empty() && !renamed.emplace(to, array).second)
        throw data_error("expected the arrays of " + path_ +
                         " to be renamed to different names, got two that become '" + spelled_text(to) + "'");
    header_.arrays = std::move(renamed);
  }

  /// Reads the files number `first`, `first` + `step` ... that have a checksum or BOOLs. Of all processes
  /// together each file is read once.
  void verify(std::size_t first, std::size_t step, std::uint64_t longest) const;

  /// Copies to each of `wanted` what it needs of the array whose number is in `numbers`; -1 for one that is
  /// not there.
  void read(std::vector<stored_array> const& wanted, std::vector<std::int32_t> const& numbers) const;

private:
  class window;

  [[noreturn]] void throw_damaged(std::string const& file, std::string const& expected,
                                  std::string const& actual) const;
  std::string path_of(std::string const& file) const;
  /// Which file each array is in, as the index says.
  std::map<std::string, std::string> parsed_names(json_t* root) const;
  void check_size(json_t* root, std::uint64_t sum) const;
  /// Notes the arrays of file number `number`. Returns their bytes.
  std::uint64_t take_file(std::size_t number, std::map<std::string, std::string> const& names,
                          std::uint64_t longest);

  std::string path_;
  std::string remedy_;
  safetensors_header header_;
  places_of_arrays places_;
};

#if MESHTF_DEFINES_RUNTIME

/// The bytes of a file, of which it keeps some that lie together: shards that split a dimension within have
/// short runs.
class several_files_reader::window {
public:
  window(several_files_reader const& of, std::string path)
      : of_{of}, path_{std::move(path)}, file_{path_, O_RDONLY | O_NONBLOCK} {
    if (!file_) throw_unreadable();
  }

  void copy(std::uint64_t at, char* to, std::uint64_t n) {
    if (n >= longest) {
      if (read(at, to, n) < n) throw_short(at + n);
      return;
    }
    if (at < begin_ || at + n > begin_ + kept_.size()) {
      kept_.resize(static_cast<std::size_t>(longest));
      begin_ = at;
      kept_.resize(static_cast<std::size_t>(read(at, kept_.data(), longest)));
      if (kept_.size() < n) throw_short(at + n);
    }
    std::memcpy(to, kept_.data() + (at - begin_), static_cast<std::size_t>(n));
  }

private:
  static constexpr std::uint64_t longest = std::uint64_t{1} << 20;

  /// Returns fewer than n where the file ends.
  std::uint64_t read(std::uint64_t at, char* to, std::uint64_t n) const {
    std::uint64_t got = 0;
    while (got < n) {
      auto const some = ::pread(file_.number(), to + got, n - got, static_cast<off_t>(at + got));
      if (some < 0 && errno == EINTR) continue;
      if (some < 0) throw_unreadable();
      if (some == 0) break;
      got += static_cast<std::uint64_t>(some);
    }
    return got;
  }
  [[noreturn]] void throw_unreadable() const {
    throw no_input("expected to read the file " + path_ + ", got: " + std::strerror(errno));
  }
  [[noreturn]] void throw_short(std::uint64_t end) const {
    of_.throw_damaged(path_, "to have " + std::to_string(end) + " bytes", "fewer");
  }

  several_files_reader const& of_;
  std::string path_;
  file_descriptor file_;
  std::uint64_t begin_ = 0;
  std::vector<char> kept_;
};

MESHTF_DEFINE std::string several_files_reader::read_index(std::string const& path, std::string const& remedy,
                                                           std::uint64_t longest) {
  struct stat about{};
  if (::stat(path.c_str(), &about) == 0 && static_cast<std::uint64_t>(about.st_size) > longest)
    throw data_error("expected " + path + " to be an index of at most " + std::to_string(longest) +
                     " bytes, got one of " + std::to_string(about.st_size) +
                     ": it is damaged or of another model, " + remedy);
  auto content = read_whole(path);
  if (!content) throw no_input("expected to read the file " + path + ", got: " + std::strerror(errno));
  return std::move(*content);
}

MESHTF_DEFINE several_files_reader::several_files_reader(std::string path, std::string const& index,
                                                         std::string remedy, std::uint64_t longest)
    : path_{std::move(path)}, remedy_{std::move(remedy)} {
  json_error_t failure;
  json const root{json_loadb(index.data(), index.size(), JSON_REJECT_DUPLICATES, &failure)};
  if (!json_is_object(root.get()))
    throw_damaged(path_, "to be an index in JSON",
                  root ? "other JSON" : spelled_text(std::string_view{failure.text}));
  auto const names = parsed_names(root.get());
  for (auto const& [name, file] : names) places_.files.push_back(file);
  std::sort(places_.files.begin(), places_.files.end());
  places_.files.erase(std::unique(places_.files.begin(), places_.files.end()), places_.files.end());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < places_.files.size(); ++i) sum += take_file(i, names, longest);
  for (auto const& [name, file] : names)
    if (!header_.arrays.contains(name))
      throw_damaged(path_of(file),
                    "to have the array '" + spelled_text(name) + "', as the index " + path_ + " says",
                    "none of that name");
  check_size(root.get(), sum);
}

MESHTF_DEFINE std::map<std::string, std::string> several_files_reader::parsed_names(json_t* root) const {
  json_t* const list = json_object_get(root, "weight_map");
  if (!json_is_object(list)) throw_damaged(path_, "to have a 'weight_map' of names and files", "none");
  std::map<std::string, std::string> names;
  for (void* at = json_object_iter(list); at != nullptr; at = json_object_iter_next(list, at)) {
    std::string const name   = json_object_iter_key(at);
    char const* const text   = json_string_value(json_object_iter_value(at));
    std::string const file   = text == nullptr ? "" : text;
    bool const leaves_folder = file.find('/') != file.npos || file == "." || file == "..";
    bool const is_odd =
        std::any_of(file.begin(), file.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
    if (file.empty() || leaves_folder || is_odd)
      throw_damaged(path_, "to name a file of its folder as that of '" + spelled_text(name) + "'",
                    text == nullptr ? "something else" : "'" + spelled_text(file) + "'");
    names.emplace(name, file);
  }
  return names;
}

MESHTF_DEFINE void several_files_reader::check_size(json_t* root, std::uint64_t sum) const {
  json_t const* const size = json_object_get(json_object_get(root, "metadata"), "total_size");
  if (size == nullptr) return;
  bool const is_sum = json_is_integer(size) ? static_cast<std::uint64_t>(json_integer_value(size)) == sum
                                            : json_number_value(size) == static_cast<double>(sum);
  if (!is_sum)
    throw_damaged(path_, "to have the 'total_size' " + std::to_string(sum) + ", which its files have",
                  json_is_integer(size) ? std::to_string(json_integer_value(size)) : "something else");
}

MESHTF_DEFINE std::uint64_t several_files_reader::take_file(std::size_t number,
                                                            std::map<std::string, std::string> const& names,
                                                            std::uint64_t longest) {
  std::string const path = path_of(places_.files[number]);
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0 && errno == ENOENT)
    throw_damaged(path, "to be there, as the index " + path_ + " says", "no file");
  safetensors_reader const file{path, remedy_, longest};
  if (number == 0) header_.metadata = file.header().metadata;
  std::uint64_t sum = 0;
  for (auto const& [name, array] : file.header().arrays) {
    auto const said = names.find(name);
    if (said == names.end())
      throw_damaged(path, "to have no array that the index " + path_ + " does not name",
                    "'" + spelled_text(name) + "'");
    if (said->second != places_.files[number])
      throw_damaged(path,
                    "not to have the array '" + spelled_text(name) + "', which the index " + path_ +
                        " says is in " + spelled_text(said->second),
                    "it");
    sum += array.end - array.begin;
    auto const n     = places_.numbers_and_bytes.size() / 2;
    auto [to, _]     = header_.arrays.emplace(name, array);
    to->second.begin = to->second.end = n;
    places_.numbers_and_bytes.push_back(static_cast<std::int64_t>(number));
    places_.numbers_and_bytes.push_back(static_cast<std::int64_t>(file.byte_of(array)));
  }
  return sum;
}

MESHTF_DEFINE void several_files_reader::throw_damaged(std::string const& file, std::string const& expected,
                                                       std::string const& actual) const {
  throw data_error("expected " + file + " " + expected + ", got " + actual + ": the model is damaged, " +
                   remedy_);
}

MESHTF_DEFINE std::string several_files_reader::path_of(std::string const& file) const {
  auto const slash = path_.rfind('/');
  return (slash == path_.npos ? "" : path_.substr(0, slash + 1)) + file;
}

MESHTF_DEFINE void several_files_reader::verify(std::size_t first, std::size_t step,
                                                std::uint64_t longest) const {
  for (std::size_t i = first; i < places_.files.size(); i += step)
    safetensors_reader{path_of(places_.files[i]), remedy_, longest}.verify();
}

MESHTF_DEFINE void several_files_reader::read(std::vector<stored_array> const& wanted,
                                              std::vector<std::int32_t> const& numbers) const {
  for (std::size_t f = 0; f < places_.files.size(); ++f) {
    std::optional<window> file;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      auto const& to = wanted[i];
      if (numbers[i] < 0 || to.range.size() == 0) continue;
      auto const* const place = places_.numbers_and_bytes.data() + 2 * numbers[i];
      if (static_cast<std::size_t>(place[0]) != f) continue;
      if (!file) file.emplace(*this, path_of(places_.files[f]));
      box_runs runs{to.range, to.allocated, to.whole.extents};
      for (box_run run; runs.next(run);)
        file->copy(
            static_cast<std::uint64_t>(place[1]) + static_cast<std::uint64_t>(run.global) * to.element_bytes,
            to.data + static_cast<std::uint64_t>(run.stored - to.skipped) * to.element_bytes,
            static_cast<std::uint64_t>(run.n) * to.element_bytes);
    }
  }
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf

#endif
