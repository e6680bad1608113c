// Layers compared with Mesh TensorFlow and PyTorch: the same results and gradients, whatever the layout. See
// tests/golden/README.md.
// test: processes 1 4
#include "../golden.hpp"

#include <meshtf/meshtf.hpp>

#include "../catch.hpp"

#if MESHTF_WITH_JANSSON

using namespace meshtf;

namespace {

struct batch : dim<4> {};
struct length : dim<6> {};
struct hidden : dim<8> {};
struct model : dim<5> {};
struct vocab : dim<10> {};
struct memory : dim<6> {};
struct heads : dim<2> {};
struct key : dim<4> {};
struct buckets : dim<6> {};
struct inner : dim<2> {};
struct frequent : dim<6> {};
struct rare : dim<4> {};

struct solo : axis<1> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct alone : mesh<solo> {};
struct by_four : mesh<rows, cols> {};

struct whole : layout<alone> {};
struct mixed
    : layout<by_four, split<batch, rows>, split<hidden, cols>, split<vocab, cols>, split<heads, cols>> {};
struct by_length : layout<by_four, split<length, rows>, split<heads, cols>, split<hidden, cols>> {};

golden_arrays const& golden() {
  static golden_arrays const file{"layers"};
  return file;
}

constexpr double close = 1e-9;

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
void compare(std::string const& name, Z const& z, operand<P> const&... x) {
  check_case(golden(), name, z, close, x...);
}

template<class L>
struct model_inputs {
  parameter<double, L, batch, length, model> sequence;
  tensor<int, L, batch, length> ids;
  tensor<int, L, batch, length> targets;
  tensor<int, L, batch, length> segments;

  explicit model_inputs(machine<L>& m)
      : sequence{m},
        ids{golden().tensor<int, L, batch, length>(m, "ids")},
        targets{golden().tensor<int, L, batch, length>(m, "targets")},
        segments{golden().tensor<int, L, batch, length>(m, "segments")} {}
};

template<class L>
void compare_sequences() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  INFO("under " << name_of<L>());
  model_inputs<L> in{m};
  CHECK(golden().distance(nn::autoregressive_inputs<length>(in.targets), "autoregressive_inputs.result") ==
        0);
  CHECK(golden().distance(nn::autoregressive_inputs<length>(in.targets, in.segments),
                          "autoregressive_inputs_of_segments.result") == 0);
  CHECK(golden().distance(cast<int>(nn::delimited_lm_inputs_mask<length>(in.ids)),
                          "delimited_lm_inputs_mask.result") == 0);
}

template<class L>
void compare_layers() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  INFO("under " << name_of<L>());
  model_inputs<L> in{m};
  operand const sequence{"sequence", in.sequence};

  nn::linear<double, L, shape<length, model>, shape<heads, key>> many{m, zeros{}};
  operand const weight{"many", many.weight};
  operand const offset{"offset", many.bias};
  compare("dense", many(in.sequence), sequence, weight, offset);

  auto const of_gate = [&]<class Gate>(Gate, std::string const& name) {
    nn::streams seeds;
    nn::gated_feed_forward<double, L, model, hidden, Gate> feed{m, seeds, 1, 1};
    operand const gate{"gate", feed.gate.weight};
    operand const up{"up", feed.up.weight};
    operand const down{"down", feed.down.weight};
    compare(name, feed(in.sequence), sequence, gate, up, down);
  };
  of_gate(nn::glu{}, "glu");
  of_gate(nn::geglu{}, "geglu");
  of_gate(nn::swiglu{}, "swiglu");

  // the original scales what goes into the softmax
  double const root = 1 / std::sqrt(5.0);
  nn::factorised_embedding<double, L, vocab, inner, model> products{m, zeros{}, zeros{}};
  operand const left{"left_factor", products.tokens.table};
  operand const right{"right_factor", products.up.weight};
  compare("factorised", products(in.ids), left, right);
  compare("factorised_logits", products.logits(in.sequence * root), sequence, left, right);

  nn::streams seeds;
  nn::adaptive_embedding<double, L, vocab, model, nn::cluster<frequent, model>, nn::cluster<rare, inner>>
      tokens{m, seeds, 1};
  auto& [often, seldom] = tokens.clusters;
  operand const frequent_table{"frequent_table", often.table};
  operand const rare_table{"rare_table", seldom.tokens.table};
  operand const rare_up{"rare_up", seldom.up.weight};
  compare("adaptive", tokens(abs(in.targets)), frequent_table, rare_table, rare_up);
  compare("adaptive_logits", tokens.logits(in.sequence * root), sequence, frequent_table, rare_table,
          rare_up);
}

template<class L>
void compare_attention() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  INFO("under " << name_of<L>());
  parameter<double, L, batch, length, heads, key> q{m};
  parameter<double, L, batch, memory, heads, key> k{m};
  parameter<double, L, batch, memory, heads, key> v{m};
  parameter<double, L, batch, memory, key> one{m};
  operand const of_q{"q", q};
  operand const of_k{"k", k};
  operand const of_v{"v", v};
  compare("attention", attention<length, memory, key>(q, k, v, {.scale = 1}), of_q, of_k, of_v);
  auto const here  = golden().tensor<int, L, batch, length>(m, "segments");
  auto const terms = with_segments(here, rename<length, memory>(here));  // they keep what a temporary had
  compare("attention_of_segments",
          attention<length, memory, key>(q, k, v, terms, {.causal = true, .scale = 1}), of_q, of_k, of_v);
  auto const there = rename<length, memory>(here);
  compare("attention_of_segments",
          attention<length, memory, key>(q, k, v, with_segments(here, there), {.causal = true, .scale = 1}),
          of_q, of_k, of_v);
  operand const of_one{"one", one};  // keys that are values
  compare("multi_query", attention<length, memory, key>(q, one, one, {.scale = 1}), of_q, of_one);
  nn::contextual_bias<double, L, heads, key, buckets, length, memory> bias{m, zeros{}};
  operand const of_buckets{"of_buckets", bias.table};
  compare("contextual", attention<length, memory, key>(q, k, v, with_bias(bias(q)), {.scale = 1}), of_q, of_k,
          of_v, of_buckets);
}

}  // namespace

TEST_CASE("layers are the original's", "[1]") {
  compare_sequences<whole>(), compare_layers<whole>(), compare_attention<whole>();
}
TEST_CASE("so they are on four processes", "[4]") {
  compare_sequences<mixed>(), compare_layers<mixed>(), compare_attention<mixed>();
}
TEST_CASE("and where queries are split", "[4]") {
  compare_sequences<by_length>(), compare_attention<by_length>();
}

#endif
