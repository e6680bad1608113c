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

/// Base of a dimension of which a program learns only at run time how many elements there are: at most
/// `Max`, for which there is storage. `counted<D> guard{m, n}` says how many; without it there are `Max`.
///
///     struct batch : meshtf::up_to<512> {};
template<extent Max>
struct up_to : dim<Max> {
  static constexpr bool is_counted = true;
};

/// A class that derives from `dim<N>` or `up_to<N>`: a name and a size.
template<class D>
concept Dimension = requires { D::size; } && std::derived_from<D, dim<D::size>>;

/// A dimension whose elements are counted at run time.
template<class D>
concept CountedDimension = Dimension<D> && requires { D::is_counted; };

/// Stands for a counted dimension where its type is gone: the address of something of its own. Null for other
/// dimensions.
using dim_identity = char const*;

namespace detail {

template<class D>
inline constexpr char own_character = 0;

template<class D>
inline constexpr dim_identity identity_of = nullptr;
template<CountedDimension D>
inline constexpr dim_identity identity_of<D> = &own_character<D>;

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
