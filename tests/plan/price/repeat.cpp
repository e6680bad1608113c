// If it compiles, it passes: what blocks cost that are priced once is what a program with so many of them costs.
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<16> {};
struct vocab : dim<64> {};
struct width : dim<32> {};
struct heads : dim<4> {};
struct key : dim<8> {};
struct inner : dim<128> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct mixed : layout<grid, split<batch, rows>, split<heads, cols>, split<inner, cols>, split<vocab, cols>> {};

// the library's Transformer, of one to six layers
template<int Layers>
struct model_dims : nn::transformer_dims<length, vocab, width, heads, key, inner> {
  static constexpr int layers = Layers;
};

template<Layout L, int Layers>
struct training {
  nn::transformer<float, L, model_dims<Layers>> net;
  adam opt{1e-3};
  tensor<int, L, batch, length> ids, targets;
  constexpr explicit training(machine<L>& m) : net{m, 1}, ids{m}, targets{m} { opt.prepare(parameters(net)); }
  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<vocab>(net(ids), targets));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};
template<Layout L>
using with_1 = training<L, 1>;
template<Layout L>
using with_2 = training<L, 2>;
template<Layout L>
using with_3 = training<L, 3>;
template<Layout L>
using with_4 = training<L, 4>;
template<Layout L>
using with_6 = training<L, 6>;

template<class L>
constexpr auto repeated(int n) {
  return repeat(n, dry_run<with_1, L>(), dry_run<with_2, L>(), dry_run<with_3, L>());
}
template<class A>
constexpr bool same(A const& a, A const& b) {
  return a == b && a.live_bytes() == b.live_bytes() && a.at_peak().by_kind == b.at_peak().by_kind && a.bytes_sent() == b.bytes_sent() &&
         a.calls() == b.calls();
}
constexpr auto one = dry_run<with_1, mixed>(), two = dry_run<with_2, mixed>(), three = dry_run<with_3, mixed>();

static_assert(same(repeat(1, one, two, three), one) && same(repeat(3, one, two, three), three));
static_assert(same(repeat(4, one, two, three), dry_run<with_4, mixed>()));
static_assert(same(repeat(6, one, two, three), dry_run<with_6, mixed>()));

// more blocks than a cost could list calls: counted, not listed
constexpr auto deep = repeat(2000, one, two, three);
static_assert(deep.calls() == three.calls() + 1997 * (three.calls() - two.calls()) && deep.calls() > 4096 && deep.collectives().size() < 300);
static_assert(deep.parameter_bytes() == one.parameter_bytes() + 1999 * (two.parameter_bytes() - one.parameter_bytes()));
static_assert(deep.bytes_sent<cols>() == three.bytes_sent<cols>() + 1997 * (three.bytes_sent<cols>() - two.bytes_sent<cols>()));

}  // namespace
