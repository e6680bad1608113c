// If it compiles, it passes: the bytes that a verdict about a split dimension names are those of the cheapest
// reshard after which it is whole.
#include <meshtf/ops/shape/reshard.hpp>
#include <meshtf/price/dry_run.hpp>
#include <meshtf/tensor/operation.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<12> {};
struct ends : dim<10> {};
struct odd : dim<3> {};

struct rows : axis<4> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct by_length : layout<grid, split<length, rows>> {};
struct by_batch : layout<grid, split<batch, rows>> {};
struct by_both : layout<grid, split<length, rows>, split<batch, cols>> {};
struct all_in_batch : layout<grid, split<batch, cols, rows>> {};
struct unequal : layout<grid, padded<ends, rows>> {};
struct whole : layout<grid> {};

template<class L, class L2, class T, class... D>
constexpr extent sent = dry_run<L>([]<Layout DL>(machine<DL>& m) {
                          tensor<T, DL, D...> x{m};
                          (void)reshard<L2>(x);
                        }).bytes_sent();

template<class Verdict, class... X>
using shown = detail::with_reshard<Verdict, X...>;

// a verdict like those of the operations
template<class Dim, class Axes>
struct is_split;

using says = is_split<length, axes<rows>>;
using x    = tensor<float, by_length, batch, length>;

// where another dimension takes the axes, an all-to-all sends less than an all-gather
static_assert(
    std::same_as<shown<says, x>,
                 is_split<length, reshard_for<sent<by_length, by_batch, float, batch, length>, rows>>>);
static_assert(sent<by_length, by_batch, float, batch, length> == 8 * 3 * 4 * 3 / 4);
static_assert(sent<by_length, by_batch, float, batch, length> < sent<by_length, whole, float, batch, length>);

// no other dimension has a part for each process
static_assert(std::same_as<shown<says, tensor<double, by_length, odd, length>>,
                           is_split<length, reshard_for<sent<by_length, whole, double, odd, length>, rows>>>);
static_assert(std::same_as<shown<is_split<ends, axes<rows>>, tensor<float, unequal, odd, ends>>,
                           is_split<ends, reshard_for<sent<unequal, whole, float, odd, ends>, rows>>>);

// one that is split already may take them too, and operands add up
static_assert(
    std::same_as<shown<says, tensor<float, by_both, batch, length>, tensor<int, by_both, batch>>,
                 is_split<length, reshard_for<sent<by_both, all_in_batch, float, batch, length>, rows>>>);
static_assert(
    std::same_as<shown<says, x, x>,
                 is_split<length, reshard_for<2 * sent<by_length, by_batch, float, batch, length>, rows>>>);

// a partial sum is reduced on the way
static_assert(std::same_as<shown<says, partial<x, axes<cols>>>,
                           is_split<length, reshard_for<8 * 3 * 4 * 3 / 4 + 8 * 3 * 4, rows>>>);

// other verdicts stay as they are
static_assert(std::same_as<shown<legal, x>, legal>);
static_assert(std::same_as<shown<says, tensor<float, by_length, batch>>, says>);
static_assert(std::same_as<shown<one_axis_splits_two_dims<rows, batch, length>, x>,
                           one_axis_splits_two_dims<rows, batch, length>>);

}  // namespace
