// If it compiles, it passes: the search finds data parallelism x heads and hidden for an encoder and decoder
// of packed pairs, at the price of a dry run.
#include <concepts>

#include <meshtf/planning.hpp>

#include <meshtf/search/search.hpp>

namespace {

struct batch : meshtf::dim<16> {};
struct source : meshtf::dim<16> {};
struct target : meshtf::dim<16> {};
struct vocab : meshtf::dim<512> {};
struct model : meshtf::dim<128> {};
struct heads : meshtf::dim<4> {};
struct key : meshtf::dim<32> {};
struct hidden : meshtf::dim<512> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct dims : meshtf::nn::seq2seq_dims<source, target, vocab, model, heads, key, hidden> {
  static constexpr int encoder_layers = 1;
  static constexpr int decoder_layers = 1;
};

template<meshtf::Layout L>
struct training {
  meshtf::nn::seq2seq<float, L, dims> net;
  meshtf::tensor<int, L, batch, source> from;
  meshtf::tensor<int, L, batch, target> to;

  constexpr explicit training(meshtf::machine<L>& m) : net{m, 1}, from{m}, to{m} {}
  constexpr auto step() {
    meshtf::nn::packed_pairs const pairs{from, from, to, to};
    auto const total = net.loss(pairs);
    auto const loss  = total / net.count(pairs);
    backward(loss);
    meshtf::sgd{0.1}.step(parameters(net));
    return loss;
  }
};

// data x heads, hidden and vocab, the layout of section 4 of Mesh-TensorFlow (2018)
using mixed = meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<vocab, cols>,
                             meshtf::split<heads, cols>, meshtf::split<hidden, cols>>;

constexpr auto step   = meshtf::record<training, batch, source, target, vocab, heads, hidden>();
using space           = meshtf::candidates<batch, source, target, vocab, heads, hidden>;
using best            = meshtf::best_layout<step, grid, space>;
constexpr auto ranked = meshtf::rank_layouts<grid, space>(step);
static_assert(meshtf::dry_run<training, best>().peak_bytes() == ranked[0].peak);
static_assert(ranked.size() > 10);
static_assert(std::same_as<best, mixed>);

}  // namespace
