// Opening a checkpoint of any form: one file, parts, or several files. All of its bytes are compared with
// their hashes before anything is loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <meshtf/core/compiled.hpp>
#include <meshtf/io/safetensors_reader.hpp>
#include <meshtf/io/several_files_reader.hpp>
#include <meshtf/io/step_folder_reader.hpp>
#include <meshtf/runtime/collectives.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <meshtf/core/error.hpp>
#include <meshtf/io/checkpoint_folder.hpp>
#include <meshtf/io/checkpoint_saving.hpp>
#include <meshtf/runtime/agree.hpp>
#endif

#if MESHTF_WITH_JANSSON

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A checkpoint that is open: a file on process 0, or parts or several files on all.
struct opened_checkpoint {
  std::string path;
  std::optional<safetensors_reader> file;
  std::optional<step_folder_reader> parts;
  std::optional<several_files_reader> files;

  /// On process 0.
  safetensors_header const& header() const {
    if (parts) return parts->header();
    return files ? files->header() : file->header();
  }
};

/// The checkpoint `path`, or the newest in that folder, all of whose bytes have been compared with their
/// hashes. If it is damaged and `path` does not name it, process 0 says so, and it is the one before it. All
/// processes call it.
opened_checkpoint open_checkpoint(boost::mpi::communicator const& world, std::string const& path,
                                  std::uint64_t longest);

#if MESHTF_DEFINES_RUNTIME

/// Process 0 tells all a text.
MESHTF_DEFINE void tell_text(boost::mpi::communicator const& world, std::string& text) {
  auto bytes = static_cast<std::int64_t>(text.size());
  meshtf::broadcast(world, &bytes, 1, 0);
  std::vector<std::int32_t> words((static_cast<std::size_t>(bytes) + 3) / 4);
  if (world.rank() == 0) std::copy(text.begin(), text.end(), reinterpret_cast<char*>(words.data()));
  meshtf::broadcast(world, words.data(), static_cast<extent>(words.size()), 0);
  text.assign(reinterpret_cast<char const*>(words.data()), static_cast<std::size_t>(bytes));
}

/// Opens the model whose index is `found`, which process 0 alone knows.
MESHTF_DEFINE several_files_reader open_several_files(boost::mpi::communicator const& world,
                                                      found_checkpoint const& found, std::uint64_t longest) {
  std::optional<several_files_reader> files;
  bool const first = world.rank() == 0;
  agreed(world, [&] {
    if (first)
      files.emplace(found.path, several_files_reader::read_index(found.path, found.remedy, longest),
                    found.remedy, longest);
  });
  std::string names;
  places_of_arrays places = first ? files->places() : places_of_arrays{};
  for (auto const& name : places.files) names += name + "\n";
  tell_text(world, names);
  auto n = static_cast<std::int64_t>(places.numbers_and_bytes.size());
  meshtf::broadcast(world, &n, 1, 0);
  places.numbers_and_bytes.resize(static_cast<std::size_t>(n));
  meshtf::broadcast(world, places.numbers_and_bytes.data(), n, 0);
  if (!first) {
    for (std::size_t at = 0; at < names.size(); at = names.find('\n', at) + 1)
      places.files.push_back(names.substr(at, names.find('\n', at) - at));
    files.emplace(found.path, std::move(places), found.remedy);
  }
  agreed(world, [&] {
    files->verify(static_cast<std::size_t>(world.rank()), static_cast<std::size_t>(world.size()), longest);
  });
  return std::move(*files);
}

/// Opens what is found, and compares all of its bytes.
MESHTF_DEFINE opened_checkpoint open_found(boost::mpi::communicator const& world,
                                           found_checkpoint const& found, std::uint64_t longest) {
  bool const first = world.rank() == 0;
  opened_checkpoint opened;
  opened.path = found.path;
  std::string manifest;
  agreed(world, [&] {
    if (!first) return;
    if (found.in_parts) manifest = step_folder_reader::read_manifest(found.path);
    else if (!found.is_index) opened.file.emplace(found.path, found.remedy, longest).verify();
  });
  if (found.is_index) opened.files.emplace(open_several_files(world, found, longest));
  if (!found.in_parts) return opened;
  tell_text(world, manifest);
  agreed(world, [&] {
    opened.parts.emplace(found.path, manifest, found.remedy);
    opened.parts->verify(static_cast<std::size_t>(world.rank()), static_cast<std::size_t>(world.size()));
  });
  return opened;
}

/// Whether it may be another checkpoint's turn.
MESHTF_DEFINE bool is_damaged(error const& e) {
  return e.exit_status() == data_error{""}.exit_status() || e.exit_status() == no_input{""}.exit_status();
}

MESHTF_DEFINE opened_checkpoint open_checkpoint(boost::mpi::communicator const& world,
                                                std::string const& path, std::uint64_t longest) {
  bool const first = world.rank() == 0;
  for (std::size_t skipped = 0;; ++skipped) {
    found_checkpoint found;
    agreed(world, [&] {
      if (first) found = find_checkpoint(path, skipped);
    });
    if (!found.before.empty())
      found.remedy = found.before + " is loaded in its place; delete it before you save";
    std::array<std::int64_t, 3> told{found.in_parts ? 1 : 0, found.before.empty() ? 0 : 1,
                                     found.is_index ? 1 : 0};
    meshtf::broadcast(world, told.data(), 3, 0);
    found.in_parts = told[0] != 0;
    found.is_index = told[2] != 0;
    tell_text(world, found.path);
    tell_text(world, found.remedy);
    try {
      return open_found(world, found, longest);
    } catch (error const& e) {
      if (told[1] == 0 || !is_damaged(e)) throw;
      if (first) say(e.what());
    }
  }
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf

#endif
