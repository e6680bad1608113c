// What is refused of a mixture of experts, and what its dimensions are.
#include <meshtf/planning.hpp>

#include <meshtf/nn/mixture_of_experts.hpp>

namespace {

using namespace meshtf;
using namespace meshtf::nn;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<12> {};
struct length : dim<16> {};
struct space : dim<4> {};
struct model : dim<8> {};
struct experts : dim<6> {};
struct groups : dim<4> {};
struct five : dim<5> {};
struct some : up_to<4> {};

struct whole : layout<grid> {};
struct spread : layout<grid, split<batch, rows>, split<groups, rows>, split<experts, rows>> {};
struct unequal : layout<grid, split<batch, rows>, padded<groups, rows>, padded<experts, rows>> {};
struct batch_alone : layout<grid, split<batch, rows>> {};
struct other_axis : layout<grid, split<batch, rows>, split<groups, cols>> {};
struct by_length : layout<grid, split<length, cols>> {};
struct experts_by_four : layout<grid, split<experts, rows, cols>> {};

template<class L, class Groups, class... D>
using of = nn::detail::groups_verdict<Groups, model, tensor<float, L, D...>>;

// tokens of a batch of rows, of rows of several dimensions, and of a batch without rows
static_assert(is_legal<of<spread, groups, batch, length, model>>);
static_assert(is_legal<of<spread, groups, batch, length, space, model>>);
static_assert(is_legal<of<spread, groups, batch, model>>);
// a row may be a group
static_assert(is_legal<of<spread, batch, batch, length, model>>);
// but then it needs tokens; and x ends with the model's dimension
static_assert(
    std::same_as<of<spread, batch, batch, model>, tokens_have_no_order<shape<batch, model>, model>>);
static_assert(std::same_as<of<spread, groups, batch, model, length>,
                           tokens_have_no_order<shape<batch, model, length>, model>>);
static_assert(std::same_as<of<spread, groups, model>, tokens_have_no_order<shape<model>, model>>);

// groups have whole rows, equally many on each process, on which they are already
static_assert(std::same_as<of<whole, five, batch, length, model>, groups_do_not_divide_batch<five, batch>>);
static_assert(std::same_as<of<unequal, groups, batch, length, model>, exchanged_dim_is_padded<groups>>);
static_assert(std::same_as<of<whole, some, batch, length, model>, exchanged_dim_is_padded<some>>);
static_assert(std::same_as<of<batch_alone, groups, batch, length, model>,
                           groups_are_not_split_as_batch<groups, batch>>);
static_assert(
    std::same_as<of<other_axis, groups, batch, length, model>, groups_are_not_split_as_batch<groups, batch>>);
static_assert(std::same_as<of<by_length, groups, batch, length, model>, tokens_of_group_are_split<length>>);

// experts
template<class L, class Experts, class Gating>
using of_experts = nn::detail::experts_verdict<L, Experts, typename Gating::chosen>;
struct one : dim<1> {};
static_assert(is_legal<of_experts<spread, experts, top_2_gating>>);
static_assert(is_legal<of_experts<whole, one, switch_gating>>);
static_assert(
    std::same_as<of_experts<whole, one, top_2_gating>, more_experts_are_chosen_than_there_are<one, 2>>);
static_assert(std::same_as<of_experts<unequal, experts, top_2_gating>, exchanged_dim_is_padded<experts>>);
static_assert(
    std::same_as<of_experts<experts_by_four, experts, top_2_gating>, parts_do_not_divide_dim<experts, 6, 4>>);

// an expert that chooses sees all tokens of a group
static_assert(is_legal<causal_gating_verdict<switch_gating>> &&
              is_legal<causal_gating_verdict<top_2_gating>>);
static_assert(std::same_as<causal_gating_verdict<expert_choice_gating>,
                           gating_sees_later_tokens<expert_choice_gating>>);

// floor(16 * 5 / (4 * 4)) places; at least four, and not more than tokens
struct four : dim<4> {};
struct two : dim<2> {};
static_assert(capacity<length, four, std::ratio<5, 4>>::size == 5);
static_assert(capacity<length, experts, std::ratio<2>>::size == 5);
static_assert(capacity<length, four, std::ratio<1, 2>>::size == 4);
static_assert(capacity<length, four, std::ratio<100>>::size == length::size);
static_assert(capacity<two, four, std::ratio<2>>::size == 4);

}  // namespace
