// What a program needs that trains on processes: every operation, layer and optimizer, and the mesh.
// <meshtf/meshtf.hpp> adds data sets, files, and xtensor's views of elements (`x.local()`), which take the
// compiler three seconds.
#pragma once

#include <meshtf/detail/compiler.hpp>

#include <meshtf/planning.hpp>
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/environment.hpp>
#include <meshtf/runtime/pool.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/runtime/run_on.hpp>
