// Reductions: operations that join elements along dimensions.
#pragma once

#include <meshtf/ops/reduce/argmax.hpp>
#include <meshtf/ops/reduce/cumsum.hpp>
#include <meshtf/ops/reduce/max.hpp>
#include <meshtf/ops/reduce/sum.hpp>
