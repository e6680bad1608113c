// An encoder and decoder as a pipeline: packed pairs, of which all that the later stages need is handed on.
// The same bits for every number of stages, at the promised price.
// test: program pipeline
#include <string>
#include <vector>

#include "on_stages.hpp"

namespace {

using namespace pipelines;

struct batch : dim<8> {};
struct part : dim<2> {};
struct source : dim<8> {};
struct target : dim<6> {};
struct vocab : dim<32> {};
struct width : dim<16> {};
struct heads : dim<4> {};
struct key : dim<4> {};
struct hidden : dim<24> {};

template<int K>
struct stages : axis<K> {};
struct rows : axis<2> {};
template<int K>
struct line : mesh<stages<K>> {};
struct pair_of_rows : mesh<stages<2>, rows> {};

template<int K>
struct piped : layout<line<K>, staged<stages<K>>> {};
struct piped_and_split
    : layout<pair_of_rows, staged<stages<2>>, split<vocab, rows>, split<heads, rows>, split<hidden, rows>> {};
struct piped_and_kept
    : layout<pair_of_rows, staged<stages<2>>, split<batch, rows>, split<part, rows>, kept_over<rows>> {};
struct plain : layout<line<1>> {};

template<class Positions>
struct dims : nn::seq2seq_dims<source, target, vocab, width, heads, key, hidden> {
  using positions                     = Positions;
  static constexpr int encoder_layers = 2;
  static constexpr int decoder_layers = 3;
};
struct open_dims : nn::seq2seq_dims<source, target, vocab, width, heads, key, hidden> {
  static constexpr int encoder_layers = nn::any_depth;
  static constexpr int decoder_layers = nn::any_depth;
};

/// Steps of packed pairs whose micro-batches have unequally many targets.
template<Layout L, class Positions>
struct training {
  nn::seq2seq<double, L, dims<Positions>> net;
  adamw opt{1e-2};
  machine<L>* m;

  constexpr explicit training(machine<L>& on) : net{on, 1}, m{&on} { opt.max_norm = 0.5; }
  constexpr auto gradients() {
    auto const pairs =
        nn::packed_pairs{ids<source>(*m, 3), segments<source>(*m), ids<target>(*m, 4), segments<target>(*m)};
    auto const micro = [&](extent i) { return pairs.template part<batch, part>(i); };
    return accumulate<4>(
        *m,
        [&](extent i) {
          auto const pass = static_cast<std::uint64_t>(i);
          return net.loss(micro(i), {.dropout = {.rate = 0.1, .random = {.seed = 1, .stream = pass}},
                                     .terms   = {.label_smoothing = 0.1, .z_loss = 1e-3}});
        },
        [&](extent i) { return net.count(micro(i)); });
  }
  constexpr auto step() {
    auto loss = gradients();
    opt.step(parameters(net));
    return loss;
  }
  /// The loss of the whole batch, without gradients.
  constexpr auto evaluate() {
    no_gradient const guard{*m};
    return gradients();
  }

private:
  template<Dimension Along>
  static constexpr auto ids(machine<L>& on, std::uint64_t seed) {
    return argmax<vocab>(random_normal<double, L, batch, Along, vocab>(on, {.seed = seed}));
  }
  /// Two sequences in a row, then padding; less of it in later rows.
  template<Dimension Along>
  static constexpr auto segments(machine<L>& on) {
    auto const row   = broadcast<batch, Along>(iota<int, L, batch>(on));
    auto const place = iota<int, L, Along>(on);
    auto const there = less(row * -1 + place, 5);
    return (floor_divide(place, 3) + 1) * there;
  }
};

template<Layout L, class Positions>
std::vector<double> losses_on(process_mesh<typename L::mesh_type>& m) {
  training<L, Positions> t{m};
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) losses.push_back(t.step().value());
  losses.push_back(t.evaluate().value());
  return losses;
}

template<class Positions>
struct step_of {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    training<L, Positions> t{m};
    auto const loss = t.step();
  }
};

/// The stages of `L` against one stage.
template<class L, class Positions>
void check(double tolerance = 0) {
  INFO(name_of<L>());
  auto& m        = processes<typename L::mesh_type>();
  auto const one = losses_on<piped<1>, Positions>(processes<line<1>>(alone()));
  auto const own = losses_on<L, Positions>(m);
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (tolerance == 0) CHECK(own[i] == one[i]);
    else CHECK(std::abs(own[i] - one[i]) <= tolerance * one[i]);
  }
  expect_price<L, step_of<Positions>>(m);
}

}  // namespace

TEST_CASE("the losses of packed pairs have the bits of one stage") {
  switch (communicator{}.size()) {
    case 2:
#ifdef MESHTF_LONG_ZOO
      check<piped<2>, nn::sinusoids>();
      check<piped<2>, nn::learned_positions>();
#endif
      break;
    case 4:
      check<piped<4>, nn::sinusoids>();  // the second and third stage have blocks of the decoder only
      check<piped_and_split, nn::sinusoids>(1e-12);
      check<piped_and_kept, nn::learned_positions>(1e-10);
      break;
    default: break;
  }
}

TEST_CASE("an encoder and decoder in one stage agrees with no stages to rounding", "[1]") {
  if (communicator{}.size() != 1) return;
  auto& m         = processes<line<1>>();
  auto const with = losses_on<piped<1>, nn::sinusoids>(m);
  auto const none = losses_on<plain, nn::sinusoids>(m);
  for (std::size_t i = 0; i < with.size(); ++i) CHECK(std::abs(with[i] - none[i]) <= 1e-6 * none[i]);
}

TEST_CASE("stages cut the blocks of encoder and decoder together, also where their depths are open", "[2]") {
  if (communicator{}.size() != 2) return;
  auto& m = processes<line<2>>();
  nn::seq2seq<double, piped<2>, open_dims> const net{m, nn::depth{1}, nn::depth{1}, 1};
  bool const first = m.coordinate<stages<2>>() == 0;
  CHECK(net.encoder.norm.scale.handle()->is_absent() == !first);
  CHECK(net.decoder.norm.scale.handle()->is_absent() == first);
  CHECK_THROWS_AS((nn::seq2seq<double, piped<2>, open_dims>{m, nn::depth{1}, nn::depth{0}, 1}),
                  software_error);
}
