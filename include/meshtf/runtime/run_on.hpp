// run_on: one program for several numbers of processes.
#pragma once

#include <string>

#include <meshtf/core/error.hpp>
#include <meshtf/core/mesh.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/core/verdict.hpp>
#include <meshtf/runtime/environment.hpp>
#include <meshtf/runtime/process_mesh.hpp>

namespace meshtf {
inline namespace v0 {

/// `First` and `Second` both have `Size` processes, so their number does not say which of the two is meant.
template<class First, class Second, extent Size>
struct meshes_have_one_size {};

namespace detail {

template<class First, class... Rest>
struct one_mesh_of_each_size
    : std::type_identity<first_objection<
          std::conditional_t<First::size == Rest::size,
                             meshes_have_one_size<First, Rest, extent{First::size}>, legal>...,
          typename one_mesh_of_each_size<Rest...>::type>> {};
template<class Last>
struct one_mesh_of_each_size<Last> : std::type_identity<legal> {};

template<class... M>
[[noreturn]] void throw_no_mesh(int processes) {
  std::string table;
  ((table += (table.empty() ? "" : ", ") + std::to_string(M::size) + " (" + shape_of(named_mesh_of<M>) + ")"),
   ...);
  throw usage_error("started with " + std::to_string(processes) + " processes, but compiled for " + table +
                    ": mpirun -n N ... with one of these");
}

}  // namespace detail

/// `legal`, or the objection to `run_on` with these meshes.
template<Mesh... M>
using run_on_verdict = typename detail::one_mesh_of_each_size<M...>::type;

/// Calls `program(m)` once, with a process mesh `m` of the one of the meshes `M...` that has as many
/// processes as were started. The program is compiled for each of them, so what it names by the mesh
/// (layouts, promises) are templates:
///
///     meshtf::run_on<one, two, four>(env, []<class M>(meshtf::process_mesh<M>& m) { train<by_batch<M>>(m);
///     });
///
/// Errors: `usage_error` (status 64), with the meshes that there are, on all processes if none of them has
/// this size.
template<Mesh... M, class Program>
void run_on(environment const& env, Program&& program) {
  using verdict = run_on_verdict<M...>;
  static_assert(accepted<verdict>,
                "meshtf: run_on chooses a mesh by the number of processes, so no two may have the same");
  if constexpr (accepted<verdict>) {
    auto const world      = env.world();
    auto const run_if_fit = [&]<class One>(std::type_identity<One>) {
      if (world.size() != One::size) return false;
      process_mesh<One> m{world};
      program(m);
      return true;
    };
    if (!(run_if_fit(std::type_identity<M>{}) || ...)) detail::throw_no_mesh<M...>(world.size());
  }
}

}  // namespace v0
}  // namespace meshtf
