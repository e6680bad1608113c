// Old and new xtensor: its headers moved in 0.26, and clang 19 needs help to read those of 0.24.
#pragma once

#if __has_include(<xtensor/containers/xarray.hpp>)  // since 0.26
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <cstddef>

#include <xtensor/xstorage.hpp>

#if defined(__clang__) && __clang_major__ >= 19
// Since P0522, a container template with a type and a size also matches a template with more parameters that
// have defaults: two of xtensor's partial specialisations match the container in which it keeps shapes. These
// match better.
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
#include <xtensor/xview.hpp>
#endif
