// Checkpoints: save(parameters, optimizer, position, folder) and load, under any layout and on any number of processes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <meshtf/core/elements.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/io/checkpoint_folder.hpp>
#include <meshtf/io/kept_arrays.hpp>
#include <meshtf/io/safetensors_reader.hpp>
#include <meshtf/io/safetensors_writer.hpp>
#include <meshtf/optim/sgd.hpp>
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Used where there is no optimizer: like SGD, it keeps no state.
struct no_optimizer : sgd {
  static constexpr char const* kind = "";
};

template<class Optimizer>
concept KeptInCheckpoints = requires {
  Optimizer::kind;
  Optimizer::array_names;
};

/// Its arrays are not all of the shape of their parameter.
template<class Optimizer>
concept HasShapesOfItsOwn = Optimizer::has_shapes_of_its_own;

#if MESHTF_WITH_JANSSON

// ---- saving

/// All elements of an array on process 0, in the order of the whole; nothing on the others, which hand over their parts.
template<class T, class M>
elements<T> gathered(process_mesh<M>& m, kept_array<T, M> const& array) {
  elements<T> whole;
  if (m.rank() == 0) {
    extent size = 1;
    for (placed const& d : array.dims) size *= d.size;
    whole = elements<T>{static_cast<std::size_t>(size)};
  }
  constexpr auto sizes = axis_sizes<M>;
  axis_set const over  = array.over | array.parts.over;
  m.gather_on_first(static_cast<T const*>(array.data->data()), array.parts.part(), over, [&](extent rank, extent first, T const* x, extent n) {
    std::array<extent, max_axes> at{};  // ranks along a set of axes are row-major in the mesh's order
    for (std::size_t a = max_axes; a-- > 0;)
      if ((over >> a & 1) != 0) at[a] = rank % sizes[a], rank /= sizes[a];
    for_each_kept_run(array, {at, sizes}, [&](extent kept, extent to, extent run) {  // x are the elements [first, first + n)
      extent const from = std::max(kept, first), until = std::min(kept + run, first + n);
      if (from < until) std::copy_n(x + (from - first), until - from, whole.data() + to + (from - kept));
    });
  });
  return whole;
}

/// Writes one line to stderr, in one write.
inline void say(std::string const& text) {
  std::string const line = "meshtf: " + text + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// Whether a file is a checkpoint that is not marked as not finite; false if its header can't be read.
inline bool is_finite_checkpoint(std::string const& path, std::uint64_t longest) {
  try {
    return !safetensors_reader{path, "", longest}.header().metadata.contains(not_finite_key);
  } catch (error const&) {
    return false;
  }
}

/// The name of the file for a position in `folder`. A checkpoint that is not finite does not replace one that is.
template<class IsFinite>
std::string room_for_position(std::string const& folder, training_position const& position, std::string const& bad, IsFinite const& is_finite) {
  return room_for_checkpoint(folder, position.step, [&](std::string const& path) {
    if (!bad.empty() && is_finite(path))
      throw usage_error("expected what replaces " + path + " to be finite as it is, got '" + bad +
                        "', which holds what is not: save to another folder, or delete the file first");
  });
}

/// Removes the checkpoints that this one makes superfluous, and reports if this one is not finite.
template<class IsFinite>
void make_room_again(std::string const& folder, training_position const& position, std::string const& bad, IsFinite const& is_finite) {
  if (bad.empty()) {
    remove_old_checkpoints(folder, [](std::string const&) { return true; });
    return;
  }
  std::string const sound = remove_old_checkpoints(folder, is_finite);
  say("saved " + folder + "/" + checkpoint_name(position.step) + ", in which '" + bad + "' is not finite: " +
      (sound.empty() ? "no other checkpoint in the folder is" : sound + " is the newest that is, and stays; to go on from it delete those after it"));
}

/// Process 0 writes the file that `where(bad)` names, and calls `done(bad)` at the end; `bad` is the name of the first array that is not finite. The
/// other processes hand over their parts, even if process 0 fails.
template<class M, class Where, class Done>
void write_checkpoint(process_mesh<M>& m, kept_arrays<M> const& arrays, std::vector<std::pair<std::string, std::string>> about, Where const& where,
                      Done const& done) {
  bool const first = m.rank() == 0;
  check_names(arrays);
  std::string const bad = not_finite_in(m, arrays);
  if (!bad.empty()) about.emplace_back(not_finite_key, bad);
  std::vector<std::pair<std::string, safetensors_array>> described;
  arrays.for_each([&](auto const& array) { described.emplace_back(array.name, array.described()); });
  std::optional<safetensors_writer> file;
  agreed(m.world(), [&] {
    if (first) file.emplace(where(bad), about, described);
  });
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
    auto const whole = gathered(m, array);
    unless_failed([&] { file->write(whole.data(), whole.size() * sizeof(T)); });
  });
  unless_failed([&] {
    file->commit();
    done(bad);
  });
  agree(m.world(), caught);
}

