// The recipes of docs/recipes.md: cross attention, padding masks, packed sequences, decoding with a cache,
// weights in parts, numbers that go wrong.
// Run:    examples/processes 4 build/release/examples/recipes
// Prints: for each recipe that it gives what it promises, and the losses of three steps whose weights are
// kept in parts.
#include <cstdio>

#include <meshtf/meshtf.hpp>

using namespace meshtf;

namespace {

struct batch : dim<8> {};
struct source : dim<6> {};  // positions of what the encoder reads
struct target : dim<4> {};  // positions of what the decoder writes
struct vocab : dim<16> {};
struct model : dim<8> {};
struct heads : dim<4> {};
struct key : dim<4> {};
struct hidden : dim<32> {};
struct step : dim<1> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct model_in_parts : dim<model::size> {};  // `model` of a weight that no process has all of
struct mixed : layout<grid, split<batch, rows>, split<heads, cols>, split<hidden, cols>, split<vocab, cols>,
                      split<model_in_parts, rows>> {};

constexpr int no_word = 0;  // the id after the end of a sequence

template<Layout L>
struct encoder_layer {
  nn::attention<float, L, model, heads, key, source> attends;

  constexpr encoder_layer(machine<L>& m, nn::streams& seeds) : attends{m, seeds, 0.3, 0.3} {}
  constexpr auto operator()(auto const& x, auto const& terms) const { return x + attends(x, terms); }
  constexpr auto parameters() { return meshtf::parameters(named("attends", attends)); }
};

template<Layout L>
struct decoder_layer {
  nn::self_attention<float, L, target, model, heads, key> attends;     // causal
  nn::attention<float, L, model, heads, key, target, source> crosses;  // memory along source

  constexpr decoder_layer(machine<L>& m, nn::streams& seeds)
      : attends{m, seeds, 0.3, 0.3}, crosses{m, seeds, 0.3, 0.3} {}

  constexpr auto operator()(auto const& x, auto const& encoded, auto const& terms) const {
    auto const y = x + attends(x);
    return y + crosses(y, encoded, terms);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("attends", attends), named("crosses", crosses));
  }
};

template<Layout L>
struct translator {
  nn::embedding<float, L, vocab, model> tokens;
  encoder_layer<L> encoder;
  decoder_layer<L> decoder;

  constexpr translator(machine<L>& m, nn::streams seeds)
      : tokens{m, normal{seeds.next()}}, encoder{m, seeds}, decoder{m, seeds} {}
  constexpr auto parameters() {
    return meshtf::parameters(named("tokens", tokens), named("encoder", encoder), named("decoder", decoder));
  }

  /// The scores of the targets, where positions of the source that are padding are hidden.
  constexpr auto padded(auto const& source_ids, auto const& target_ids) const {
    auto const visible = not_equal(source_ids, no_word);  // [batch, source]: true where there is a word
    auto const encoded = encoder(tokens(source_ids), with_mask(visible));
    auto const inputs  = nn::autoregressive_inputs<target>(target_ids);
    return tokens.logits(decoder(tokens(inputs), encoded, with_mask(visible)));
  }

  /// The same of several pairs of sequences in each row. A pair has one number, from 1 on, in both sides'
  /// segment ids.
  constexpr auto packed(auto const& source_ids, auto const& of_source, auto const& target_ids,
                        auto const& of_target) const {
    auto const encoded = encoder(tokens(source_ids), with_segments(of_source));
    auto const inputs  = nn::autoregressive_inputs<target>(target_ids, of_target);
    auto const x       = tokens(inputs);
    auto const y       = x + decoder.attends(x, with_segments(of_target));
    auto const z       = y + decoder.crosses(y, encoded, with_segments(of_target, of_source));
    return tokens.logits(z);
  }
};

/// The mean loss of the positions with a word.
constexpr auto loss_of(auto const& scores, auto const& target_ids) {
  auto const is_word = cast<float>(not_equal(target_ids, no_word));
  auto const losses  = softmax_cross_entropy<vocab>(scores, target_ids);  // of padding too, which is left out
  auto const total   = sum(losses * is_word);
  auto const words   = sum(is_word);
  return total / words;
}

/// Whether decoding position by position gives what the decoder gives of all positions at once.
bool decodes(process_mesh<grid>& m) {
  using L = mixed;
  no_gradient const guard{m};
  nn::streams seeds{3};
  decoder_layer<L> const layer{m, seeds};
  auto const encoded = random_normal<float, L, batch, source, model>(m, {.seed = 1});
  auto const x       = random_normal<float, L, batch, target, model>(m, {.seed = 2});
  auto const visible = less(iota<int, L, source>(m), 5);
  auto const whole   = layer(x, encoded, with_mask(visible));

  auto cache      = layer.attends.empty_cache<batch>(m);  // keys and values of the positions so far
  auto const seen = layer.crosses.cache(encoded);         // those of the source: computed once
  bool same       = true;
  for (extent i = 0; i < target::size; ++i) {
    auto const now = slice<target, step>(x, i);
    auto const y   = now + layer.attends.extend<step>(now, cache, i);
    auto const z   = y + layer.crosses.attend<step>(y, seen, with_mask(visible));
    auto const far = max(abs(z - slice<target, step>(whole, i)));
    same           = same && far.value() < 1e-5f;
  }
  return same;
}

