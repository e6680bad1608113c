// If it compiles, it passes: a record's prices are those of dry runs, and a search finds what it should.
#include <utility>

#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "language_training.hpp"
#include "perceptron.hpp"
#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

// ---- a record's price is the dry run's

using tests::same_price;

namespace mlp {

using namespace tests::perceptron;

constexpr auto step   = record<training, batch, in, hidden, out>();
constexpr auto ranked = rank_layouts<grid, candidates<batch, hidden, out>>(step);
// each axis splits one of the three or none; all other combinations share an axis in some loop nest
static_assert(ranked.looked_at() == 64 && ranked.size() == 16 && ranked.illegal() == 48 &&
              ranked.too_large() == 0);

template<std::size_t I>
constexpr bool as_dry_run() {
  using found           = layout_at<ranked, I>;
  constexpr auto priced = price<found>(step);
  return same_price(priced, dry_run<training, found>()) && ranked[I].peak == priced.peak_bytes() &&
         ranked[I].seconds < priced.time().total() * (1 + 1e-9) &&
         ranked[I].seconds > priced.time().total() * (1 - 1e-9);
}
template<std::size_t... I>
constexpr bool all_as_dry_runs(std::index_sequence<I...>) {
  return (as_dry_run<I>() && ...);
}
static_assert(all_as_dry_runs(tests::some_of<16>{}));
static_assert(ranked[0].seconds <= ranked[1].seconds && ranked[14].seconds <= ranked[15].seconds);

// what splits more than a record says it does not price
struct by_in_of_others : dim<48> {};
struct foreign : layout<grid, split<by_in_of_others, rows>> {};
static_assert(std::same_as<record_verdict<decltype(step), foreign>,
                           dim_is_not_undecided_in_record<by_in_of_others, shape<batch, in, hidden, out>>>);

}  // namespace mlp

// ---- a Transformer: one block, whose sizes make its weights dear to send and its activations cheap

namespace block {

struct batch : dim<16> {};
struct length : dim<32> {};
struct vocab : dim<512> {};
struct model : dim<128> {};
struct heads : dim<4> {};
struct key : dim<32> {};
struct hidden : dim<512> {};

struct dims : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 1;
};

template<Layout L>
using training = tests::language_training<L, batch, dims>;

constexpr auto step = record<training, batch, length, vocab, model, heads, hidden>();

struct mixed : layout<grid, split<batch, rows>, split<vocab, cols>, split<heads, cols>, split<hidden, cols>> {
};
struct along_model : layout<grid, split<batch, rows>, split<model, cols>> {};

static_assert(same_price(price<mixed>(step), dry_run<training, mixed>()));
// norms and tables are split here
static_assert(same_price(price<along_model>(step), dry_run<training, along_model>()));

// data parallel on one axis, and on the other what Megatron-LM splits
using dims_of_block   = candidates<batch, length, vocab, model, heads, hidden>;
constexpr auto ranked = rank_layouts<grid, dims_of_block>(step);
// for each axis: none, batch, model, or some of vocab, heads and hidden; attention needs whole sequences
static_assert(ranked.size() == 100);
using megatron =
    layout<grid, split<batch, rows>, split<vocab, cols>, split<heads, cols>, split<hidden, cols>>;
static_assert(std::same_as<best_layout<step, grid, dims_of_block>, megatron>);
static_assert(ranked.text(0) == "batch: rows, vocab: cols, heads: cols, hidden: cols");

// too little memory for a whole copy of the weights anywhere
constexpr min_time small{.memory = ranked[0].peak - 1};
static_assert(rank_layouts<grid, dims_of_block>(step, small)[0].peak < ranked[0].peak);
static_assert(rank_layouts<grid, dims_of_block>(step, small).too_large() > 0);

// in a list
struct data_parallel : layout<grid, split<batch, rows, cols>> {};
static_assert(std::same_as<best_layout<step, grid, candidates<data_parallel, along_model, mixed>>, mixed>);

}  // namespace block