// ---- loading

/// What process 0 tells the others about a file: the position, the optimizer's numbers, and which parameters have optimizer arrays in it.
struct checkpoint_contents {
  training_position position;
  std::vector<double> numbers;
  std::vector<std::int32_t> kept;
};

/// The least and the greatest value that a number of an optimizer can have: any finite value if the optimizer sets no range.
template<class Optimizer>
constexpr std::pair<double, double> numbers_of() {
  if constexpr (requires { Optimizer::number_range; }) return Optimizer::number_range;
  else return {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};
}

/// Compares the contents of a file with what is to be loaded.
class checkpoint_check {
public:
  explicit checkpoint_check(safetensors_reader const& file) : path_{file.path()}, header_{file.header()} {}

  template<class Number>
  Number number(std::string const& key) const {
    auto const text = header_.metadata.find(key);
    if (text == header_.metadata.end()) throw data_error("expected the metadata of " + path_ + " to have '" + key + "', got none: " + other);
    auto const found = parsed<Number>(text->second);
    if (!found)
      throw data_error("expected the metadata of " + path_ + " to have a number as '" + key + "', got '" + spelled_text(text->second) +
                       "': " + other);
    return *found;
  }
  /// One of the optimizer's numbers, which must lie between `least` and `most`; NaN does not.
  double number(std::string const& key, double least, double most) const {
    auto const x = number<double>(key);
    if (!(least <= x && x <= most))
      throw data_error("expected the metadata of " + path_ + " to have a number from " + spelled_number(least) + " to " + spelled_number(most) +
                       " as '" + key + "', got '" + spelled_text(text(key)) +
                       "': the file is damaged, take another checkpoint or another copy of it");
    return x;
  }
  bool has(std::string const& key) const { return header_.metadata.contains(key); }
  std::string text(std::string const& key) const {
    auto const found = header_.metadata.find(key);
    return found == header_.metadata.end() ? "" : found->second;
  }

  void format(bool of_training) const {
    std::string const format = text("format");
    bool const ours          = format.starts_with(our_format);
    if (format != checkpoint_format && (of_training || ours))
      throw data_error("expected the metadata of " + path_ + " to have the format '" + std::string{checkpoint_format} + "', got '" +
                       spelled_text(format) + "': " + (ours ? "load it with the version that saved it" : other));
  }
  void optimizer(std::string const& expected) const {
    if (std::string const found = text("optimizer"); found != expected)
      throw data_error("expected " + path_ + " to hold the state of the optimizer " + expected + ", got " +
                       (found.empty() ? "none" : "that of " + spelled_text(found)) + ": load(parameters, path) takes the parameters alone");
  }

  bool holds(std::string const& name) const { return header_.arrays.contains(name); }
  /// Throws if the array is in the file but is not the expected one.
  void expects(std::string const& name, safetensors_array const& expected) {
    names_.push_back(name);
    if (!holds(name)) {
      if (missing_.empty()) missing_ = "'" + name + "', " + spelled_array(expected);
      return;
    }
    auto const& found = header_.arrays.at(name);
    if (found.extents != expected.extents || found.type != expected.type)
      throw data_error("expected '" + name + "' in " + path_ + " to be " + spelled_array(expected) + ", got " + spelled_array(found) +
                       (found.extents != expected.extents ? ": " + remedy_for_shape(found.extents, expected.extents)
                                                          : ": make the parameters of that type, or convert the file"));
  }
  /// Throws if an expected array is missing, or if the file holds one that nobody expects; the optimizer's arrays are included if `all`.
  void finish(bool all) {
    std::sort(names_.begin(), names_.end());
    std::string surplus;
    for (auto const& [name, array] : header_.arrays)
      if (surplus.empty() && (all || !name.starts_with(optimizer_prefix)) && !std::binary_search(names_.begin(), names_.end(), name))
        surplus = "'" + spelled_text(name) + "', " + spelled_array(array);
    std::string const remedy = ": load it into the model that it was saved from, or give the parameters the names that they had";
    if (!missing_.empty())
      throw data_error("expected " + missing_ + ", in " + path_ + ", got no array of that name" +
                       (surplus.empty() ? "" : " but " + surplus + ", which this model has not") + remedy);
    if (!surplus.empty()) throw data_error("expected nothing in " + path_ + " but what this model has, got " + surplus + remedy);
  }

