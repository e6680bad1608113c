// Resharding: which moves lead from one layout to another.
#include <meshtf/plan/reshard/reshard_plan.hpp>

using namespace meshtf;

struct batch : dim<8> {};
struct hidden : dim<12> {};
struct depth : dim<4> {};
struct unit : dim<12> {};
struct inside : dim<16> {};

struct rows : axis<2> {};
struct cols : axis<3> {};
struct lanes : axis<2> {};
struct lone : axis<1> {};
struct grid : mesh<rows, cols, lanes, lone> {};
struct line : mesh<rows> {};

constexpr axis_set over_rows  = axis_set_of<grid, axes<rows>>;
constexpr axis_set over_cols  = axis_set_of<grid, axes<cols>>;
constexpr axis_set over_lanes = axis_set_of<grid, axes<lanes>>;

struct whole : layout<grid> {};
struct by_batch : layout<grid, split<batch, rows>> {};
struct by_hidden : layout<grid, split<hidden, rows>> {};
struct by_lanes : layout<grid, split<batch, lanes>> {};
struct by_both : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct batch_twice : layout<grid, split<batch, rows, lanes>> {};
struct lanes_first : layout<grid, split<batch, lanes, rows>> {};
struct hidden_twice : layout<grid, split<hidden, rows, lanes>> {};
struct hidden_turned : layout<grid, split<hidden, lanes, rows>> {};
struct swapped : layout<grid, split<batch, lanes>, split<hidden, rows>> {};
struct unswapped : layout<grid, split<batch, rows>, split<hidden, lanes>> {};
struct unlike : layout<grid, split<batch, lanes>, split<hidden, rows>> {};
struct on_a_line : layout<line, split<batch, rows>> {};
struct trivial : layout<grid, split<batch, lone, rows>, split<unit, rows>> {};
struct ragged : layout<grid, split<batch, cols>> {};

using S = shape<batch, hidden>;  // 8 x 12

template<class From, class To, axis_set Unreduced = 0>
constexpr reshard_steps const& steps = reshard_plan<From, To, S, Unreduced>::steps;

template<class From, class To, axis_set Unreduced = 0>
using verdict = typename reshard_plan<From, To, S, Unreduced>::verdict;

constexpr bool is(reshard_move const& m, transfer_kind what, axis_set over, extent send, extent result,
                  extent block) {
  return m.kind == what && m.over == over && m.send == send && m.result == result && m.block == block;
}

// Nothing is to be done between equal placements, and axes of one process make no difference.
static_assert(is_legal<verdict<by_both, by_both>> && steps<by_both, by_both>.count == 0);
static_assert(is_legal<verdict<trivial, by_batch>> && steps<trivial, by_batch>.count == 0);

// Splitting is a slice: free, a copy of 48 elements from 48 times the process's row on.
static_assert(steps<whole, by_batch>.count == 1);
constexpr auto slice = steps<whole, by_batch>.moves[0];
static_assert(is(slice, transfer_kind::slice, over_rows, 96, 48, 48));
static_assert(slice.offset[0] == 48 && slice.offset[1] == 0 && slice.pack.rank == 1 &&
              slice.pack.size[0] == 48);
static_assert(payload_of(slice, 4) == 0 && sent_by_one(slice, 4) == 0 && scratch_of(slice, 4) == 0);

// Two dimensions are sliced at once, and two axes of one dimension.
static_assert(steps<whole, by_both>.count == 1 &&
              is(steps<whole, by_both>.moves[0], transfer_kind::slice, over_rows | over_cols, 96, 16, 16));
static_assert(steps<whole, by_both>.moves[0].offset[0] == 48 &&
              steps<whole, by_both>.moves[0].offset[1] == 4);
static_assert(steps<whole, batch_twice>.count == 1 && steps<whole, batch_twice>.moves[0].offset[2] == 24);
static_assert(steps<whole, lanes_first>.moves[0].offset[0] == 24 &&
              steps<whole, lanes_first>.moves[0].offset[2] == 48);

