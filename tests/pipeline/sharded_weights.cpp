// The table of docs/sharded_weights.md: what a step of a Transformer costs one of eight processes, with whole
// weights and with weights in parts.
#include <type_traits>

#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<32> {};
struct part : dim<8> {};
struct length : dim<32> {};
struct vocab : dim<256> {};
struct model : dim<128> {};
struct heads : dim<4> {};
struct key : dim<32> {};
struct hidden : dim<512> {};

struct rows : axis<8> {};
struct grid : mesh<rows> {};
struct data : layout<grid, split<batch, rows>, split<part, rows>> {};
struct kept : layout<grid, split<batch, rows>, split<part, rows>, kept_over<rows>> {};
struct single : layout<grid, split<batch, rows>, split<part, rows>, kept_over<rows>, one_message_a_weight> {};
struct kept_finer : layout<grid, padded<model, rows>> {
};  // that of a model which is kept in parts under `data`

struct dims : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 6;
};

template<Layout L, class Net, bool ShardsState, int M>
struct training_of {
  Net net;
  adamw opt{1e-3};
  tensor<int, L, batch, length> ids;
  tensor<int, L, batch, length> targets;

  constexpr explicit training_of(machine<L>& m) : net{m, 1}, ids{m}, targets{m} {
    opt.shard_state = ShardsState;
    opt.prepare(parameters(net));
  }
  constexpr auto step() {
    auto const loss = gradients();
    opt.step(parameters(net));
    return loss;
  }

private:
  constexpr auto gradients() {
    if constexpr (M == 1) {
      auto const loss = mean(softmax_cross_entropy<vocab>(net(ids), targets));
      backward(loss);
      return loss;
    } else {
      return accumulate<M>(ids.machine(), [&](extent i) {
        auto const scores = net(micro_batch<batch, part>(ids, i));
        return mean(softmax_cross_entropy<vocab>(scores, micro_batch<batch, part>(targets, i))) / M;
      });
    }
  }
};

template<Layout L, FloatingElement Activation = float>
using net_under = nn::transformer<float, L, dims, Activation>;
template<Layout L>
using plain = training_of<L, net_under<L>, false, 1>;
template<Layout L>
using plain_in_four = training_of<L, net_under<L>, false, 4>;
template<Layout L>
using zero1 = training_of<L, net_under<L>, true, 1>;
template<Layout L>
using zero1_in_four = training_of<L, net_under<L>, true, 4>;
template<Layout L>
using narrow = training_of<L, net_under<L, bfloat16>, false, 1>;
template<Layout L>
using two_layouts =
    training_of<L, net_under<std::conditional_t<is_dry<L>, dry<kept_finer>, kept_finer>>, false, 1>;

struct figures {
  extent parameters                     = 0;
  extent state                          = 0;
  extent peak                           = 0;
  extent sent                           = 0;
  extent calls                          = 0;
  bool operator==(figures const&) const = default;
};
template<class Cost>
constexpr figures figures_of(Cost const& c) {
  return {c.parameter_bytes(), c.optimizer_bytes(), c.peak_bytes(), c.bytes_sent(), c.calls()};
}

constexpr auto of_data   = dry_run<plain, data>();
constexpr auto of_kept   = dry_run<plain, kept>();
constexpr auto of_single = dry_run<plain, single>();
static_assert(figures_of(of_data) == figures{4907008, 9814016, 21762564, 8587271, 39});
static_assert(figures_of(dry_run<zero1, data>()) == figures{4907008, 1226752, 13175300, 8587271, 77});
static_assert(figures_of(of_kept) == figures{638464, 1276928, 9640964, 13060103, 27});
static_assert(figures_of(of_single) == figures{638464, 1276928, 8918020, 13060103, 129});
static_assert(figures_of(dry_run<two_layouts, data>()) == figures{632192, 1264384, 9153860, 13060103, 193});
static_assert(figures_of(dry_run<narrow, kept>()) == figures{638464, 1276928, 6389764, 8796935, 27});
static_assert(figures_of(dry_run<narrow, single>()) == figures{638464, 1276928, 5962756, 8791559, 129});
static_assert(figures_of(dry_run<zero1_in_four, data>()) == figures{4907008, 1226752, 12965000, 8587292, 80});
static_assert(figures_of(dry_run<plain_in_four, kept>()) == figures{638464, 1276928, 5538184, 52089884, 105});
static_assert(figures_of(dry_run<plain_in_four, single>()) ==
              figures{638464, 1276928, 4555912, 52089884, 513});
static_assert(of_data.flops() == of_kept.flops() && of_single.flops() == of_kept.flops());

// A block has an all-gather in each direction and a reduce-scatter. The tied table is gathered to look up and
// twice for scores, and has two gradients; positions have one of each. What stays whole shares an all-reduce,
// and the loss has one.
static_assert(of_kept.calls() == 3 * 6 + 5 + 2 + 2);

// 7 / 8 of what moves: matrices three times, the tied table five times, biases, norms and positions twice;
// then the all-reduce of the loss.
constexpr extent whole_table = 4 * vocab::size * model::size;
constexpr extent whole_vectors =
    4 * (6 * (9 * model::size + hidden::size) + 2 * model::size) + 4 * length::size * model::size;
constexpr extent matrices = of_data.parameter_bytes() - whole_table - whole_vectors;
static_assert(of_kept.bytes_sent() == (3 * matrices + 5 * whole_table + 2 * whole_vectors) * 7 / 8 + 7);
static_assert(of_data.bytes_sent() == 2 * of_data.parameter_bytes() * 7 / 8 + 7);

// the milliseconds of messages on the default machine, and those without latency
constexpr machine_model without_latency{.within_node = {0, machine_model{}.within_node.seconds_per_byte}};
template<class Cost>
constexpr bool takes(Cost const& c, double messages, double latency) {
  double const all  = 1e3 * c.time().messages();
  double const rest = 1e3 * c.time(without_latency).messages();
  return all - messages < 0.005 && messages - all < 0.005 && all - rest - latency < 0.005 &&
         latency - all + rest < 0.005;
}
static_assert(takes(of_data, 1.71, 0.14) && takes(of_kept, 2.14, 0.07) && takes(of_single, 2.41, 0.34));

// what gathers would gain that begin before they are needed
constexpr machine_model node{.flops_per_second        = 2e12,
                             .memory_bytes_per_second = 200e9,
                             .seconds_per_byte_added  = 1 / 200e9,
                             .within_node             = {2e-6, 1 / 12.5e9}};
constexpr double ahead(int gathers) { return of_kept.time(node, gathers).overlapped(); }
constexpr modelled_time in_turn = of_kept.time(node);
static_assert(ahead(0) == in_turn.total() && ahead(1) < ahead(0) && ahead(2) <= ahead(1));
static_assert(ahead(2) > in_turn.products + in_turn.passes && ahead(2) > in_turn.messages());
static_assert(of_data.time(node, 1).overlapped() > 0.999999 * of_data.time(node).total());

}  // namespace
