// How mlp.cpp and images.cpp train: the loop, and the accuracy on images that the network has not seen.
#pragma once

#include <cstdint>

#include <meshtf/data/batches.hpp>
#include <meshtf/data/prefetched.hpp>

#include "progress.hpp"
#include "side_by_side.hpp"

/// Trains `Training`, a class template over layouts, under `L`, and says how well it names the images of
/// `unseen`.
template<template<class> class Training, class Batch, meshtf::Layout L, class M>
void train(meshtf::process_mesh<M>& m, meshtf::labelled_images const& images,
           meshtf::labelled_images const& unseen, long steps, std::uint64_t seed, bool plain) {
  say(m, "\ntraining under %s: %ld steps of %ld images\n", name<L>.c_str(), steps, Batch::size);
  Training<L> t{m, seed};
  m.agree(parameters(t.net));
  meshtf::prefetched batches{meshtf::shuffled_batches{images, seed}};  // a thread reads ahead
  progress shown{m.rank() == 0, 0, steps, 0, plain};
  for (long i = 1; i <= steps; ++i) {
    batches.next(t.x, t.labels);
    t.opt.rate      = 2e-3 * static_cast<double>(steps - i + 1) / static_cast<double>(steps);
    auto const loss = t.step();
    if (shown.at(i))
      shown.say("epoch %2ld  loss %.4f  %6.0f images/s", batches.position().epoch, loss.value(),
                Batch::size / shown.seconds_a_step());
  }

  meshtf::no_gradient guard{m};
  double right = 0;
  meshtf::batches_in_order test{unseen};
  auto const name_a_batch = [&] {
    test.next(t.x, t.labels);
    right += t.hits().value();
  };
  while (meshtf::extent const n = test.left(Batch::size)) {
    if constexpr (meshtf::CountedDimension<Batch>) {
      meshtf::counted<Batch> const some{m, n};  // the last batch is what is left
      name_a_batch();
    } else {
      name_a_batch();
    }
  }
  say(m, "test accuracy %.2f %% (%.0f of %ld images)\n", 100 * right / static_cast<double>(unseen.count),
      right, unseen.count);
}
