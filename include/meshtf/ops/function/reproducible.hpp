// reproducible: a step whose loss and gradients have the same bits on 1, 2, 4 and more processes.
#pragma once

#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include <meshtf/core/error.hpp>
#include <meshtf/ops/function/accumulate.hpp>
#include <meshtf/ops/function/block_of.hpp>
#include <meshtf/ops/function/block_tree.hpp>

namespace meshtf {
inline namespace v0 {

/// A search has no processes yet that could join the blocks of `Batch`. Search with `accumulate`.
template<class Batch>
struct blocks_in_a_search {};

namespace detail {

/// The machine of a search has no processes yet.
template<class M>
concept ExchangesInPairs = requires(M& m, float const* x, float* z, axis_list const& over) {
  m.exchange_in_pairs(x, z, extent{1}, over, extent{1});
};

[[noreturn]] inline void throw_gradients_before() {
  throw software_error(
      "reproducible expects parameters without gradients, since it adds up those of its blocks alone, got "
      "some of an earlier backward: let the optimizer step, or call zero_gradients, before");
}

[[noreturn]] inline void throw_state_of_blocks() {
  throw software_error(
      "reproducible expects a step that writes no state, since each process would keep that of its own "
      "blocks, got one that does: leave out layers that keep running values, such as batch_norm, or the "
      "update");
}

/// How often what a list has was written.
template<class List>
constexpr unsigned writes_in(List const& list) {
  unsigned n = 0;
  list.for_each_tensor([&n](auto& x) { n += x.handle()->version(); });
  return n;
}

/// Whether each process has every parameter whole: gradients are added up over processes as whole arrays.
template<class Part>
struct parameters_are_whole : std::true_type {};  // what is not trained
template<class T, class L, class... D>
struct parameters_are_whole<parameter<T, L, D...>>
    : std::bool_constant<(split_over<L, shape<D...>> & joining_axes<typename L::mesh_type>) == 0> {};
template<class... Part>
struct parameters_are_whole<parameter_list<Part...>>
    : std::bool_constant<(parameters_are_whole<Part>::value && ...)> {};
template<HasParameters Part>
struct parameters_are_whole<Part> : parameters_are_whole<decltype(std::declval<Part&>().parameters())> {};
template<Range Part>
  requires(!Parameter<Part> && !Kept<Part> && !HasParameters<Part>)
struct parameters_are_whole<Part>
    : parameters_are_whole<std::remove_cvref_t<decltype(*std::begin(std::declval<Part&>()))>> {};

template<class List>
constexpr void expect_no_gradients(List const& list) {
  list.for_each([](auto& w) {
    if (w.slot().sum) throw_gradients_before();
  });
}

/// `legal`, or why the losses of blocks can't be joined.
template<class Batch, class Block, class Loss>
struct reproducible_objection : std::type_identity<legal> {};
template<class Batch, class Block, Tensor Loss>
struct reproducible_objection<Batch, Block, Loss>
    : std::type_identity<first_objection<
          std::conditional_t<ExchangesInPairs<typename Loss::machine_type>, legal, blocks_in_a_search<Batch>>,
          reproducible_verdict<actual<typename Loss::layout_type>, Batch, Block>>> {};

template<class Batch, class Block, class Loss>
using blocks_for = batch_blocks<actual<typename Loss::layout_type>, Batch, Block>;

/// The passes of this process's blocks, and the sums over all blocks.
template<class Blocks, class Machine, class List, class F>
constexpr auto sum_of_blocks(Machine& m, List const& list, F const& step, std::source_location at) {
  using loss_type = std::remove_cvref_t<decltype(stop_gradient(step(extent{0})))>;
  using number    = typename loss_type::element_type;
  counting_step<F> counting{step};
  block_tree<Machine> tree{m, Blocks::own, count_in(list)};
  extent const first = first_block<Blocks>(m);
  for (extent i = first; i < first + Blocks::own; ++i) {
    auto const loss = gone_back(counting(i), true);
    counting.expect_equal_counts();
    m.begin_operation("reproducible", at);
    tree.add_block(loss.handle(), list);
  }
  tree.join_processes(Blocks::batch.over, Blocks::parts);
  tree.give_gradients(list);
  return loss_type{m, tree.template take_number<number>()};
}

template<class Blocks, class List, class F>
constexpr auto joined_blocks(List const& list, F const& step, std::source_location at) {
  expect_no_gradients(list);
  unsigned const writes = writes_in(list);
  try {
    auto loss = sum_of_blocks<Blocks>(machine_of(list, "reproducible"), list, step, at);
    if (writes_in(list) != writes) throw_state_of_blocks();
    return loss;
  } catch (...) {
    zero_gradients(list);
    throw;
  }
}
template<class Blocks, class List, class W>
constexpr auto joined_weights(List const& list, W const& weight, std::source_location at) {
  auto& m = machine_of(list, "reproducible");
  no_gradient const guard{m};
  return sum_of_blocks<Blocks>(m, parameters(), weight, at);
}

}  // namespace detail

//= || || || reproducible<batch, block>(parameters, step)
/// Calls `step(i)` for the blocks `i` of a batch that this process has; all processes together have all. A
/// block is `Block::size` neighbours along `Batch`, which `block_of<Batch, Block>(x, i)` takes; there are 1,
/// 2, 4, 8 and so on of them. `step` returns a loss, a tensor without dimensions, of which `backward` is
/// called before the next. Returns the sum of the losses of all blocks, as data.
///
///     auto loss = reproducible<batch, block>(net.parameters(), [&](extent i) {
///       return mean(net.loss(block_of<batch, block>(ids, i))) / 8;   // of 8 blocks
///     });
///     opt.step(net.parameters());
///
/// Loss and gradients have the same bits on any power of two of processes up to the number of blocks, and on
/// any number of threads: a process computes its blocks alone, one after the other, and what they leave is
/// added up by a tree over the blocks. Then each gradient is whole on all processes, so the optimizer sends
/// none, and elementwise steps leave the same weights and state, sharded or not. Give random operations the
/// number of the block: `{.seed = run, .stream = step * blocks + i}`.
///
/// Of n processes, each sends log2(n) times the bytes of the gradients (an all-reduce: 2 (n - 1) / n times),
/// and holds up to log2(own blocks) + 1 gradients of each parameter. The list has all parameters that the
/// step trains: gradients of others are those of this process's blocks alone.
///
/// Errors: `rule_besides_batch` unless the layout splits the batch alone; those of `block_of`;
/// `blocks_in_a_search`;
/// `software_error` if a parameter has a gradient before, if some blocks of a process give one to a parameter
/// and others do not, if the step writes a state of the list, and as `accumulate`. A parameter of the list
/// that is split over processes is refused when it is compiled.
/// Sources: Uhl et al., KaMPIng (2024), for a tree that does not depend on the number of processes; Thakur et
/// al. (2005), for recursive doubling.
template<Dimension Batch, Dimension Block, class... Part, class F>
constexpr auto reproducible(parameter_list<Part...> const& list, F const& step,
                            std::source_location at = std::source_location::current()) {
  using loss_type = decltype(step(extent{0}));
  using verdict   = typename detail::reproducible_objection<Batch, Block, loss_type>::type;
  static_assert(accepted<verdict>, "meshtf: reproducible needs a chosen layout that splits the batch alone");
  // A layout that splits more than the batch may split them, and one error is enough.
  constexpr bool whole = !accepted<verdict> || detail::parameters_are_whole<parameter_list<Part...>>::value;
  static_assert(whole,
                "meshtf: reproducible trains parameters that each process has whole: split none of them");
  if constexpr (detail::AnyRejected<loss_type> || !accepted<verdict> || !whole) {
    return detail::rejected{};
  } else {
    return detail::joined_blocks<detail::blocks_for<Batch, Block, loss_type>>(list, step, at);
  }
}

/// The mean over all blocks of what `step(i)` sums up: `weight(i)` is the number of terms in it, such as the
/// tokens that count. The weights of all blocks are added up by the same tree before the first block, and
/// each loss is divided by their sum.
///
///     auto loss = reproducible<batch, block>(net.parameters(), [&](extent i) { return sum(losses(i)); },
///                                            [&](extent i) { return sum(mask(i)); });
///
/// It costs a second tree, of one number. Errors: as above; `usage_error` on all processes if the weights add
/// up to 0.
template<Dimension Batch, Dimension Block, class... Part, class F, class W>
  requires std::is_invocable_v<W const&, extent>
constexpr auto reproducible(parameter_list<Part...> const& list, F const& step, W const& weight,
                            std::source_location at = std::source_location::current()) {
  using loss_type   = decltype(step(extent{0}));
  using weight_type = decltype(weight(extent{0}));
  using verdict     = typename detail::reproducible_objection<Batch, Block, loss_type>::type;
  static_assert(accepted<verdict>, "meshtf: reproducible needs a chosen layout that splits the batch alone");
  // A layout that splits more than the batch may split them, and one error is enough.
  constexpr bool whole = !accepted<verdict> || detail::parameters_are_whole<parameter_list<Part...>>::value;
  static_assert(whole,
                "meshtf: reproducible trains parameters that each process has whole: split none of them");
  if constexpr (detail::AnyRejected<loss_type, weight_type> || !accepted<verdict> || !whole) {
    return detail::rejected{};
  } else {
    using blocks     = detail::blocks_for<Batch, Block, loss_type>;
    auto const terms = detail::joined_weights<blocks>(list, weight, at);
    if constexpr (std::remove_cvref_t<decltype(terms.machine())>::computes)
      if (terms.value() == 0)
        throw usage_error("expected the weights of " + std::to_string(blocks::count) +
                          " blocks to add up to more than 0: no term counts");
    return detail::joined_blocks<blocks>(list, [&step, &terms](extent i) { return step(i) / terms; }, at);
  }
}

}  // namespace v0
}  // namespace meshtf
