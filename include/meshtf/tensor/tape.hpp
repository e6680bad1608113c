// The tape: what was computed, and how a gradient finds its way back through it.
#pragma once

#include <source_location>

#include <meshtf/tensor/parameter.hpp>
#include <meshtf/tensor/partial.hpp>
#include <meshtf/tensor/stale.hpp>

namespace meshtf::inline v0 {

namespace detail {

/// An operand as the tape keeps it. Its elements are kept only if the gradient needs them; writing to them in the meantime is found out.
template<class Value>
class kept {
public:
  constexpr kept(Value x) : x_(std::move(x)), version_(x_.handle() ? x_.handle()->version() : 0) {}

  constexpr bool needs_gradient() const { return x_.needs_gradient(); }
  constexpr Value const& target() const { return x_; }
  constexpr auto& machine() const { return x_.machine(); }

  /// The elements, as they were when the operation ran.
  constexpr Value const& value() const {
    if (x_.handle()->version() != version_) throw_stale(x_.machine().now(), spelled_shape<typename Value::shape_type>());
    return x_;
  }

private:
  Value x_;
  unsigned version_;
};

/// Keeps `x` for a gradient: its slot, and its elements only `if_needed`.
template<class T, class L, class... D>
constexpr kept<tensor<T, L, D...>> keep(tensor<T, L, D...> const& x, bool if_needed = true) {
  // `if`, not `?:`: g++ 12 miscounts handles in a conditional expression in constant evaluation
  if (if_needed) return {x};
  return {x.without_value()};
}

/// Will a gradient come back to any of these operands?
template<class First, class... X>
constexpr bool wants_gradient(First const& first, X const&... x) {
  return (first.needs_gradient() || ... || x.needs_gradient()) && first.machine().records_gradients();
}

/// Adds up the addends of `t`, equal on all processes that hold the same part.
template<class T, class L, class... D>
constexpr void finish_in_place(tensor<T, L, D...>& t, axis_set owed, collective_reason const* why = nullptr) {
  if (owed == 0) return;
  if (!t.handle().alone())  // others read this buffer: they go on seeing the addends
    t.machine().if_joined(
        owed,
        [&t] {
          auto own = copy(t);
          t        = std::move(own);
        },
        [] {});
  t.machine().because(why);
  t.machine().all_reduce(reduction::sum, t.data(), t.size, owed);
}

/// `finish` in the name of the operation at work.
template<class Value>
constexpr Value finished(open_sum<Value> p) {
  finish_in_place(p.value, p.owed, p.why);
  return std::move(p.value);
}

/// Adds `g`, `n` elements that are a sum open over `owed`, to what a slot collects. One function for all shapes: every use of every tensor comes here.
template<class T, class Machine, class Size>
constexpr void add_to_slot(Machine& m, slot<T, Machine>& to, shared<storage<T, Machine>, Machine> const& g, Size n, axis_set owed,
                           collective_reason const* why) {
  if (!to.sum) {
    to.sum  = g;
    to.owed = owed;
    to.why  = why;
    return;
  }
  auto const old = std::move(to.sum);
  if (old.alone()) to.sum = old;
  else  // a buffer that others read is not written
    to.sum = shared<storage<T, Machine>, Machine>::make(m, m, n);
  m.add_up(n, m.counts(owed & ~to.owed), m.counts(to.owed & ~owed), static_cast<T const*>(old->data()), static_cast<T const*>(g->data()),
           to.sum->data());
  to.owed |= owed;
  if (to.why == nullptr) to.why = why;
}

/// Adds `g`, a sum open over `owed`, to the gradient that `x` collects. Where one of the two is whole on an axis and the other owes a sum there, the whole one
/// counts on coordinate 0 only.
template<class T, class L, class... D>
constexpr void contribute(tensor<T, L, D...> const& x, tensor<T, L, D...> const& g, axis_set owed = 0, collective_reason const* why = nullptr) {
  add_to_slot<T>(x.machine(), x.slot(), g.handle(), x.size, owed, why);
}

template<class Value>
constexpr void contribute(Value const& x, open_sum<Value> const& g) {
  contribute(x, g.value, g.owed, g.why);
}

enum class incoming : unsigned char {
  finished,  // the gradient is added up before `pull(dz)` sees it
  open_if_open,  // `pull(dz, owed)`: a linear operation on a parameter lets the sum wait, as the parameter does
  as_it_is,  // `pull(dz, owed)`: the operation itself moves open sums
};

/// Puts `pull` on the tape: it is given z's gradient when the tape comes back to z, if anything used z.
template<incoming How = incoming::finished, class T, class L, class... D, class F>
constexpr void record(tensor<T, L, D...>& z, F pull, bool open = false) {
  z.need_gradient(open);
  auto run = [z = z.without_value(), pull = std::move(pull)] {
    auto& slot = z.slot();
    if (!slot.sum) return;
    tensor<T, L, D...> dz{z.machine(), std::move(slot.sum)};
    axis_set const owed = slot.owed;
    if constexpr (How == incoming::finished) {
      finish_in_place(dz, owed, slot.why);
      pull(dz);
    } else if constexpr (How == incoming::open_if_open) {
      if (slot.open) {
        pull(dz, owed);
      } else {
        finish_in_place(dz, owed, slot.why);
        pull(dz, axis_set{0});
      }
    } else {
      pull(dz, owed);
    }
  };
  z.machine().put_on_tape(std::move(run));
}

}  // namespace detail

/// Gradients of `loss`, a tensor without dimensions, for every parameter it was computed from: they add up in the parameters until `zero_gradients`.
///
/// The tape is empty afterwards. Gradients of intermediate values are added up over processes when the tape comes to the operation that made them; those of
/// parameters stay open until their owner asks (`finish(gradient(w))`, an optimizer's `step`).
template<FloatingElement T, class L>
constexpr void backward(tensor<T, L> const& loss) {
  auto& m = loss.machine();
  if (!loss.needs_gradient()) detail::throw_no_gradient();
  {
    auto one = tensor<T, L>::uninitialised(m);
    m.fill(1, T{1}, one.data());
    detail::contribute(loss, one);
  }
  m.unwind_tape(true);
}

/// While it lives, operations are not put on the tape and their results need no gradient: evaluation costs no memory.
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

}  // namespace meshtf::inline v0
