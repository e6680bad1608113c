// Whether a file holds what a program wants to load.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/io/checkpoint_folder.hpp>
#include <meshtf/io/kept_arrays.hpp>
#include <meshtf/io/safetensors.hpp>
#include <meshtf/tensor/parameters.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <cstddef>
#include <tuple>
#endif

#if MESHTF_WITH_JANSSON

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Its arrays are not all of the shape of their parameter.
template<class Optimizer>
concept HasShapesOfItsOwn = Optimizer::has_shapes_of_its_own;

/// Files of older versions, or of other settings, may lack some of its numbers. These then are 0 if the file
/// holds arrays of the optimizer, else 1.
template<class Optimizer>
concept MayLackNumbers = requires(char const* name) { Optimizer::may_lack(name); };

/// What process 0 tells the others about a file: the position, the optimizer's numbers, and which parameters
/// have optimizer arrays in it.
struct checkpoint_contents {
  training_position position;
  std::vector<double> numbers;
  std::vector<std::int32_t> kept;
};

/// The least and the greatest value that a number of an optimizer can have: any finite value if the optimizer
/// sets no range.
template<class Optimizer>
constexpr std::pair<double, double> numbers_of() {
  if constexpr (requires { Optimizer::number_range; }) return Optimizer::number_range;
  else return {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};
}

/// Compares the contents of a file with what is to be loaded.
class checkpoint_check {
public:
  checkpoint_check(std::string const& path, safetensors_header const& header)
      : path_{path}, header_{header} {}

  /// The metadata of this key, which must be a number.
  std::uint64_t whole_number(std::string const& key) const;
  /// The identity of the training, 0 if it had no log.
  std::uint64_t run() const;
  /// One of the optimizer's numbers, which must lie between `min_value` and `max_value`; NaN does not.
  double number(std::string const& key, double min_value, double max_value) const;
  bool has(std::string const& key) const { return header_.metadata.contains(key); }
  std::string text(std::string const& key) const;

  void format(bool of_training) const;
  void optimizer(std::string const& expected) const;

  bool holds(std::string const& name) const { return header_.arrays.contains(name); }
  /// Whether there is any array of an optimizer.
  bool holds_state() const;
  /// Notes that this array is to be loaded, and whether the file has it so.
  void expects(std::string const& name, safetensors_array const& expected);
  /// Throws if the file lacks arrays, has them of other shapes or types, or holds some that nobody expects,
  /// the optimizer's included if `all`. One message names all of them.
  void finish(bool all);

  static constexpr char const* other =
      "it is no checkpoint of training; load(parameters, path) takes the parameters of any safetensors file";

private:
  template<class Number>
  Number parsed_as(std::string const& key) const;
  /// PyTorch keeps the weight of a linear layer as outputs x inputs, and other programs choose other orders.
  static std::string remedy_for_shape(std::vector<extent> const& found, std::vector<extent> const& expected);

  struct named_array {
    std::string name;
    safetensors_array array;
  };
  /// "'w', F32 [6, 16]; 'b', F32 [16]"
  static std::string spelled_list(std::vector<named_array> const& arrays);
  /// Unexpected arrays that have the size and almost the name of a missing one: their name there, and here.
  std::vector<std::pair<std::string, std::string>> guesses(std::vector<named_array> const& surplus) const;
  /// What to do if names differ.
  std::string remedy_for_names(std::vector<named_array> const& surplus) const;

  std::string const& path_;
  safetensors_header const& header_;
  std::vector<std::string> names_;
  std::vector<named_array> missing_;
  std::vector<std::string> others_;  // messages about arrays of another shape or type
};

#if MESHTF_DEFINES_RUNTIME

template<class Number>
Number checkpoint_check::parsed_as(std::string const& key) const {
  auto const text = header_.metadata.find(key);
  if (text == header_.metadata.end())
    throw data_error("expected the metadata of " + path_ + " to have '" + key + "', got none: " + other);
  auto const found = parsed<Number>(text->second);
  if (!found)
    throw data_error("expected the metadata of " + path_ + " to have a number as '" + key + "', got '" +
                     spelled_text(text->second) + "': " + other);
  return *found;
}

MESHTF_DEFINE std::uint64_t checkpoint_check::whole_number(std::string const& key) const {
  return parsed_as<std::uint64_t>(key);
}

MESHTF_DEFINE std::uint64_t checkpoint_check::run() const {
  auto const run = parsed_run(text(run_key));
  if (has(run_key) && !run)
    throw data_error("expected 16 digits as '" + std::string{run_key} + "' in the metadata of " + path_ +
                     ", got '" + spelled_text(text(run_key)) + "': take another copy of it");
  return run.value_or(0);
}

