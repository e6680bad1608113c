// Every operation, layer and optimizer on the compiler's machine: checks and prices programs where MPI, BLAS
// and xtensor are not installed. Needs the standard library and Boost.Hana.
#pragma once

#include <meshtf/detail/compiler.hpp>

// Headers that the others include come first, and operations that can be refused before those of their
// families: error messages then name fewer files.
#include <meshtf/core.hpp>

#include <meshtf/tensor/tensor.hpp>

#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/ops/shape/reshard.hpp>

#include <meshtf/ops/index/gather.hpp>
#include <meshtf/ops/index/one_hot.hpp>
#include <meshtf/ops/normalise/cross_entropy.hpp>
#include <meshtf/ops/normalise/norm.hpp>
#include <meshtf/ops/normalise/softmax.hpp>
#include <meshtf/ops/pointwise/bias_gelu.hpp>
#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/pointwise/compare.hpp>
#include <meshtf/ops/pointwise/map.hpp>
#include <meshtf/ops/pointwise/relu.hpp>
#include <meshtf/ops/pointwise/where.hpp>
#include <meshtf/ops/product/attention.hpp>
#include <meshtf/ops/product/einsum.hpp>
#include <meshtf/ops/random/sample.hpp>
#include <meshtf/ops/reduce/argmax.hpp>
#include <meshtf/ops/reduce/cumprod.hpp>
#include <meshtf/ops/reduce/cumsum.hpp>
#include <meshtf/ops/reduce/max.hpp>
#include <meshtf/ops/shape/broadcast.hpp>
#include <meshtf/ops/shape/concat.hpp>
#include <meshtf/ops/shape/rename.hpp>
#include <meshtf/ops/shape/reshape.hpp>
#include <meshtf/ops/shape/slice.hpp>
#include <meshtf/ops/shape/transpose.hpp>
#include <meshtf/ops/window/conv.hpp>
#include <meshtf/optim/steps_lists.hpp>
#include <meshtf/optim/update.hpp>

#include <meshtf/ops/function/accumulate.hpp>
#include <meshtf/ops/function/custom_gradient.hpp>
#include <meshtf/ops/function/slicewise.hpp>
#include <meshtf/ops/index/scatter.hpp>
#include <meshtf/ops/product/matmul.hpp>
#include <meshtf/ops/product/outer_product.hpp>
#include <meshtf/ops/reduce/sort.hpp>
#include <meshtf/ops/shape/write.hpp>

#include <meshtf/ops/reduce/top_k.hpp>

#include <meshtf/ops/reduce/nth_element.hpp>

#include <meshtf/ops/pointwise/fused.hpp>

#include <meshtf/price/dry_run.hpp>

#include <meshtf/explain/explain.hpp>
#include <meshtf/explain/explain_schedule.hpp>
#include <meshtf/explain/explain_svg.hpp>
#include <meshtf/ops/function.hpp>
#include <meshtf/ops/index.hpp>
#include <meshtf/ops/normalise.hpp>
#include <meshtf/ops/pointwise.hpp>
#include <meshtf/ops/product.hpp>
#include <meshtf/ops/random.hpp>
#include <meshtf/ops/reduce.hpp>
#include <meshtf/ops/shape.hpp>
#include <meshtf/ops/window.hpp>
#include <meshtf/optim/adafactor.hpp>
#include <meshtf/optim/adam.hpp>
#include <meshtf/optim/adamw.hpp>
#include <meshtf/optim/averaged.hpp>
#include <meshtf/optim/cosine_restarts.hpp>
#include <meshtf/optim/early_sums.hpp>
#include <meshtf/optim/global_norm.hpp>
#include <meshtf/optim/inverse_square_root.hpp>
#include <meshtf/optim/lamb.hpp>
#include <meshtf/optim/lars.hpp>
#include <meshtf/optim/lion.hpp>
#include <meshtf/optim/momentum.hpp>
#include <meshtf/optim/sgd.hpp>
#include <meshtf/optim/warmup_cosine.hpp>
#include <meshtf/optim/warmup_stable_decay.hpp>
#include <meshtf/price/budget.hpp>
#include <meshtf/price/cost_difference.hpp>
#include <meshtf/price/cost_hash.hpp>
#include <meshtf/price/cost_text.hpp>
#include <meshtf/price/ledger.hpp>
#include <meshtf/price/no_processes.hpp>
#include <meshtf/price/repeat.hpp>
#include <meshtf/search/search.hpp>
#include <meshtf/tensor/gradient.hpp>
#include <meshtf/tensor/initialiser.hpp>
#include <meshtf/tensor/parameter.hpp>
#include <meshtf/tensor/parameters.hpp>
#include <meshtf/tensor/partial.hpp>
#include <meshtf/tensor/same_on_all.hpp>
#include <meshtf/tensor/state.hpp>
#include <meshtf/tensor/tape.hpp>

#include <meshtf/nn/depth.hpp>

#include <meshtf/nn/stack.hpp>

#include <meshtf/nn/adaptive_embedding.hpp>
#include <meshtf/nn/attention.hpp>
#include <meshtf/nn/attention_along.hpp>
#include <meshtf/nn/batch_norm.hpp>
#include <meshtf/nn/conv.hpp>
#include <meshtf/nn/decoder.hpp>
#include <meshtf/nn/depth.hpp>
#include <meshtf/nn/embedding.hpp>
#include <meshtf/nn/encoder.hpp>
#include <meshtf/nn/factorised_embedding.hpp>
#include <meshtf/nn/feed_forward.hpp>
#include <meshtf/nn/gated_feed_forward.hpp>
#include <meshtf/nn/group_norm.hpp>
#include <meshtf/nn/grouped_attention.hpp>
#include <meshtf/nn/linear.hpp>
#include <meshtf/nn/llama.hpp>
#include <meshtf/nn/norm.hpp>
#include <meshtf/nn/positions.hpp>
#include <meshtf/nn/segments.hpp>
#include <meshtf/nn/self_attention.hpp>
#include <meshtf/nn/seq2seq.hpp>
#include <meshtf/nn/sequences.hpp>
#include <meshtf/nn/streams.hpp>
#include <meshtf/nn/transformer.hpp>

// These include many of the others: a compiler names the shortest way to an error if they come last.
#include <meshtf/optim/step_in_backward.hpp>
#include <meshtf/optim/weights_in_file.hpp>
#include <meshtf/price/fits_with.hpp>
#include <meshtf/search/cheapest.hpp>
#include <meshtf/search/mesh_shapes.hpp>
