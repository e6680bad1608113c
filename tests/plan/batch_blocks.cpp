// If it compiles, it passes: which blocks of a batch a process has, and what is no block or no batch.
#include <type_traits>

#include <meshtf/plan/batch_blocks.hpp>

namespace {

using namespace meshtf;

struct batch : dim<16> {};
struct block : dim<2> {};
struct part : dim<4> {};
struct whole : dim<16> {};
struct six : dim<6> {};
struct three : dim<3> {};
struct some : up_to<16> {};
struct width : dim<8> {};

struct rows : axis<4> {};
struct cols : axis<1> {};
struct three_rows : axis<3> {};
struct grid : mesh<rows, cols> {};
struct data : layout<grid, split<batch, rows>, split<width, cols>> {};
struct by_three : layout<mesh<three_rows>, padded<batch, three_rows>> {};
struct by_block : layout<grid, split<batch, rows>, split<part, rows>> {};
struct by_width : layout<grid, split<width, rows>> {};

static_assert(batch_blocks<data, batch, block>::count == 8 && batch_blocks<data, batch, block>::own == 2);
static_assert(accepted<reproducible_verdict<data, batch, block>>);
static_assert(accepted<block_plan<data, shape<batch, width>, batch, part>::verdict>);
static_assert(std::is_same_v<block_plan<data, shape<batch, width>, batch, part>::result, shape<part, width>>);
static_assert(
    std::is_same_v<batch_blocks<data, six, block>::verdict, blocks_are_no_power_of_two<six, block, 6, 2>>);
static_assert(std::is_same_v<batch_blocks<data, batch, three>::verdict,
                             blocks_are_no_power_of_two<batch, three, 16, 3>>);
static_assert(
    std::is_same_v<batch_blocks<data, batch, whole>::verdict, parts_do_not_divide_blocks<batch, 4, 1>>);
static_assert(
    std::is_same_v<batch_blocks<by_three, batch, block>::verdict, parts_do_not_divide_blocks<batch, 3, 8>>);
static_assert(std::is_same_v<batch_blocks<by_block, batch, part>::verdict, block_is_split<part, axes<rows>>>);
static_assert(std::is_same_v<batch_blocks<data, some, block>::verdict, blocks_of_counted_dim<some>>);
static_assert(std::is_same_v<reproducible_verdict<by_width, batch, block>,
                             rule_besides_batch<batch, split<width, rows>>>);
static_assert(std::is_same_v<reproducible_verdict<by_block, batch, block>,
                             rule_besides_batch<batch, split<part, rows>>>);

}  // namespace
