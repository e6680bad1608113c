// The contents of a checkpoint: the arrays of a program, its position, and the optimizer's numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/io/safetensors.hpp>
#include <meshtf/io/training_position.hpp>
#include <meshtf/optim/replica_parts.hpp>
#include <meshtf/optim/sgd.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/tensor/parameters.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <array>
#include <bit>
#include <charconv>
#include <type_traits>
#endif

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class List>
using layout_of_list = typename first_parameter<List>::type::layout_type;

/// Used where there is no optimizer: like SGD, it keeps no state.
struct no_optimizer : sgd {
  static constexpr char const* kind = "";
};

template<class Optimizer>
concept KeptInCheckpoints = requires {
  Optimizer::kind;
  Optimizer::array_names;
};

#if MESHTF_WITH_JANSSON

inline constexpr std::string_view checkpoint_format = "meshtf 1";
inline constexpr std::string_view optimizer_prefix  = "optimizer.";

/// The metadata key of a checkpoint that is not finite; its value is the name of the first array that is not.
inline constexpr char const* not_finite_key = "not_finite";

static_assert(checkpoint_format.starts_with(our_format));

/// The name of an optimizer's array that belongs to a parameter.
std::string state_name(char const* what, std::string const& parameter);

/// An array to save or load: a parameter, or an array that an optimizer keeps of one. Its shape is a value,
/// so code for it is compiled once for each mesh.
template<class T, class M>
struct kept_array {
  std::string name;
  std::span<placed const> dims;
  axis_set over;
  shared<storage<T, process_mesh<M>>, process_mesh<M>> data;
  replica_parts parts;    // `data` is this process's part
  std::size_t parameter;  // the parameter's number, or that of the parameter it belongs to
  char const* what;       // the optimizer's name for it; null for the parameter itself
  int stage = -1;         // whose processes have it; -1: all

  bool is_absent() const { return data->is_absent(); }

  safetensors_array described() const {
    safetensors_array array;
    array.type = safetensors_type(element_of<T>);
    for (placed const& d : dims) array.extents.push_back(d.size);
    return array;
  }
};

/// f(offset in the array, offset in the whole, length) for each run of elements that the process at `here`
/// holds of an array. Padding of the shard and of the last part is left out.
template<class T, class M, class F>
void for_each_kept_run(kept_array<T, M> const& array, place_in_mesh const& here, F const& f) {
  extent replica = 0;  // ranks along a set of axes are row-major in the mesh's order
  for (std::size_t a = 0; a < max_axes; ++a)
    if ((array.parts.over >> a & 1) != 0) replica = replica * here.sizes[a] + here.coordinates[a];
  extent const begin = array.parts.first(replica);
  extent const end   = begin + array.parts.local_extent(replica);
  for_each_run(array.dims, here, [&](extent local, extent global, extent run) {
    extent const from  = std::max(local, begin);
    extent const until = std::min(local + run, end);
    if (from < until) f(from - begin, global + (from - local), until - from);
  });
}

/// The arrays of a program. In a file, arrays with larger elements come first, so that each array begins at a
/// multiple of its element's size.
template<class M>
struct kept_arrays {
  template<class... T>
  using lists_of = std::tuple<std::vector<kept_array<T, M>>...>;

  lists_of<double, std::int64_t, float, std::int32_t, bfloat16, bool> lists;
  std::size_t parameters = 0;

  template<class F>
  void for_each(F const& f) const {
    std::apply(
        [&f](auto const&... list) {
          auto const all = [&f](auto const& arrays) {
            for (auto const& array : arrays) f(array);
          };
          (all(list), ...);
        },
        lists);
  }
  template<class T>
  void add(kept_array<T, M> array) {
    std::get<std::vector<kept_array<T, M>>>(lists).push_back(std::move(array));
  }
};

template<class List>
using mesh_of_list = typename layout_of_list<List>::mesh_type;

/// Under a layout with stages: an optimizer has made its arrays of a parameter only if the stage that has the
/// parameter says so. One all-reduce of a number for each parameter.
template<class M>
void keep_what_its_stage_has(process_mesh<M> const& m, kept_arrays<M>& arrays) {
  std::vector<std::int32_t> has(arrays.parameters);
  arrays.for_each([&has](auto const& array) {
    if (array.what != nullptr && !array.is_absent()) has[array.parameter] = 1;
  });
  meshtf::all_reduce(m.world(), reduction::max, has.data(), static_cast<extent>(has.size()));
  std::apply(
      [&has](auto&... list) {
        auto const drop = [&has](auto& of_type) {
          std::erase_if(of_type, [&has](auto const& array) {
            return array.what != nullptr && has[array.parameter] == 0;
          });
        };
        (drop(list), ...);
      },
      arrays.lists);
}

