// If it compiles, it passes.
#include <meshtf/plan/concat_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct head : dim<2> {};
struct middle : dim<3> {};
struct tail : dim<5> {};
struct rest : dim<4> {};
struct length : dim<10> {};
struct twelve : dim<12> {};
struct model : dim<16> {};

struct rows : axis<2> {};
struct solo : axis<1> {};
struct grid : mesh<rows, solo> {};

struct by_batch : layout<grid, split<batch, rows>, split<length, solo>> {};
struct by_length : layout<grid, split<length, rows>> {};
struct by_rest : layout<grid, split<rest, rows, solo>> {};
struct both : layout<grid, split<batch, rows>, split<length, rows>> {};
struct clash : layout<grid, split<batch, rows>, split<model, rows>> {};

template<class... D>
using s = shape<D...>;
template<class L, class... X>
using verdict = concat_verdict<L, length, X...>;

// the new dimension stands where that of the parts stood
using three =
    concat_plan<by_batch, length, s<batch, head, model>, s<batch, middle, model>, s<batch, tail, model>>;
static_assert(is_legal<three::verdict> && std::same_as<three::result, s<batch, length, model>>);
static_assert(
    std::same_as<concat_plan<by_batch, twelve, s<model, length>, s<model, head>>::result, s<model, twelve>>);
// a dimension may come in twice, but not from all parts
// an axis of size 1 splits nothing
static_assert(is_legal<concat_verdict<by_batch, twelve, s<tail>, s<tail>, s<head>>>);
static_assert(std::same_as<verdict<by_batch, s<batch, head>, s<batch, head>>,
                           part_brings_other_than_one_dim<s<batch, head>, s<>>>);
// ... and where so many of it make up the new one, it is what a rename is missing for
static_assert(std::same_as<verdict<by_batch, s<batch, tail>, s<batch, tail>>, parts_share_dim<tail>>);
static_assert(std::same_as<concat_verdict<by_batch, twelve, s<batch, rest>, s<batch, rest>, s<batch, rest>>,
                           parts_share_dim<rest>>);
static_assert(
    std::same_as<verdict<by_batch, s<batch, tail>, s<tail>>, part_brings_other_than_one_dim<s<tail>, s<>>>);
static_assert(std::same_as<verdict<by_batch, s<batch, tail>, s<model, rest>>,
                           part_brings_other_than_one_dim<s<batch, tail>, s<batch, tail>>>);

static_assert(std::same_as<verdict<by_batch, s<batch, tail>, s<middle, batch>>,
                           parts_have_other_dims<s<batch, length>, s<length, batch>>>);
static_assert(
    std::same_as<verdict<by_batch, s<batch, tail>, s<batch, rest>>, parts_do_not_add_up_to_dim<length, 9>>);
static_assert(std::same_as<concat_verdict<by_length, batch, s<batch, tail>, s<batch, middle>>,
                           dim_appears_twice<batch>>);
static_assert(is_legal<verdict<by_length, s<tail>, s<middle>, s<head>>>);  // each process keeps its part
static_assert(std::same_as<concat_verdict<by_length, twelve, s<length>, s<head>>,
                           concatenated_dim_is_split<length, axes<rows>>>);
static_assert(std::same_as<verdict<both, s<batch, tail>, s<batch, middle>, s<batch, head>>,
                           one_axis_splits_two_dims<rows, batch, length>>);
static_assert(
    std::same_as<concat_verdict<by_rest, batch, s<tail>, s<rest>>, parts_do_not_add_up_to_dim<batch, 9>>);
static_assert(std::same_as<concat_verdict<by_rest, batch, s<rest>, s<head>, s<head>>,
                           concatenated_dim_is_split<rest, axes<rows, solo>>>);
static_assert(
    std::same_as<verdict<clash, s<batch, tail, model>, s<batch, middle, model>, s<batch, head, model>>,
                 one_axis_splits_two_dims<rows, batch, model>>);

struct counted_part : up_to<5> {};
struct counted_whole : up_to<10> {};
static_assert(std::same_as<verdict<by_batch, s<batch, head>, s<batch, middle>, s<batch, counted_part>>,
                           concatenated_dim_is_counted<counted_part>>);
static_assert(
    std::same_as<concat_verdict<by_batch, counted_whole, s<batch, tail>, s<batch, middle>, s<batch, head>>,
                 concatenated_dim_is_counted<counted_whole>>);

// for each of four of the batch, whole lines of a part
constexpr part_steps place = three::place<s<batch, middle, model>>;
static_assert(place.copy.rank == 2 && place.copy.size[0] == 4 && place.copy.size[1] == 3 * 16 &&
              place.stride == 16);
static_assert(place.copy.stride[0][0] == 10 * 16 && place.copy.stride[1][0] == 3 * 16);

}  // namespace
