// A dimension: a name and a size.
#pragma once

#include <concepts>
#include <cstdint>

namespace meshtf {
inline namespace v0 {

/// Sizes, counts and offsets, in elements or bytes.
using extent = std::int64_t;

/// Base of every dimension. The derived type is its name, so two dimensions of the same size remain distinct.
///
///     struct batch  : meshtf::dim<512>  {};
///     struct hidden : meshtf::dim<4096> {};
template<extent Size>
struct dim {
  static_assert(Size > 0, "meshtf: a dimension has at least one element");
  static constexpr extent size = Size;
};

template<class D>
concept Dimension = requires { D::size; } && std::derived_from<D, dim<D::size>>;

}  // namespace v0
}  // namespace meshtf
