// Products: sums of products, and attention.
#pragma once

#include <meshtf/ops/product/attention.hpp>
#include <meshtf/ops/product/einsum.hpp>
