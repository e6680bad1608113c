// The tape: what was computed, and the backward pass through it.
#pragma once

#include <source_location>

#include <meshtf/plan/shard_plan.hpp>
#include <meshtf/tensor/parameter.hpp>
#include <meshtf/tensor/partial.hpp>
#include <meshtf/tensor/spilled.hpp>
#include <meshtf/tensor/stale.hpp>
#include <meshtf/tensor/uses_without_tape.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// An operand as the tape keeps it. Its elements are kept only if the gradient needs them. Writing to them in
/// the meantime is detected.
template<class Value>
struct kept {
  Value x;
  unsigned version;

  [[gnu::always_inline]] constexpr bool needs_gradient() const { return x.needs_gradient(); }
  [[gnu::always_inline]] constexpr Value const& target() const { return x; }

  /// The elements, as they were when the operation ran.
  constexpr Value const& value() const {
    if (x.handle()->version() != version)
      throw_stale(x.machine().now(), shape_names<typename Value::shape_type>::list);
    return x;
  }
};

/// Keeps `x` for a gradient: its slot always, its elements only `if_needed`.
template<class T, class L, class... D>
constexpr kept<tensor<T, L, D...>> keep(tensor<T, L, D...> const& x, bool if_needed = true) {
  // `if`, not `?:`: g++ 12 miscounts handles in a conditional expression in constant evaluation
  if (if_needed) {
    note_for_spilling<T, machine<L>>(x);
    return {x, x.handle()->version()};
  }
  return {x.without_value(), 0};
}

/// Whether any of these operands needs a gradient. All operations with several operands ask this,
/// so operands on two meshes are found here at the latest.
template<class T, class Machine, class... Rest>
constexpr bool wants_gradient(shard<T, Machine> const& first, shard<Rest, Machine> const&... rest) {
  if constexpr (sizeof...(rest) > 0) expect_one_mesh(first.machine(), rest.machine()...);
  bool const wanted =
      (first.needs_gradient() || ... || rest.needs_gradient()) && first.machine().records_gradients();
  if (wanted && !first.machine().keeps_tape()) [[unlikely]]
    (note_use(first), ..., note_use(rest));
  return wanted;
}

/// Adds up the local terms of `t`. It is then equal on all processes that hold the same part.
template<class T, class Machine>
constexpr void finish_in_place(shard<T, Machine>& t, axis_set unreduced,
                               collective_reason const* why = nullptr) {
  if (unreduced == 0) return;
  auto& m      = t.machine();
  auto const n = t.handle()->size();
  if (!t.handle().alone()) {  // others read this buffer: they still see the local terms
    auto const local_terms = t.handle();
    m.if_joined(
        unreduced,
        [&] {
          auto own = shard<T, Machine>::handle_type::make(m, m, n);
          m.copy(n, static_cast<T const*>(t.data()), own->data());
          t = shard<T, Machine>{m, std::move(own)};
        },
        [&] { local_terms->alias_as(*t.handle()); });
  }
  m.because(why);
  m.all_reduce(reduction::sum, t.data(), n, unreduced);
}

/// `finish` in the name of the current operation.
template<class Value>
constexpr Value finished(local_result<Value> p) {
  finish_in_place(p.value, p.unreduced, p.why);
  return std::move(p.value);
}

/// Adds `g`, a sum that is unreduced over `unreduced`, to the gradient that `x` collects. If one of the two
/// is whole along an axis and the other is unreduced there, the whole one counts on coordinate 0 only.
template<class T, class Machine>
constexpr void contribute(shard<T, Machine> const& x, shard<T, Machine> const& g, axis_set unreduced = 0,
                          collective_reason const* why = nullptr) {
  auto& to = x.slot();
  expect_tape(to.consumed, x.machine().now());
  if (!to.sum) {
    to.sum       = g.handle();
    to.unreduced = unreduced;
    to.why       = why;
    return;
  }
  auto& m        = x.machine();
  auto const n   = g.handle()->size();
  auto const old = std::move(to.sum);
  if (old.alone()) to.sum = old;
  else  // a buffer that others read is not written
    to.sum = shard<T, Machine>::handle_type::make(m, m, n);
  m.add_up(n, m.counts(unreduced & ~to.unreduced), m.counts(to.unreduced & ~unreduced),
           static_cast<T const*>(old->data()), g.data(), to.sum->data());
  to.unreduced |= unreduced;
  if (to.why == nullptr) to.why = why;
}

