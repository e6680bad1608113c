// xtensor, old and new: its headers moved at 0.26, and what clang 19 needs to read those of 0.24.
#pragma once

#if __has_include(<xtensor/containers/xarray.hpp>)   // since 0.26
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#else
#include <cstddef>

#include <xtensor/xstorage.hpp>

#if defined(__clang__) && __clang_major__ >= 19
// Since P0522 a container of a type and a size also matches one that has more parameters with defaults: two of xtensor's partial specialisations fit the
// container that it keeps shapes in. These fit better.
namespace xt {

template<>
struct rebind_container<std::ptrdiff_t, svector<std::size_t>> {
  using type = svector<std::ptrdiff_t>;
};
template<>
struct rebind_container<std::size_t, svector<std::size_t>> {
  using type = svector<std::size_t>;
};
template<>
struct rebind_container<std::size_t, svector<std::ptrdiff_t>> {
  using type = svector<std::size_t>;
};

}  // namespace xt
#endif

#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#endif
