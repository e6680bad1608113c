// Loading a checkpoint: process 0 reads the file, or all read the parts; each process takes what it needs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <meshtf/core/elements.hpp>
#include <meshtf/io/checkpoint_check.hpp>
#include <meshtf/io/checkpoint_parts.hpp>
#include <meshtf/io/checkpoint_saving.hpp>
#include <meshtf/io/kept_arrays.hpp>
#include <meshtf/io/open_checkpoint.hpp>
#include <meshtf/io/renamed_arrays.hpp>
#include <meshtf/io/safetensors_reader.hpp>
#include <meshtf/io/settings.hpp>
#include <meshtf/io/several_files_reader.hpp>
#include <meshtf/io/step_folder_reader.hpp>
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/tensor/parameters.hpp>

#if MESHTF_WITH_JANSSON

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Copies this process's part of the array whose elements are `whole`.
template<class T, class M>
void take_from_global(process_mesh<M>& m, T const* global, kept_array<T, M> const& array) {
  array.data->written();
  if (array.is_absent()) return;
  T* const part = array.data->data();
  if (array.parts.is_padded()) std::fill_n(part, array.parts.part(), T{});
  for_each_kept_run(array, m.place(),
                    [&](extent at, extent from, extent n) { std::copy_n(global + from, n, part + at); });
}

/// Sends the values of process 0 to all.
template<class Values>
void tell_all(boost::mpi::communicator const& world, Values& values) {
  meshtf::broadcast(world, values.data(), static_cast<extent>(values.size()), 0);
}

template<class M>
void read_arrays(process_mesh<M>& m, kept_arrays<M> const& arrays, std::vector<std::int32_t> const& kept,
                 safetensors_reader const* file) {
  std::exception_ptr caught;
  arrays.for_each([&]<class T>(kept_array<T, M> const& array) {
    // the parameter had no gradient yet when it was saved
    if (array.what != nullptr && kept[array.parameter] == 0) {
      if (!array.is_absent()) std::fill_n(array.data->data(), array.parts.part(), T{});
      return;
    }
    extent size = 1;
    for (placed const& d : array.dims) size *= d.size;
    elements<T> global(static_cast<std::size_t>(size));
    if (file != nullptr && !caught) {
      try {
        file->read(file->header().arrays.at(array.name), global.data());
      } catch (...) {
        caught = std::current_exception();
      }
    }
    tell_all(m.world(), global);
    take_from_global(m, static_cast<T const*>(global.data()), array);
  });
  agree(m.world(), caught);
}

/// The same from a checkpoint in parts or in several files: each process reads what it needs.
template<class M, class Parts>
void read_needed(process_mesh<M>& m, kept_arrays<M> const& arrays, std::vector<std::int32_t> const& kept,
                 Parts const& parts) {
  std::vector<std::int32_t> numbers;  // process 0 alone has given the arrays their new names
  std::vector<bool> had_none;
  arrays.for_each([&](auto const& array) {
    had_none.push_back(array.what != nullptr && kept[array.parameter] == 0);
    auto const found = parts.header().arrays.find(array.name);
    bool const is_in = m.rank() == 0 && !had_none.back() && found != parts.header().arrays.end();
    numbers.push_back(is_in ? static_cast<std::int32_t>(found->second.begin) : -1);
  });
  tell_all(m.world(), numbers);
  std::size_t i = 0;
  arrays.for_each([&]<class T>(kept_array<T, M> const& array) {
    bool const is_cleared = had_none[i++] || array.parts.is_padded();
    if (!had_none[i - 1]) array.data->written();
    if (is_cleared && !array.is_absent()) std::fill_n(array.data->data(), array.parts.part(), T{});
  });
  auto const wanted = stored_arrays_of(m, arrays, 0, false);
  agreed(m.world(), [&] { parts.read(wanted, numbers); });
}

/// The arrays of the file have the names of the model.
struct not_renamed {};

/// Looks at the settings that the file `path` keeps, on process 0, before anything is changed.
using kept_settings_check = std::function<void(std::string const& path, setting_texts const& kept)>;

/// Those that a file of ours keeps.
setting_texts settings_in(safetensors_header const& header);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE setting_texts settings_in(safetensors_header const& header) {
  setting_texts kept;
  if (!is_ours(header)) return kept;
  constexpr std::string_view prefix = setting_prefix;
  for (auto const& [key, value] : header.metadata)
    if (key.starts_with(prefix)) kept.emplace_back(key.substr(prefix.size()), value);
  return kept;
}

#endif

/// Process 0 reads the file, and the others receive what they need from it; of a checkpoint in parts each
/// process reads what it needs. `new_name` gives the arrays the names of the model.
template<class List, class Optimizer, class Rename>
training_position read_checkpoint(List const& list, Optimizer& opt, std::string const& path,
                                  Rename const& new_name, kept_settings_check const& check_settings = {}) {
  auto& m = machine_of(list, "a checkpoint");
  m.compare_call("load", path);
  auto const& world     = m.world();
  auto const parameters = kept_arrays_of(list, no_optimizer{});
  check_names(parameters);
  auto const states = states_expected(list, opt);
  auto opened       = open_checkpoint(world, path, longest_header_of(parameters));
  checkpoint_contents contents;
  Optimizer::for_each_number(opt, [&](char const*, double) { contents.numbers.push_back(0); });
  contents.kept.resize(parameters.parameters);
  auto const check = [&](auto& file) {
    if constexpr (std::is_same_v<Rename, not_renamed>) drop_number_of_only_model(file, parameters);
    else new_name(file);
    contents = checked_contents(file.path(), file.header(), parameters, opt, states);
  };
  agreed(world, [&] {
    if (m.rank() != 0) return;
    if (opened.parts) check(*opened.parts);
    if (opened.files) check(*opened.files);
    if (opened.file) check(*opened.file);
    auto const& header = opened.header();
    if (check_settings) check_settings(opened.path, settings_in(header));
    if (auto const bad = header.metadata.find(not_finite_key);
        bad != header.metadata.end() && is_ours(header))
      say("loaded " + opened.path + ", in which '" + spelled_text(bad->second) +
          "' is not finite: what goes on from it will not be either");
  });
  auto words = std::bit_cast<std::array<std::int32_t, sizeof(training_position) / sizeof(std::int32_t)>>(
      contents.position);
  tell_all(world, words);
  tell_all(world, contents.numbers);
  tell_all(world, contents.kept);

  std::size_t number = 0;
  list.for_each_tensor([&]<class W>(W& w) {
    [[maybe_unused]] bool const had_state = contents.kept[number++] != 0;
    if constexpr (Parameter<W>)
      if (had_state) opt.make_arrays(w);
  });
  auto const all = kept_arrays_of(list, opt);
  if (opened.parts) read_needed(m, all, contents.kept, *opened.parts);
  else if (opened.files) read_needed(m, all, contents.kept, *opened.files);
  else read_arrays(m, all, contents.kept, opened.file ? &*opened.file : nullptr);
  number = 0;
  list.for_each_tensor([&]<class W>(W& w) {
    [[maybe_unused]] bool const had_state = contents.kept[number++] != 0;
    if constexpr (Parameter<W>)
      if constexpr (requires { opt.begin(w); })
        if (!had_state) opt.begin(w);
  });
  number = 0;
  Optimizer::for_each_number(opt, [&](char const*, double& x) { x = contents.numbers[number++]; });
  return std::bit_cast<training_position>(words);
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf

#endif
