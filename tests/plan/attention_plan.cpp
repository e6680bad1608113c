// If it compiles, it passes.
#include <meshtf/plan/attention_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<6> {};
struct source : dim<10> {};
struct heads : dim<4> {};
struct key : dim<16> {};
struct model : dim<64> {};
struct groups : dim<2> {};
struct triples : dim<3> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct solo : axis<1> {};
struct grid : mesh<rows, cols, solo> {};

struct megatron : layout<grid, split<batch, rows>, split<heads, cols>, split<length, solo>> {};
struct by_length : layout<grid, split<length, rows>> {};
struct by_source : layout<grid, split<source, rows>> {};
struct by_key : layout<grid, split<batch, rows>, split<key, cols>> {};
struct clash : layout<grid, split<batch, rows>, split<heads, rows>> {};

using q = shape<batch, length, heads, key>;
using k = shape<batch, source, heads, key>;

// the memory and what is compared are whole, queries need not be; an axis of size 1 splits nothing
static_assert(is_legal<attention_verdict<megatron, length, length, key, q, q, q>>);
static_assert(is_legal<attention_verdict<megatron, length, source, key, q, k, k>>);
static_assert(std::same_as<attention_verdict<by_length, length, length, key, q, q, q>,
                           attention_along_split_dim<length, axes<rows>>>);
static_assert(is_legal<attention_verdict<by_length, length, source, key, q, k, k>>);
static_assert(std::same_as<attention_verdict<by_source, length, source, key, q, k, k>,
                           attention_along_split_dim<source, axes<rows>>>);
static_assert(std::same_as<attention_verdict<by_key, length, length, key, q, q, q>,
                           attention_along_split_dim<key, axes<cols>>>);

// keys and values have the queries' dimensions, in any order
static_assert(
    is_legal<attention_verdict<megatron, length, source, key, q, shape<key, heads, batch, source>, k>>);
static_assert(
    std::same_as<attention_verdict<megatron, length, length, key, q, k, q>, memory_has_other_dims<q, k>>);
static_assert(
    std::same_as<attention_verdict<megatron, length, source, key, q, k, q>, memory_has_other_dims<k, q>>);
static_assert(std::same_as<attention_verdict<megatron, length, source, key, q, k, shape<source, key>>,
                           memory_has_other_dims<k, shape<source, key>>>);
// the keys may lack dimensions, and values may have another width, but not one of the queries' dimensions
struct each : dim<2> {};
struct width : dim<24> {};
struct distances : dim<15> {};
struct few_distances : dim<14> {};
struct by_each : layout<grid, split<each, rows>> {};
using shared_q = shape<batch, length, groups, each, key>;
using shared_k = shape<batch, source, groups, key>;
using wide_v   = shape<source, groups, batch, width>;
static_assert(is_legal<attention_verdict<megatron, length, source, key, shared_q, shared_k, wide_v>>);
static_assert(
    is_legal<attention_verdict<megatron, length, source, key, q, shape<source, key>, shape<source, key>>>);
static_assert(
    std::same_as<attention_verdict<megatron, length, source, key, q, k, shape<batch, source, heads, length>>,
                 memory_has_other_dims<k, shape<batch, source, heads, length>>>);
// a bias has a row of distances for each of some pairs, segment ids have the positions
static_assert(is_legal<attention_verdict<megatron, length, source, key, q, k, k, shape<heads, distances>>>);
static_assert(
    std::same_as<attention_verdict<megatron, length, source, key, q, k, k, shape<heads, few_distances>>,
                 bias_has_no_such_distances<few_distances, 15>>);
static_assert(std::same_as<attention_verdict<megatron, length, source, key, q, k, k, shape<heads>>,
                           term_has_other_dims<q, shape<heads>>>);
// or an element for each score, or for each position of the memory
static_assert(
    is_legal<attention_verdict<megatron, length, source, key, q, k, k, shape<heads, length, source>>>);
static_assert(is_legal<attention_verdict<megatron, length, source, key, q, k, k, shape<batch, source>>>);
static_assert(std::same_as<attention_verdict<megatron, length, source, key, q, k, k, shape<source, key>>,
                           term_has_other_dims<q, shape<source, key>>>);
static_assert(
    std::same_as<attention_verdict<megatron, length, source, key, q, k, k, shape<length, distances>>,
                 term_has_other_dims<q, shape<length, distances>>>);
static_assert(is_legal<attention_verdict<megatron, length, source, key, q, k, k, shape<>,
                                         shape<batch, length>, shape<source>>>);
static_assert(std::same_as<
              attention_verdict<megatron, length, source, key, q, k, k, shape<>, shape<batch>, shape<source>>,
              term_has_other_dims<shape<batch, length, heads>, shape<batch>>>);