MESHTF_DEFINE double checkpoint_check::number(std::string const& key, double min_value,
                                              double max_value) const {
  auto const x = parsed_as<double>(key);
  if (!(min_value <= x && x <= max_value))
    throw data_error("expected the metadata of " + path_ + " to have a number from " +
                     spelled_number(min_value) + " to " + spelled_number(max_value) + " as '" + key +
                     "', got '" + spelled_text(text(key)) +
                     "': the file is damaged, take another checkpoint or another copy of it");
  return x;
}

MESHTF_DEFINE std::string checkpoint_check::text(std::string const& key) const {
  auto const found = header_.metadata.find(key);
  return found == header_.metadata.end() ? "" : found->second;
}

MESHTF_DEFINE bool checkpoint_check::holds_state() const {
  return std::any_of(header_.arrays.begin(), header_.arrays.end(),
                     [](auto const& array) { return array.first.starts_with(optimizer_prefix); });
}

MESHTF_DEFINE void checkpoint_check::format(bool of_training) const {
  std::string const format = text("format");
  bool const ours          = format.starts_with(our_format);
  if (format != checkpoint_format && (of_training || ours))
    throw data_error("expected the metadata of " + path_ + " to have the format '" +
                     std::string{checkpoint_format} + "', got '" + spelled_text(format) +
                     "': " + (ours ? "load it with the version that saved it" : other));
}

MESHTF_DEFINE void checkpoint_check::optimizer(std::string const& expected) const {
  if (std::string const found = text("optimizer"); found != expected)
    throw data_error("expected " + path_ + " to hold the state of the optimizer " + expected + ", got " +
                     (found.empty() ? "none" : "that of " + spelled_text(found)) +
                     ": load(parameters, path) takes the parameters alone");
}

/// The most arrays that one message lists of a kind.
inline constexpr std::size_t max_listed = 100;

MESHTF_DEFINE void checkpoint_check::expects(std::string const& name, safetensors_array const& expected) {
  names_.push_back(name);
  if (!holds(name)) {
    missing_.push_back({name, expected});
    return;
  }
  auto const& found = header_.arrays.at(name);
  if (found.extents != expected.extents || found.type != expected.type)
    others_.push_back(
        "'" + name + "' in " + path_ + " to be " + spelled_array(expected) + ", got " + spelled_array(found) +
        (found.extents != expected.extents ? ": " + remedy_for_shape(found.extents, expected.extents)
                                           : ": make the parameters of that type, or convert the file"));
}

MESHTF_DEFINE std::string checkpoint_check::spelled_list(std::vector<named_array> const& arrays) {
  std::string text;
  for (std::size_t i = 0; i < std::min(arrays.size(), max_listed); ++i)
    text +=
        (text.empty() ? "'" : "; '") + spelled_text(arrays[i].name) + "', " + spelled_array(arrays[i].array);
  if (arrays.size() > max_listed) text += "; and " + std::to_string(arrays.size() - max_listed) + " more";
  return text;
}

/// How many characters two names share at their beginnings and ends.
MESHTF_DEFINE std::size_t shared_letters(std::string const& a, std::string const& b) {
  auto const shortest = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  auto const begin    = std::mismatch(a.begin(), a.begin() + shortest, b.begin()).first - a.begin();
  auto const end = std::mismatch(a.rbegin(), a.rbegin() + (shortest - begin), b.rbegin()).first - a.rbegin();
  return static_cast<std::size_t>(begin + end);
}

MESHTF_DEFINE std::vector<std::pair<std::string, std::string>> checkpoint_check::guesses(
    std::vector<named_array> const& surplus) const {
  std::vector<std::pair<std::string, std::string>> found;
  // it compares each with each
  if (missing_.size() > max_listed || surplus.size() > max_listed) return found;
  for (auto const& [name, array] : missing_) {
    named_array const* best = nullptr;
    std::size_t max_value   = 0;
    for (auto const& candidate : surplus) {
      auto const& n            = array.extents;
      auto const& there        = candidate.array.extents;
      std::size_t const shared = shared_letters(name, candidate.name);
      bool const may_be        = 3 * shared >= std::max(name.size(), candidate.name.size()) &&
                          std::is_permutation(n.begin(), n.end(), there.begin(), there.end());
      if (!may_be || shared < max_value) continue;
      best      = shared > max_value ? &candidate : nullptr;  // two that are as likely are no guess
      max_value = shared;
    }
    if (best != nullptr) found.emplace_back(spelled_text(best->name), name);
  }
  return found;
}

