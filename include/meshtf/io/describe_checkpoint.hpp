// The description of a checkpoint: what its file or its manifest says, without its elements.
#pragma once

#if MESHTF_WITH_JANSSON

#include <string>

#include <meshtf/core/compiled.hpp>
#include <meshtf/io/description.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <string_view>

#include <meshtf/io/checkpoint_folder.hpp>
#include <meshtf/io/safetensors_reader.hpp>
#include <meshtf/io/several_files_reader.hpp>
#include <meshtf/io/step_folder_reader.hpp>
#endif

namespace meshtf {
inline namespace v0 {

/// Describes a checkpoint, for `differences`: the newest if `path` is a folder of some, a step's folder, a
/// safetensors file or an index of several, also of another program. One process calls it; elements are not
/// read.
///
/// The dimensions' names are there if it was saved with settings.
/// Errors: `no_input` if there is none or it can't be read, `data_error` if its header is damaged.
description describe(std::string const& path);

#if MESHTF_DEFINES_RUNTIME

namespace detail {

MESHTF_DEFINE description described(safetensors_header const& header) {
  constexpr std::string_view dims = dims_prefix;
  description about;
  for (auto const& [key, value] : header.metadata)
    if (!key.starts_with(dims) && key != "crc32" && key != "format") about[key] = value;
  for (auto const& [called, array] : header.arrays) {
    auto const names             = header.metadata.find(dims_prefix + called);
    about[array_prefix + called] = described_array(
        array.type, array.extents, names != header.metadata.end() ? std::string_view{names->second} : "");
  }
  return about;
}

}  // namespace detail

MESHTF_DEFINE description describe(std::string const& path) {
  auto const found = detail::find_checkpoint(path, 0);
  if (found.is_index) {
    auto const index =
        detail::several_files_reader::read_index(found.path, found.remedy, detail::longest_header);
    return detail::described(
        detail::several_files_reader{found.path, index, found.remedy, detail::longest_header}.header());
  }
  if (!found.in_parts) return detail::described(safetensors_reader{found.path, found.remedy}.header());
  auto const manifest = detail::step_folder_reader::read_manifest(found.path);
  return detail::described(detail::step_folder_reader{found.path, manifest, found.remedy}.header());
}

#endif

}  // namespace v0
}  // namespace meshtf

#endif
