// What a step of GShard's largest model costs one of its 2,048 processes, and of models with fewer experts on
// fewer processes. Every figure is a constant: no other process exists.
// Run:    build/release/examples/plan_experts
// Prints: a table of the models, in markdown.
#include <iostream>
#include <vector>

#include <meshtf/planning.hpp>

#include <meshtf/nn/mixture_of_experts.hpp>

namespace {

using namespace meshtf;

// Lepikhin et al., GShard (2020), section 3: 36 layers, M 1024, H 8192, in every second layer experts in the
// place of the feed-forward network, 4 million tokens a step on 2,048 processes. One stack stands for encoder
// and decoder, and plain descent for Adafactor.
// clang-format off
template<extent N> struct processes : axis<N> {};
template<extent N> struct line      : mesh<processes<N>> {};
template<extent N> struct batch     : dim<2 * N> {};  // two rows on each process
template<extent N> struct groups    : dim<N> {};      // of 2,048 tokens
template<extent N> struct experts   : dim<N> {};
struct length : dim<1024>   {};
struct pieces : dim<64'000> {};
struct model  : dim<1024>   {};
struct heads  : dim<16>     {};
struct key    : dim<128>    {};
struct hidden : dim<8192>   {};
// clang-format on
constexpr int pairs = 18;  // of layers

struct dims : nn::transformer_dims<length, pieces, model, heads, key, hidden> {};

/// As many experts as processes.
template<extent N>
struct spread : layout<line<N>, split<batch<N>, processes<N>>, split<groups<N>, processes<N>>,
                       split<experts<N>, processes<N>>> {
  static constexpr extent number = N;
};

template<Layout L>
inline constexpr extent number = actual<L>::number;
template<Layout L>
using mixture =
    nn::mixture_of_experts<float, L, model, hidden, experts<number<L>>, groups<number<L>>, nn::top_2_gating>;

/// Two layers: the second has experts.
template<Layout L>
struct two_layers {
  nn::transformer_block<float, L, dims> first;
  nn::layer_norm<float, L, model> norm1;
  nn::self_attention<float, L, length, model, heads, key> attention;
  nn::layer_norm<float, L, model> norm2;
  mixture<L> mixed;

  constexpr two_layers(machine<L>& m, nn::streams& seeds)
      : first{m, seeds, 0.02, 0.02},
        norm1{m},
        attention{m, seeds, 0.02, 0.02},
        norm2{m},
        mixed{m, seeds, 0.02, 0.02} {}
  constexpr auto parameters() {
    return meshtf::parameters(named("first", first), named("norm1", norm1), named("attention", attention),
                              named("norm2", norm2), named("mixed", mixed));
  }
};

template<Layout L>
struct training {
  nn::streams seeds{1};
  nn::embedding<float, L, pieces, model> tokens;
  std::vector<two_layers<L>> layers{};
  nn::layer_norm<float, L, model> last;
  tensor<int, L, batch<number<L>>, length> ids;
  tensor<int, L, batch<number<L>>, length> targets;

  constexpr explicit training(machine<L>& m, int count = 1)
      : tokens{m, normal{seeds.next(), 0.02}}, last{m}, ids{m}, targets{m} {
    layers.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) layers.emplace_back(m, seeds);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("tokens", tokens), named("layers", layers), named("last", last));
  }
  constexpr auto step() {
    auto x       = tokens(ids);
    auto balance = layers_in(x);
    auto const y = last(x);
    auto loss    = mean(softmax_cross_entropy<pieces>(tokens.logits(y), targets)) + finish(balance * 0.01F);
    backward(loss);
    sgd{0.1}.step(parameters());
    return loss;
  }

private:
  /// Takes x through all layers, and returns their balance losses.
  constexpr auto layers_in(auto& x) const {
    auto const through = [&x](two_layers<L> const& two, std::uint64_t layer) {
      auto const r = two.first(x);
      auto const a = two.norm1(r.stream, r.branch);
      auto const b = two.norm2(a.sum, two.attention(a.norm));
      auto const z = two.mixed(b.norm, {.seed = 2, .stream = layer});
      x            = b.sum + z.value;
      return z.balance_loss;
    };
    auto total = through(layers[0], 0);
    for (std::size_t i = 1; i < layers.size(); ++i) total = total + through(layers[i], i);
    return total;
  }
};

