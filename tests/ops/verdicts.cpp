// Verdicts of the operations: every objection in the words of the program, with the correction.
#include <meshtf/planning.hpp>

using namespace meshtf;

struct batch : dim<8> {};
struct in : dim<6> {};
struct hidden : dim<16> {};
struct memory : dim<16> {};
struct out : dim<4> {};
struct heads : dim<2> {};
struct key : dim<8> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct trio : axis<3> {};
struct far : axis<2> {};
struct grid : mesh<rows, cols, trio> {};
struct line : mesh<rows> {};

struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct clash : layout<grid, split<batch, rows>, split<hidden, rows>> {};
struct ragged : layout<grid, split<batch, trio>> {};
struct whole : layout<grid> {};
struct on_a_line : layout<line, split<batch, rows>> {};

using x = shape<batch, in>;
using w = shape<in, hidden>;
using h = shape<batch, hidden>;

// ---- a layout

struct astray : layout<grid, split<batch, far>> {};
struct doubled : layout<grid, split<batch, rows>, split<batch, cols>> {};
struct stutters : layout<grid, split<batch, rows, rows>> {};
static_assert(std::same_as<astray::rules_verdict, axis_is_not_in_mesh<far, batch, grid>>);
static_assert(std::same_as<doubled::rules_verdict, two_rules_for_dim<batch>>);
static_assert(std::same_as<stutters::rules_verdict, axis_splits_dim_twice<rows, batch>>);

// An unsound layout is the verdict of everything that is asked of it.
static_assert(std::same_as<placement_verdict<astray, in>, axis_is_not_in_mesh<far, batch, grid>>);
static_assert(std::same_as<einsum_verdict<doubled, shape<in>, w, w>, two_rules_for_dim<batch>>);
static_assert(std::same_as<reshard_plan<mixed, stutters, x>::verdict, axis_splits_dim_twice<rows, batch>>);

// ---- a tensor

static_assert(is_legal<placement_verdict<mixed, batch, hidden>>);
static_assert(
    std::same_as<placement_verdict<clash, batch, hidden>, one_axis_splits_two_dims<rows, batch, hidden>>);
static_assert(std::same_as<placement_verdict<ragged, batch>, parts_do_not_divide_dim<batch, 8, 3>>);
static_assert(std::same_as<placement_verdict<mixed, batch, batch>, dim_appears_twice<batch>>);

// ---- einsum

static_assert(is_legal<einsum_verdict<mixed, h, x, w>>);
static_assert(std::same_as<einsum_verdict<mixed, shape<batch, out>, x, w>, dim_is_not_an_operand<out>>);
static_assert(std::same_as<einsum_verdict<mixed, shape<batch, batch>, x, w>, dim_appears_twice<batch>>);
static_assert(std::same_as<einsum_verdict<clash, h, x, w>, one_axis_splits_two_dims<rows, batch, hidden>>);

// ---- operands that meet: one layout, one element type

template<class A, class B>
using fit   = detail::fit_verdict<A, B>;
using value = tensor<float, mixed, batch>;
static_assert(is_legal<fit<value, tensor<float, mixed, hidden>>>);
static_assert(std::same_as<fit<value, tensor<float, whole, batch>>,
                           operands_have_different_layouts<mixed, whole, reshard_sends<16, 0>>>);
static_assert(
    std::same_as<fit<value, tensor<double, mixed, batch>>, operands_have_different_elements<float, double>>);
// Both at once: the layout first. The names are those of the layouts, dry or not.
static_assert(std::same_as<fit<value, tensor<int, whole, batch>>,
                           operands_have_different_layouts<mixed, whole, reshard_sends<16, 0>>>);
static_assert(std::same_as<fit<value, tensor<float, on_a_line, batch>>,
                           operands_have_different_layouts<mixed, on_a_line>>);
static_assert(std::same_as<fit<tensor<float, dry<mixed>, batch>, tensor<float, dry<whole>, batch>>,
                           operands_have_different_layouts<mixed, whole, reshard_sends<16, 0>>>);

// ---- elementwise operations, reductions, softmax, argmax

static_assert(is_legal<elementwise_verdict<mixed, h, shape<hidden>>>);
static_assert(std::same_as<elementwise_verdict<clash, shape<batch>, shape<hidden>>,
                           one_axis_splits_two_dims<rows, batch, hidden>>);

// One operand has all dimensions, or there are two that share none; else the program says what is broadcast.
// That comes before the question of place.
static_assert(is_legal<elementwise_verdict<mixed, shape<in>, shape<batch>, x>> &&
              is_legal<elementwise_verdict<mixed, shape<in>, shape<hidden, batch>>>);