// The reverse is an all-gather. Of the outermost dimension, messages lie as the result does; of another they
// are unpacked.
constexpr auto gather = steps<by_batch, whole>.moves[0];
static_assert(steps<by_batch, whole>.count == 1 &&
              is(gather, transfer_kind::all_gather, over_rows, 48, 96, 48));
static_assert(!gather.packs && !gather.unpacks && scratch_of(gather, 4) == 0);
static_assert(payload_of(gather, 4) == 192 && sent_by_one(gather, 4) == 192);
constexpr auto gathered_columns = steps<by_hidden, whole>.moves[0];
static_assert(!gathered_columns.packs && gathered_columns.unpacks && scratch_of(gathered_columns, 4) == 96);

// Two axes are gathered by one call, which needs to unpack where they split the dimension in another order
// than the mesh's.
static_assert(steps<batch_twice, whole>.count == 1 &&
              is(steps<batch_twice, whole>.moves[0], transfer_kind::all_gather, over_rows | over_lanes, 24,
                 96, 24));
static_assert(!steps<batch_twice, whole>.moves[0].unpacks && steps<lanes_first, whole>.moves[0].unpacks);
static_assert(steps<by_both, whole>.count == 1 &&
              is(steps<by_both, whole>.moves[0], transfer_kind::all_gather, over_rows | over_cols, 16, 96,
                 16));
static_assert(steps<batch_twice, by_batch>.count == 1 &&
              is(steps<batch_twice, by_batch>.moves[0], transfer_kind::all_gather, over_lanes, 24, 48, 24));

// A split that goes from one dimension to another is an all-to-all; the shard is as the messages are at one
// end only.
constexpr auto turn = steps<by_batch, by_hidden>.moves[0];
static_assert(steps<by_batch, by_hidden>.count == 1 &&
              is(turn, transfer_kind::all_to_all, over_rows, 48, 48, 24));
static_assert(turn.packs && !turn.unpacks && scratch_of(turn, 4) == 48 && payload_of(turn, 4) == 192 &&
              sent_by_one(turn, 4) == 96);
constexpr auto turned_back = steps<by_hidden, by_batch>.moves[0];
static_assert(!turned_back.packs && turned_back.unpacks && scratch_of(turned_back, 4) == 48);

// Two axes go together, whatever their orders there and here.
static_assert(steps<batch_twice, hidden_twice>.count == 1 &&
              is(steps<batch_twice, hidden_twice>.moves[0], transfer_kind::all_to_all, over_rows | over_lanes,
                 24, 24, 6));
static_assert(steps<lanes_first, hidden_twice>.count == 1 && steps<batch_twice, hidden_turned>.count == 1);

// What is unreduced is summed where no dimension is split over it, and else reduce-scattered.
constexpr auto sum = steps<whole, whole, over_rows>.moves[0];
static_assert(steps<whole, whole, over_rows>.count == 1 &&
              is(sum, transfer_kind::all_reduce, over_rows, 96, 96, 96));
static_assert(scratch_of(sum, 4) == 0 && payload_of(sum, 4) == 384 && sent_by_one(sum, 4) == 384);
constexpr auto scatter = steps<whole, by_batch, over_rows>.moves[0];
static_assert(steps<whole, by_batch, over_rows>.count == 1 &&
              is(scatter, transfer_kind::reduce_scatter, over_rows, 96, 48, 48));
static_assert(!scatter.packs && scratch_of(scatter, 4) == 48 && payload_of(scatter, 4) == 192 &&
              sent_by_one(scatter, 4) == 192);
static_assert(steps<whole, by_hidden, over_rows>.moves[0].packs &&
              scratch_of(steps<whole, by_hidden, over_rows>.moves[0], 4) == 96 + 48);