// fewer heads, of which each serves as many queries; 3 serve no 4, and other positions or keys are no heads
using grouped = shape<batch, source, groups, key>;
static_assert(std::same_as<attention_verdict<megatron, length, source, key, q, grouped, grouped>,
                           heads_share_keys<heads, groups>>);
static_assert(std::same_as<attention_verdict<megatron, length, source, key, q, k, grouped>,
                           memory_has_other_dims<k, grouped>>);
static_assert(
    std::same_as<attention_verdict<megatron, length, source, key, q, shape<batch, source, triples, key>, k>,
                 heads_are_no_multiple<heads, triples>>);
static_assert(
    std::same_as<attention_verdict<megatron, length, length, key, q, shape<batch, triples, heads, key>, q>,
                 memory_has_other_dims<q, shape<batch, triples, heads, key>>>);
static_assert(
    std::same_as<attention_verdict<megatron, length, source, key, q, shape<batch, source, heads, groups>, k>,
                 memory_has_other_dims<k, shape<batch, source, heads, groups>>>);
static_assert(
    std::same_as<attention_verdict<megatron, model, model, key, q, q, q>, dim_is_not_in_tensor<model>>);
static_assert(std::same_as<attention_verdict<clash, length, length, key, q, q, q>,
                           one_axis_splits_two_dims<rows, batch, heads>>);

// a process's pairs: 4 of 8 sequences, one of 4 heads
template<class K>
using plan =
    attention_plan<megatron, length, std::conditional_t<std::same_as<K, q>, length, source>, key, q, K, K>;
constexpr attention_steps self  = plan<q>::steps;
constexpr attention_steps other = plan<k>::steps;
static_assert(self.pairs.iterations == 4 && self.queries == 6 && self.memories == 6 && self.depth == 16);
static_assert(other.memories == 10);
static_assert(self.position[attention_steps::query] == 16 &&
              self.element[attention_steps::query] == 1);  // one head is here: positions follow each other
static_assert(self.position[attention_steps::row] == 1);

// flops are those of einsum, masked or not: forward two products, backward at most four
static_assert(self.scores_flops() == 2 * 4 * 6 * 6 * 16 && self.mixture_flops() == self.scores_flops());
static_assert(attention_gradient_flops(self, {true, true, true}) == 4 * self.scores_flops());
static_assert(attention_gradient_flops(self, {false, false, true}) == self.scores_flops());
static_assert(attention_gradient_flops(self, {true, false, false}) == 2 * self.scores_flops());

// split queries: each process knows where its own stand, and the gradients of the memory and of a bias are
// unreduced over their axes
using parts = attention_plan<by_length, length, source, key, q, k, k, shape<heads, distances>>;
static_assert(parts::steps.queries == 3 && parts::steps.memories == 10 &&
              parts::steps.places.allocated_extent() == 3);
static_assert(parts::memory_unreduced == axis_set_of<grid, axes<rows>> &&
              parts::bias_unreduced == axis_set_of<grid, axes<rows>>);
static_assert(plan<k>::bias_unreduced == 0);

// dropped weights are arithmetic of their own, forward and backward
constexpr attention_view drops{.dropped = 0.1};
static_assert(task::attend<float>{drops}.work(self).elementwise ==
              task::attend<float>{}.work(self).elementwise + self.weights());
static_assert(task::attention_gradient<float>{{true}, drops}.work(self).elementwise ==
              task::attention_gradient<float>{{true}}.work(self).elementwise + self.weights());
static_assert(
    task::attention_gradient<float>::from_bits(task::attention_gradient<float>{{true}, drops}.options())
        .work(self)
        .elementwise == task::attention_gradient<float>{{true}, drops}.work(self).elementwise);

// with all heads here, a position is all heads apart
struct data : layout<grid, split<batch, rows>> {};
constexpr attention_steps whole = attention_plan<data, length, length, key, q, q, q>::steps;
static_assert(whole.pairs.iterations == 16 && whole.position[attention_steps::query] == 64 &&
              whole.pairs.rank == 2);

// heads that share keys are no pairs of their own, and the gradients of what they share are unreduced over
// the axes that split them
using sharing                    = attention_plan<by_each, length, source, key, shared_q, shared_k, wide_v>;
constexpr attention_steps shares = sharing::steps;
static_assert(shares.pairs.iterations == 8 * 2 && shares.shares.iterations == 1 && shares.depth == 16 &&
              shares.width == 24);
static_assert(
    attention_plan<data, length, source, key, shared_q, shared_k, wide_v>::steps.shares.iterations == 2);
static_assert(std::same_as<sharing::result, shape<batch, length, groups, each, width>>);
static_assert(sharing::memory_unreduced == axis_set_of<grid, axes<rows>> && plan<k>::memory_unreduced == 0);
static_assert(shares.element[attention_steps::value] == 1 &&
              shares.position[attention_steps::value] == 2 * 8 * 24);

}  // namespace
