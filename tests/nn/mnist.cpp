// The original's MNIST example: the loss of each of 200 steps is Mesh TensorFlow's, whole and with parts of
// images that exchange halos. See tests/golden/README.md.
// test: processes 1 4
#include "../catch.hpp"

#include <cmath>

#include <xtensor/xview.hpp>

#include <meshtf/io/safetensors_reader.hpp>
#include <meshtf/meshtf.hpp>

#if MESHTF_WITH_JANSSON

using namespace meshtf;

namespace {

struct batch : dim<8> {};
struct height : dim<28> {};
struct width : dim<28> {};
struct filter_height : dim<9> {};
struct filter_width : dim<9> {};
struct grey : dim<1> {};
struct filters1 : dim<4> {};
struct filters2 : dim<4> {};
struct hidden1 : dim<32> {};
struct hidden2 : dim<32> {};
struct classes : dim<10> {};

struct solo : axis<1> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct line : axis<4> {};
struct alone : mesh<solo> {};
struct square : mesh<rows, cols> {};
struct by_four : mesh<line> {};

struct whole : layout<alone> {};
struct blocks : layout<square, split<height, rows>, split<width, cols>> {};
struct narrow : layout<by_four, split<height, line>> {};  // blocks of 7 rows, as in the original
struct also_batch : layout<square, split<height, rows>, split<batch, cols>> {};

safetensors_reader const& golden() {
  static safetensors_reader const file{MESHTF_TESTS_FOLDER "/golden/mnist.safetensors"};
  return file;
}

template<class L>
struct network {
  parameter<double, L, filter_height, filter_width, grey, filters1> kernel1;
  parameter<double, L, filter_height, filter_width, filters1, filters2> kernel2;
  nn::linear<double, L, shape<height, width>, hidden1> first;
  nn::linear<double, L, hidden1, hidden2> second;
  nn::linear<double, L, hidden2, classes> last;

  explicit network(machine<L>& m)
      : kernel1{m}, kernel2{m}, first{m, zeros{}}, second{m, zeros{}}, last{m, zeros{}} {
    int number = 1;
    (fill(kernel1, number++, 0.15), fill(kernel2, number++, 0.08));
    (fill(first.weight, number++, 0.06), fill(first.bias, number++, 0.1));
    (fill(second.weight, number++, 0.25), fill(second.bias, number++, 0.1));
    (fill(last.weight, number++, 0.25), fill(last.bias, number++, 0.1));
  }

  /// As in mnist.py.
  template<class... D>
  static void fill(parameter<double, L, D...>& w, int number, double scale) {
    xt::xarray<double> all = xt::zeros<double>({static_cast<std::size_t>(D::size)...});
    for (std::size_t k = 0; k < all.size(); ++k) {
      auto const i = static_cast<double>(k);
      all.flat(k)  = scale * std::sin(number + 0.7 * i + std::fmod(1e-3 * i * i, 6));
    }
    w = from_global<double, L, D...>(w.machine(), all);
  }

  auto operator()(tensor<double, L, batch, height, width, grey> const& x) const {
    auto const f1 =
        relu(conv<window<height, filter_height>, window<width, filter_width>, grey, filters1>(x, kernel1));
    auto const f2 = relu(
        conv<window<height, filter_height>, window<width, filter_width>, filters1, filters2>(f1, kernel2));
    auto const h1 = relu(first(mean<filters2>(f2)));
    return last(relu(second(h1)));
  }
  auto parameters() { return meshtf::parameters(kernel1, kernel2, first, second, last); }
};

template<class L>
void compare_curve() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  INFO("under " << name_of<L>());
  constexpr std::size_t batches = 4;
  xt::xarray<double> const pixels =
      xt::adapt(golden().read<int>("images"), std::vector<std::size_t>{batches, 8, 28, 28, 1}) / 255.0;
  xt::xarray<int> const classes_of =
      xt::adapt(golden().read<int>("labels"), std::vector<std::size_t>{batches, 8});
  auto const losses = golden().read<double>("losses");
  REQUIRE(losses.size() == 200);
  network<L> net{m};
  sgd opt{0.05};
  for (std::size_t step = 0; step < losses.size(); ++step) {
    auto const x = from_global<double, L, batch, height, width, grey>(
        m, xt::xarray<double>(xt::view(pixels, step % batches)));
    auto const labels = from_global<int, L, batch>(m, xt::xarray<int>(xt::view(classes_of, step % batches)));
    auto const loss   = mean(softmax_cross_entropy<classes>(net(x), labels));
    INFO("step " << step);
    CHECK(std::abs(loss.value() - losses[step]) < 1e-9);
    backward(loss);
    opt.step(net.parameters());
  }
  CHECK(losses.back() < 0.8);  // from 2.3: what is compared is a net that learns
}

}  // namespace

TEST_CASE("the losses of the original's MNIST example", "[1]") { compare_curve<whole>(); }
TEST_CASE("the same where images are split: halos of 4, on blocks of 14 x 14 and of 7 rows", "[4]") {
  compare_curve<blocks>(), compare_curve<narrow>(), compare_curve<also_batch>();
}

#endif