/// Beyond the count under which an operation ran, its operand has no influence: the gradient is zero there,
/// so gradients of different counts add up.
///
/// That does not allow operations to walk past the count: other operands have no values there, and zero times
/// NaN is NaN. (Norms once did, in processes that held no row of parts of one: the gradient of the scale
/// added
/// a cleared row of dz times stale memory, so it was right as long as that was finite.)
template<class T, class Machine, class L, class... D>
  requires(CountedDimension<D> || ...)
constexpr void contribute(shard<T, Machine> const& x, tensor<T, L, D...> const& g, axis_set unreduced = 0,
                          collective_reason const* why = nullptr) {
  auto& m = x.machine();
  m.run(task::clear_padding<T>{}, shard_plan<actual<L>, shape<D...>>, g.handle()->data());
  contribute(x, static_cast<shard<T, Machine> const&>(g), unreduced, why);
  x.slot().sum->count_again(true);
}

template<class T, class Machine, class Value>
constexpr void contribute(shard<T, Machine> const& x, local_result<Value> const& g) {
  contribute(x, g.value, g.unreduced, g.why);
}

enum class incoming : unsigned char {
  finished,  // the gradient is finished before `pull(dz)` sees it
  // `pull(dz, unreduced)`: a linear operation on a parameter leaves the sum unreduced, as the parameter does
  unreduced_if_allowed,
  as_it_is,  // `pull(dz, unreduced)`: the operation itself moves partial sums
};

/// An operation on the tape. `pull` gets the gradient of `z`, which is kept without its elements.
template<incoming How, class Z, class F>
struct recorded_operation : tape_entry {
  Z z;
  F pull;

  /// The value has no gradient from here on: its slot is consumed.
  static constexpr void destroy_this(tape_entry* e) {
    auto* const me        = static_cast<recorded_operation*>(e);
    me->z.slot().consumed = true;
    me->z.machine().destroy(me);
  }
  static constexpr void run_backward(tape_entry* e) {
    auto* const me = static_cast<recorded_operation*>(e);
    auto& slot     = me->z.slot();
    if (!slot.sum) return;
    Z dz{me->z.machine(), std::move(slot.sum)};
    axis_set const unreduced = slot.unreduced;
    if constexpr (How == incoming::finished) {
      finish_in_place(dz, unreduced, slot.why);
      me->pull(dz);
    } else if constexpr (How == incoming::unreduced_if_allowed) {
      if (slot.stays_unreduced) {
        me->pull(dz, unreduced);
      } else {
        finish_in_place(dz, unreduced, slot.why);
        me->pull(dz, axis_set{0});
      }
    } else {
      me->pull(dz, unreduced);
    }
  }
};

/// Puts `pull` on the tape. It gets the gradient of z when the tape is unwound to z, if anything used z.
template<incoming How = incoming::finished, class T, class L, class... D, class F>
constexpr void record(tensor<T, L, D...>& z, F pull, bool stays_unreduced = false) {
  using entry = recorded_operation<How, tensor<T, L, D...>, F>;
  auto& m     = z.machine();
  z.need_gradient(stays_unreduced);
  if (m.keeps_tape())
    m.put_on_tape(m.template create<entry>(tape_entry{entry::run_backward, entry::destroy_this},
                                           z.without_value(), std::move(pull)));
  else
    z.slot().consumed = true;  // inside `recompute`: its results get slots of their own, and no gradient
                               // flows back to any other value
}

}  // namespace detail

