// Checkpoints: save(parameters, optimizer, position, folder) and load, under any layout and on any number of
// processes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include <meshtf/io/checkpoint_loading.hpp>
#include <meshtf/io/checkpoint_parts.hpp>
#include <meshtf/io/checkpoint_saving.hpp>
#include <meshtf/io/description.hpp>
#include <meshtf/io/kept_arrays.hpp>
#include <meshtf/io/settings.hpp>
#include <meshtf/io/several_files.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

/// How `save` writes a checkpoint into a folder.
struct checkpoint_options {
  /// As a folder, `folder`/step-00000200, to which each process writes a part, and not as a file that process
  /// 0 writes. Nobody gathers an array: a save takes a process the memory of one chunk of 1 MiB.
  ///
  /// Each part is a safetensors file with what its process has of the arrays. Elements that replicas share
  /// are divided among them, so each is written once. When all parts are on disk, process 0 writes
  /// manifest.json: the arrays, which elements of them are in which part, and the hash of each chunk. Only
  /// then the folder gets its name, and only when that is on disk older checkpoints are removed. So a job
  /// that is killed, or a disk that fails on one process, leaves the earlier checkpoints intact.
  ///
  /// A checkpoint of the same step is left as it is if it is equal, and else exchanged for the new one.
  bool in_parts = true;
};