// A shard is summed before it is gathered, a slice before it is summed.
static_assert(steps<by_lanes, whole, over_rows>.count == 2);
static_assert(is(steps<by_lanes, whole, over_rows>.moves[0], transfer_kind::all_reduce, over_rows, 48, 48,
                 48));
static_assert(is(steps<by_lanes, whole, over_rows>.moves[1], transfer_kind::all_gather, over_lanes, 48, 96,
                 48));
static_assert(is(steps<whole, by_batch, over_lanes>.moves[0], transfer_kind::slice, over_rows, 96, 48, 48));
static_assert(is(steps<whole, by_batch, over_lanes>.moves[1], transfer_kind::all_reduce, over_lanes, 48, 48,
                 48));

// An axis takes the place of another as whole shards: one permute, whatever order the shards had. A sum waits
// for the smallest shard.
static_assert(steps<by_batch, by_lanes>.count == 1);
static_assert(is(steps<by_batch, by_lanes>.moves[0], transfer_kind::permute, over_rows | over_lanes, 48, 48,
                 48));
static_assert(payload_of(steps<by_batch, by_lanes>.moves[0], 4) == 192 &&
              sent_by_one(steps<by_batch, by_lanes>.moves[0], 4) == 192 &&
              scratch_of(steps<by_batch, by_lanes>.moves[0], 4) == 0);
static_assert(steps<by_batch, swapped>.count == 2 &&
              steps<by_batch, swapped>.moves[0].kind == transfer_kind::slice &&
              is(steps<by_batch, swapped>.moves[1], transfer_kind::permute, over_rows | over_lanes, 24, 24,
                 24));

// Processes that hold the same share the work where that saves bytes: each third of them sums and sends a
// third of the shard.
static_assert(steps<by_batch, by_lanes, over_cols>.sent_bytes(1) == 24 * 2 / 3 + 8 + 8 * 5);

// Two axes of one dimension change their order, two dimensions their axes: one permute. Source: what Mesh
// TensorFlow gets wrong without a word.
static_assert(steps<batch_twice, lanes_first>.count == 1 &&
              is(steps<batch_twice, lanes_first>.moves[0], transfer_kind::permute, over_rows | over_lanes, 24,
                 24, 24));
static_assert(steps<unswapped, swapped>.count == 1 &&
              is(steps<unswapped, swapped>.moves[0], transfer_kind::permute, over_rows | over_lanes, 24, 24,
                 24));

// Of two by two processes, the first and the last keep what they have, and the others exchange it.
constexpr auto exchange = steps<batch_twice, lanes_first>.moves[0];
constexpr auto partner  = [](extent rank) { return partners_of(exchange, axis_sizes<grid>, rank); };
static_assert(partner(0).to == 0 && partner(1).to == 2 && partner(2).to == 1 && partner(3).to == 3);
static_assert(partner(0).from == 0 && partner(1).from == 2 && partner(2).from == 1 && partner(3).from == 3);

// The outer axis of two leaves: they change places first, and only one is gathered.
static_assert(steps<batch_twice, by_lanes>.count == 2 &&
              steps<batch_twice, by_lanes>.moves[0].kind == transfer_kind::permute &&
              is(steps<batch_twice, by_lanes>.moves[1], transfer_kind::all_gather, over_rows, 24, 48, 24));

// Where XLA gathers the whole tensor, and two all-to-alls would do, one joint all-to-all does. Source:
// openxla/xla#15207.
struct four : axis<4> {};
struct two : axis<2> {};
struct four_by_two : mesh<four, two> {};
struct outer_dims : layout<four_by_two, split<batch, two>, split<depth, four>> {};
struct inner_dim : layout<four_by_two, split<inside, four, two>> {};
using path = reshard_plan<outer_dims, inner_dim, shape<batch, inside, depth>>;
static_assert(is_legal<path::verdict> && path::steps.count == 1);
static_assert(is(path::steps.moves[0], transfer_kind::all_to_all, 3, 8 * 16 * 4 / 8, 8 * 16 * 4 / 8,
                 8 * 16 * 4 / 64));
