// with_gathered_weights: a block whose weights, which are kept in parts, travel in one message each way.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <meshtf/ops/function/at_stage.hpp>
#include <meshtf/tensor/packed_weights.hpp>
#include <meshtf/tensor/parameters.hpp>
#include <meshtf/tensor/values.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The type of the first value among these, in tuples and structs too; void if there is none.
template<class... X>
struct first_value : std::type_identity<void> {};
template<class X, class... Rest>
struct first_value<X, Rest...> : first_value<Rest...> {};
template<Operand X, class... Rest>
struct first_value<X, Rest...> : std::type_identity<X> {};
template<class... In, class... Rest>
struct first_value<std::tuple<In...>, Rest...> : first_value<In..., Rest...> {};
template<HasValues X, class... Rest>
struct first_value<X, Rest...> : first_value<decltype(std::declval<X const&>().values()), Rest...> {};

/// The elements in which a model uses its own parameters where x has elements `E`: those of x, unless it says
/// `template<class E> using element_of_weights = ...`.
template<class Model, class E>
struct element_of_weights : std::type_identity<E> {};
template<class Model, class E>
  requires requires { typename Model::template element_of_weights<E>; }
struct element_of_weights<Model, E> : std::type_identity<typename Model::template element_of_weights<E>> {};

/// f(w, element in which w is used, as a type_identity) for each parameter w in `part`.
template<class E, class Part, class F>
constexpr void visit_weights(Part& part, F const& f) {
  if constexpr (Parameter<Part>) f(part, std::type_identity<E>{});
  else if constexpr (Kept<Part>) return;
  else if constexpr (HasParameters<Part>)
    part.parameters().for_each_part(
        [&f](auto& inner) { visit_weights<typename element_of_weights<Part, E>::type>(inner, f); });
  else
    for (auto& element : part) visit_weights<E>(element, f);
}

/// Of a parameter `W` where the program is under `Used`: how it lies in the message of its block.
template<class Used, class W>
inline constexpr packed_part part_in_message = [] {
  using kept = actual<typename W::layout_type>;
  packed_part p =
      packed_part_of(placed_dims<Used, typename W::shape_type>, placed_dims<kept, typename W::shape_type>);
  p.over &= split_over<kept, typename W::shape_type>;  // those that join processes
  return p;
}();

/// Whether a parameter with elements `T` is packed that is used in elements `U`, and `W` is one.
template<class T, class U, class Used, class W, class E>
constexpr bool packs() {
  if constexpr (!NarrowElement<T> && std::is_same_v<typename W::element_type, T> && std::is_same_v<U, E> &&
                is_kept_part_of<Used, actual<typename W::layout_type>>)
    return is_packed(part_in_message<Used, W>, extent{sizeof(T)});
  else return false;
}

/// Calls f(w, part) for each parameter in `block` that is packed and used in elements `U`, where x has
/// elements `X`. Those that a block around this one has gathered are there already.
template<class T, class U, class X, class Used, class Block, class F>
constexpr void for_each_packed(Block& block, F const& f) {
  visit_weights<X>(block, [&f]<class W, class E>(W& w, std::type_identity<E>) {
    if constexpr (packs<T, U, Used, W, E>())
      if (!find_packed<U>(w)) f(w, part_in_message<Used, W>);
  });
}

/// On the tape before what the block puts there: its backward pass ends here, and the gradients are sent.
template<class Packed>
struct end_of_packed_block : tape_entry {
  Packed* weights;

  static constexpr void run_backward(tape_entry* e) {
    auto& weights = *static_cast<end_of_packed_block*>(e)->weights;
    weights.drop();
    weights.send();
  }
  static constexpr void destroy_this(tape_entry* e) {
    auto* const me = static_cast<end_of_packed_block*>(e);
    auto& m        = me->weights->machine();
    m.destroy(me->weights);
    m.destroy(me);
  }
};

/// On the tape after it: its backward pass begins here, if anything used the block's results.
template<class Packed, class Results>
struct begin_of_packed_block : tape_entry {
  Packed* weights;
  Results z;  // without their elements

  static constexpr void run_backward(tape_entry* e) {
    auto* const me = static_cast<begin_of_packed_block*>(e);
    bool wanted    = false;
    for_each_value(
        [&wanted](auto const& value) { wanted = wanted || (value.needs_gradient() && value.slot().sum); },
        me->z);
    if (wanted) me->weights->gather(true);
  }
  static constexpr void destroy_this(tape_entry* e) {
    auto* const me = static_cast<begin_of_packed_block*>(e);
    me->weights->machine().destroy(me);
  }
};

/// Drops what is gathered when it dies; the list of weights too, if it is `owned`, since no tape has it.
template<class Packed>
class gathered_until_end {
public:
  constexpr gathered_until_end(Packed& weights, bool owned) : weights_(weights), owned_(owned) {}
  gathered_until_end(gathered_until_end const&) = delete;
  void operator=(gathered_until_end const&)     = delete;
  constexpr ~gathered_until_end() {
    weights_.drop();
    if (owned_) weights_.machine().destroy(&weights_);
  }

private:
  Packed& weights_;
  bool owned_;
};