MESHTF_DEFINE std::string checkpoint_check::remedy_for_names(std::vector<named_array> const& surplus) const {
  if (is_ours(header_))
    return ": load it into the model that it was saved from, or give the parameters the names that they had";
  std::string said;
  auto const likely = guesses(surplus);
  for (auto const& [there, here] : likely)
    said += (said.empty() ? " (perhaps '" : ", '") + there + "' is '" + here + "'";
  if (!said.empty()) said += ")";
  std::string there = "name there";
  std::string here  = "name here";
  if (!likely.empty()) std::tie(there, here) = likely.front();
  else if (missing_.empty()) {
    there = spelled_text(surplus.front().name);
    here  = "";
  }
  return said +
         ": another program wrote the file: rename its arrays there, or here: load(parameters, path, {{\"" +
         there + "\", \"" + here + "\"}, ...)" + (here.empty() ? ", where \"\" leaves an array out" : "") +
         "; print_names(parameters) shows the model's names, and docs/from_pytorch_and_jax.md has "
         "PyTorch's beside those of each layer";
}

MESHTF_DEFINE void checkpoint_check::finish(bool all) {
  std::sort(names_.begin(), names_.end());
  std::vector<named_array> surplus;
  for (auto const& [name, array] : header_.arrays)
    if ((all || !name.starts_with(optimizer_prefix)) &&
        !std::binary_search(names_.begin(), names_.end(), name))
      surplus.push_back({name, array});
  std::string text;
  if (!missing_.empty())
    text = "expected " + spelled_list(missing_) + ", in " + path_ +
           (missing_.size() == 1 ? ", got no array of that name" : ", got no arrays of these names") +
           (surplus.empty() ? "" : " but " + spelled_list(surplus) + ", which this model has not") +
           remedy_for_names(surplus);
  else if (!surplus.empty())
    text = "expected nothing in " + path_ + " but what this model has, got " + spelled_list(surplus) +
           remedy_for_names(surplus);
  for (std::size_t i = 0; i < std::min(others_.size(), max_listed); ++i)
    text += (text.empty() ? "expected " : "; expected ") + others_[i];
  if (others_.size() > max_listed)
    text += "; and so " + std::to_string(others_.size() - max_listed) + " more";
  if (!text.empty()) throw data_error(text);
}

MESHTF_DEFINE std::string checkpoint_check::remedy_for_shape(std::vector<extent> const& found,
                                                             std::vector<extent> const& expected) {
  if (!std::is_permutation(found.begin(), found.end(), expected.begin(), expected.end()))
    return "make the model of the sizes that it was saved with";
  if (found.size() == 2)
    return "it is the transpose: save weight.T.contiguous() in PyTorch, or name the dimensions in the "
           "order of the file";
  // of equal sizes, the first that is left: if there are two, only the author of the file knows the order
  std::vector<std::size_t> order;
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

#endif

/// An array that an optimizer keeps of a parameter.
struct expected_state {
  char const* what;
  safetensors_array array;
};

/// What an optimizer keeps of each parameter, by the number of the parameter; empty if these are all its
/// arrays, of the parameter's shape.
template<class List, class Optimizer>
std::vector<std::vector<expected_state>> states_expected([[maybe_unused]] List const& list,
                                                         [[maybe_unused]] Optimizer const& opt) {
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
checkpoint_contents checked_contents(std::string const& path, safetensors_header const& header,
                                     kept_arrays<M> const& parameters, Optimizer const& opt,
                                     std::vector<std::vector<expected_state>> const& states) {
  constexpr bool of_training = *Optimizer::kind != '\0';
  checkpoint_check check{path, header};
  checkpoint_contents contents;
  check.format(of_training);
  if (of_training || (is_ours(header) && check.has("step")))
    contents.position = {.step       = check.whole_number("step"),
                         .seed       = check.whole_number("seed"),
                         .run        = check.run(),
                         .vocabulary = check.has("vocabulary") ? check.whole_number("vocabulary") : 0};
  if (of_training) check.optimizer(Optimizer::kind);
  auto const [min_value, max_value] = numbers_of<Optimizer>();
  Optimizer::for_each_number(opt, [&](char const* name, double) {
    std::string const key = std::string{optimizer_prefix} + name;
    bool may_lack         = false;
    if constexpr (MayLackNumbers<Optimizer>) may_lack = Optimizer::may_lack(name);
    if (may_lack && !check.has(key)) contents.numbers.push_back(check.holds_state() ? 0 : 1);
    else contents.numbers.push_back(check.number(key, min_value, max_value));
  });

  contents.kept.resize(parameters.parameters);
  parameters.for_each([&](auto const& array) {
    check.expects(array.name, array.described());
    bool kept = false;  // all arrays of the optimizer, or none
    for (char const* const what : Optimizer::array_names)
      kept = check.holds(state_name(what, array.name)) || kept;
    contents.kept[array.parameter] = kept ? 1 : 0;
    if (!kept) return;
    if constexpr (HasShapesOfItsOwn<Optimizer>)
      for (auto const& state : states[array.parameter])
        check.expects(state_name(state.what, array.name), state.array);
    else
      for (char const* const what : Optimizer::array_names)
        check.expects(state_name(what, array.name), array.described());
  });
  check.finish(of_training);
  return contents;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf

#endif