  static constexpr char const* other = "it is no checkpoint of training; load(parameters, path) takes the parameters of any safetensors file";

private:
  /// PyTorch keeps the weight of a linear layer as outputs x inputs, and other programs choose other orders.
  static std::string remedy_for_shape(std::vector<extent> const& found, std::vector<extent> const& expected) {
    if (!std::is_permutation(found.begin(), found.end(), expected.begin(), expected.end()))
      return "make the model of the sizes that it was saved with";
    if (found.size() == 2) return "it is the transpose: save weight.T.contiguous() in PyTorch, or name the dimensions in the order of the file";
    std::vector<std::size_t> order;  // of equal sizes, the first that is left: if there are two, only the author of the file knows the order
    for (extent n : expected)
      for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i] == n && std::find(order.begin(), order.end(), i) == order.end()) {
          order.push_back(i);
          break;
        }
    std::string list;
    for (std::size_t i : order) list += (list.empty() ? "" : ", ") + std::to_string(i);
    return "its dimensions are in another order: save weight.permute(" + list +
           ").contiguous() in PyTorch, or name the dimensions in the order of the file";
  }

  std::string const& path_;
  safetensors_header const& header_;
  std::vector<std::string> names_;
  std::string missing_;
};

/// An array that an optimizer keeps of a parameter.
struct expected_state {
  char const* what;
  safetensors_array array;
};

/// What an optimizer keeps of each parameter, by the number of the parameter; empty if these are all its arrays, of the parameter's shape.
template<class List, class Optimizer>
std::vector<std::vector<expected_state>> states_expected([[maybe_unused]] List const& list, [[maybe_unused]] Optimizer const& opt) {
  std::vector<std::vector<expected_state>> all;
  if constexpr (HasShapesOfItsOwn<Optimizer>)
    list.for_each_tensor([&]<class W>(W& w) {
      auto& of_one = all.emplace_back();
      if constexpr (Parameter<W>)
        opt.for_each_shape(w, [&of_one]<class... D>(char const* what, shape<D...>) {
          safetensors_array array;
          array.type    = safetensors_type(element_of<typename W::element_type>);
          array.extents = {D::size...};
          of_one.push_back({what, std::move(array)});
        });
    });
  return all;
}

template<class Optimizer, class M>
checkpoint_contents checked_contents(safetensors_reader const& file, kept_arrays<M> const& parameters, Optimizer const& opt,
                                     std::vector<std::vector<expected_state>> const& states) {
  constexpr bool of_training = *Optimizer::kind != '\0';
  checkpoint_check check{file};
  checkpoint_contents contents;
  check.format(of_training);
  if (of_training || check.has("step")) contents.position = {check.number<std::uint64_t>("step"), check.number<std::uint64_t>("seed")};
  if (of_training) check.optimizer(Optimizer::kind);
  auto const [least, most] = numbers_of<Optimizer>();
  Optimizer::for_each_number(
      opt, [&](char const* name, double) { contents.numbers.push_back(check.number(std::string{optimizer_prefix} + name, least, most)); });

  contents.kept.resize(parameters.parameters);
  parameters.for_each([&](auto const& array) {
    check.expects(array.name, array.described());
    bool kept = false;  // all arrays of the optimizer, or none
    for (char const* const what : Optimizer::array_names) kept = check.holds(state_name(what, array.name)) || kept;
    contents.kept[array.parameter] = kept ? 1 : 0;
    if (!kept) return;
    if constexpr (HasShapesOfItsOwn<Optimizer>)
      for (auto const& state : states[array.parameter]) check.expects(state_name(state.what, array.name), state.array);
    else
      for (char const* const what : Optimizer::array_names) check.expects(state_name(what, array.name), array.described());
  });
  check.finish(of_training);
  return contents;
}

/// Older versions prefixed the names of a model that was saved alone with its number in the list: "0.bias" and "optimizer.first.0.bias". The prefix
/// is dropped if the file names these parameters so.
template<class M>
void drop_number_of_only_model(safetensors_reader& file, kept_arrays<M> const& parameters) {
  constexpr std::string_view number = "0.";
  bool numbered                     = true;
  parameters.for_each([&](auto const& array) {
    auto const& there = file.header().arrays;
    numbered          = numbered && !there.contains(array.name) && there.contains(std::string{number} + array.name);
  });
  if (!numbered) return;
  file.rename_arrays([&](std::string name) {
    std::size_t const at = name.starts_with(optimizer_prefix) ? name.find('.', optimizer_prefix.size()) + 1 : 0;
    return name.compare(at, number.size(), number) == 0 ? name.erase(at, number.size()) : name;
  });
}