namespace detail {

[[noreturn]] void throw_backward_in_stage();

/// Where processes compute, a number that is not finite is said once.
template<class T, class L>
constexpr void expect_finite(tensor<T, L> const& x, char const* name) {
  if constexpr (machine<L>::computes) {
    auto& m = x.machine();
    if (m.idles()) return;
    if (auto const value = static_cast<double>(*x.data()); !(value - value == 0)) [[unlikely]]
      m.say_not_finite(name, value, m.step(), m.now(), m.stages_over());
  }
}

#if MESHTF_DEFINES_RUNTIME

[[noreturn]] MESHTF_DEFINE void throw_backward_in_stage() {
  throw software_error(
      "backward in a stage of a pipeline: under staged<...>, accumulate<M>(m, step) calls it for each "
      "micro-batch");
}

#endif

}  // namespace detail

/// Computes the gradients of `loss`, a tensor without dimensions, for every parameter it was computed from.
/// They add up in the parameters until `zero_gradients`.
///
/// The tape is empty afterwards, so each value has one `backward`: a second throws `software_error`. So does
/// a `backward` that reaches a value of an earlier tape, and one of a value that was computed from no
/// parameter. For two losses, call `backward(a + b)`; a value that goes on into the next step, such as a
/// recurrent state, does so as data: `stop_gradient(h)`.
///
/// A loss that is not finite is said once on stderr, with the step and the place; the program goes on.
///
/// Gradients of intermediate values are added up over processes when the tape is unwound to the operation
/// that made them; those of parameters stay unreduced until their owner asks (`finish(gradient(w))`, an
/// optimizer's `step`).
template<FloatingElement T, class L>
constexpr void backward(tensor<T, L> const& loss) {
  auto& m = loss.machine();
  if constexpr (is_staged<L>)
    if (m.stage() >= 0 && !m.in_backward_pass()) detail::throw_backward_in_stage();
  if (!loss.needs_gradient()) detail::throw_no_gradient();
  if (loss.slot().consumed)  // on one line: in constant evaluation compilers show it
    throw software_error("an earlier backward has used up the tape of this value: call backward(a + b) once");
  detail::expect_finite(loss, "the loss");
  {
    auto one = tensor<T, L>::uninitialised(m);
    m.fill(1, T{1}, one.data());
    detail::contribute(loss, one);
  }
  m.unwind_tape(true);
}

/// A gradient starts at one number, but this value has dimensions `Dims...`.
template<class... Dims>
struct loss_has_dims {};

template<class T, class L, class First, class... More>
constexpr void backward(tensor<T, L, First, More...> const&) {
  static_assert(accepted<loss_has_dims<First, More...>>,
                "meshtf: backward starts at one number: backward(sum(x)) or backward(mean(x))");
}

template<class T, class L, class Over>
constexpr void backward(partial<tensor<T, L>, Over> const&) {
  using verdict =
      typename detail::partial_sum_objection<algebra::remedy::finish, partial<tensor<T, L>, Over>>::type;
  static_assert(accepted<verdict>, "meshtf: backward starts at a finished number: backward(finish(p))");
}
template<class T, class L, class First, class... More, class Over>
constexpr void backward(partial<tensor<T, L, First, More...>, Over> const& p) {
  backward(p.local_terms());
}

namespace detail {

/// While it lives, and if `yes`, gradients that a backward pass leaves are not complete: terms of other
/// micro-batches follow.
template<class Machine>
class more_terms {
public:
  constexpr more_terms(Machine& m, bool yes) : machine_(m), before_(m.more_terms_follow(yes)) {}
  more_terms(more_terms const&)     = delete;
  void operator=(more_terms const&) = delete;
  constexpr ~more_terms() { machine_.more_terms_follow(before_); }

private:
  Machine& machine_;
  bool before_;
};

}  // namespace detail

/// While it lives, operations are not put on the tape and their results need no gradient, so evaluation costs
/// no memory.
template<class Machine>
class no_gradient {
public:
  constexpr explicit no_gradient(Machine& m) : machine_(m), before_(m.record_gradients(false)) {}
  no_gradient(no_gradient const&)    = delete;
  void operator=(no_gradient const&) = delete;
  constexpr ~no_gradient() { machine_.record_gradients(before_); }

private:
  Machine& machine_;
  bool before_;
};

template<class Machine>
no_gradient(Machine&) -> no_gradient<Machine>;

MESHTF_ACCEPT_REJECTED(backward)

}  // namespace v0
}  // namespace meshtf
