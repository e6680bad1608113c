// If it compiles, it passes: which searches are legal, what their steps are, and that a search under an
// undecided layout is priced as in dry runs.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "../search/same_price.hpp"

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<6> {};
struct bins : dim<33> {};
struct model : dim<16> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct by_batch : layout<grid, split<batch, rows>, split<length, cols>> {};
struct by_bins : layout<grid, split<batch, rows>, padded<bins, cols>> {};
struct clash : layout<grid, split<batch, rows>, split<model, rows>> {};

template<class L, class Sequence, class Values>
using verdict = typename searchsorted_plan<L, Sequence, bins, Values>::verdict;
using values  = shape<batch, length>;

static_assert(is_legal<verdict<by_batch, shape<bins>, values>>);
static_assert(is_legal<verdict<by_batch, shape<batch, bins>, values>>);
static_assert(std::same_as<verdict<by_bins, shape<bins>, values>, search_along_split_dim<bins, axes<cols>>>);
static_assert(std::same_as<verdict<by_batch, shape<bins>, shape<bins>>, values_have_searched_dim<bins>>);
static_assert(std::same_as<verdict<by_batch, shape<batch>, values>, dim_is_not_in_tensor<bins>>);
static_assert(
    std::same_as<verdict<clash, shape<bins, model>, values>, one_axis_splits_two_dims<rows, batch, model>>);

// one sequence for all values; one for each row of them; several for each value
template<class Sequence>
using plan = searchsorted_plan<by_batch, Sequence, bins, values>;
static_assert(std::same_as<plan<shape<bins>>::result, values>);
static_assert(std::same_as<plan<shape<batch, bins>>::result, values>);
static_assert(std::same_as<plan<shape<model, bins>>::result, shape<batch, length, model>>);
static_assert(plan<shape<bins>>::lines.ids == 4 * 3 && plan<shape<bins>>::lines.block_ids == 4 * 3);
static_assert(plan<shape<bins>>::lines.compared() == 6 && plan<shape<bins>>::lines.table_stride == 0);
static_assert(plan<shape<batch, bins>>::lines.block_ids == 3 &&
              plan<shape<batch, bins>>::lines.blocks.stride[1][0] == 33);
static_assert(plan<shape<model, bins>>::lines.rows == 16);

template<Layout L>
struct step_of {
  parameter<float, L, batch, bins> edges;
  parameter<float, L, batch, length> x;

  constexpr explicit step_of(machine<L>& m) : edges{m}, x{m} {}
  constexpr auto step() {
    auto loss = sum(x * cast<float>(searchsorted<bins>(edges, x)));
    backward(loss);
    return loss;
  }
};
constexpr auto step = record<step_of, batch, length, bins>();
static_assert(tests::priced_as_dry_runs<step, step_of, by_batch>);

}  // namespace
