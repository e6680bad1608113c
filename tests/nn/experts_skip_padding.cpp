// An encoder and a decoder whose layers of experts skip the padding of packed rows: it takes no place, and no
// loss, value or gradient depends on what stands there, on stages and on any number of processes.
#include <cmath>
#include <vector>

#include <meshtf/nn/experts_in_blocks.hpp>

#include "packed_rows.hpp"

namespace {

using namespace packed_rows;

struct batch : dim<4> {};
struct source : dim<12> {};
struct target : dim<10> {};
struct vocab : dim<16> {};
struct width : dim<8> {};
struct heads : dim<2> {};
struct key : dim<4> {};
struct hidden : dim<12> {};
struct inside : dim<12> {};
struct experts : dim<4> {};

struct by_two : layout<line, split<batch, rows>, split<experts, rows>> {};

using feeds = nn::experts_in_every_second_block<experts, batch, inside>;

template<class Feeds>
struct dims : nn::seq2seq_dims<source, target, vocab, width, heads, key, hidden> {
  using feed_forward                  = Feeds;
  static constexpr int encoder_layers = 2;
  static constexpr int decoder_layers = 2;
};

template<Layout L, Dimension Along>
constexpr auto ids(machine<L>& m, std::uint64_t seed) {
  return random_ids<double, L, vocab, batch, Along>(m, seed);
}
template<Layout L, Dimension Along>
constexpr auto segments(machine<L>& m) {
  return segments_of_rows<L, batch, Along>(m);
}

/// What training has come to, as numbers.
template<class Feeds, Layout L>
struct training {
  nn::seq2seq<double, L, dims<Feeds>> net;
  machine<L>* m;

  constexpr explicit training(machine<L>& on) : net{on, 1}, m{&on} {}
  /// With the ids of `padding` where no sequence is.
  constexpr auto pairs(int padding) const {
    auto const of_source = segments<L, source>(*m);
    auto const of_target = segments<L, target>(*m);
    auto const from      = where(of_source, ids<L, source>(*m, 3), padding);
    auto const to        = where(of_target, ids<L, target>(*m, 4), padding);
    return nn::packed_pairs{from, of_source, to, of_target};
  }
  template<class Pairs>
  constexpr auto loss_of(Pairs const& some) const {
    random_key const random{.seed = 1, .stream = 2};
    auto const z = net.loss(some, {.dropout = {.rate = 0.1, .random = random, .trains = true}});
    return std::pair{z.value + finish(z.balance_loss * 20 + z.router_z_loss * 10), z.dropped};
  }
  constexpr auto pass(int padding) const {
    auto const z = loss_of(pairs(padding));
    backward(z.first);
    return z;
  }
  constexpr auto pass_of_stages() const {
    auto const some = pairs(0);
    return accumulate<1>(*m, [&](extent) { return loss_of(some).first; });
  }
};

template<class Feeds, Layout L, class M>
std::vector<double> numbers(M& m, int padding) {
  training<Feeds, L> t{m};
  auto const [loss, dropped] = t.pass(padding);
  std::vector<double> all{loss.value(), static_cast<double>(sum(dropped).value())};
  t.net.parameters().for_each([&](auto& w) { all.push_back(sum(square(finish(gradient(w)))).value()); });
  return all;
}
template<class Feeds>
std::vector<double> of_one(int padding) {
  return numbers<Feeds, whole>(processes<single>(alone()), padding);
}
using skipping = feeds::skipping_padding;

struct step {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    training<skipping, L>{m}.pass(0);
  }
};
struct step_with_padding {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    training<feeds, L>{m}.pass(0);
  }
};
constexpr auto skips = dry_run<by_two>(step{});
constexpr auto pays  = dry_run<by_two>(step_with_padding{});
// a count for each of two layers of experts
static_assert(skips.calls() == pays.calls() + 2);
static_assert(skips.calls<collective::all_reduce>() == pays.calls<collective::all_reduce>() + 2);
static_assert(skips.bytes_sent() == pays.bytes_sent() + 2 * sizeof(std::int32_t));

}  // namespace

TEST_CASE("no loss, gradient or place depends on padding that layers of experts skip", "[1]") {
  auto const some  = of_one<skipping>(0);
  auto const other = of_one<skipping>(7);
  CHECK(some.size() > 50);
  CHECK(some[1] > 0);  // choices are dropped
  CHECK(std::isfinite(some[0]));
  CHECK(some == other);
  CHECK(of_one<feeds>(0)[0] != of_one<feeds>(7)[0]);
}

TEST_CASE("layers of experts that skip padding have the losses of one process, and the promised price",
          "[2]") {
  auto const truth = of_one<skipping>(0);
  auto const own   = numbers<skipping, by_two>(processes<line>(), 0);
  REQUIRE(own.size() == truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i)
    CHECK(own[i] == Approx(truth[i]).epsilon(1e-9).margin(1e-12));
  fixture::compare(fixture::cost_summary{skips},
                   fixture::cost_summary{recorded<by_two>(processes<line>(), step{})}, "by_two");
}

TEST_CASE("stages hand on where padding is", "[2]") {
  auto const truth = of_one<skipping>(0);
  training<skipping, piped> const two{processes<line_of_stages>()};
  CHECK(two.pass_of_stages().value() == Approx(truth[0]).epsilon(1e-12));
}
