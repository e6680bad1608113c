// A small Transformer language model, and its training.
#pragma once

#include "../accounting/program.hpp"

namespace accounting {

struct two_layers : meshtf::nn::transformer_dims<length, vocab, width, heads, key, hidden> {
  static constexpr int layers = 2;
};
struct untied_layer : meshtf::nn::transformer_dims<length, vocab, width, heads, key, hidden> {
  static constexpr int layers = 1;
  static constexpr bool tied  = false;
};

/// Ids without end that a model can learn something of.
template<class L, class... D>
constexpr void fill_ids(meshtf::tensor<int, L, D...>& x, int shift, meshtf::extent ids) {
  if constexpr (!meshtf::is_dry<L>) {
    std::span<meshtf::placed const> const dims{meshtf::placed_dims<L, meshtf::shape<D...>>};
    meshtf::for_each_run(dims, meshtf::first_indices(dims, x.machine().place()),
                         [&](meshtf::extent local, meshtf::extent at, meshtf::extent n) {
                           for (meshtf::extent i = 0; i < n; ++i) {
                             auto const k        = at + i + shift;
                             x.data()[local + i] = static_cast<int>((k * k + k / 5) % ids);
                           }
                         });
  }
}

/// Its weights are `T`s; `Activation` is what it computes in.
template<class T, class Dims, class Optimizer, meshtf::Layout L, class Activation = T>
struct language_model {
  static constexpr bool prepared = requires { Optimizer::prepared; };

  meshtf::nn::transformer<T, L, Dims, Activation> net;
  meshtf::tensor<int, L, batch, typename Dims::length> ids;
  meshtf::tensor<int, L, batch, typename Dims::length> targets;
  Optimizer optimizer{1e-3};

  constexpr explicit language_model(meshtf::machine<L>& m) : net{m, 1}, ids{m}, targets{m} {
    fill_ids(ids, 0, Dims::vocab::size);
    fill_ids(targets, 1, Dims::vocab::size);
    // larger than a model starts with, so that every gradient counts
    net.parameters().for_each([&m]<class U, class R, class... D>(meshtf::parameter<U, R, D...>& w) {
      auto const more = meshtf::random_normal<U, R, D...>(
          m, {.seed = 5, .stream = static_cast<std::uint64_t>(sizeof...(D))}, 0, 0.3);
      auto const sum = w + more;
      w              = meshtf::stop_gradient(sum);
    });
    m.unwind_tape(false);
    if constexpr (prepared) optimizer.prepare(parameters());
  }

  constexpr auto parameters() { return net.parameters(); }
  constexpr auto loss() const {
    return mean(meshtf::softmax_cross_entropy<typename Dims::vocab>(net(ids), targets));
  }
  constexpr auto step() {
    auto result = loss();
    backward(result);
    optimizer.step(parameters());
    return result;
  }
};

}  // namespace accounting
