// Saving a checkpoint: arrays are gathered on process 0, which writes the file.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/elements.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/io/checkpoint_folder.hpp>
#include <meshtf/io/kept_arrays.hpp>
#include <meshtf/io/safetensors_reader.hpp>
#include <meshtf/io/safetensors_writer.hpp>
#include <meshtf/io/step_folder_reader.hpp>
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/runtime/waiting.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <cstdio>

#include <sys/stat.h>
#endif

#if MESHTF_WITH_JANSSON

namespace meshtf {
inline namespace v0 {
namespace detail {

/// All elements of an array on process 0, in the order of the whole; nothing on the others, which hand over
/// their parts.
template<class T, class M>
elements<T> gathered(process_mesh<M>& m, kept_array<T, M> const& array) {
  elements<T> global;
  if (m.rank() == 0) {
    extent size = 1;
    for (placed const& d : array.dims) size *= d.size;
    global = elements<T>{static_cast<std::size_t>(size)};
  }
  constexpr auto sizes = axis_sizes<M>;
  axis_set const over  = array.over | array.parts.over;
  m.gather_on_first(
      static_cast<T const*>(array.data->data()), array.parts.part(), over,
      [&](extent rank, extent first, T const* x, extent n) {
        std::array<extent, max_axes> at{};  // ranks along a set of axes are row-major in the mesh's order
        for (std::size_t a = max_axes; a-- > 0;)
          if ((over >> a & 1) != 0) {
            at[a] = rank % sizes[a];
            rank /= sizes[a];
          }
        // x are the elements [first, first + n)
        for_each_kept_run(array, {at, sizes}, [&](extent kept, extent to, extent run) {
          extent const from  = std::max(kept, first);
          extent const until = std::min(kept + run, first + n);
          if (from < until) std::copy_n(x + (from - first), until - from, global.data() + to + (from - kept));
        });
      },
      array.stage);
  return global;
}

/// Writes one line to stderr, in one write.
void say(std::string const& text);

/// The name of the file, or of the folder of parts, for a position in `folder`. A checkpoint that is not
/// finite does not replace one that is. `longest`: the longest header of a file of this model.
std::string reserve_path_for(std::string const& folder, training_position const& position,
                             std::string const& bad, std::uint64_t longest, bool in_parts = false);

/// Removes the checkpoints that this one makes superfluous, and reports if this one is not finite.
void remove_superseded_checkpoints(std::string const& folder, training_position const& position,
                                   std::string const& bad, std::uint64_t longest, bool in_parts = false);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE void say(std::string const& text) {
  std::string const line = "meshtf: " + text + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// Whether a file is a checkpoint that is not marked as not finite; false if its header can't be read.
MESHTF_DEFINE bool is_finite_checkpoint(std::string const& path, std::uint64_t longest) {
  try {
    struct stat about{};
    if (::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode))
      return !step_folder_reader{path, step_folder_reader::read_manifest(path), ""}
                  .header()
                  .metadata.contains(not_finite_key);
    return !safetensors_reader{path, "", longest}.header().metadata.contains(not_finite_key);
  } catch (error const&) {
    return false;
  }
}

MESHTF_DEFINE std::string reserve_path_for(std::string const& folder, training_position const& position,
                                           std::string const& bad, std::uint64_t longest, bool in_parts) {
  auto const unless = [&](std::string const& path) {
    if (!bad.empty() && is_finite_checkpoint(path, longest))
      throw usage_error("expected what replaces " + path + " to be finite as it is, got '" + bad +
                        "', which holds what is not: save to another folder, or delete the file first");
  };
  return reserve_path(folder, position.step, unless, in_parts);
}

MESHTF_DEFINE void remove_superseded_checkpoints(std::string const& folder, training_position const& position,
                                                 std::string const& bad, std::uint64_t longest,
                                                 bool in_parts) {
  if (bad.empty()) {
    remove_old_checkpoints(folder, in_parts, [](std::string const&) { return true; });
    return;
  }
  std::string const sound = remove_old_checkpoints(
      folder, in_parts, [longest](std::string const& path) { return is_finite_checkpoint(path, longest); });
  say("saved " + folder + "/" + checkpoint_name(position.step, in_parts) + ", in which '" + bad +
      "' is not finite: " +
      (sound.empty() ? "no other checkpoint in the folder is"
                     : sound + " is the newest that is, and stays; to go on from it delete those after it"));
}

#endif

/// Process 0 writes the file or files that `where(bad)` names, and calls `done(bad)` at the end; `bad` is the
/// name of the first array that is not finite. The other processes hand over their parts, even if process 0
/// fails.
template<class Writer = safetensors_writer, class M, class Where, class Done>
void write_checkpoint(process_mesh<M>& m, kept_arrays<M> const& arrays,
                      std::vector<std::pair<std::string, std::string>> about, Where const& where,
                      Done const& done) {
  bool const first = m.rank() == 0;
  check_names(arrays);
  std::string const bad = not_finite_in(m, arrays);
  if (!bad.empty()) about.emplace_back(not_finite_key, bad);
  std::vector<std::pair<std::string, safetensors_array>> described;
  arrays.for_each([&](auto const& array) { described.emplace_back(array.name, array.described()); });
  std::optional<Writer> file;
  agreed(m.world(), [&] {
    if (first) file.emplace(where(bad), about, described);
  });
  std::optional<waiting_for_file> writes;
  if (!first) writes.emplace("process 0, which writes a checkpoint", "save");
  std::exception_ptr caught;
  auto const unless_failed = [&](auto const& write) {
    if (!first || caught) return;
    try {
      write();
    } catch (...) {
      caught = std::current_exception();
      file.reset();  // removes the unfinished file, which would go on filling the disk
    }
  };
  arrays.for_each([&]<class T>(kept_array<T, M> const& array) {
    auto const global = gathered(m, array);
    unless_failed([&] { file->write(global.data(), global.size() * sizeof(T)); });
  });
  unless_failed([&] {
    file->commit();
    done(bad);
  });
  agree(m.world(), caught);
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf

#endif