static_assert(path::steps.sent_bytes(4) == 7 * 8 * 4 * 4 * 2 / 8);

// Axes of unlike sizes change dimensions through a third one.
struct across : layout<four_by_two, split<batch, two>, split<inside, four>> {};
struct crossed : layout<four_by_two, split<batch, four>, split<inside, two>> {};
using crossing = reshard_plan<across, crossed, shape<batch, inside, depth>>;
static_assert(crossing::steps.count == 3 && crossing::steps.calls() == 3);
static_assert(crossing::steps.sent_bytes(1) == 64 / 2 + 64 * 3 / 4 + 64 / 2);

// A partial sum that comes to be split along another dimension: one reduce-scatter.
static_assert(steps<by_lanes, unlike, over_rows>.count == 1 &&
              is(steps<by_lanes, unlike, over_rows>.moves[0], transfer_kind::reduce_scatter, over_rows, 48,
                 24, 24));

// What goes on being a sum over an axis is not touched along it.
constexpr auto riding =
    plan_reshard(placed_dims<by_batch, S>, placed_dims<by_lanes, S>, 0, axis_sizes<grid>, over_cols);
static_assert(riding.count == 1 && riding.moves[0].over == (over_rows | over_lanes));
constexpr auto in_parts =
    plan_reshard(placed_dims<by_lanes, S>, placed_dims<whole, S>, over_rows, axis_sizes<grid>, over_cols);
static_assert(in_parts.count == 2 && in_parts.moves[0].over == over_rows &&
              in_parts.moves[1].over == over_lanes);

// The most that a process holds, in bytes: the value as it was, what it becomes, the shard between, and
// packed messages.
static_assert(steps<by_both, by_both>.peak_bytes(4) == 16 * 4);
static_assert(steps<by_batch, whole>.peak_bytes(4) == (48 + 96) * 4);
static_assert(steps<by_hidden, whole>.peak_bytes(4) == (48 + 96 + 96) * 4);
static_assert(steps<whole, by_hidden, over_rows>.peak_bytes(4) == (96 + 48 + 96 + 48) * 4);
static_assert(steps<by_lanes, whole, over_rows>.peak_bytes(4) == (48 + 48 + 96) * 4);
static_assert(steps<by_batch, by_lanes>.peak_bytes(8) == (48 + 48) * 8);
static_assert(steps<by_batch, by_lanes>.peak_bytes(1) <= 96);  // as a program bounds it

// A dimension may take another name on the way, and with it another place.
using renamed = renaming_reshard_plan<by_hidden, shape<depth, hidden>, trivial, shape<depth, unit>>;
static_assert(is_legal<renamed::verdict> && renamed::steps.count == 0);
static_assert(
    std::same_as<renaming_reshard_plan<whole, shape<depth, hidden>, whole, shape<batch, hidden>>::verdict,
                 dims_differ_in_size<depth, batch>>);
static_assert(std::same_as<renaming_reshard_plan<whole, shape<hidden>, whole, shape<batch, hidden>>::verdict,
                           shapes_differ_in_rank<shape<hidden>, shape<batch, hidden>>>);

// Other objections name what is wrong in the user's words.
static_assert(std::same_as<verdict<by_batch, on_a_line>, layouts_are_of_different_meshes<grid, line>>);
static_assert(std::same_as<verdict<whole, ragged>, parts_do_not_divide_dim<batch, 8, 3>>);
static_assert(std::same_as<verdict<by_batch, whole, over_rows>, unreduced_axis_splits_dim<rows, batch>>);

// A layout and its dry form have one plan, and a scalar has one too.
static_assert(&reshard_plan<dry<by_batch>, dry<whole>, S>::steps == &steps<by_batch, whole>);
static_assert(is(reshard_plan<whole, by_batch, shape<>, over_rows>::steps.moves[0], transfer_kind::all_reduce,
                 over_rows, 1, 1, 1));
