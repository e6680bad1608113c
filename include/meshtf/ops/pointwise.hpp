// Pointwise operations: each element by itself.
#pragma once

#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/pointwise/bias_gelu.hpp>
#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/pointwise/compare.hpp>
#include <meshtf/ops/pointwise/erf.hpp>
#include <meshtf/ops/pointwise/exp.hpp>
#include <meshtf/ops/pointwise/gelu.hpp>
#include <meshtf/ops/pointwise/log.hpp>
#include <meshtf/ops/pointwise/map.hpp>
#include <meshtf/ops/pointwise/pointwise_function.hpp>
#include <meshtf/ops/pointwise/relu.hpp>
#include <meshtf/ops/pointwise/rsqrt.hpp>
#include <meshtf/ops/pointwise/sigmoid.hpp>
#include <meshtf/ops/pointwise/sqrt.hpp>
#include <meshtf/ops/pointwise/square.hpp>
#include <meshtf/ops/pointwise/tanh.hpp>
#include <meshtf/ops/pointwise/where.hpp>
