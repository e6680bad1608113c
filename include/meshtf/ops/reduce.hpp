// Reductions: operations that join elements along dimensions.
#pragma once

#include <meshtf/ops/reduce/any_all.hpp>
#include <meshtf/ops/reduce/argmax.hpp>
#include <meshtf/ops/reduce/cumprod.hpp>
#include <meshtf/ops/reduce/cumsum.hpp>
#include <meshtf/ops/reduce/fused_sum.hpp>
#include <meshtf/ops/reduce/l2_norm.hpp>
#include <meshtf/ops/reduce/logsumexp.hpp>
#include <meshtf/ops/reduce/max.hpp>
#include <meshtf/ops/reduce/max_and_argmax.hpp>
#include <meshtf/ops/reduce/min.hpp>
#include <meshtf/ops/reduce/nth_element.hpp>
#include <meshtf/ops/reduce/product.hpp>
#include <meshtf/ops/reduce/running.hpp>
#include <meshtf/ops/reduce/sort.hpp>
#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/ops/reduce/top_k.hpp>
#include <meshtf/ops/reduce/value_and_index.hpp>
#include <meshtf/ops/reduce/variance.hpp>
#include <meshtf/ops/reduce/weighted_mean.hpp>
