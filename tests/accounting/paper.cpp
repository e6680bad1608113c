// The two fully connected layers of the Mesh-TensorFlow paper, in its seven layouts: the elements that
// travel, in the compiler and on 8 processes.
//
// Source: Shazeer et al., Mesh-TensorFlow (2018), section 4 and its table; the figures are what Mesh
// TensorFlow counts, over all processes.
#include <cmath>

#include "../catch.hpp"
#include "compare.hpp"

namespace paper {

namespace {

struct batch : meshtf::dim<32> {};
struct io : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};

template<meshtf::Layout L>
struct two_layers {
  meshtf::parameter<float, L, batch, io> x;
  meshtf::parameter<float, L, io, hidden> w;
  meshtf::parameter<float, L, hidden, io> v;

  constexpr explicit two_layers(meshtf::machine<L>& m)
      : x{m, meshtf::normal{1}}, w{m, meshtf::he_normal{2}}, v{m, meshtf::he_normal{3}} {}

  constexpr auto step() {
    auto const h    = relu(meshtf::einsum<batch, hidden>(x, w));
    auto const y    = meshtf::einsum<batch, io>(h, v);
    auto const loss = sum(square(y - x));
    backward(loss);
    meshtf::parameters(w, v, x).for_each([](auto const& p) { finish(gradient(p)); });
    meshtf::zero_gradients(meshtf::parameters(w, v, x));
    return loss;
  }
};

enum class direction { both, forward };

/// Elements that all processes together hand over along `A`, but for the loss itself, which is one number.
template<meshtf::MeshAxis A, meshtf::Mesh M>
constexpr meshtf::extent elements(meshtf::cost<M> const& cost, direction which = direction::both) {
  constexpr auto axis = meshtf::axis_set_of<M, meshtf::axes<A>>;
  meshtf::extent sum  = 0;
  for (auto const& c : cost.collectives()) {
    bool const weights = std::string_view{c.site.operation} == "finish";
    if ((c.over & axis) != 0 && c.count > 1 && (which == direction::both || (!c.site.backward && !weights)))
      sum += c.payload * M::size / static_cast<meshtf::extent>(sizeof(float));
  }
  return sum;
}

/// The loss: elements of the one call that joins it, over all processes.
template<meshtf::Mesh M>
constexpr meshtf::extent elements_of_loss(meshtf::cost<M> const& cost) {
  meshtf::extent sum = 0;
  for (auto const& c : cost.collectives())
    if (c.count == 1) sum += c.payload * M::size / static_cast<meshtf::extent>(sizeof(float));
  return sum;
}

/// Multiply-adds: each process has its part of three pairs of products, and does none twice.
template<meshtf::Mesh M>
constexpr bool every_product_is_made_once(meshtf::cost<M> const& cost) {
  return cost.flops() * M::size == 2 * 6 * batch::size * io::size * hidden::size;
}

// One process sends nothing.
struct single : meshtf::axis<1> {};
struct one : meshtf::mesh<single> {};
struct none : meshtf::layout<one> {};
constexpr auto none_cost = meshtf::dry_run<two_layers, none>();
static_assert(none_cost.calls() == 0);
static_assert(every_product_is_made_once(none_cost));

// Data parallel: the gradients of w and v.
struct all : meshtf::axis<4> {};
struct line : meshtf::mesh<all> {};
struct data : meshtf::layout<line, meshtf::split<batch, all>> {};
constexpr auto data_cost = meshtf::dry_run<two_layers, data>();
static_assert(elements<all>(data_cost) == 1024);
static_assert(elements<all>(data_cost, direction::forward) == 0);
static_assert(elements_of_loss(data_cost) == 4);
static_assert(every_product_is_made_once(data_cost));

// Model parallel: y, and the gradient of x.
struct model : meshtf::layout<line, meshtf::split<hidden, all>> {};
constexpr auto model_cost = meshtf::dry_run<two_layers, model>();
static_assert(elements<all>(model_cost) == 2048);
static_assert(elements<all>(model_cost, direction::forward) == 1024);
static_assert(elements_of_loss(model_cost) == 0);
static_assert(every_product_is_made_once(model_cost));

// Both: y and the gradient of x over the columns, the gradients of w and v over the rows.
struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows, cols> {};
struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
constexpr auto mixed_cost = meshtf::dry_run<two_layers, mixed>();
static_assert(elements<cols>(mixed_cost) == 2048);
static_assert(elements<cols>(mixed_cost, direction::forward) == 1024);
static_assert(elements<rows>(mixed_cost) == 512);
static_assert(elements_of_loss(mixed_cost) == 8);
static_assert(every_product_is_made_once(mixed_cost));

// h and its gradient over the columns, the gradients of w and v over the rows.
struct mixed_io : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<io, cols>> {};
constexpr auto mixed_io_cost = meshtf::dry_run<two_layers, mixed_io>();
static_assert(elements<cols>(mixed_io_cost) == 4096);
static_assert(elements<cols>(mixed_io_cost, direction::forward) == 2048);
static_assert(elements<rows>(mixed_io_cost) == 512);
static_assert(elements_of_loss(mixed_io_cost) == 8);
static_assert(every_product_is_made_once(mixed_io_cost));

// No weight is whole anywhere: h and its gradient over the rows, y and the gradient of x over the columns.
struct io_and_hidden : meshtf::layout<grid, meshtf::split<io, rows>, meshtf::split<hidden, cols>> {};
constexpr auto io_and_hidden_cost = meshtf::dry_run<two_layers, io_and_hidden>();
static_assert(elements<rows>(io_and_hidden_cost) == 2048);
static_assert(elements<rows>(io_and_hidden_cost, direction::forward) == 1024);
static_assert(elements<cols>(io_and_hidden_cost) == 2048);
static_assert(elements<cols>(io_and_hidden_cost, direction::forward) == 1024);
static_assert(elements_of_loss(io_and_hidden_cost) == 8);
static_assert(every_product_is_made_once(io_and_hidden_cost));

// All three.
struct depth : meshtf::axis<2> {};
struct height : meshtf::axis<2> {};
struct width : meshtf::axis<2> {};
struct cube : meshtf::mesh<depth, height, width> {};
struct three_ways : meshtf::layout<cube, meshtf::split<batch, depth>, meshtf::split<io, height>,
                                   meshtf::split<hidden, width>> {};
constexpr auto three_ways_cost = meshtf::dry_run<two_layers, three_ways>();
static_assert(elements<height>(three_ways_cost) == 2048);
static_assert(elements<height>(three_ways_cost, direction::forward) == 1024);
static_assert(elements<width>(three_ways_cost) == 1024);
static_assert(elements<width>(three_ways_cost, direction::forward) == 512);
static_assert(elements<depth>(three_ways_cost) == 512);
static_assert(elements_of_loss(three_ways_cost) == 8);
static_assert(every_product_is_made_once(three_ways_cost));

/// The same on processes; returns the loss.
template<meshtf::Layout L>
double run(meshtf::cost<typename L::mesh_type> const& promised) {
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  two_layers<L> program{m};
  double loss = 0;
  pmpi::start();
  auto const counted = meshtf::recorded<L>(m, [&]<class>(auto&) { loss = double{program.step().value()}; });
  auto const made    = pmpi::stop();
  INFO(meshtf::name_of<L>());
  CHECK(accounting::difference(promised, counted) == "");
  CHECK(promised == counted);
  CHECK(accounting::difference(promised, made) == "");
  return loss;
}

}  // namespace

TEST_CASE("the paper's layouts on 8 processes send what the compiler promises, and agree in the loss",
          "[8]") {
  double const loss    = run<mixed>(mixed_cost);
  double const rounded = loss * 1e-5;
  CHECK(loss > 1);
  CHECK(std::abs(run<mixed_io>(mixed_io_cost) - loss) < rounded);
  CHECK(std::abs(run<io_and_hidden>(io_and_hidden_cost) - loss) < rounded);
  CHECK(std::abs(run<three_ways>(three_ways_cost) - loss) < rounded);
}

}  // namespace paper
