// If it compiles, it passes.
#include <meshtf/plan/split_into_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct all : dim<32> {};
struct first : dim<6> {};
struct second : dim<26> {};
struct half : dim<16> {};
struct some : up_to<26> {};

struct rows : axis<2> {};
struct grid : mesh<rows> {};
struct by_batch : layout<grid, split<batch, rows>> {};
struct by_second : layout<grid, split<second, rows>> {};
struct by_all : layout<grid, split<all, rows>> {};
struct clash : layout<grid, split<batch, rows>, split<second, rows>> {};

using x = shape<batch, all>;

static_assert(is_legal<split_into_verdict<by_batch, x, all, first, second>>);
// each process keeps its part of the second
static_assert(is_legal<split_into_verdict<by_second, x, all, first, second>>);
// they are two tensors, so they may have the same dimensions
static_assert(is_legal<split_into_verdict<by_batch, x, all, half, half>>);
static_assert(
    std::same_as<split_into_verdict<by_all, x, all, first, second>, sliced_dim_is_split<all, axes<rows>>>);
static_assert(
    std::same_as<split_into_verdict<by_batch, x, all, first, half>, pieces_do_not_add_up_to_dim<all, 22>>);
static_assert(std::same_as<split_into_verdict<by_batch, x, all, first, some>, cut_dim_is_counted<some>>);
static_assert(std::same_as<split_into_verdict<by_batch, x, half, first, second>, dim_is_not_in_tensor<half>>);
static_assert(std::same_as<split_into_verdict<clash, x, all, first, second>,
                           one_axis_splits_two_dims<rows, batch, second>>);

}  // namespace
