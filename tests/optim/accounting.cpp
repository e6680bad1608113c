// AdamW with sharded state, clipped: promised by the compiler = counted by the ledger of a run = seen by MPI.
#include "../accounting/mlp.hpp"

namespace accounting {

namespace {

struct sharded_adamw : meshtf::adamw {
  constexpr explicit sharded_adamw(double r) : adamw(r) {
    shard_state = true;
    max_norm    = 0.1;
  }
};

struct clipped_adamw : meshtf::adamw {
  constexpr explicit clipped_adamw(double r) : adamw(r) { max_norm = 0.1; }
};

/// Its norm is the one that clips.
struct skipping_adamw : meshtf::adamw {
  constexpr explicit skipping_adamw(double r) : adamw(r) { skip_if_not_finite = 3; }
};
struct skipping_clipped_adamw : skipping_adamw {
  constexpr explicit skipping_clipped_adamw(double r) : skipping_adamw(r) { max_norm = 0.1; }
};

struct skipping_sgd : meshtf::sgd {
  constexpr explicit skipping_sgd(double r) : sgd{.rate = r, .skip_if_not_finite = 3} {}
};
struct skipping_adafactor : meshtf::adafactor {
  constexpr explicit skipping_adafactor(double r) : adafactor(r) { skip_if_not_finite = 3; }
};

template<meshtf::Layout L>
using by_skipping_sgd = training<float, skipping_sgd, L>;
template<meshtf::Layout L>
using by_skipping_adafactor = training<float, skipping_adafactor, L>;
template<meshtf::Layout L>
using by_skipping_adamw = training<float, skipping_adamw, L>;
template<meshtf::Layout L>
using by_skipping_clipped_adamw = training<float, skipping_clipped_adamw, L>;
template<meshtf::Layout L>
using by_sharded_adamw = training<float, sharded_adamw, L>;
template<meshtf::Layout L>
using by_clipped_adamw = training<float, clipped_adamw, L>;

template<meshtf::Layout L>
void check() {
  costs_what_was_promised<by_sharded_adamw, L>();
  costs_what_was_promised<by_clipped_adamw, L>();
}

}  // namespace

TEST_CASE("AdamW on 1 process costs what was promised", "[1]") { check<replicated>(); }

TEST_CASE("AdamW, sharded and clipped, costs on 2 processes what was promised", "[2]") {
  check<data>();
  check<model>();
}

TEST_CASE("AdamW, sharded and clipped, costs on 4 processes what was promised", "[4]") {
  check<mixed>();
  check<two_axes>();
}

TEST_CASE("AdamW that skips steps costs on 4 processes what was promised, one norm also if it clips", "[4]") {
  constexpr auto skipping = meshtf::dry_run<by_skipping_adamw, mixed>();
  constexpr auto both     = meshtf::dry_run<by_skipping_clipped_adamw, mixed>();
  static_assert(skipping.collectives().size() == both.collectives().size());
  static_assert(skipping.bytes_sent() == both.bytes_sent());
  costs_what_was_promised<by_skipping_clipped_adamw, mixed>();
  costs_what_was_promised<by_skipping_adamw, two_axes>();
}

TEST_CASE("SGD and Adafactor that skip steps cost on 4 processes what was promised", "[4]") {
  costs_what_was_promised<by_skipping_sgd, mixed>();
  costs_what_was_promised<by_skipping_adafactor, mixed>();
}

TEST_CASE("AdamW, sharded and clipped, costs on 8 processes what was promised", "[8]") {
  check<wide_mixed>();
  check<wide_two_axes>();
  check<cubic>();
}

}  // namespace accounting