namespace detail {

#if MESHTF_WITH_JANSSON

template<class List, class Optimizer>
consteval bool can_be_kept() {
  static_assert(
      !is_dry<layout_of_list<List>>,
      "meshtf: parameters under a dry layout have no elements, so there is nothing to save and no place to "
      "load into");
  static_assert(
      KeptInCheckpoints<Optimizer>,
      "meshtf: this optimizer does not say what a checkpoint keeps of it: see the last members of adam");
  return !is_dry<layout_of_list<List>> && KeptInCheckpoints<Optimizer>;
}

/// f(machine, parts) with what this process has of a checkpoint in the folder; `about` are further metadata.
template<class List, class Optimizer, class F>
void with_parts_to_save(List const& list, Optimizer const& opt, training_position const& position,
                        std::string const& folder, setting_texts const& about, F const& f) {
  using layout_type = layout_of_list<List>;
  auto& m           = machine_of(list, "a checkpoint");
  m.compare_call("save", folder);
  auto const arrays = kept_arrays_of(list, opt);
  check_names(arrays);
  std::string const bad = not_finite_in(m, arrays);
  manifest_head head{layout_in_words<layout_type>(), about_checkpoint(opt, &position)};
  head.about.insert(head.about.end(), about.begin(), about.end());
  if (!bad.empty()) head.about.emplace_back(not_finite_key, bad);
  f(m, parts_to_save{stored_arrays_of(m, arrays, stage_axes<layout_type>, true),
                     std::move(head),
                     {folder, position, bad, longest_header_of(arrays)}});
}

template<class List, class Optimizer>
void save_in_parts(List const& list, Optimizer const& opt, training_position const& position,
                   std::string const& folder, setting_texts const& about) {
  if constexpr (can_be_kept<List, Optimizer>())
    with_parts_to_save(list, opt, position, folder, about,
                       [](auto& m, parts_to_save what) { save_parts(m.world(), std::move(what)); });
}

/// With a position, saves it as a checkpoint in the folder `path`; without one, saves the file `path`.
template<class List, class Optimizer>
void save_to(List const& list, Optimizer const& opt, training_position const* position,
             std::string const& path, setting_texts const& about = {}) {
  if constexpr (can_be_kept<List, Optimizer>()) {
    auto& m = machine_of(list, "a checkpoint");
    m.compare_call("save", path);
    auto const arrays           = kept_arrays_of(list, opt);
    std::uint64_t const longest = longest_header_of(arrays);
    auto all                    = about_checkpoint(opt, position);
    all.insert(all.end(), about.begin(), about.end());
    write_checkpoint(
        m, arrays, std::move(all),
        [&](std::string const& bad) {
          return position != nullptr ? reserve_path_for(path, *position, bad, longest) : path;
        },
        [&](std::string const& bad) {
          if (position != nullptr) remove_superseded_checkpoints(path, *position, bad, longest);
          else if (!bad.empty()) say("saved " + path + ", in which '" + bad + "' is not finite");
        });
  }
}

template<class List>
void save_several(List const& list, std::string const& folder, several_files const& options) {
  if constexpr (can_be_kept<List, no_optimizer>()) {
    auto& m = machine_of(list, "a checkpoint");
    m.compare_call("save", folder);
    // transformers reads only what has a format that it knows
    write_checkpoint<several_files_writer>(
        m, kept_arrays_of(list, no_optimizer{}),
        {{"format", "pt"}, {our_mark, std::string{checkpoint_format}}},
        [&](std::string const&) { return several_files_place{folder, options}; },
        [&](std::string const& bad) {
          if (!bad.empty()) say("saved " + folder + ", in which '" + bad + "' is not finite");
        });
  }
}

template<class List, class Optimizer>
void save_step(List const& list, Optimizer const& opt, training_position const& position,
               std::string const& folder, checkpoint_options const& options,
               setting_texts const& about = {}) {
  if (options.in_parts) save_in_parts(list, opt, position, folder, about);
  else save_to(list, opt, &position, folder, about);
}

/// Compares the settings with those of a file's metadata, and says what differs.
template<Settings S>
kept_settings_check check_of_settings(S& settings) {
  return [&settings](std::string const& path, setting_texts const& kept) {
    if (kept.empty()) return;
    for (auto const& line : compared_settings(bound_settings(settings), path, kept)) say(line);
  };
}

template<class List, class Optimizer>
training_position load_from(List const& list, Optimizer& opt, std::string const& path,
                            kept_settings_check const& check = {}) {
  if constexpr (can_be_kept<List, Optimizer>()) return read_checkpoint(list, opt, path, not_renamed{}, check);
  else return {};
}

template<class List, class Rename>
training_position load_renamed(List const& list, std::string const& path, Rename const& rename) {
  no_optimizer none;
  if constexpr (can_be_kept<List, no_optimizer>()) return read_checkpoint(list, none, path, rename);
  else return {};
}

#else

struct no_file;
void rename_arrays(no_file& file, std::map<std::string, std::string> const& new_names);

template<class... Arguments>
training_position save_to(Arguments const&...) {
  static_assert(
      sizeof...(Arguments) == 0,
      "meshtf: checkpoints need the library jansson: apt install libjansson-dev, and configure again; "
      "without CMake: -DMESHTF_WITH_JANSSON=1 -ljansson");
  return {};
}

template<class S>
int check_of_settings(S&) {
  return 0;
}

template<class... Arguments>
void save_several(Arguments const&... arguments) {
  save_to(arguments...);
}

template<class... Arguments>
void save_step(Arguments const&... arguments) {
  save_to(arguments...);
}

template<class... Arguments>
training_position load_from(Arguments const&... arguments) {
  return save_to(arguments...);
}

template<class... Arguments>
training_position load_renamed(Arguments const&... arguments) {
  return save_to(arguments...);
}

#endif

}  // namespace detail

