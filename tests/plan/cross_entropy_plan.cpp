// Softmax cross entropy: which logits and targets belong together, and over which axes the sums are finished.
#include <meshtf/plan/cross_entropy_plan.hpp>

using namespace meshtf;

struct batch  : dim<8>  {};
struct length : dim<4>  {};
struct vocab  : dim<12> {};

struct rows : axis<2> {};
struct cols : axis<3> {};
struct grid : mesh<rows, cols> {};

struct mixed  : layout<grid, split<batch, rows>, split<vocab, cols>> {};
struct whole  : layout<grid, split<batch, rows>> {};
struct clash  : layout<grid, split<batch, rows>, split<vocab, rows>> {};

using logits = shape<batch, vocab, length>;

// Targets have all dimensions of the logits but that of the classes, in their order.
static_assert(is_legal<cross_entropy_verdict<mixed, logits, vocab, shape<batch, length>>>);
static_assert(is_legal<cross_entropy_verdict<mixed, shape<vocab>, vocab, shape<>>>);
static_assert(std::same_as<cross_entropy_verdict<mixed, logits, vocab, shape<batch>>, targets_have_other_dims<shape<batch, length>, shape<batch>>>);
static_assert(std::same_as<cross_entropy_verdict<mixed, logits, vocab, shape<length, batch>>,
                           targets_have_other_dims<shape<batch, length>, shape<length, batch>>>);
static_assert(std::same_as<cross_entropy_verdict<mixed, logits, vocab, logits>, targets_have_other_dims<shape<batch, length>, logits>>);

// The classes are a dimension of the logits, and these have a place.
static_assert(std::same_as<cross_entropy_verdict<mixed, shape<batch, length>, vocab, shape<batch, length>>, dim_is_not_in_tensor<vocab>>);
static_assert(std::same_as<cross_entropy_verdict<clash, logits, vocab, shape<batch, length>>, one_axis_splits_two_dims<rows, batch, vocab>>);

// Sums over split classes are finished over their axes; those over whole ones need nobody.
static_assert(cross_entropy_plan<mixed, logits, vocab, shape<batch, length>>::finished_over == 0b10);
static_assert(cross_entropy_plan<whole, logits, vocab, shape<batch, length>>::finished_over == 0);

// A process picks logits out of its shard: 4 of 8 rows, 4 of 12 classes, 4 positions after each.
constexpr auto lines = cross_entropy_plan<mixed, logits, vocab, shape<batch, length>>::lines;
static_assert(lines.outer == 4 && lines.along == 4 && lines.inner == 4 && lines.whole == 12 && lines.over == axis_list{{1}, 1});

// The dimension may stand first or last.
constexpr auto dims = placed_dims<mixed, shape<vocab, batch>>;
static_assert(plan_lines(dims, 0).outer == 1 && plan_lines(dims, 0).inner == 4);
static_assert(plan_lines(dims, 1).outer == 4 && plan_lines(dims, 1).inner == 1 && plan_lines(dims, 1).whole == 8);
