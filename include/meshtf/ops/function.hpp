// Functions of the user as operations, and steps of micro-batches.
#pragma once

#include <meshtf/ops/function/accumulate.hpp>
#include <meshtf/ops/function/at_stage.hpp>
#include <meshtf/ops/function/block_of.hpp>
#include <meshtf/ops/function/block_tree.hpp>
#include <meshtf/ops/function/custom_gradient.hpp>
#include <meshtf/ops/function/hand_on.hpp>
#include <meshtf/ops/function/micro_batch.hpp>
#include <meshtf/ops/function/pipeline.hpp>
#include <meshtf/ops/function/recompute.hpp>
#include <meshtf/ops/function/reproducible.hpp>
#include <meshtf/ops/function/slicewise.hpp>
#include <meshtf/ops/function/spill.hpp>
#include <meshtf/ops/function/twice.hpp>
#include <meshtf/ops/function/with_gathered_weights.hpp>