/// Copies this process's part of the array whose elements are `whole`.
template<class T, class M>
void take_from_whole(process_mesh<M>& m, T const* whole, kept_array<T, M> const& array) {
  array.data->written();
  T* const part = array.data->data();
  if (array.parts.is_padded()) std::fill_n(part, array.parts.part(), T{});
  for_each_kept_run(array, m.place(), [&](extent at, extent from, extent n) { std::copy_n(whole + from, n, part + at); });
}

/// Sends the values of process 0 to all.
template<class Values>
void tell_all(boost::mpi::communicator const& world, Values& values) {
  meshtf::broadcast(world, values.data(), static_cast<extent>(values.size()), 0);
}

template<class M>
void read_arrays(process_mesh<M>& m, kept_arrays<M> const& arrays, std::vector<std::int32_t> const& kept, safetensors_reader const* file) {
  std::exception_ptr caught;
  arrays.for_each([&]<class T>(kept_array<T, M> const& array) {
    if (array.what != nullptr && kept[array.parameter] == 0) {  // the parameter had no gradient yet when it was saved
      std::fill_n(array.data->data(), array.parts.part(), T{});
      return;
    }
    extent size = 1;
    for (placed const& d : array.dims) size *= d.size;
    elements<T> whole(static_cast<std::size_t>(size));
    if (file != nullptr && !caught) {
      try {
        file->read(file->header().arrays.at(array.name), whole.data());
      } catch (...) {
        caught = std::current_exception();
      }
    }
    tell_all(m.world(), whole);
    take_from_whole(m, static_cast<T const*>(whole.data()), array);
  });
  agree(m.world(), caught);
}

