// Processes in a translation unit that has none: one sentence, and nothing more.
#pragma once

#include <meshtf/price/machine.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<Mesh M>
inline constexpr bool runtime_is_included = false;

/// A function: clang counts a class with a failed assertion as damaged, and refuses every use of it.
template<Mesh M>
constexpr auto expect_runtime() {
  static_assert(
      runtime_is_included<M>,
      "meshtf: planning.hpp has no processes: include <meshtf/meshtf.hpp>, or make the tensor under dry<L>");
  return true;
}

}  // namespace detail

/// What a translation unit has that includes no runtime: it says what to include, and takes all calls, so
/// that no other error follows. <meshtf/runtime/process_mesh.hpp> has the processes.
template<Mesh M>
class process_mesh : public machine_base<process_mesh<M>, M> {
  using said = decltype(detail::expect_runtime<M>());

public:
  static constexpr bool computes = false;

  template<class... A>
  constexpr explicit process_mesh(A const&...) {}

  template<class>
  constexpr extent coordinate() const {
    return 0;
  }
  constexpr extent rank_along(axis_set) const { return 0; }
  constexpr bool counts(axis_set) const { return true; }
  template<class T, class... A>
  constexpr T* take(A const&...) {
    return nullptr;
  }
  constexpr void* hold(extent, extent) { return nullptr; }
  template<class T, class... A>
  constexpr T* create(A const&...) {
    return nullptr;
  }
  template<class T>
  constexpr T* create_array(std::size_t) {
    return nullptr;
  }
#define MESHTF_TAKES(CALL) \
  template<class... A>     \
  constexpr void CALL(A const&...) {}
  MESHTF_TAKES(give)
  MESHTF_TAKES(release)
  MESHTF_TAKES(destroy)
  MESHTF_TAKES(destroy_array)
  MESHTF_TAKES(run)
  MESHTF_TAKES(transform)
  MESHTF_TAKES(add_up)
  MESHTF_TAKES(fill)
  MESHTF_TAKES(copy)
  MESHTF_TAKES(copy_filled)
  MESHTF_TAKES(all_reduce)
  MESHTF_TAKES(broadcast)
  MESHTF_TAKES(reduce_scatter)
  MESHTF_TAKES(all_gather)
  MESHTF_TAKES(exchange_with_neighbours)
  MESHTF_TAKES(exclusive_scan)
  MESHTF_TAKES(move)
  MESHTF_TAKES(unslice)
  MESHTF_TAKES(exchange_in_pairs)
  MESHTF_TAKES(write_out)
  MESHTF_TAKES(read_back)
  MESHTF_TAKES(wait_for)
  MESHTF_TAKES(recall)
  MESHTF_TAKES(forget)
#undef MESHTF_TAKES
};

}  // namespace v0
}  // namespace meshtf
