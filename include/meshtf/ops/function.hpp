// Functions of the user as operations.
#pragma once

#include <meshtf/ops/function/custom_gradient.hpp>
#include <meshtf/ops/function/recompute.hpp>
#include <meshtf/ops/function/slicewise.hpp>