/// The result of `call`, during which the weights of `block` that are used in elements `U` are gathered; in
/// its backward pass too.
template<class T, class U, class X, class Used, class Machine, class Block, class F>
constexpr auto with_packed_weights(Machine& m, Block& block, F const& call) {
  using packed         = packed_block<T, U, Machine>;
  std::size_t of_block = 0;
  for_each_packed<T, U, X, Used>(block, [&of_block](auto const&, packed_part const&) { ++of_block; });
  if (of_block < 2) return call();  // one weight alone need not be packed

  auto* const weights = m.template create<packed>(m, of_block);
  for_each_packed<T, U, X, Used>(block,
                                 [weights](auto const& w, packed_part const& p) { weights->add(w, p); });
  m.begin_operation("with_gathered_weights");
  bool const taped = m.records_gradients() && m.keeps_tape();
  if (taped) {
    using entry = end_of_packed_block<packed>;
    m.put_on_tape(m.template create<entry>(tape_entry{entry::run_backward, entry::destroy_this}, weights));
  }
  auto z = [&] {
    gathered_until_end<packed> const here{*weights, !taped};
    weights->gather(false);
    return call();
  }();
  if constexpr (Operand<typename first_value<decltype(z)>::type>) {
    if (taped) {
      auto slots  = map_values([](auto const& value) { return value.without_value(); }, z);
      using entry = begin_of_packed_block<packed, decltype(slots)>;
      m.begin_operation("with_gathered_weights");
      m.put_on_tape(m.template create<entry>(tape_entry{entry::run_backward, entry::destroy_this}, weights,
                                             std::move(slots)));
    }
  }
  return z;
}

/// The same for all weights of `block`, whose elements are `T`.
template<class T, class First, class Block, class... In>
constexpr auto called_with_packed_weights(Block const& block, In const&... x) {
  using used    = actual<layout_in<First>>;
  using element = std::conditional_t<FloatingElement<element_in<First>>, element_in<First>, T>;
  auto& m       = machine_of_first(x...);
  if (m.idles()) return block(x...);
  int const stage = m.stage();
  // a list of parameters is one of parameters that may change; these are only looked at
  auto& weights   = const_cast<Block&>(block);
  auto const call = [&] { return block(x...); };
  auto z          = [&] {
    if constexpr (NarrowElement<element>)  // norms take scales in the type that is computed with
      return with_packed_weights<T, computed<element>, element, used>(
          m, weights, [&] { return with_packed_weights<T, element, element, used>(m, weights, call); });
    else return with_packed_weights<T, element, element, used>(m, weights, call);
  }();
  if (m.stage() != stage) throw_stage_ends_in_function("with_gathered_weights");
  return z;
}

}  // namespace detail

//= || fully_shard(block); block(x) || || with_gathered_weights(block, x)
/// block(x...), whose weights, where they are kept in parts (`kept_over`), travel in one message each way.
///
/// They are gathered together before the call and dropped after it. Those that the backward pass needs are
/// gathered once more where it comes to the block, and all gradients are reduce-scattered together where it
/// ends there.
///
///     auto const y = with_gathered_weights(block, x);
///
/// `block` is a model, with `parameters()`; x and its results are tensors, partial sums, tuples of these or
/// structs with `values()`, as those of `recompute`. The blocks of
/// `nn::transformer`, `nn::llama` and `nn::stack` are called so. Values and gradients are those of
/// `block(x...)`. It holds the weights of the block, and in the backward pass their gradients, where
/// `block(x...)` holds one at a time.
///
/// A weight is cast to the elements of the first value in `x...`, then gathered. One whose part is too long
/// to be packed (`largest_packed`) is gathered where it is used. So is one that is used in other elements, by
/// a model that does not say so (`element_of_weights`, as in nn/norm.hpp), and one that is cut over axes in
/// another order than that of the mesh. Under a layout without `kept_over`, or with the rule
/// `one_message_a_weight`, this is block(x...). Errors: `has_no_parameters`; `software_error` if another
/// stage works after the call than before. Source: Zhao et al., PyTorch FSDP (2023), section 3.2: units, of
/// which a FlatParameter is one message.
template<class Block, class... X>
  requires(!detail::AnyRejected<X...>)
constexpr auto with_gathered_weights(Block const& block, X const&... x) {
  using verdict = typename detail::naming<Block>::type;
  static_assert(accepted<verdict>,
                "meshtf: with_gathered_weights calls a model, which has a member parameters()");
  using first   = typename detail::first_value<X...>::type;
  using trained = typename detail::first_trained<Block>::type;
  if constexpr (!accepted<verdict> || std::is_void_v<first> || std::is_void_v<trained>) {
    return block(x...);
  } else if constexpr (!detail::packs_weights<actual<detail::layout_in<first>>>) {
    return block(x...);
  } else {
    return detail::called_with_packed_weights<typename trained::element_type, first>(block, x...);
  }
}

MESHTF_ACCEPT_REJECTED(with_gathered_weights)

}  // namespace v0
}  // namespace meshtf
