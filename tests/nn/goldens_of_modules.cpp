// Cross attention and a transposed convolution compared with modules of torch.nn: the same results and
// gradients under every layout. See tests/golden/README.md.
// test: processes 1 4
#include "../golden.hpp"

#include <meshtf/meshtf.hpp>

#include <meshtf/nn/attention.hpp>
#include <meshtf/nn/conv.hpp>

#include "../catch.hpp"

#if MESHTF_WITH_JANSSON

using namespace meshtf;

namespace {

struct batch : dim<4> {};
struct length : dim<5> {};
struct source : dim<7> {};
struct model : dim<8> {};
struct width : dim<6> {};
struct heads : dim<2> {};
struct key : dim<4> {};
struct half_height : dim<4> {};
struct half_width : dim<3> {};
struct height : dim<8> {};
struct wide : dim<6> {};
struct k_h : dim<3> {};
struct k_w : dim<3> {};
struct in : dim<4> {};
struct out : dim<6> {};

struct solo : axis<1> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct alone : mesh<solo> {};
struct by_four : mesh<rows, cols> {};

struct whole : layout<alone> {};
struct mixed : layout<by_four, split<batch, rows>, split<heads, cols>, split<in, cols>> {};
struct by_positions : layout<by_four, padded<length, rows>, padded<source, rows>, split<heads, cols>,
                             split<height, rows>, split<half_height, rows>, split<out, cols>> {};

golden_arrays const& golden() {
  static golden_arrays const file{"modules"};
  return file;
}

/// A parameter with the golden elements of that name.
template<class P>
struct operand {
  std::string name;
  P& value;

  template<class T, class L, class... D>
  operand(std::string n, parameter<T, L, D...>& p) : name{std::move(n)}, value{p} {
    p = golden().tensor<T, L, D...>(p.machine(), name);
  }
};
template<class T, class L, class... D>
operand(std::string, parameter<T, L, D...>&) -> operand<parameter<T, L, D...>>;

template<class Z, class... P>
void compare(std::string const& name, Z const& z, operand<P>&... x) {
  check_case(golden(), name, z, 1e-12, x...);
}

template<class L>
void compare_attention() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  INFO("under " << name_of<L>());
  nn::streams seeds;
  nn::attention<double, L, model, heads, key, length, source, width> attends{m, seeds, 1, 1};
  parameter<double, L, batch, length, model> x{m};
  parameter<double, L, batch, source, width> memory{m};
  operand of_x{"x", x};
  operand of_memory{"memory", memory};
  operand w1{"query.weight", attends.query.weight};
  operand b1{"query.bias", attends.query.bias};
  operand w2{"key.weight", attends.key.weight};
  operand b2{"key.bias", attends.key.bias};
  operand w3{"value.weight", attends.value.weight};
  operand b3{"value.bias", attends.value.bias};
  operand w4{"output.weight", attends.output.weight};
  operand b4{"output.bias", attends.output.bias};
  auto const visible = not_equal(golden().tensor<int, L, batch, source>(m, "visible"), 0);
  auto const here    = golden().tensor<int, L, batch, length>(m, "of_queries");
  auto const there   = golden().tensor<int, L, batch, source>(m, "of_memory");
  compare("cross", attends(x, memory), of_x, of_memory, w1, b1, w2, b2, w3, b3, w4, b4);
  compare("cross_padded", attends(x, memory, with_mask(visible)), of_x, of_memory, w1, b1, w2, b2, w3, b3, w4,
          b4);
  compare("cross_packed", attends(x, memory, with_segments(here, there).and_mask(visible)), of_x, of_memory,
          w1, b1, w2, b2, w3, b3, w4, b4);
}

template<class L>
void compare_transposed() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  INFO("under " << name_of<L>());
  nn::conv_transpose<double, L, in, out, window<height, k_h, half_height, stride<2>, padding<1, 0>>,
                     window<wide, k_w, half_width, stride<2>, padding<1, 0>>>
      larger{m, zeros{}};
  parameter<double, L, batch, half_height, half_width, in> x{m};
  operand image{"image", x};
  operand filter{"filter", larger.filter};
  operand bias{"bias", larger.bias};
  compare("transposed", larger(x), image, filter, bias);
}

}  // namespace

TEST_CASE("layers are those of torch.nn", "[1]") { compare_attention<whole>(), compare_transposed<whole>(); }
TEST_CASE("so they are on four processes", "[4]") { compare_attention<mixed>(), compare_transposed<mixed>(); }
TEST_CASE("and where positions and rows of images are split", "[4]") {
  compare_attention<by_positions>(), compare_transposed<by_positions>();
}

#endif
