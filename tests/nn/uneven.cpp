// A language model of sizes that no mesh divides: 251 ids and 7 heads.
#include "language_model.hpp"

namespace accounting {
namespace {

struct ids : meshtf::dim<251> {};
struct seven_heads : meshtf::dim<7> {};
struct narrow : meshtf::dim<18> {};
struct uneven_layers : meshtf::nn::transformer_dims<length, ids, width, seven_heads, key, narrow> {
  static constexpr int layers = 2;
};

struct uneven_square
    : meshtf::layout<square_grid, padded<ids, rows, cols>, padded<seven_heads, rows>, split<narrow, cols>> {};
struct uneven_batch : meshtf::layout<three, padded<batch, third>> {};
struct uneven_line : meshtf::layout<three, padded<ids, third>, padded<seven_heads, third>> {};

template<meshtf::Layout L>
using by_adam = language_model<double, uneven_layers, meshtf::adam, L>;

template<meshtf::Layout L>
void check() {
  costs_what_was_promised<by_adam, L>();
  has_the_answer_of_one_process<by_adam, L>(1e-12);
}

}  // namespace

TEST_CASE(
    "251 ids over 4 processes and 7 heads over 2 cost what was promised and give one process's gradients",
    "[4]") {
  check<uneven_square>();
}

TEST_CASE(
    "a batch of 16, 251 ids and 7 heads over 3 processes cost what was promised and give one process's "
    "gradients",
    "[3]") {
  check<uneven_batch>();
  check<uneven_line>();
}

}  // namespace accounting
