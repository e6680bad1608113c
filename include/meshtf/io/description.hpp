// Descriptions: what a program is, as names and values, and what differs between two.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/element.hpp>
#include <meshtf/core/layout.hpp>
#include <meshtf/core/mesh.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/core/named_mesh.hpp>
#include <meshtf/io/settings.hpp>
#include <meshtf/tensor/parameters.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#endif

namespace meshtf {
inline namespace v0 {

/// Names and values: "array.blocks.0.weight" is "F32 [model=128, hidden=512]", "mesh" is "rows=2 cols=4",
/// "layout" its name, "setting.rate" is "0.001", and, of a checkpoint, its metadata ("step", "seed", ...).
using description = std::map<std::string, std::string>;

namespace detail {

inline constexpr char const* dims_prefix  = "dims.";
inline constexpr char const* array_prefix = "array.";

template<Mesh M>
std::string mesh_text() {
  std::string text;
  for (std::size_t a = 0; a < std::size_t{M::all_axes::count}; ++a)
    text += (a == 0 ? "" : " ") + std::string{axis_names<typename M::all_axes>[a]} + "=" +
            std::to_string(axis_sizes<M>[a]);
  return text;
}

/// "model, hidden"
template<class T, class L, class... D>
std::string dim_names(tensor<T, L, D...> const&) {
  std::string text;
  ((text += (text.empty() ? "" : ", ") + std::string{name_of<D>()}), ...);
  return text;
}

/// "F32 [model=128, hidden=512]". `names` has the dimensions' names with commas between, or nothing.
std::string described_array(std::string_view type, std::span<extent const> extents, std::string_view names);

template<class T, class L, class... D>
std::string described_tensor(tensor<T, L, D...> const& x) {
  std::array<extent, sizeof...(D)> const extents{D::size...};
  return described_array(facts_of(element_of<T>).safetensors, extents, dim_names(x));
}

/// What a checkpoint says of its program besides arrays: its metadata.
template<class List, Settings S>
setting_texts described_program(List const& list, S settings) {
  using layout_type = typename first_parameter<List>::type::layout_type;
  setting_texts about{{"mesh", mesh_text<typename layout_type::mesh_type>()},
                      {"layout", std::string{name<actual<layout_type>>}}};
  list.for_each_named([&about](std::string const& called, auto& w) {
    about.emplace_back(dims_prefix + called, dim_names(w));
  });
  for (auto& [called, value] : kept_settings(bound_settings(settings)))
    about.emplace_back(setting_prefix + called, std::move(value));
  return about;
}

}  // namespace detail

/// The arrays, the mesh and the layout of a program, on processes or on a ledger: nothing is sent.
template<class First, class... Rest>
description describe(parameter_list<First, Rest...> const& list) {
  using layout_type = typename detail::first_parameter<parameter_list<First, Rest...>>::type::layout_type;
  description about{{"mesh", detail::mesh_text<typename layout_type::mesh_type>()},
                    {"layout", std::string{detail::name<actual<layout_type>>}}};
  list.for_each_named([&about](std::string const& called, auto& w) {
    about[detail::array_prefix + called] = detail::described_tensor(w);
  });
  return about;
}

/// A line for each name of which the values differ, or that only one of the two has:
///
///     ~ setting.rate = 0.001 -> 0.0003
///     - array.blocks.1.bias = F32 [model=128]
///     + price.flops = 51234
///
/// An array of which one side does not know the dimensions' names is compared without them.
std::vector<std::string> differences(description const& from, description const& to);

namespace detail {

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::string described_array(std::string_view type, std::span<extent const> extents,
                                          std::string_view names) {
  std::string text = std::string{type} + " [";
  for (std::size_t i = 0; i < extents.size(); ++i) {
    auto const comma = std::min(names.find(", "), names.size());
    text += i == 0 ? "" : ", ";
    if (!names.empty()) text += std::string{names.substr(0, comma)} + "=";
    text += std::to_string(extents[i]);
    names.remove_prefix(std::min(comma + 2, names.size()));
  }
  return text + "]";
}

/// "F32 [128, 512]"
MESHTF_DEFINE std::string without_dim_names(std::string const& array) {
  std::string text;
  for (char const c : array)
    if (c == '=') text.erase(text.find_last_of("[ ") + 1);
    else text += c;
  return text;
}

MESHTF_DEFINE bool are_equal_entries(std::string const& called, std::string const& a, std::string const& b) {
  bool const has_names = a.find('=') != std::string::npos && b.find('=') != std::string::npos;
  if (has_names || !called.starts_with(array_prefix)) return a == b;
  return without_dim_names(a) == without_dim_names(b);
}

#endif

}  // namespace detail

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::vector<std::string> differences(description const& from, description const& to) {
  std::vector<std::string> lines;
  for (auto const& [called, value] : from) {
    auto const other = to.find(called);
    if (other == to.end()) lines.push_back("- " + called + " = " + value);
    else if (!detail::are_equal_entries(called, value, other->second))
      lines.push_back("~ " + called + " = " + value + " -> " + other->second);
  }
  for (auto const& [called, value] : to)
    if (!from.contains(called)) lines.push_back("+ " + called + " = " + value);
  return lines;
}

#endif

}  // namespace v0
}  // namespace meshtf
