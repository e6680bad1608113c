// conv: over split space, batch and channels, with strides and dilation, grouped, channel by channel.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

#include <meshtf/ops/window/conv.hpp>
#include <meshtf/ops/window/conv_transpose.hpp>

using namespace fixture;

namespace {

struct k_h : dim<3> {};
struct k_w : dim<2> {};
struct k_d : dim<2> {};
struct half_in : dim<3> {};
struct few : dim<2> {};
struct one : dim<1> {};
struct other_one : dim<1> {};

}  // namespace

TEST_CASE("conv of literal numbers: a filter of three, with a zero at each end") {
  if (!on_one_process()) return;
  auto const x = literal<quartet, one>({{1}, {2}, {3}, {4}});
  auto const w = literal<k_h, one, other_one>({1, 10, 100});
  auto const z = conv<window<quartet, k_h>, one, other_one>(x, w);
  backward(sum(z));
  CHECK(numbers_of(z) == list{210, 321, 432, 43});
  CHECK(slopes_of(x) == list{11, 111, 111, 110});
  CHECK(slopes_of(w) == list{6, 10, 9});
}

TEST_CASE("conv over two split dimensions and one that is whole") {
  // batch is a dimension of space here, and hidden are channels
  check_operation<shape<batch, in, length, hidden>, shape<k_h, k_w, hidden, few>>(
      [](auto const& x, auto const& w) {
        return std::tuple{conv<window<batch, k_h>, window<in, k_w, half_in, stride<2>>, hidden, few>(x, w),
                          conv<window<length, k_h>, window<in, k_w, dilation<2>>, hidden, few>(x, w)};
      });
}

TEST_CASE("conv with channels in front, that come out split") {
  check_operation<shape<length, in, memory>, shape<vocab, k_w, in>>(
      [](auto const& x, auto const& w) { return conv<window<memory, k_w>, in, vocab>(x, w); });
}

TEST_CASE("conv of groups of channels, and of each channel by itself") {
  check_operation<shape<in, length, group, member>, shape<k_h, group, member, few>, shape<k_h, member>>(
      [](auto const& x, auto const& w, auto const& v) {
        return std::tuple{conv<window<in, k_h>, member, few>(x, w), conv<window<length, k_h>>(x, v)};
      });
}

TEST_CASE("conv of images, which is one task: space and channels split") {
  check_operation<shape<few, batch, in, hidden>, shape<k_w, hidden, out, k_h>>(
      [](auto const& x, auto const& w) {
        return std::tuple{conv<window<batch, k_h>, window<in, k_w, half_in, stride<2>>, hidden, out>(x, w),
                          conv<window<batch, k_h>, window<in, k_w, dilation<2>>, hidden, out>(x, w)};
      });
}

TEST_CASE("conv of images with groups of channels, and of each channel by itself") {
  check_operation<shape<length, batch, group, member>, shape<k_h, group, member, few>, shape<k_h, vocab>,
                  shape<batch, vocab>>([](auto const& x, auto const& w, auto const& v, auto const& y) {
    return std::tuple{conv<window<batch, k_h>, member, few>(x, w), conv<window<batch, k_h>>(y, v)};
  });
}

TEST_CASE("conv of images in single precision, and its backward pass") {
  check_operation_in_float<shape<few, batch, length, in>, shape<k_h, k_w, in, vocab>>(
      [](auto const& x, auto const& w) {
        auto const z = conv<window<batch, k_h>, window<length, k_w>, in, vocab>(x, w);
        return std::tuple{z, conv_transpose<window<batch, k_h>, window<length, k_w>, in, vocab>(z, w)};
      });
}

TEST_CASE("conv over three dimensions, in single precision") {
  check_operation_in_float<shape<batch, in, length, few>, shape<k_d, k_h, k_w, few, vocab>>(
      [](auto const& x, auto const& w) {
        return conv<window<batch, k_d>, window<in, k_h>, window<length, k_w>, few, vocab>(x, w);
      });
}
