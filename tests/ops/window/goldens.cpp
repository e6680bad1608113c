// Convolutions and pooling compared with PyTorch and TensorFlow: the same results and gradients, whatever the
// layout. See tests/golden/README.md.
// test: processes 1 3 4
#include "../../golden.hpp"

#include <meshtf/meshtf.hpp>

#include "../../catch.hpp"

#if MESHTF_WITH_JANSSON

#include <cmath>
#include <string>
#include <tuple>

using namespace meshtf;

namespace {

struct batch : dim<2> {};
struct depth : dim<3> {};
struct height : dim<8> {};
struct width : dim<6> {};
struct half_height : dim<4> {};
struct half_width : dim<3> {};
struct some_rows : dim<3> {};
struct padded_height : dim<4> {};
struct padded_width : dim<4> {};
struct odd_height : dim<5> {};
struct odd_width : dim<7> {};
struct rounded_height : dim<3> {};
struct rounded_width : dim<4> {};
struct fewer_rows : dim<2> {};
struct fewer_cols : dim<3> {};
struct k_h : dim<3> {};
struct k_w : dim<2> {};
struct k_d : dim<2> {};
struct also_three : dim<3> {};
struct in : dim<4> {};
struct out : dim<6> {};
struct group : dim<2> {};
struct member : dim<2> {};
struct group_out : dim<3> {};

struct solo : axis<1> {};
struct third : axis<3> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct alone : mesh<solo> {};
struct by_three : mesh<third> {};
struct by_four : mesh<rows, cols> {};

struct whole : layout<alone> {};
struct uneven : layout<by_three, padded<height, third>, padded<half_height, third>, padded<some_rows, third>,
                       padded<padded_height, third>, padded<odd_height, third>, padded<rounded_height, third>,
                       padded<fewer_rows, third>> {};
struct space
    : layout<by_four, split<height, rows>, split<half_height, rows>, padded<some_rows, rows>,
             split<padded_height, rows>, padded<odd_height, rows>, padded<rounded_height, rows>,
             split<fewer_rows, rows>, split<width, cols>, padded<half_width, cols>, split<padded_width, cols>,
             padded<odd_width, cols>, split<rounded_width, cols>, padded<fewer_cols, cols>> {};
struct channels : layout<by_four, split<batch, rows>, split<in, cols>, split<group, cols>> {};

golden_arrays const& golden() {
  static golden_arrays const file{"windows"};
  return file;
}

template<class L, class... D>
struct operand {
  std::string name;
  parameter<double, L, D...> value;

  operand(machine<L>& m, std::string n) : name{std::move(n)}, value{m, zeros{}} {
    value = golden().tensor<double, L, D...>(m, name);
  }
};

template<class F, class... X>
void compare(std::string const& name, F const& f, X&... x) {
  check_case(golden(), name, f(x.value...), 1e-11, x...);
}

template<class L>
void compare_all() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  INFO("under " << name_of<L>());
  operand<L, batch, height, width, in> x{m, "x"};
  operand<L, k_h, k_w, in, out> filter{m, "filter"};
  operand<L, batch, odd_height, odd_width, in> odd{m, "odd"};
  operand<L, k_h, also_three, in, out> square{m, "square"};
  compare(
      "same",
      [](auto const& v, auto const& w) {
        return conv<window<height, k_h>, window<width, k_w>, in, out>(v, w);
      },
      x, filter);
  compare(
      "strided",
      [](auto const& v, auto const& w) {
        return conv<window<height, k_h, half_height, stride<2>>, window<width, k_w, half_width, stride<2>>,
                    in, out>(v, w);
      },
      x, filter);
  compare(
      "padded",
      [](auto const& v, auto const& w) {
        return conv<window<height, k_h, padded_height, stride<2>, padding<1>>,
                    window<width, k_w, padded_width, stride<2>, padding<1>>, in, out>(v, w);
      },
      x, filter);
  compare(
      "odd",
      [](auto const& v, auto const& w) {
        return conv<window<odd_height, k_h, rounded_height, stride<2>>,
                    window<odd_width, also_three, rounded_width, stride<2>>, in, out>(v, w);
      },
      odd, square);
  compare(
      "max_pool",
      [](auto const& v) {
        return max_pool<window<height, k_h, half_height, stride<2>>,
                        window<width, also_three, half_width, stride<2>>>(v);
      },
      x);
  compare(
      "avg_pool",
      [](auto const& v) {
        return avg_pool<window<height, k_h, half_height, stride<2>>,
                        window<width, also_three, half_width, stride<2>>>(v);
      },
      x);
  operand<L, batch, half_height, half_width, out> halves{m, "halves"};
  compare(
      "transposed",
      [](auto const& v, auto const& w) {
        return conv_transpose<window<height, k_h, half_height, stride<2>>,
                              window<width, k_w, half_width, stride<2>>, in, out>(v, w);
      },
      halves, filter);
  operand<L, batch, height, width, group, member> by_group{m, "x"};
  operand<L, k_h, k_w, group, member, group_out> groups{m, "groups"};
  compare(
      "grouped",
      [](auto const& v, auto const& w) {
        return conv<window<height, k_h>, window<width, k_w>, member, group_out>(v, w);
      },
      by_group, groups);
  operand<L, k_h, k_w, in> each{m, "each"};
  compare(
      "depthwise",
      [](auto const& v, auto const& w) { return conv<window<height, k_h>, window<width, k_w>>(v, w); }, x,
      each);
}

/// What reaches further than to the next part where space is split.
template<class L>
void compare_wide() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  operand<L, batch, height, width, in> x{m, "x"};
  operand<L, k_h, k_w, in, out> filter{m, "filter"};
  operand<L, batch, odd_height, odd_width, in> odd{m, "odd"};
  operand<L, k_h, also_three, in, out> square{m, "square"};
  operand<L, batch, depth, height, width, member> solid{m, "solid"};
  operand<L, k_d, k_h, k_w, member, group_out> cube{m, "cube"};
  compare(
      "valid",
      [](auto const& v, auto const& w) {
        return conv<window<height, k_h, some_rows, stride<2>, valid>,
                    window<width, k_w, half_width, stride<2>, valid>, in, out>(v, w);
      },
      x, filter);
  compare(
      "dilated",
      [](auto const& v, auto const& w) {
        return conv<window<height, k_h, dilation<2>>, window<width, k_w, dilation<2>>, in, out>(v, w);
      },
      x, filter);
  compare(
      "odd_valid",
      [](auto const& v, auto const& w) {
        return conv<window<odd_height, k_h, fewer_rows, stride<2>, valid>,
                    window<odd_width, also_three, fewer_cols, stride<2>, valid>, in, out>(v, w);
      },
      odd, square);
  compare(
      "solid",
      [](auto const& v, auto const& w) {
        return conv<window<depth, k_d>, window<height, k_h>, window<width, k_w>, member, group_out>(v, w);
      },
      solid, cube);
}

}  // namespace

TEST_CASE("windows give what PyTorch and TensorFlow give", "[1]") {
  compare_all<whole>(), compare_wide<whole>();
}
TEST_CASE("windows give it where unequal parts of space are apart", "[3]") { compare_all<uneven>(); }
TEST_CASE("windows give it where two dimensions of space are split, or batch and channels", "[4]") {
  compare_all<space>(), compare_all<channels>(), compare_wide<channels>();
}

#endif