// ---- the two layers of the paper, in its layouts, by what they send
// Source: Shazeer et al., Mesh-TensorFlow (2018), section 4 and its table.

namespace paper {

struct batch : dim<512> {};
struct io : dim<32> {};
struct hidden : dim<72> {};

struct p : axis<2> {};
struct r : axis<2> {};
struct c : axis<2> {};
struct cube : mesh<p, r, c> {};

template<Layout L>
struct two_layers {
  parameter<float, L, batch, io> x;
  parameter<float, L, io, hidden> w;
  parameter<float, L, hidden, io> v;

  constexpr explicit two_layers(machine<L>& m) : x{m}, w{m}, v{m} {}
  constexpr auto step() {
    auto const h    = relu(einsum<batch, hidden>(x, w));
    auto const y    = einsum<batch, io>(h, v);
    auto const loss = sum(square(y - x));
    backward(loss);
    parameters(w, v, x).for_each([](auto const& q) { finish(gradient(q)); });
    zero_gradients(parameters(w, v, x));
    return loss;
  }
};

// rows are p and r together: 4 x 2 processes
struct none : layout<cube> {};
struct data : layout<cube, split<batch, p, r, c>> {};
struct model : layout<cube, split<hidden, p, r, c>> {};
struct mixed : layout<cube, split<batch, p, r>, split<hidden, c>> {};
struct mixed_io : layout<cube, split<batch, p, r>, split<io, c>> {};
struct weights : layout<cube, split<io, p, r>, split<hidden, c>> {};
struct three : layout<cube, split<batch, p>, split<io, r>, split<hidden, c>> {};

/// Elements that a process communicates, by the paper's formulas: twice the activations and twice the
/// weights.
constexpr std::array<extent, 7> formulas() {
  // rows and columns
  constexpr extent b = batch::size;
  constexpr extent d = io::size;
  constexpr extent h = hidden::size;
  constexpr extent n = 4;
  constexpr extent m = 2;
  return {0,
          d * h,
          b * d,
          b / n * d + d * h / m,
          b / n * h + d * h / m,
          b * d / n + b * h / m,
          b / 2 * (d / 2) + b / 2 * (h / 2) + d * h / 4};
}

// bytes alone count; a ring of n sends (n - 1) / n of what the formulas say
constexpr min_time bytes{.machine = {.flops_per_second        = 1e30,
                                     .memory_bytes_per_second = 1e30,
                                     .seconds_per_byte_added  = 0,
                                     .within_node = {.seconds_per_message = 0, .seconds_per_byte = 1}}};
constexpr auto step = record<two_layers, batch, io, hidden>();
constexpr auto ranked =
    rank_layouts<cube, candidates<none, data, model, mixed, mixed_io, weights, three>>(step, bytes);

constexpr bool in_the_order_of_the_formulas() {
  auto const elements = formulas();
  for (std::size_t i = 0; i + 1 < ranked.size(); ++i)
    if (elements[static_cast<std::size_t>(ranked[i].number)] >
        elements[static_cast<std::size_t>(ranked[i + 1].number)])
      return false;
  return ranked.size() == 7;
}
static_assert(in_the_order_of_the_formulas());

// ... and each is handed to MPI what its formula says, but for the one number of the loss
template<class... L>
constexpr bool as_the_formulas() {
  auto const elements = formulas();
  std::size_t i       = 0;
  return ((price<L>(step).payload() / 4 - (price<L>(step).payload() / 4) % 2 == 2 * elements[i++]) && ...);
}
static_assert(as_the_formulas<none, data, model, mixed, mixed_io, weights, three>());
static_assert(same_price(price<three>(step), dry_run<two_layers, three>()));
static_assert(same_price(price<mixed>(step), dry_run<two_layers, mixed>()));

}  // namespace paper

}  // namespace
