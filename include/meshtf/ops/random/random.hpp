// random_uniform and random_normal: tensors of random numbers, the same under every layout.
#pragma once

#include <source_location>

#include <meshtf/plan/random_plan.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {

/// Uniform in [low, high). An element's value depends on the key and on its index in the whole tensor;
/// nothing is sent.
///
///     auto noise = meshtf::random_uniform<float, L, batch, hidden>(m, {.seed = 1, .stream = step});
template<FloatingElement T, Layout L, Dimension... D>
constexpr auto random_uniform(machine<L>& m, random_key key, double low = 0, double high = 1,
                              std::source_location at = std::source_location::current()) {
  m.begin_operation("random_uniform", at);
  auto z = tensor<T, L, D...>::uninitialised(m);
  m.run(task::draw<T, uniform_distribution>{{key, low, high}}, shard_plan<actual<L>, shape<D...>>, z.data());
  return z;
}

/// Normally distributed, by the method of Box and Muller.
template<FloatingElement T, Layout L, Dimension... D>
constexpr auto random_normal(machine<L>& m, random_key key, double mean = 0, double stddev = 1,
                             std::source_location at = std::source_location::current()) {
  m.begin_operation("random_normal", at);
  auto z = tensor<T, L, D...>::uninitialised(m);
  m.run(task::draw<T, normal_distribution>{{key, mean, stddev}}, shard_plan<actual<L>, shape<D...>>,
        z.data());
  return z;
}

}  // namespace v0
}  // namespace meshtf