/// Elements of all parameters, whole.
template<extent N>
consteval extent count() {
  ledger<line<N>> m;
  training<dry<spread<N>>> net{m};
  auto const elements = [](auto&& part) {
    extent n = 0;
    meshtf::parameters(part).for_each([&n]<class T, class P, class... D>(parameter<T, P, D...> const&) {
      n += (D::size * ... * extent{1});
    });
    return n;
  };
  return elements(net.tokens) + pairs * elements(net.layers) + elements(net.last);
}

// of all layers: the gradients of norms and biases fill more than one message, which `repeat` refuses
template<extent N>
constexpr auto cost_of = dry_run<training, spread<N>>(pairs);

// one of each pair: two attentions, a feed-forward network, a gate, four norms; and of each expert
constexpr extent weights_of_attention = 4 * 1024 * 16 * 128 + 3 * 16 * 128 + 1024;
constexpr extent of_expert            = 2 * 1024 * 8192 + 8192 + 1024;
constexpr extent of_all =
    64'000 * 1024 + 2 * 1024 + pairs * (2 * weights_of_attention + of_expert + 4 * 2 * 1024);

template<extent N>
constexpr bool is_exact = count<N>() == of_all + pairs * (1024 * N + N * of_expert) &&
                          cost_of<N>.parameter_bytes() == 4 * (of_all + pairs * (1024 * N + of_expert)) &&
                          cost_of<N>.template calls<collective::all_to_all>() == 4 * pairs;

static_assert(is_exact<128> && is_exact<2048>);
static_assert(count<2048>() == 619'522'867'200);  // more than 2^39; in bytes, more than 2^41

/// A process's bytes of experts: all but what every process has.
template<extent N>
constexpr extent bytes_of_experts = cost_of<N>.parameter_bytes() - 4 * (of_all + pairs * 1024 * N);

// experts in proportion to processes: a process has equally many bytes of them
static_assert(bytes_of_experts<128> == 4 * pairs * of_expert &&
              bytes_of_experts<2048> == bytes_of_experts<128>);

// One core of a TPU v3, half of a chip: of its 123 Tflop/s in bfloat16, and its 900 GB/s of memory (Google's
// talk on TPU v2 and v3, Hot Chips 2020). A link of the torus is taken to be 82 GB/s each way, and a message
// 1 us.
constexpr machine_model tpu_core{.flops_per_second        = 61.5e12,
                                 .memory_bytes_per_second = 450e9,
                                 .seconds_per_byte_added  = 1 / 450e9,
                                 .within_node = {.seconds_per_message = 1e-6, .seconds_per_byte = 1 / 82e9}};

template<extent N>
constexpr extent sent_in(collective kind) {
  extent bytes = 0;
  for (auto const& c : cost_of<N>.collectives())
    if (c.kind == kind) bytes += c.sent;
  return bytes;
}

template<extent N>
void row() {
  static constexpr auto cost       = cost_of<N>;
  static constexpr extent elements = count<N>();
  constexpr extent exchanged       = sent_in<N>(collective::all_to_all);
  std::cout << "| " << N << " | " << thousands_text(elements) << " | " << bytes_text(cost.parameter_bytes())
            << " | " << bytes_text(bytes_of_experts<N>) << " | " << bytes_text(cost.peak_bytes()) << " | "
            << bytes_text(exchanged) << " | " << bytes_text(cost.bytes_sent() - exchanged) << " | "
            << seconds_text(cost.time(tpu_core).total()) << " |\n";
}

}  // namespace

int main() {
  std::cout << "| experts, processes | parameters | of one process | of its experts | peak | sent in "
               "all-to-alls | for gradients | modelled step |\n|---|---|---|---|---|---|---|---|\n";
  row<128>();
  row<2048>();
}
