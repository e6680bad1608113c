// Arrays that a checkpoint names otherwise than the program.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/io/kept_arrays.hpp>
#include <meshtf/io/safetensors.hpp>

#if MESHTF_WITH_JANSSON

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Errors: `data_error` if a file lacks an array that is to be renamed.
void check_renamed(std::string const& path, safetensors_header const& header,
                   std::map<std::string, std::string> const& new_names);

/// Renames arrays of a file: the names there and here. Errors: `data_error` if the file lacks one of them.
template<class Reader>
void rename_arrays(Reader& file, std::map<std::string, std::string> const& new_names) {
  check_renamed(file.path(), file.header(), new_names);
  file.rename_arrays([&new_names](std::string const& name) {
    auto const found = new_names.find(name);
    return found == new_names.end() ? name : found->second;
  });
}

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE void check_renamed(std::string const& path, safetensors_header const& header,
                                 std::map<std::string, std::string> const& new_names) {
  std::string missing;
  for (auto const& [there, here] : new_names)
    if (!header.arrays.contains(there)) missing += (missing.empty() ? "'" : ", '") + there + "'";
  if (!missing.empty())
    throw data_error("expected " + path + " to have the arrays that are to be renamed, got none called " +
                     missing + ": the first of two names is the one in the file");
}

#endif

/// Older versions prefixed the names of a model that was saved alone with its number in the list: "0.bias"
/// and "optimizer.first.0.bias". The prefix is dropped if the file names these parameters so.
template<class Reader, class M>
void drop_number_of_only_model(Reader& file, kept_arrays<M> const& parameters) {
  constexpr std::string_view number = "0.";
  bool numbered                     = true;
  parameters.for_each([&](auto const& array) {
    auto const& there = file.header().arrays;
    numbered = numbered && !there.contains(array.name) && there.contains(std::string{number} + array.name);
  });
  if (!numbered) return;
  file.rename_arrays([&](std::string name) {
    std::size_t const at =
        name.starts_with(optimizer_prefix) ? name.find('.', optimizer_prefix.size()) + 1 : 0;
    return name.compare(at, number.size(), number) == 0 ? name.erase(at, number.size()) : name;
  });
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf

#endif