/// Saves parameters, the state of their optimizer and the position of training as the newest checkpoint in
/// `folder`, which is made if it does not exist.
///
///     meshtf::save(parameters(net), opt, {.step = step, .seed = seed}, "run1");
///     auto const position = meshtf::load(parameters(net), opt, "run1");
///
/// Every process calls it, between two steps. Each writes what it has of the arrays into one folder,
/// `folder`/step-00000200: the parameters under their names in the list, the optimizer's arrays as
/// "optimizer.first.NAME" ..., and, as metadata, the position and the optimizer's numbers. It takes a process
/// the memory of one chunk of 1 MiB. `options` say otherwise: then process 0 writes one safetensors file,
/// `folder`/step-00000200.safetensors, which does not depend on the layout, for other programs. Arrays are
/// gathered on process 0 one at a time; process 0 needs memory for one whole array, the others need none.
///
/// A checkpoint gets its name when all of it is on disk, so a job that is killed, or a disk that fills up,
/// leaves the earlier checkpoints intact. After that, the two newest stay and older ones are removed: a
/// folder is for one run, and needs space for three checkpoints. A checkpoint of the same step is replaced.
///
/// If an array holds a value that is not finite (a NaN of one bad batch is in all arrays a step later), the
/// checkpoint is still written, process 0 says so in one line on stderr, and the metadata name the array as
/// "not_finite". The newest finite checkpoint then stays too, however many follow that are not finite.
///
/// From its first `save` until it ends, a job has the folder to itself, by a kernel lock on the file
/// `folder`/.lock: another job that saves there is refused before it changes anything. The lock ends with the
/// job, whatever ends the job. Loading needs no lock.
/// Errors, the same on all processes: `unavailable` if the disk is full or the system refuses otherwise;
/// `usage_error` if another job saves in the folder, if the folder holds a later step, which belongs to
/// another run, or if it holds a finite checkpoint of the same step and this one is not finite;
/// `software_error` if two parameters have one name.
template<class First, class... Rest, class Optimizer>
void save(parameter_list<First, Rest...> const& list, Optimizer const& opt, training_position const& position,
          std::string const& folder, checkpoint_options const& options = {}) {
  detail::save_step(list, opt, position, folder, options);
}

/// The same with the program's settings. The metadata then say each as "setting.NAME", the mesh, the layout's
/// name, and the names of each array's dimensions, for `load`, for `describe` and for a reader of the file.
///
///     meshtf::save(parameters(net), opt, {.step = step}, chosen, "run1");
template<class First, class... Rest, class Optimizer, Settings S>
void save(parameter_list<First, Rest...> const& list, Optimizer const& opt, training_position const& position,
          S const& settings, std::string const& folder, checkpoint_options const& options = {}) {
  detail::save_step(list, opt, position, folder, options, detail::described_program(list, settings));
}

/// The same for a program that has no optimizer, or one without state of its own.
template<class First, class... Rest>
void save(parameter_list<First, Rest...> const& list, training_position const& position,
          std::string const& folder, checkpoint_options const& options = {}) {
  save(list, detail::no_optimizer{}, position, folder, options);
}

/// Saves parameters alone as the safetensors file `path`. An existing file of this name is replaced only when
/// the new one is complete.
template<class First, class... Rest>
void save(parameter_list<First, Rest...> const& list, std::string const& path) {
  training_position const* const none = nullptr;
  detail::save_to(list, detail::no_optimizer{}, none, path);
}

/// Saves parameters alone as Hugging Face's programs keep models: `folder`/model-00001-of-00002.safetensors
/// ... with at most `options.max_bytes` of arrays each, or one array that has more, and
/// `folder`/model.safetensors.index.json, which says which array is in which. If one file is enough, it is
/// `folder`/model.safetensors, and there is no index.
///
///     meshtf::save(parameters(net), "net", meshtf::several_files{});
///
/// The folder gets its name when all of it is on disk. If it is there already, the new model takes the place
/// of the earlier one in one step, and the folder's other files stay. Process 0 writes, and needs memory for
/// one whole array.
/// Errors, the same on all processes: `unavailable` if the disk is full or the system refuses otherwise, as
/// where the folder has folders in it or is a mount point; `usage_error` if it has checkpoints of training.
/// Source: https://huggingface.co/docs/huggingface_hub/package_reference/serialization.
template<class First, class... Rest>
void save(parameter_list<First, Rest...> const& list, std::string const& folder,
          several_files const& options) {
  detail::save_several(list, folder, options);
}

