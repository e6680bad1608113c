// The communicators of a process mesh: they depend on its axes in names and numbers, not in types, so they are made by one function.
#pragma once

#include <memory>
#include <span>

#include <boost/mpi/communicator.hpp>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/dim.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/runtime/check.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <cstddef>
#include <cstdint>
#include <string>

#include <boost/mpi/environment.hpp>

#include <meshtf/core/error.hpp>
#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/waiting.hpp>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// What a process mesh has of them: all its processes, the check of its calls if one is wanted, this process's coordinates, and for each set of
/// axes the processes that differ from this one along these alone.
struct mesh_communicators {
  boost::mpi::communicator& world;
  std::unique_ptr<call_check>& check;
  std::span<extent> coordinates;
  std::span<boost::mpi::communicator> sets;
};

/// Makes them from the processes of `given`, row-major over the axes of `mesh`. `joining`: the axes that are longer than 1.
/// Errors: `usage_error` on all processes if their number is not that of the mesh; `software_error` if MPI is not up.
void make_communicators(mesh_in_words const& mesh, axis_set joining, boost::mpi::communicator const& given, mesh_communicators const& made);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE void make_communicators(mesh_in_words const& mesh, axis_set joining, boost::mpi::communicator const& given,
                                      mesh_communicators const& made) {
  if (!boost::mpi::environment::initialized())
    throw software_error("MPI is not up: make a meshtf::environment (or call MPI_Init) before a process_mesh");
  extent size = 1;
  for (extent const n : mesh.sizes) size *= n;
  if (given.size() != size)
    throw usage_error("compiled for " + shape_of(mesh) + " = " + std::to_string(size) + " processes, started with " + std::to_string(given.size()) +
                      ": mpirun -n " + std::to_string(size) + " ...");
  waiting const here{"the making of a process_mesh"};
  made.world = boost::mpi::communicator{given, boost::mpi::comm_duplicate};
  throw_on_failure(made.world);
  made.check = call_check::if_wanted(made.world);
  if (made.check) {
    fnv1a hash;
    for (std::size_t a = 0; a < mesh.axes.size(); ++a) hash << mesh.axes[a] << static_cast<std::uint64_t>(mesh.sizes[a]);
    made.check->compare(hash, [&mesh] { return "makes the mesh " + shape_of(mesh); });
  }

  extent stride = size;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) made.coordinates[a] = made.world.rank() / (stride /= mesh.sizes[a]) % mesh.sizes[a];

  for (axis_set over = 0; over < made.sets.size(); ++over) {
    if ((over & ~joining) != 0) continue;  // the same processes as without the axes of size 1
    int color = 0;
    std::string name;
    for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
      bool const differs = (over >> a & 1) != 0;
      color              = color * static_cast<int>(mesh.sizes[a]) + (differs ? 0 : static_cast<int>(made.coordinates[a]));
      if (differs) (name += name.empty() ? "" : " ") += mesh.axes[a];
    }
    made.sets[over] = over == joining ? made.world : made.world.split(color, made.world.rank());
    throw_on_failure(made.sets[over]);
    MPI_Comm_set_name(made.sets[over], name.c_str());
  }
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
