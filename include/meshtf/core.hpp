// Layout checks: all that the compiler knows about dimensions, meshes and layouts. Needs the standard library
// and Boost.Hana.
#pragma once

#include <meshtf/detail/compiler.hpp>

#include <meshtf/core/dim.hpp>
#include <meshtf/core/element.hpp>
#include <meshtf/core/layout.hpp>
#include <meshtf/core/mesh.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/core/placed.hpp>
#include <meshtf/core/placement.hpp>
#include <meshtf/core/shape.hpp>
#include <meshtf/core/verdict.hpp>
#include <meshtf/version.hpp>
