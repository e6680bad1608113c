// Replicas: the processes that hold the same part of a tensor, and whether its elements are equal there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include <meshtf/core/elements.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/check.hpp>
#include <meshtf/runtime/collectives.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Compares the elements that replicas hold: their hash, and only if that differs the elements of the first
/// replica. Padding may differ.
///
/// Errors: `software_error` on all processes of `m`; it names an element and two processes.
template<class Machine, class X>
void agree_on_replicas(Machine const& m, std::string_view name, X const& x) {
  using T                 = typename X::element_type;
  using L                 = typename X::layout_type;
  using S                 = typename X::shape_type;
  constexpr axis_set over = replica_axes<L, S>;
  auto const& replicas    = m.along(over);
  bool const is_here      = !x.handle()->is_absent();
  std::span<T const> part{x.handle()->data(), is_here ? static_cast<std::size_t>(x.size) : 0};
  elements<T> packed;
  if constexpr (is_uneven<L, S>) {
    if (is_here) {
      packed        = elements<T>{part.size()};
      std::size_t n = 0;
      for_each_run(placed_dims<L, S>, m.place(), m.counted(), [&](extent local, extent, extent run) {
        std::copy_n(x.data() + local, run, packed.data() + n);
        n += static_cast<std::size_t>(run);
      });
      part = {packed.data(), n};
    }
  }
  auto const bytes = std::string_view{reinterpret_cast<char const*>(part.data()), part.size_bytes()};
  waiting const here{"agree"};
  std::exception_ptr caught;
  if (!same_everywhere(replicas, (fnv1a{} << bytes).value())) {
    elements<T> first{part.size()};
    std::copy(part.begin(), part.end(), first.data());
    std::int32_t its_rank = m.rank();
    meshtf::broadcast(replicas, first.data(), static_cast<extent>(first.size()), 0);
    meshtf::broadcast(replicas, &its_rank, 1, 0);
    std::size_t position = 0;
    while (position < part.size() && std::memcmp(&part[position], first.data() + position, sizeof(T)) == 0)
      ++position;
    if (position < part.size())
      caught = std::make_exception_ptr(software_error(
          "the processes hold the same part of " + std::string{name} + ", and it differs: element " +
          std::to_string(position) + " of the part is " + to_compare(first.data()[position]).words +
          " on process " + std::to_string(its_rank) + " and " + to_compare(part[position]).words +
          " on process " + std::to_string(m.rank()) + ": give all the same values, from one seed or file"));
  }
  meshtf::agree(m.world(), caught);
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
