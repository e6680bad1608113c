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

// positions and what is compared are whole; an axis of size 1 splits nothing
static_assert(is_legal<attention_verdict<megatron, length, length, key, q, q, q>>);
static_assert(is_legal<attention_verdict<megatron, length, source, key, q, k, k>>);
static_assert(std::same_as<attention_verdict<by_length, length, length, key, q, q, q>, attention_along_split_dim<length, axes<rows>>>);
static_assert(std::same_as<attention_verdict<by_source, length, source, key, q, k, k>, attention_along_split_dim<source, axes<rows>>>);
static_assert(std::same_as<attention_verdict<by_key, length, length, key, q, q, q>, attention_along_split_dim<key, axes<cols>>>);

// keys and values have the queries' dimensions, in any order
static_assert(is_legal<attention_verdict<megatron, length, source, key, q, shape<key, heads, batch, source>, k>>);
static_assert(std::same_as<attention_verdict<megatron, length, length, key, q, k, q>, memory_has_other_dims<q, k>>);
static_assert(std::same_as<attention_verdict<megatron, length, source, key, q, k, q>, memory_has_other_dims<k, q>>);
static_assert(std::same_as<attention_verdict<megatron, length, source, key, q, k, shape<source, key>>, memory_has_other_dims<k, shape<source, key>>>);
// fewer heads, of which each serves as many queries; 3 serve no 4, and other positions or keys are no heads
using grouped = shape<batch, source, groups, key>;
static_assert(std::same_as<attention_verdict<megatron, length, source, key, q, grouped, grouped>, heads_share_keys<heads, groups>>);
static_assert(std::same_as<attention_verdict<megatron, length, source, key, q, k, grouped>, heads_share_keys<heads, groups>>);
static_assert(std::same_as<attention_verdict<megatron, length, source, key, q, shape<batch, source, triples, key>, k>,
                           memory_has_other_dims<k, shape<batch, source, triples, key>>>);
static_assert(std::same_as<attention_verdict<megatron, length, length, key, q, shape<batch, triples, heads, key>, q>,
                           memory_has_other_dims<q, shape<batch, triples, heads, key>>>);
static_assert(std::same_as<attention_verdict<megatron, length, source, key, q, shape<batch, source, heads, groups>, k>,
                           memory_has_other_dims<k, shape<batch, source, heads, groups>>>);
static_assert(std::same_as<attention_verdict<megatron, model, model, key, q, q, q>, dim_is_not_in_tensor<model>>);
static_assert(std::same_as<attention_verdict<clash, length, length, key, q, q, q>, one_axis_splits_two_dims<rows, batch, heads>>);

// a process's pairs: 4 of 8 sequences, one of 4 heads
template<class K>
using plan                     = attention_plan<megatron, length, std::conditional_t<std::same_as<K, q>, length, source>, key, q, K, K>;
constexpr attention_steps self = plan<q>::steps, other = plan<k>::steps;
static_assert(self.pairs.turns == 4 && self.queries == 6 && self.memories == 6 && self.depth == 16);
static_assert(other.memories == 10);
static_assert(self.position[attention_steps::query] == 16 &&
              self.element[attention_steps::query] == 1);   // one head is here: positions follow each other
static_assert(self.position[attention_steps::row] == 1);

// flops are those of einsum, masked or not: forward two products, backward at most four
static_assert(self.product_flops() == 2 * 4 * 6 * 6 * 16);
static_assert(attention_gradient_flops(self, {true, true, true}) == 4 * self.product_flops());
static_assert(attention_gradient_flops(self, {false, false, true}) == self.product_flops());
static_assert(attention_gradient_flops(self, {true, false, false}) == 2 * self.product_flops());

// with all heads here, a position is all heads apart
struct data : layout<grid, split<batch, rows>> {};
constexpr attention_steps whole = attention_plan<data, length, length, key, q, q, q>::steps;
static_assert(whole.pairs.turns == 16 && whole.position[attention_steps::query] == 64 && whole.pairs.rank == 2);

}  // namespace
