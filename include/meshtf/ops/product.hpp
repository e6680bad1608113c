// Products: sums of products, and attention.
#pragma once

#include <meshtf/ops/product/attention.hpp>
#include <meshtf/ops/product/attention_terms.hpp>
#include <meshtf/ops/product/einsum.hpp>
#include <meshtf/ops/product/einsum_of_many.hpp>
#include <meshtf/ops/product/matmul.hpp>
#include <meshtf/ops/product/outer_product.hpp>
