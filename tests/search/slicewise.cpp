// If it compiles, it passes: a function on shards is recorded without a layout, and priced where the
// dimensions it needs are whole.
#include <utility>

#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<16> {};
struct model : dim<32> {};
struct hidden : dim<64> {};

struct user {
  static constexpr extent flops = 3;
  template<class... V>
  void operator()(V&&...) const {}
};

template<Layout L>
struct training {
  parameter<float, L, model, hidden> up;
  sgd opt{0.1};
  tensor<float, L, batch, model> x;

  constexpr explicit training(machine<L>& m) : up{m, he_normal{1}}, x{m} {}
  constexpr auto step() {
    auto const h = einsum<batch, hidden>(x, up);
    auto const g = [](auto const& dz, auto const& a) {
      return slicewise<shape<batch, hidden>, splittable<batch>>(user{}, dz, a);
    };
    auto loss = mean(square(slicewise<shape<batch, hidden>, splittable<batch, model>>(user{}, g, h)));
    backward(loss);
    opt.step(parameters(up));
    return loss;
  }
};

constexpr auto step = record<training, batch, model, hidden>();

template<class L>
concept has_price = requires { std::bool_constant<(price<L>(step), true)>{}; };

struct by_batch : layout<grid, split<batch, rows>> {};
struct by_model : layout<grid, split<batch, rows>, split<model, cols>> {};
struct by_hidden : layout<grid, split<batch, rows>, split<hidden, cols>> {};
static_assert(tests::priced_as_dry_runs<step, training, by_batch, by_model>);
static_assert(!has_price<by_hidden>);

}  // namespace
