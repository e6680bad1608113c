// If it compiles, it passes: a step with convolutions and pooling is recorded without a layout, and priced as
// dry runs. One of the convolutions is not a single task, so what its windows walk along stays whole.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<8> {};
struct height : dim<12> {};
struct half_height : dim<6> {};
struct width : dim<6> {};
struct k_h : dim<3> {};
struct k_w : dim<3> {};
struct two : dim<2> {};
struct in : dim<4> {};
struct hidden : dim<16> {};

template<Layout L>
struct training {
  parameter<float, L, k_h, k_w, in, hidden> filter;
  parameter<float, L, k_h, hidden> each;
  sgd opt{0.1};
  tensor<float, L, batch, height, width, in> x;

  constexpr explicit training(machine<L>& m) : filter{m, he_normal{1}}, each{m, normal{2}}, x{m} {}
  constexpr auto step() {
    auto const h      = conv<window<height, k_h>, window<width, k_w>, in, hidden>(x, filter);
    auto const pooled = max_pool<window<height, two, half_height, stride<2>>>(relu(h));
    auto const mixed  = conv<window<half_height, k_h>>(pooled, each);
    auto loss         = mean(square(avg_pool<window<half_height, k_h>>(mixed)));
    backward(loss);
    opt.step(parameters(filter, each));
    return loss;
  }
};

constexpr auto step = record<training, batch, height, half_height, k_w, in, hidden>();

template<class L>
constexpr bool as_dry_run() {
  return tests::same_price(price<L>(step), dry_run<training, L>());
}

struct by_batch : layout<grid, split<batch, rows>> {};
struct by_channels : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct by_input : layout<grid, split<in, cols, rows>> {};
static_assert(as_dry_run<by_batch>());
static_assert(as_dry_run<by_channels>());
static_assert(as_dry_run<by_input>());

struct by_space : layout<grid, split<height, rows>, split<half_height, rows>> {};
struct by_taps : layout<grid, split<k_w, rows>> {};
template<class L>
concept has_price = requires { std::bool_constant<(price<L>(step), true)>{}; };
static_assert(has_price<by_batch> && !has_price<by_space> && !has_price<by_taps>);

}  // namespace