template<class List, class Optimizer>
kept_arrays<mesh_of_list<List>> kept_arrays_of(List const& list, Optimizer const& opt) {
  using mesh_type = mesh_of_list<List>;
  kept_arrays<mesh_type> arrays;
  list.for_each_named([&]<class W>(std::string const& name, W& w) {
    using T                            = typename W::element_type;
    using L                            = typename W::layout_type;
    std::span<placed const> const dims = placed_dims<L, typename W::shape_type>;
    constexpr axis_set over            = split_over<L, typename W::shape_type>;
    std::size_t const number           = arrays.parameters++;
    int const stage                    = w.handle()->stage();
    arrays.add(
        kept_array<T, mesh_type>{name, dims, over, w.handle(), {.size = w.size}, number, nullptr, stage});
    if constexpr (Parameter<W>)
      opt.for_each_array(
          w, [&]<class... S>(char const* what, auto const& data, replica_parts const& parts, S...) {
            if constexpr (sizeof...(S) == 0)
              arrays.add(kept_array<T, mesh_type>{state_name(what, name), dims, over, data, parts, number,
                                                  what, stage});
            else  // of a shape of its own
              (arrays.add(kept_array<T, mesh_type>{state_name(what, name), placed_dims<L, S>,
                                                   split_over<L, S>, data, parts, number, what, stage}),
               ...);
          });
  });
  if constexpr (is_staged<layout_of_list<List>>)
    if (auto* const m = machine_in(list); m != nullptr) keep_what_its_stage_has(*m, arrays);
  return arrays;
}

/// Refuses names of parameters that have another meaning in a file, and names that occur twice.
void check_names(std::vector<std::string> names);

template<class M>
void check_names(kept_arrays<M> const& arrays) {
  std::vector<std::string> names;
  arrays.for_each([&names](auto const& array) {
    if (array.what == nullptr) names.push_back(array.name);
  });
  check_names(std::move(names));
}

/// Whether all elements are finite. It tests their bits, so that it also works in a program compiled with
/// -ffast-math.
template<class T>
bool all_finite(T const* x, extent n);

/// The name of the first array of which any process holds an element that is not finite; empty if there is
/// none. One all-reduce of a number.
template<class M>
std::string not_finite_in(process_mesh<M>& m, kept_arrays<M> const& arrays) {
  std::vector<std::string const*> names;
  constexpr auto none = std::numeric_limits<std::int32_t>::max();
  std::int32_t first  = none;
  arrays.for_each([&](auto const& array) {
    bool finite = true;
    if (!array.is_absent())
      for_each_kept_run(array, m.place(), [&](extent at, extent, extent n) {
        finite = finite && all_finite(array.data->data() + at, n);
      });
    if (first == none && !finite) first = static_cast<std::int32_t>(names.size());
    names.push_back(&array.name);
  });
  meshtf::all_reduce(m.world(), reduction::min, &first, 1);
  return first == none ? "" : *names[static_cast<std::size_t>(first)];
}

/// The longest header accepted in a file of these parameters: 8 times their own entries, for optimizer arrays
/// and escaped names, plus 1 MiB for metadata that other programs write. So the size of the model bounds the
/// memory that a damaged header takes.
template<class M>
std::uint64_t longest_header_of(kept_arrays<M> const& parameters) {
  std::uint64_t bytes = 0;
  parameters.for_each(
      [&bytes](auto const& array) { bytes += 128 + array.name.size() + 24 * array.dims.size(); });
  return (std::uint64_t{1} << 20) + 8 * bytes;
}

/// In the fewest digits that give the same number back.
std::string spelled_number(double x);

template<class Optimizer>
std::vector<std::pair<std::string, std::string>> about_checkpoint(Optimizer const& opt,
                                                                  training_position const* position) {
  std::vector<std::pair<std::string, std::string>> about{{"format", std::string{checkpoint_format}}};
  if (position != nullptr) {
    about.emplace_back("step", std::to_string(position->step));
    about.emplace_back("seed", std::to_string(position->seed));
    if (position->run != 0) about.emplace_back(run_key, spelled_run(position->run));
    if (position->vocabulary != 0) about.emplace_back("vocabulary", std::to_string(position->vocabulary));
  }
  if (*Optimizer::kind != '\0') about.emplace_back("optimizer", Optimizer::kind);
  Optimizer::for_each_number(opt, [&](char const* name, double x) {
    about.emplace_back(std::string{optimizer_prefix} + name, spelled_number(x));
  });
  return about;
}

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::string state_name(char const* what, std::string const& parameter) {
  return std::string{optimizer_prefix} + what + "." + parameter;
}

MESHTF_DEFINE void check_names(std::vector<std::string> names) {
  for (auto const& name : names)
    if (name.starts_with(optimizer_prefix) || name == "__metadata__")
      throw software_error("expected no parameter to be called '" + name +
                           "', which means something else in a checkpoint: give it another name");
  std::sort(names.begin(), names.end());
  if (auto const twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw software_error("expected parameters of different names, got two that are called '" + *twice +
                         "': name them, parameters(named(\"a\", a), ...)");
}

template<class T>
bool all_finite([[maybe_unused]] T const* x, [[maybe_unused]] extent n) {
  bool finite = true;
  if constexpr (FloatingElement<T>) {
    using bits       = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
    bits const above = std::bit_cast<bits>(std::numeric_limits<T>::infinity());
    for (extent i = 0; i < n; ++i) finite &= (std::bit_cast<bits>(x[i]) & above) != above;
  }
  return finite;
}

#define MESHTF_ALL_FINITE(T) template bool all_finite(T const*, extent);
MESHTF_RUNTIME_EACH(MESHTF_ALL_FINITE)
#undef MESHTF_ALL_FINITE

MESHTF_DEFINE std::string spelled_number(double x) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
}

#endif

#endif

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