/// A step whose weight is kept in parts over the processes that share the batch, and so are its gradient and
/// the state of the optimizer.
template<Layout L>
struct in_parts {
  parameter<float, L, model_in_parts, hidden> w;
  tensor<float, L, batch, model> x;
  tensor<float, L, batch, hidden> y;
  adamw opt{0.05};

  constexpr explicit in_parts(machine<L>& m)
      : w{m, he_normal{1}},
        x{random_normal<float, L, batch, model>(m, {.seed = 2})},
        y{random_normal<float, L, batch, hidden>(m, {.seed = 3})} {}

  constexpr auto step() {
    auto const layer = [&](auto const& v) {
      auto const all = rename<model_in_parts, model>(w);  // an all-gather over rows
      return einsum<batch, hidden>(v, all);
    };
    auto const h    = recompute(layer, x);  // gathers again for the gradient
    auto const loss = mean(square(h - y));
    backward(loss);
    opt.step(parameters(w));  // the gradient was added up by a reduce-scatter
    return loss;
  }
};

constexpr auto cost_in_parts = dry_run<in_parts, mixed>();
static_assert(cost_in_parts.calls<collective::all_gather>() == 2 &&
              cost_in_parts.calls<collective::reduce_scatter>() == 1);
static_assert(cost_in_parts.parameter_bytes() == 4 * 16 * 4);  // a quarter of 8 x 32

}  // namespace

int main(int argc, char** argv) {
  environment env{argc, argv};
  process_mesh<grid> m{env.world()};
  using L             = mixed;
  bool const is_first = m.rank() == 0;
  translator<L> net{m, nn::streams{1}};
  m.agree(parameters(net));
  auto const place   = iota<int, L, source>(m);
  auto const row     = modulo(iota<int, L, batch>(m), 4) + 3;
  auto const words   = modulo(place * 5 + 3, 15) + 1;
  auto const is_word = less(broadcast<batch, source>(place), row);
  auto const ids     = where(is_word, broadcast<batch, source>(words), no_word);
  auto const answers = modulo(broadcast<batch, target>(iota<int, L, target>(m)) + row, 15) + 1;

  auto const before = loss_of(net.padded(ids, answers), answers);
  adamw opt{1e-2};
  opt.shard_state = true;  // processes with the same weights keep a part of AdamW's means each

  auto const padded_loss = [&] { return loss_of(net.padded(ids, answers), answers); };
  spikes of_loss;
  opt.skip_if_not_finite = 3;  // a step with NaN is skipped, three in a row end the job
  for (int i = 0; i < 20; ++i) {
    bool const looks = i % 10 == 0;
    auto const loss  = looks ? twice(parameters(net), padded_loss) : padded_loss();
    if (!looks) backward(loss);                                      // twice has done that
    if (of_loss.add(loss.value())) zero_gradients(parameters(net));  // or another policy
    opt.step(parameters(net));
    if (looks) m.agree(parameters(net), opt, replicas_differ::send_again);
  }
  auto const after = loss_of(net.padded(ids, answers), answers);
  if (is_first)
    std::printf("padded: the loss is %.2f at the start, %.2f after 20 steps\n", before.value(),
                after.value());

  auto const of_source = floor_divide(place, 3) + 1;
  auto const of_target = floor_divide(iota<int, L, target>(m), 2) + 1;
  auto const full      = broadcast<batch, source>(words);
  auto const packed    = loss_of(net.packed(full, of_source, answers, of_target), answers);
  if (is_first) std::printf("packed: the loss of two pairs in each row is %.2f\n", packed.value());
  {
    early_sums const early{parameters(net)};
    backward(packed);
    sgd{1e-2}.step(parameters(net));
  }
  adamw opt_alone{1e-3};
  opt_alone.prepare(parameters(net));
  auto const again = loss_of(net.packed(full, of_source, answers, of_target), answers);
  backward(again, opt_alone, parameters(net));

  bool const same = decodes(m);
  if (is_first) std::printf("decoding with caches gives %s\n", same ? "the whole pass" : "something else");

  in_parts<L> parts{m};
  m.agree(parameters(parts.w));
  double losses[3];
  for (double& loss : losses) loss = parts.step().value();
  if (is_first) std::printf("weights in parts: losses %.3f %.3f %.3f\n", losses[0], losses[1], losses[2]);
  return same && after.value() < before.value() && losses[2] < losses[0] ? 0 : 1;
}