static_assert(std::same_as<elementwise_verdict<mixed, x, h>,
                           no_operand_has_all_dims<write_broadcast<batch, in, hidden>>>);
static_assert(std::same_as<elementwise_verdict<mixed, w, x>,
                           no_operand_has_all_dims<write_broadcast<in, hidden, batch>>>);
static_assert(std::same_as<elementwise_verdict<clash, x, h>,
                           no_operand_has_all_dims<write_broadcast<batch, in, hidden>>>);
static_assert(std::same_as<elementwise_verdict<mixed, shape<in>, shape<batch>, shape<>>,
                           no_operand_has_all_dims<write_broadcast<in, batch>>>);

// A broadcast has all dimensions of its tensor, each once, where the layout can place them.
static_assert(is_legal<broadcast_verdict<mixed, x, in, hidden, batch>> &&
              is_legal<broadcast_verdict<mixed, shape<>, batch>> &&
              is_legal<broadcast_verdict<mixed, x, in, batch>> &&
              is_legal<broadcast_verdict<mixed, shape<>>>);
static_assert(std::same_as<broadcast_verdict<mixed, x, batch, hidden>, broadcast_lacks_dim<in>>);
static_assert(std::same_as<broadcast_verdict<mixed, x, batch, in, batch>, dim_appears_twice<batch>>);
static_assert(std::same_as<broadcast_verdict<clash, shape<batch>, batch, hidden>,
                           one_axis_splits_two_dims<rows, batch, hidden>>);
static_assert(
    std::same_as<broadcast_verdict<ragged, shape<in>, in, batch>, parts_do_not_divide_dim<batch, 8, 3>>);

static_assert(is_legal<reduce_verdict<mixed, h, hidden>>);
static_assert(std::same_as<reduce_verdict<mixed, h, memory>, dim_is_not_in_tensor<memory>>);

// ---- cross entropy

static_assert(is_legal<cross_entropy_verdict<mixed, h, hidden, shape<batch>>>);
static_assert(
    std::same_as<cross_entropy_verdict<mixed, h, hidden, x>, targets_have_other_dims<shape<batch>, x>>);
static_assert(std::same_as<cross_entropy_verdict<mixed, h, out, shape<batch>>, dim_is_not_in_tensor<out>>);

// ---- split_dim and merge_dims

struct pair : dim<2> {};
struct eight : dim<8> {};
struct three : dim<3> {};
struct two : dim<2> {};
struct by_rows : layout<grid, split<in, rows>> {};
struct by_four : layout<grid, split<hidden, rows, cols>, split<eight, rows>> {};
struct permuting : layout<grid, split<hidden, rows, cols>, split<heads, cols>, split<key, rows>> {};
using pieces = shape<heads, key>;
template<class L, class Whole, class Parts>
using reshaped = typename reshape_plan<L, Parts, Whole, Parts>::verdict;
static_assert(is_legal<reshaped<mixed, hidden, pieces>> &&
              is_legal<reshaped<by_four, hidden, shape<pair, eight>>>);
static_assert(std::same_as<reshaped<mixed, hidden, shape<heads, out>>,
                           parts_do_not_multiply_to_dim<hidden, shape<heads, out>>>);

// Two processes have three elements each: one whole three, but one and a half twos.
static_assert(is_legal<reshaped<by_rows, in, shape<two, three>>>);
static_assert(std::same_as<reshaped<by_rows, in, shape<three, two>>,
                           split_runs_across_parts<in, shape<three, two>, split_only<in, axes<>>>>);

// The parts may be placed so that whole shards have to change places.
template<class L, class Whole, class Parts>
using steps_verdict =
    typename detail::reshape_steps<L, detail::as_parts_of<reshape_plan<L, Parts, Whole, Parts>>, Whole,
                                   Parts>::verdict;
static_assert(is_legal<steps_verdict<mixed, hidden, pieces>>);
static_assert(is_legal<steps_verdict<permuting, hidden, pieces>>);

// Only neighbours in their order become one.
template<class S, class Parts>
constexpr bool together = detail::merged_shape<S, Parts, hidden>::together;
static_assert(together<shape<batch, heads, key>, pieces> && together<shape<heads, key, batch>, pieces>);
static_assert(!together<shape<heads, batch, key>, pieces> && !together<shape<key, heads>, pieces>);
static_assert(!is_legal<dims_are_not_neighbours<pieces, shape<heads, batch, key>>>);

// ---- transpose

