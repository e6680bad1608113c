// The language model in single precision, trained by AdamW with sharded state, in every layout of the
// fixture.
// test: long
#include "language_model.hpp"

namespace accounting {

struct sharded_adamw : meshtf::adamw {
  static constexpr bool prepared = true;
  constexpr explicit sharded_adamw(double r) : adamw(r) {
    shard_state = true;
    max_norm    = 0.5;
  }
};

template<meshtf::Layout L>
using by_sharded_adamw = language_model<float, untied_layer, sharded_adamw, L>;

namespace {

template<meshtf::Layout L>
void check() {
  costs_what_was_promised<by_sharded_adamw, L>();
  has_the_answer_of_one_process<by_sharded_adamw, L>(1e-5);
}

}  // namespace

TEST_CASE("the language model in float on 1 process", "[1]") { check<replicated>(); }

TEST_CASE("the language model in float on 2 processes costs what was promised and has the gradients of one",
          "[2]") {
  check<data>();
  check<model>();
}

TEST_CASE("the language model in float on 4 processes costs what was promised and has the gradients of one",
          "[4]") {
  check<mixed>();
  check<two_axes>();
}

TEST_CASE("the language model in float on 8 processes costs what was promised and has the gradients of one",
          "[8]") {
  check<wide_mixed>();
  check<wide_two_axes>();
  check<cubic>();
}

}  // namespace accounting
