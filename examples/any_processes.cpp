// One binary for 1, 2, 3 or 4 processes: the batch is cut into as many parts as there are, whether they
// divide it or not, and the last batch of an epoch is smaller. With `resume` it goes on from the newest
// checkpoint in FOLDER, whatever number of processes wrote that.
// Run:    examples/processes 3 build/release/examples/any_processes [FOLDER [EPOCHS [resume]]]
// (build/any_processes, 2 epochs)
// Prints: a line for each epoch: the number of processes, and the loss, which is the same for any number.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include <xtensor/xview.hpp>

#include <meshtf/meshtf.hpp>

#include "options.hpp"
#include "promise.hpp"

namespace {

struct batch : meshtf::up_to<64> {};  // 64, but for the last batch of an epoch
struct in : meshtf::dim<8> {};
struct hidden : meshtf::dim<50> {};
struct out : meshtf::dim<2> {};

struct all : meshtf::axis<1> {};
struct halves : meshtf::axis<2> {};
struct thirds : meshtf::axis<3> {};
struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct one : meshtf::mesh<all> {};
struct two : meshtf::mesh<halves> {};
struct three : meshtf::mesh<thirds> {};
struct four : meshtf::mesh<rows, cols> {};

// what is split over a mesh; 64 samples over 3 are 22, 22 and 20, and 50 hidden units over 4 are 13, 13, 13
// and 11
template<class M>
struct chosen;
template<> struct chosen<one> : meshtf::layout<one> {};
template<> struct chosen<two> : meshtf::layout<two, meshtf::split<batch, halves>> {};
template<> struct chosen<three> : meshtf::layout<three, meshtf::padded<batch, thirds>> {};
template<> struct chosen<four> : meshtf::layout<four, meshtf::padded<hidden, rows, cols>> {};

template<meshtf::Layout L>
struct training {
  meshtf::parameter<float, L, in, hidden> w;
  meshtf::parameter<float, L, hidden, out> v;
  meshtf::adam opt{1e-2};
  meshtf::tensor<float, L, batch, in> x;
  meshtf::tensor<float, L, batch, out> y;

  constexpr explicit training(meshtf::machine<L>& m)
      : w{m, meshtf::he_normal{1}}, v{m, meshtf::he_normal{2}}, x{m}, y{m} {}

  constexpr auto parameters() { return meshtf::parameters(w, v); }
  constexpr auto step() {
    auto const h     = tanh(einsum<batch, hidden>(x, w));
    auto const error = einsum<batch, out>(h, v) - y;
    auto const loss  = mean(square(error));  // over the samples that there are
    backward(loss);
    opt.step(parameters());
    return loss;
  }
};

constexpr int samples = 1000;  // 15 batches of 64, and one of 40

struct table {
  xt::xarray<float> x = xt::xarray<float>::from_shape({std::size_t{samples}, 8});
  xt::xarray<float> y = xt::xarray<float>::from_shape({std::size_t{samples}, 2});
  table() {
    for (int i = 0; i < samples; ++i) {
      double total = 0;
      for (int k = 0; k < 8; ++k) total += x(i, k) = static_cast<float>(std::sin(1.7 * i + 2.3 * k * k));
      y(i, 0) = static_cast<float>(std::tanh(total));
      y(i, 1) = x(i, 0) * x(i, 1);
    }
  }
};

template<meshtf::Layout L>
void train(meshtf::process_mesh<typename L::mesh_type>& m, std::string const& folder, long epochs,
           [[maybe_unused]] bool resume) {
  check_promise<training, L>(m);  // of whole batches
  training<L> t{m};
  m.agree(t.parameters());
  table const data;
  long done = 0;
#if MESHTF_WITH_JANSSON
  if (resume) done = static_cast<long>(meshtf::load(t.parameters(), t.opt, folder).step);
#endif
  for (long const last = done + epochs; done < last; ++done) {
    double total = 0;
    for (int at = 0; at < samples; at += static_cast<int>(batch::size)) {
      int const n = std::min(samples - at, static_cast<int>(batch::size));
      meshtf::counted<batch> const guard{m, n};
      t.x = meshtf::from_global<float, L, batch, in>(m, xt::view(data.x, xt::range(at, at + n), xt::all()));
      t.y = meshtf::from_global<float, L, batch, out>(m, xt::view(data.y, xt::range(at, at + n), xt::all()));
      total += n * double{t.step().value()};
    }
    if (m.rank() == 0)
      std::printf("epoch %ld on %d processes: loss %.4f\n", done + 1, m.world().size(), total / samples);
  }
#if MESHTF_WITH_JANSSON
  meshtf::save(t.parameters(), t.opt, {.step = static_cast<std::uint64_t>(done), .seed = 1}, folder);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  std::string const folder = argc > 1 ? argv[1] : "build/any_processes";
  long const epochs        = argc > 2 ? whole_number("FOLDER", argv[2], 0) : 2;
  bool const resume        = argc > 3 && one_of({"resume"}, argv[3]) == "resume";
  meshtf::run_on<one, two, three, four>(env, [&]<class M>(meshtf::process_mesh<M>& m) {
    m.agree("the folder for checkpoints", folder);
    m.agree("the number of epochs", epochs);
    m.agree("resume", resume ? "resume" : "begin");
    train<chosen<M>>(m, folder, epochs, resume);
  });
}