static_assert(!is_legal<not_the_dims_of_tensor<shape<batch>, h>>);

// ---- reshard and rename

struct by_cols : layout<grid, split<batch, cols>> {};
struct rows_cols : layout<grid, split<batch, rows, cols>> {};
struct cols_rows : layout<grid, split<batch, cols, rows>> {};
template<class From, class To, axis_set Unreduced = 0>
using resharded = typename reshard_plan<From, To, h, Unreduced>::verdict;
static_assert(is_legal<resharded<mixed, whole>> && is_legal<resharded<mixed, by_cols>> &&
              is_legal<resharded<mixed, mixed>>);
static_assert(std::same_as<resharded<mixed, on_a_line>, layouts_are_of_different_meshes<grid, line>>);
static_assert(std::same_as<resharded<mixed, ragged>, parts_do_not_divide_dim<batch, 8, 3>>);
static_assert(is_legal<resharded<rows_cols, cols_rows>>);

// A value that is still a sum over an axis is not also split over it.
static_assert(std::same_as<resharded<mixed, whole, axis_set_of<grid, axes<cols>>>,
                           unreduced_axis_splits_dim<cols, hidden>>);

// A dimension takes the place of one of its size.
template<class S, class Renamed>
using renamed = typename renaming_reshard_plan<mixed, S, mixed, Renamed>::verdict;
static_assert(is_legal<renamed<h, shape<batch, memory>>>);
static_assert(std::same_as<renamed<h, shape<batch, in>>, dims_differ_in_size<hidden, in>>);
static_assert(std::same_as<renamed<h, shape<batch>>, shapes_differ_in_rank<h, shape<batch>>>);

// Eight unreduced axes that each split a dimension of its own: one reduce-scatter of sixteen loops, four more
// than there are.
template<int I> struct side : axis<2> {};
template<int I> struct edge : dim<4> {};
struct cube : mesh<side<0>, side<1>, side<2>, side<3>, side<4>, side<5>, side<6>, side<7>> {};
struct nowhere : layout<cube> {};
struct everywhere : layout<cube, split<edge<0>, side<0>>, split<edge<1>, side<1>>, split<edge<2>, side<2>>,
                           split<edge<3>, side<3>>, split<edge<4>, side<4>>, split<edge<5>, side<5>>,
                           split<edge<6>, side<6>>, split<edge<7>, side<7>>> {};
using solid = shape<edge<0>, edge<1>, edge<2>, edge<3>, edge<4>, edge<5>, edge<6>, edge<7>>;
static_assert(std::same_as<reshard_plan<nowhere, everywhere, solid, 0xff>::verdict,
                           reshard_needs_too_many_loops<solid>>);
// Sliced it is one copy of eight loops.
static_assert(is_legal<reshard_plan<nowhere, everywhere, solid>::verdict>);

// A dimension over eight axes becomes twelve parts, of which the last eight are split: one all-to-all, whose
// copies walk over eight numbers of processes and eight parts of parts. Four axes at a time can go.
template<int I> struct digit : dim<(I < 4 ? 4 : 8)> {};
struct number : dim<extent{1} << 32> {};
template<class... Rules>
struct counting
    : layout<cube, split<number, side<0>, side<1>, side<2>, side<3>, side<4>, side<5>, side<6>, side<7>>,
             Rules...> {};
using digits = shape<digit<0>, digit<1>, digit<2>, digit<3>, digit<4>, digit<5>, digit<6>, digit<7>, digit<8>,
                     digit<9>, digit<10>, digit<11>>;
using all_at_once = counting<split<digit<4>, side<0>>, split<digit<5>, side<1>>, split<digit<6>, side<2>>,
                             split<digit<7>, side<3>>, split<digit<8>, side<4>>, split<digit<9>, side<5>>,
                             split<digit<10>, side<6>>, split<digit<11>, side<7>>>;
using half_of_them =
    counting<split<digit<2>, side<4>, side<5>>, split<digit<3>, side<6>, side<7>>, split<digit<4>, side<0>>,
             split<digit<5>, side<1>>, split<digit<6>, side<2>>, split<digit<7>, side<3>>>;
static_assert(
    std::same_as<steps_verdict<all_at_once, number, digits>, reshape_needs_too_many_loops<number, digits>>);
static_assert(is_legal<reshaped<all_at_once, number, digits>> &&
              is_legal<steps_verdict<half_of_them, number, digits>>);

// ---- partial sums: whatever they are a sum over, they are not finished

static_assert(!is_legal<still_a_sum_over<axes<cols>>> && !is_legal<gradient_is_not_summed_over<axes<rows>>>);
