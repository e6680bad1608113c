// Functions of the user as operations.
#pragma once

#include <meshtf/ops/function/recompute.hpp>
