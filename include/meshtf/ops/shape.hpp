// Shape operations: the same values with other dimensions, in another order, or on other processes.
#pragma once

#include <meshtf/ops/shape/broadcast.hpp>
#include <meshtf/ops/shape/concat.hpp>
#include <meshtf/ops/shape/copy.hpp>
#include <meshtf/ops/shape/finish.hpp>
#include <meshtf/ops/shape/flip.hpp>
#include <meshtf/ops/shape/pad.hpp>
#include <meshtf/ops/shape/rename.hpp>
#include <meshtf/ops/shape/reshape.hpp>
#include <meshtf/ops/shape/reshard.hpp>
#include <meshtf/ops/shape/shift.hpp>
#include <meshtf/ops/shape/slice.hpp>
#include <meshtf/ops/shape/split_into.hpp>
#include <meshtf/ops/shape/stack.hpp>
#include <meshtf/ops/shape/stop_gradient.hpp>
#include <meshtf/ops/shape/tile.hpp>
#include <meshtf/ops/shape/transpose.hpp>
#include <meshtf/ops/shape/unstack.hpp>
#include <meshtf/ops/shape/write.hpp>
