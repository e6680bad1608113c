// If it compiles, it passes.
#include <meshtf/plan/cross_entropy_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<6> {};
struct vocab : dim<32> {};
struct ragged : dim<7> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct deep : axis<4> {};
struct grid : mesh<rows, cols, deep> {};

struct by_batch : layout<grid, split<batch, rows>, split<ragged, cols>> {};
struct by_vocab : layout<grid, split<batch, rows>, split<vocab, deep, cols>> {};
struct clash : layout<grid, split<batch, rows>, split<vocab, rows>> {};

using logits  = shape<batch, length, vocab>;
using targets = shape<batch, length>;

// one target for each element of the other dimensions, in their order
static_assert(is_legal<cross_entropy_verdict<by_batch, logits, vocab, targets>>);
static_assert(std::same_as<cross_entropy_verdict<by_batch, logits, vocab, shape<batch>>,
                           targets_have_other_dims<targets, shape<batch>>>);
static_assert(std::same_as<cross_entropy_verdict<by_batch, logits, vocab, shape<length, batch>>,
                           targets_have_other_dims<targets, shape<length, batch>>>);
static_assert(std::same_as<cross_entropy_verdict<by_batch, logits, vocab, logits>,
                           targets_have_other_dims<targets, logits>>);
static_assert(is_legal<cross_entropy_verdict<by_vocab, shape<vocab>, vocab, shape<>>>);

// the classes are a dimension of the logits
static_assert(
    std::same_as<cross_entropy_verdict<by_batch, targets, vocab, targets>, dim_is_not_in_tensor<vocab>>);

// and there must be such logits
static_assert(std::same_as<cross_entropy_verdict<clash, logits, vocab, targets>,
                           one_axis_splits_two_dims<rows, batch, vocab>>);
static_assert(std::same_as<cross_entropy_verdict<by_batch, shape<batch, ragged>, ragged, shape<batch>>,
                           parts_do_not_divide_dim<ragged, 7, 2>>);

// whole classes need no word from other processes, split ones from those that have the others
static_assert(cross_entropy_plan<by_batch, logits, vocab, targets>::finished_over == 0);
static_assert(cross_entropy_plan<by_vocab, logits, vocab, targets>::finished_over == 0b110);

// lines of classes lie in memory with what is before and after them
constexpr line_steps last = cross_entropy_plan<by_vocab, logits, vocab, targets>::lines;
static_assert(last.outer == (8 / 2) * 6 && last.along == 32 / 8 && last.inner == 1 && last.global == 32);
static_assert(last.over.count == 2 && last.over[0] == 2 && last.over[1] == 1);
constexpr line_steps middle =
    cross_entropy_plan<by_batch, shape<batch, vocab, length>, vocab, targets>::lines;
static_assert(middle.outer == 8 / 2 && middle.along == 32 && middle.inner == 6 && middle.global == 32 &&
              middle.over.count == 0);

}  // namespace