/// Process 0 reads the file; the others receive what they need from it.
template<class List, class Optimizer>
training_position read_checkpoint(List const& list, Optimizer& opt, std::string const& path) {
  auto& m = machine_of(list, "a checkpoint");
  m.compare_call("load", path);
  auto const& world     = m.world();
  auto const parameters = arrays_of(list, no_optimizer{});
  check_names(parameters);
  auto const states = states_expected(list, opt);
  std::optional<safetensors_reader> file;
  checkpoint_contents contents;
  Optimizer::for_each_number(opt, [&](char const*, double) { contents.numbers.push_back(0); });
  contents.kept.resize(parameters.parameters);
  agreed(world, [&] {
    if (m.rank() != 0) return;
    auto const [name, remedy] = find_checkpoint(path);
    file.emplace(name, remedy, longest_header_of(parameters));
    drop_number_of_only_model(*file, parameters);
    contents = checked_contents(*file, parameters, opt, states);
    file->verify();  // first, so that a damaged file changes nothing
    if (auto const bad = file->header().metadata.find(not_finite_key); bad != file->header().metadata.end())
      say("loaded " + name + ", in which '" + spelled_text(bad->second) + "' is not finite: what goes on from it will not be either");
  });
  auto words = std::bit_cast<std::array<std::int32_t, sizeof(training_position) / sizeof(std::int32_t)>>(contents.position);
  tell_all(world, words);
  tell_all(world, contents.numbers);
  tell_all(world, contents.kept);

  std::size_t number = 0;
  list.for_each_tensor([&]<class W>(W& w) {
    [[maybe_unused]] bool const had_state = contents.kept[number++] != 0;
    if constexpr (Parameter<W>)
      if (had_state) opt.make_arrays(w);
  });
  read_arrays(m, arrays_of(list, opt), contents.kept, file ? &*file : nullptr);
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

// ---- saving and loading where there are parameters

template<class List, class Optimizer>
consteval bool can_be_kept() {
  static_assert(!is_dry<layout_of_list<List>>,
                "meshtf: parameters under a dry layout have no elements, so there is nothing to save and no place to load into");
  static_assert(KeptInCheckpoints<Optimizer>, "meshtf: this optimizer does not say what a checkpoint keeps of it: see the last members of adam");
  return !is_dry<layout_of_list<List>> && KeptInCheckpoints<Optimizer>;
}

/// With a position, saves it as a checkpoint in the folder `path`; without one, saves the file `path`.
template<class List, class Optimizer>
void save_to(List const& list, Optimizer const& opt, training_position const* position, std::string const& path) {
  if constexpr (can_be_kept<List, Optimizer>()) {
    auto& m = machine_of(list, "a checkpoint");
    m.compare_call("save", path);
    auto const arrays    = arrays_of(list, opt);
    auto const is_finite = [longest = longest_header_of(arrays)](std::string const& name) { return is_finite_checkpoint(name, longest); };
    write_checkpoint(
        m, arrays, about_checkpoint(opt, position),
        [&](std::string const& bad) { return position != nullptr ? room_for_position(path, *position, bad, is_finite) : path; },
        [&](std::string const& bad) {
          if (position != nullptr) make_room_again(path, *position, bad, is_finite);
          else if (!bad.empty()) say("saved " + path + ", in which '" + bad + "' is not finite");
        });
  }
}

template<class List, class Optimizer>
training_position load_from(List const& list, Optimizer& opt, std::string const& path) {
  if constexpr (can_be_kept<List, Optimizer>()) return read_checkpoint(list, opt, path);
  else return {};
}

#else

template<class... Arguments>
training_position save_to(Arguments const&...) {
  static_assert(sizeof...(Arguments) == 0,
                "meshtf: checkpoints need the library jansson: apt install libjansson-dev, and configure again; "
                "without CMake: -DMESHTF_WITH_JANSSON=1 -ljansson");
  return {};
}

template<class... Arguments>
training_position load_from(Arguments const&... arguments) {
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
/// Every process calls it, between two steps. Process 0 writes one safetensors file, `folder`/step-00000200.safetensors: the parameters
/// as whole arrays under their names in the list, the optimizer's arrays as "optimizer.first.NAME" ..., and, as metadata, the position
/// and the optimizer's numbers. The file does not depend on the layout. Arrays are gathered on process 0 one at a time; process 0 needs
/// memory for one whole array, the others need none.
///
/// The file gets its name when all of it is on disk, so a job that is killed, or a disk that fills up, leaves the earlier checkpoints
/// intact. After that, the two newest stay and older ones are removed: a folder is for one run, and needs space for three
/// checkpoints. A checkpoint of the same step is replaced.
///
/// If an array holds a value that is not finite (a NaN of one bad batch is in all arrays a step later), the file is still written,
/// process 0 says so in one line on stderr, and the metadata name the array as "not_finite". The newest finite checkpoint then stays
/// too, however many follow that are not finite.
///
/// From its first `save` until it ends, a job has the folder to itself, by a kernel lock on the file `folder`/.lock: another job that saves there is
/// refused before it changes anything. The lock ends with the job, whatever ends the job. Loading needs no lock.
/// Errors, the same on all processes: `unavailable` if the disk is full or the system refuses otherwise; `usage_error` if another job saves in the
/// folder, if the folder holds a later step, which belongs to another run, or if it holds a finite checkpoint of the same step and this one is not
/// finite; `software_error` if two parameters have one name.
template<class First, class... Rest, class Optimizer>
void save(parameter_list<First, Rest...> const& list, Optimizer const& opt, training_position const& position, std::string const& folder) {
  detail::save_to(list, opt, &position, folder);
}

/// The same for a program that has no optimizer, or one without state of its own.
template<class First, class... Rest>
void save(parameter_list<First, Rest...> const& list, training_position const& position, std::string const& folder) {
  detail::save_to(list, detail::no_optimizer{}, &position, folder);
}

/// Saves parameters alone as the safetensors file `path`. An existing file of this name is replaced only when the new one is complete.
template<class First, class... Rest>
void save(parameter_list<First, Rest...> const& list, std::string const& path) {
  training_position const* const none = nullptr;
  detail::save_to(list, detail::no_optimizer{}, none, path);
}

/// Loads what `save` has saved: the newest checkpoint if `path` is a folder, or the file `path`. Returns the position of training.
///
/// Every process calls it. The layout, the number of processes and `shard_state` of the optimizer may have changed since: each process takes its
/// part. Under the same layout training continues with the same bits. Settings of the optimizer (its rate ...) are the program's and do not change.
/// Only process 0 reads the file; it hands one array at a time to all.
///
/// All names, shapes and element types, and the checksum of the file, are checked before anything is changed. Without zlib no checksum is written or
/// compared: a damaged header is found, damaged elements are not.
/// Errors, the same on all processes: `no_input` if there is no checkpoint or it can't be read; `data_error` if the file is damaged, of another kind,
/// or from another model. The newest checkpoint is never skipped silently: to continue from the one before it, delete it.
template<class First, class... Rest, class Optimizer>
training_position load(parameter_list<First, Rest...> const& list, Optimizer& opt, std::string const& path) {
  return detail::load_from(list, opt, path);
}

/// Loads parameters alone, from a checkpoint or from any safetensors file that holds exactly their names.
/// If the file has no position, the position is 0.
template<class First, class... Rest>
training_position load(parameter_list<First, Rest...> const& list, std::string const& path) {
  detail::no_optimizer none;
  return detail::load_from(list, none, path);
}

}  // namespace v0
}  // namespace meshtf
