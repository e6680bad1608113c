// Pending values: what an operation makes of values that the processes have not joined yet, and when it must
// refuse them.
//
// The rules are functions of small values; `detail::use_verdict` and `detail::meeting_verdict` state their
// answers in the program's names.
#pragma once

#include <cstdint>

namespace meshtf {
inline namespace v0 {

/// A value that is still a sum over `Axis` can't also be split over it.
template<class Axis, class Dim>
struct unreduced_axis_splits_dim {};

/// The former name of `unreduced_axis_splits_dim`.
template<class Axis, class Dim>
using owed_axis_splits_dim = unreduced_axis_splits_dim<Axis, Dim>;

/// The algebra uses common words, so it has a namespace of its own.
namespace algebra {

/// How the true value follows from the values that the processes hold: it is equal on all of them, or it is
/// their sum, maximum or minimum.
enum class pending : std::uint8_t { nothing, sum, max, min };

/// What an operation does with one value while its other operands are whole.
enum class use : std::uint8_t {
  layout_only,      // transpose, rename, split_dim, merge_dims, slice, broadcast: the same elements elsewhere
  exact_cast,       // cast to a type that holds every value of the source type
  rounding_cast,    // cast to a type that does not: it rounds
  summed,           // sum and mean along another dimension
  scaled,           // times or divided by whole values of any sign, einsum with a whole tensor, dropout
  scaled_positive,  // times whole values that are not negative
  scaled_negative,  // times whole values that are not positive
  negated,
  shifted,     // plus a number
  subtracted,  // a number minus it
  divisor,     // a number divided by it
  // exp, log, sqrt, tanh, sigmoid, relu, floor, clamp: the result never falls as the value grows
  monotone,
  rsqrt,
  nonlinear,  // square, gelu, sin, abs, product, a function of the user's own
  maximum,    // max along another dimension
  minimum,    // min along another dimension
  // softmax, logsumexp, variance, norms, losses, attention: a result depends on other elements too
  normalised,
  compared,  // less ... not_equal, argmax, sample, the condition of `where`
  update,    // the gradient in w -= rate * g: every process would take a different step
};

/// The algebraic properties of a use.
struct properties {
  bool linear        = false;  // f(a + b) = f(a) + f(b)
  bool increasing    = false;  // f(max(a, b)) = max(f(a), f(b)), and the same for min
  bool decreasing    = false;  // f(max(a, b)) = min(f(a), f(b)), and the other way round
  bool preserves_max = false;  // f(max(a, b)) = max(f(a), f(b)), for max only
  bool preserves_min = false;  // f(min(a, b)) = min(f(a), f(b)), for min only
};

constexpr properties properties_of(use u) {
  switch (u) {
    case use::layout_only:
    case use::exact_cast:
    case use::scaled_positive: return {.linear = true, .increasing = true};
    case use::summed:
    case use::scaled: return {.linear = true};
    case use::scaled_negative:
    case use::negated: return {.linear = true, .decreasing = true};
    case use::rounding_cast:
    case use::shifted:
    case use::monotone: return {.increasing = true};
    case use::subtracted:
    case use::rsqrt: return {.decreasing = true};
    case use::maximum: return {.preserves_max = true};
    case use::minimum: return {.preserves_min = true};
    case use::divisor:
    case use::nonlinear:
    case use::normalised:
    case use::compared:
    case use::update: break;
  }
  return {};
}

/// What a program can write instead of an unsound operation.
enum class remedy : std::uint8_t {
  none,
  finish,      // join the values first: finish(p), at the price of an all-reduce
  count_once,  // let the whole operand count on one process only: as_partial<...>(x), free
};

/// How the result is pending, or what to write instead.
struct pending_after {
  pending state = pending::nothing;
  remedy fix    = remedy::none;

  constexpr bool sound() const { return fix == remedy::none; }
  friend constexpr bool operator==(pending_after const&, pending_after const&) = default;
};

/// How f(p) is pending if f uses p as `u` says.
/// Source: the algebra of pending values in PyTorch's DTensor and OneFlow's SBP.
constexpr pending_after after(use u, pending p) {
  constexpr pending_after refused{.fix = remedy::finish};
  properties const f = properties_of(u);
  switch (p) {
    case pending::nothing: return {};
    case pending::sum: return f.linear ? pending_after{p} : refused;
    case pending::max:
      if (f.increasing || f.preserves_max) return {p};
      return f.decreasing ? pending_after{pending::min} : refused;
    case pending::min:
      if (f.increasing || f.preserves_min) return {p};
      return f.decreasing ? pending_after{pending::max} : refused;
  }
  return refused;
}

/// How two values meet in an operation.
enum class meeting : std::uint8_t {
  plus,
  minus,
  times,  // and einsum
  over,
  larger,  // the larger of the two
  smaller,
  alongside,  // concat; `where` with a whole condition
  nonlinear,  // pow, logaddexp, a cross entropy: some other function of both
  compared,   // less ... not_equal, logical_and, division of integers: the result has steps
};

/// How f(p, q) is pending if they meet as `m` says. A maximum or minimum may meet itself or a whole value any
/// number of times; a sum counts each meeting.
constexpr pending_after after(meeting m, pending p, pending q) {
  constexpr pending_after refused{.fix = remedy::finish};
  constexpr pending_after count_once{.fix = remedy::count_once};
  constexpr auto turned = [](pending k) { return k == pending::max ? pending::min : pending::max; };
  bool const whole_p    = p == pending::nothing;
  bool const whole_q    = q == pending::nothing;
  bool const sums       = p == pending::sum || q == pending::sum;
  if (whole_p && whole_q) return {};
  auto const added = [&] {
    if (p == q) return pending_after{p};
    return whole_p || whole_q ? count_once : refused;
  };
  // where one of the two is pending; `of_q`: how q is pending in the result
  auto const the_pending_one = [&](pending of_q) {
    if (whole_q) return pending_after{p};
    return whole_p ? pending_after{of_q} : refused;
  };
  switch (m) {
    case meeting::plus: return sums ? added() : the_pending_one(q);
    case meeting::minus: return sums ? added() : the_pending_one(turned(q));
    case meeting::times: return sums && (whole_p || whole_q) ? pending_after{pending::sum} : refused;
    case meeting::over: return p == pending::sum && whole_q ? pending_after{p} : refused;
    case meeting::larger:
      if (sums) return refused;
      if (p == q && p == pending::max) return {p};
      return the_pending_one(q);
    case meeting::smaller:
      if (sums) return refused;
      if (p == q && p == pending::min) return {p};
      return the_pending_one(q);
    case meeting::alongside:
      if (p == q) return {p};
      if (sums) return whole_p || whole_q ? count_once : refused;
      return the_pending_one(q);
    case meeting::nonlinear:
    case meeting::compared: return refused;
  }
  return refused;
}

}  // namespace algebra

}  // namespace v0
}  // namespace meshtf