/// Loads what `save` has saved: the newest checkpoint if `path` is a folder, or the file `path`. Returns the
/// position of training.
///
/// Every process calls it. The layout, the number of processes and `shard_state` of the optimizer may have
/// changed since: each process takes its part. Under the same layout training continues with the same bits.
/// Settings of the optimizer (its rate ...) are the program's and do not change. Of a file only process 0
/// reads; it hands one array at a time to all. Of a checkpoint in parts each process reads what it needs. A
/// folder may have both; `path` may be one step's folder of parts, too.
///
/// All names, shapes and element types, and the checksum of the file, are checked before anything is changed.
/// Without zlib no checksum is written or compared: a damaged header is found, damaged elements are not.
/// Errors, the same on all processes: `no_input` if there is no checkpoint or it can't be read; `data_error`
/// if the file is damaged, of another kind, or from another model: the message names all arrays that are
/// missing, unexpected, or of another shape or element type. The newest checkpoint is never skipped silently:
/// if it is damaged or can't be read, process 0 says so in one line on stderr, and the one before it is
/// loaded. If `path` names it, or none is before it, that is an error.
template<class First, class... Rest, class Optimizer>
training_position load(parameter_list<First, Rest...> const& list, Optimizer& opt, std::string const& path) {
  return detail::load_from(list, opt, path);
}

/// The same for a program with settings. Process 0 says those that differ from the checkpoint's, a line each
/// on stderr: to go on with another rate is normal. A checkpoint that was saved without settings has none to
/// compare.
/// Errors: as those above; `usage_error` if a setting that `must_match` differs. Nothing is changed then.
template<class First, class... Rest, class Optimizer, Settings S>
training_position load(parameter_list<First, Rest...> const& list, Optimizer& opt, std::string const& path,
                       S settings) {
  return detail::load_from(list, opt, path, detail::check_of_settings(settings));
}

/// Loads parameters alone, from a checkpoint or from any safetensors file that holds exactly their names.
/// `path` may also be the index of several files (its name ends in .safetensors.index.json), or a folder that
/// has one, or the file model.safetensors, and no checkpoints: then each process reads what it needs of the
/// files. If the file has no position, the position is 0.
/// Errors: as those above; `data_error` too if a file of the index is missing, if an array is in two files or
/// in none, or if `total_size` is not the sum of the arrays' bytes.
template<class First, class... Rest>
training_position load(parameter_list<First, Rest...> const& list, std::string const& path) {
  detail::no_optimizer none;
  return detail::load_from(list, none, path);
}

/// Loads parameters from a file of another program, whose arrays have other names: `renamed` has the names
/// there and here. An array that it doesn't mention keeps its name, and one that it gives the name "" is left
/// out.
///
///     meshtf::load(parameters(net), "theirs.safetensors",
///                  {{"fc1.weight", "hidden.weight"}, {"fc1.num_batches_tracked", ""}});
///
/// Shapes must be those of the parameters: `docs/from_pytorch_and_jax.md` says, for each layer, PyTorch's
/// names and what is transposed.
/// Errors: as those of `load(parameters, path)`; `data_error` too if the file lacks a name of `renamed`, or
/// if two arrays get one name.
template<class First, class... Rest>
training_position load(parameter_list<First, Rest...> const& list, std::string const& path,
                       std::map<std::string, std::string> const& renamed) {
  return detail::load_renamed(list, path, [&renamed](auto& file) { detail::rename_arrays(file, renamed); });
}

/// The same where names follow a rule: the array `name` in the file is `new_name(name)` here. Only process 0
/// calls it.
///
///     meshtf::load(parameters(net), path, [](std::string const& name) {
///       return name.starts_with("model.") ? name.substr(6) : std::string{};
///     });
template<class First, class... Rest, class Rename>
  requires std::is_invocable_r_v<std::string, Rename const&, std::string const&>
training_position load(parameter_list<First, Rest...> const& list, std::string const& path,
                       Rename const& new_name) {
  return detail::load_renamed(list, path, [&new_name](auto& file) {
    file.rename_arrays([&new_name](std::string const& name) { return std::string{new_name(name)}; });
  });
}

}  // namespace v0
}  // namespace meshtf
