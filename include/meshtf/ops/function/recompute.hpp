// recompute: a function whose intermediate values are computed again in the backward pass instead of being
// kept.
#pragma once

#include <concepts>
#include <type_traits>

#include <meshtf/ops/function/at_stage.hpp>
#include <meshtf/tensor/parameters.hpp>
#include <meshtf/tensor/uses_without_tape.hpp>
#include <meshtf/tensor/values.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The switches of a machine's tape while it lives.
template<class Machine>
class tape_switches {
public:
  constexpr tape_switches(Machine& m, bool keeps, bool recomputes)
      : machine_(m),
        recorded_(m.record_gradients(true)),
        kept_(m.keep_tape(keeps)),
        recomputed_(m.recompute(recomputes)) {}
  tape_switches(tape_switches const&)  = delete;
  void operator=(tape_switches const&) = delete;
  constexpr ~tape_switches() {
    machine_.record_gradients(recorded_);
    machine_.keep_tape(kept_);
    machine_.recompute(recomputed_);
  }

private:
  Machine& machine_;
  bool recorded_;
  bool kept_;
  bool recomputed_;
};

/// A function as the tape keeps it: a copy, or, if it is a model or can't be copied, where it is.
template<class F>
struct kept_function {
  F f;
  constexpr F const& get() const { return f; }
};
template<class F>
struct referred_function {
  F const* f;
  constexpr F const& get() const { return *f; }
};
template<class F>
constexpr auto kept_to_call(F&& f) {
  using function = std::remove_cvref_t<F>;
  if constexpr (std::is_lvalue_reference_v<F> &&
                (HasParameters<function> || !std::copy_constructible<function>))
    return referred_function<function>{&f};
  else return kept_function<function>{std::forward<F>(f)};
}

/// On the tape: f, its arguments, and the slots of the parameters that it captures: until it has run, terms
/// of their gradients are missing. In the backward pass f is computed again with a tape, which is then
/// unwound like any other.
template<class Machine, class F, class Results, class... X>
struct recomputed_function : tape_entry {
  Machine* m;
  F f;
  std::tuple<X...> x;
  Results z;              // without their elements
  uses_of_function uses;  // of what f captures

  static constexpr void run_backward(tape_entry* e) {
    static_cast<recomputed_function*>(e)->recompute_and_unwind();
  }
  static constexpr void destroy_this(tape_entry* e) {
    auto* const me = static_cast<recomputed_function*>(e);
    for_each_value([](auto const& value) { consume(value); }, me->z);
    me->m->destroy(me);
  }

private:
  template<class Value>
  static constexpr void consume(Value const& value) {
    if (value.needs_gradient()) value.slot().consumed = true;
  }
  template<class Value>
  static constexpr bool has_gradient(Value const& value) {
    return value.needs_gradient() && value.slot().sum;
  }
  /// The gradient that `value` has collected goes on to the same value, computed again: finished or partial,
  /// as it came.
  template<class Value>
  static constexpr void hand_on(Value const& value, Value const& again) {
    if (!has_gradient(value) || !again.needs_gradient()) return;
    auto& slot = value.slot();
    contribute(again, Value{value.machine(), std::move(slot.sum)}, slot.unreduced, slot.why);
  }
  constexpr void recompute_and_unwind() {
    bool wanted = false;
    for_each_value([&wanted](auto const& value) { wanted = wanted || has_gradient(value); }, z);
    if (!wanted) return;
    auto const again = [this] {
      tape_switches const guard{*m, true, true};
      return std::apply([this](X const&... kept) { return f.get()(argument(kept)...); }, x);
    }();
    for_each_value([](auto const& value, auto const& once_more) { hand_on(value, once_more); }, z, again);
  }
};

}  // namespace detail

/// f(x...), whose intermediate values are not kept for the backward pass: it computes f again instead. `x`
/// and the results are tensors or partial sums; several results are a tuple, or a struct with `values()` such
/// as `nn::residual`.
///
///     auto h = recompute([&block](auto const& x, auto const& mask) { return block(x, mask); }, x, mask);
///
/// The backward pass holds the intermediate values of one such function at a time. It calls f once more, with
/// its flops and its messages, then unwinds what that put on the tape. Results and gradients have
/// the same bits as those of `f(x...)`: random values depend on their keys alone. Parameters and other
/// tensors that f captures get their gradients. f is copied, but a model, or what can't be copied, is
/// referred to; that, and what f captures by reference, must live until `backward`, and captured values must
/// not be written before it (that of an `x` that is a tensor is detected). Hand it local tensors as
/// arguments, or capture them by value: they are handles. A value that leaves f in another way than as a
/// result has no tape: a loss that is collected on the side is returned instead, or its `backward` throws
/// `software_error`.
/// Source: Chen et al., Training Deep Nets with Sublinear Memory Cost (2016).
template<class F, class... X>
  requires(!detail::Operand<F> && sizeof...(X) > 0 && !detail::AnyRejected<X...>)
constexpr auto recompute(F&& f, X const&... x) {
  auto& m = detail::machine_of_first(x...);
  if (!m.records_gradients() || !m.keeps_tape()) return f(detail::argument(x)...);
  int const stage = m.stage();
  detail::uses_of_function uses;
  auto z = [&] {
    detail::tape_switches const guard{m, false, m.recomputes()};
    detail::uses_of_function::noting const noting{m, uses};
    return f(detail::argument(x)...);
  }();
  if (m.stage() != stage) detail::throw_stage_ends_in_function("recompute");
  if constexpr (detail::AnyRejected<decltype(z)>) {
    return z;
  } else {
    bool wanted    = false;
    auto const own = [&wanted](auto const& value) {
      auto fresh = value.without_slot();
      if (value.needs_gradient()) {
        fresh.need_gradient(value.gradient_stays_unreduced());
        wanted = true;
      }
      return fresh;
    };
    auto result = detail::map_values(own, z);
    if (wanted) {
      m.begin_operation("recompute");
      auto kept    = detail::kept_to_call(std::forward<F>(f));
      auto holding = detail::map_values([](auto const& value) { return value.without_value(); }, result);
      using entry  = detail::recomputed_function<std::remove_reference_t<decltype(m)>, decltype(kept),
                                                 decltype(holding), decltype(detail::kept_argument(x))...>;
      m.put_on_tape(m.template create<entry>(tape_entry{entry::run_backward, entry::destroy_this}, &m,
                                             std::move(kept), std::tuple{detail::kept_argument(x)...},
                                             std::move(holding), std::move(uses)));
    }
    return result;
  }
}

MESHTF_ACCEPT_REJECTED(recompute)

}  // namespace v0
}  // namespace meshtf
