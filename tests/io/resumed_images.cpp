// A training on images that was cut off goes on from its checkpoint as if it had not been, without the
// batches before it.
#include <meshtf/data/batches.hpp>
#include <meshtf/io/checkpoint.hpp>

#include "../layout_fixture.hpp"
#include "folder.hpp"

using namespace fixture;

namespace {

template<Layout L>
struct classifier {
  parameter<float, L, in, hidden> w;
  parameter<float, L, hidden, out> v;
  adam opt{0.05};
  tensor<float, L, batch, in> x;
  tensor<int, L, batch> labels;
  explicit classifier(machine<L>& m) : w{m, normal{1}}, v{m, normal{2}}, x{m}, labels{m} {}
  auto list() { return meshtf::parameters(named("w", w), named("v", v)); }

  void step(shuffled_batches& batches) {
    batches.next(x, labels);
    auto const h = tanh(einsum<batch, hidden>(x, w));
    backward(mean(softmax_cross_entropy<out>(einsum<batch, out>(h, v), labels)));
    opt.step(list());
  }
};

/// 21 images, which are no whole number of batches.
labelled_images images_of_six_pixels() {
  labelled_images images{"six pixels", 21, 6, {}, {}, {}};
  for (std::size_t b = 0; b < 21 * 6; ++b) images.bytes.push_back(static_cast<std::uint8_t>(37 * b));
  for (std::size_t i = 0; i < 21; ++i) images.labels.push_back(static_cast<std::uint8_t>(i % 8));
  scale(images, {});
  return images;
}

template<Layout L>
void check_resumed() {
  files::folder const folder;
  auto& m           = processes<typename L::mesh_type>();
  auto const images = images_of_six_pixels();
  classifier<L> whole{m};
  classifier<L> resumed{m};
  shuffled_batches batches{images, 7};
  for (std::uint64_t step = 0; step < 9; ++step) {
    if (step == 5) save(whole.list(), whole.opt, {.step = step, .seed = 7}, folder.path());
    whole.step(batches);
  }
  auto const position = load(resumed.list(), resumed.opt, folder.path());
  shuffled_batches again{images, position.seed};
  again.seek(static_cast<extent>(position.step));
  for (auto step = position.step; step < 9; ++step) resumed.step(again);
  CHECK(again.epoch() == batches.epoch());
  CHECK((to_global(resumed.w) == to_global(whole.w)));
  CHECK((to_global(resumed.v) == to_global(whole.v)));
}

}  // namespace

TEST_CASE("a training on images goes on from its checkpoint with the same bits") {
  switch (boost::mpi::communicator{}.size()) {
    case 1: check_resumed<alone>(); break;
    case 2: check_resumed<data>(); break;
    case 4: check_resumed<mixed>(); break;
    default: break;
  }
}
