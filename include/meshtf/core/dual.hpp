// Dual numbers: what the function of `fused` sees in place of an element.
//
// A dual number has a value and its derivatives by those operands that it depends on. On which it depends is
// part of its type, so a derivative that is 0 is not computed, and infinity times it is not NaN. Source:
// Griewank, Walther, Evaluating Derivatives (2008), chapter 3 (forward mode).
//
// The value of an expression has the bits of the same expression of whole tensors: each operator and each
// function rounds its result, as it would if that went through memory. Clang contracts a product and a sum to
// one fused multiply-add only where both stand in one expression of the source, so never across two
// functions. GCC does it across functions that it has inlined; there `rounded_now` hides each product from
// it. Flags that allow more (-ffast-math, -ffp-contract=fast for clang) give that up.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <meshtf/core/function.hpp>
#include <meshtf/core/math.hpp>

namespace meshtf {
inline namespace v0 {
namespace fusion {

/// `v`, which the compiler may not contract with what is done to it next. `V` is a number or a batch of
/// numbers.
template<class V>
[[gnu::always_inline]] constexpr V rounded_now(V v) {
#if __has_builtin(__builtin_assoc_barrier)
  // not an empty asm statement, which would be computed also where nothing needs it
  if (!std::is_constant_evaluated()) {
    if constexpr (requires {
                    typename V::arch_type;
                    v.data;
                  })
      v.data = __builtin_assoc_barrier(v.data);
    else if constexpr (std::is_floating_point_v<V>) v = __builtin_assoc_barrier(v);
  }
#endif
  return v;
}

/// A plain number: a constant of the function.
template<class N>
concept PlainNumber = std::is_arithmetic_v<N>;

/// The number of the I-th operand in the set `on`.
constexpr unsigned operand_in(unsigned on, std::size_t i) {
  for (; i > 0; --i) on &= on - 1;
  return static_cast<unsigned>(std::countr_zero(on));
}

/// An element, or a batch of elements, and its derivatives by the operands in the set `On`.
template<class V, unsigned On>
struct dual {
  V value;
  std::array<V, static_cast<std::size_t>(std::popcount(On))> slopes;

  template<unsigned K>
  static constexpr bool depends = (On >> K & 1U) != 0;

  /// The derivative by operand `K`, on which it depends.
  template<unsigned K>
  [[gnu::always_inline]] constexpr V const& slope() const {
    static_assert(depends<K>);
    return std::get<static_cast<std::size_t>(std::popcount(On & ((1U << K) - 1)))>(slopes);
  }
  /// The contribution to operand `K`, if `dz` is that to this number: 0 if it does not depend on the operand.
  template<unsigned K>
  [[gnu::always_inline]] constexpr V contribution(V const& dz) const {
    if constexpr (depends<K>) return dz * slope<K>();
    else return V(0);
  }
  /// Its derivative by operand number k is `f(integral_constant<k>)`.
  template<class F>
  [[gnu::always_inline]] static constexpr dual with(V const& value, F const& f) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return dual{value, {f(std::integral_constant<unsigned, operand_in(On, I)>{})...}};
    }(std::make_index_sequence<static_cast<std::size_t>(std::popcount(On))>{});
  }
};

template<class X>
inline constexpr bool is_dual = false;
template<class V, unsigned On>
inline constexpr bool is_dual<dual<V, On>> = true;

/// Which lanes a comparison holds for. It is no bool, since a batch has several; a function that asks for one
/// is refused when its price is counted.
template<class V, class Lanes>
struct mask {
  Lanes holds;

  constexpr explicit operator bool() const {
    if constexpr (requires { holds.decide(); }) holds.decide();
    return false;
  }
};

/// The value that is a function of `a` with the derivative `d` there.
template<class V, unsigned A>
[[gnu::always_inline]] constexpr dual<V, A> chained(V const& value, dual<V, A> const& a, V const& d) {
  return dual<V, A>::with(value, [&](auto k) { return a.template slope<k>() * d; });
}
/// The value that is a function of `a` and `b`, with the derivatives `da` and `db` there.
template<class V, unsigned A, unsigned B>
[[gnu::always_inline]] constexpr dual<V, A | B> chained(V const& value, dual<V, A> const& a, V const& da,
                                                        dual<V, B> const& b, V const& db) {
  return dual < V, A | B > ::with(value, [&](auto k) {
                         if constexpr (!dual<V, B>::template depends<k>) return a.template slope<k>() * da;
                         else if constexpr (!dual<V, A>::template depends<k>)
                           return b.template slope<k>() * db;
                         else return a.template slope<k>() * da + b.template slope<k>() * db;
                       });
}

// ---- two duals

template<class V, unsigned A, unsigned B>
[[gnu::always_inline]] constexpr dual<V, A | B> operator+(dual<V, A> const& a, dual<V, B> const& b) {
  return dual < V, A | B > ::with(a.value + b.value, [&](auto k) {
                         if constexpr (!dual<V, B>::template depends<k>) return a.template slope<k>();
                         else if constexpr (!dual<V, A>::template depends<k>) return b.template slope<k>();
                         else return a.template slope<k>() + b.template slope<k>();
                       });
}
template<class V, unsigned A, unsigned B>
[[gnu::always_inline]] constexpr dual<V, A | B> operator-(dual<V, A> const& a, dual<V, B> const& b) {
  return dual < V, A | B > ::with(a.value - b.value, [&](auto k) {
                         if constexpr (!dual<V, B>::template depends<k>) return a.template slope<k>();
                         else if constexpr (!dual<V, A>::template depends<k>) return -b.template slope<k>();
                         else return a.template slope<k>() - b.template slope<k>();
                       });
}
template<class V, unsigned A, unsigned B>
[[gnu::always_inline]] constexpr dual<V, A | B> operator*(dual<V, A> const& a, dual<V, B> const& b) {
  return chained(rounded_now(a.value * b.value), a, b.value, b, a.value);
}
template<class V, unsigned A, unsigned B>
[[gnu::always_inline]] constexpr dual<V, A | B> operator/(dual<V, A> const& a, dual<V, B> const& b) {
  V const z = a.value / b.value;
  return dual < V, A | B > ::with(z, [&](auto k) {
                         if constexpr (!dual<V, B>::template depends<k>)
                           return a.template slope<k>() / b.value;
                         else if constexpr (!dual<V, A>::template depends<k>)
                           return -(b.template slope<k>() * z / b.value);
                         else return (a.template slope<k>() - z * b.template slope<k>()) / b.value;
                       });
}
template<class V, unsigned A>
[[gnu::always_inline]] constexpr dual<V, A> operator-(dual<V, A> const& a) {
  return dual<V, A>::with(-a.value, [&](auto k) { return -a.template slope<k>(); });
}

// ---- a dual and a number, which is rounded to the type that is computed with

/// The number as a dual that depends on no operand.
template<class V, PlainNumber C>
[[gnu::always_inline]] constexpr dual<V, 0> constant(C c) {
  return {function::rounded<V>(static_cast<double>(c)), {}};
}

#define MESHTF_DUAL_AND_NUMBER(op)                                                    \
  template<class V, unsigned A, PlainNumber C>                                        \
  [[gnu::always_inline]] constexpr dual<V, A> operator op(dual<V, A> const& a, C c) { \
    return a op constant<V>(c);                                                       \
  }                                                                                   \
  template<class V, unsigned A, PlainNumber C>                                        \
  [[gnu::always_inline]] constexpr dual<V, A> operator op(C c, dual<V, A> const& a) { \
    return constant<V>(c) op a;                                                       \
  }
MESHTF_DUAL_AND_NUMBER(+)
MESHTF_DUAL_AND_NUMBER(-)
MESHTF_DUAL_AND_NUMBER(*)
MESHTF_DUAL_AND_NUMBER(/)
#undef MESHTF_DUAL_AND_NUMBER

// ---- comparisons, and the choice between two values by one

template<class V, class Lanes>
[[gnu::always_inline]] constexpr mask<V, Lanes> mask_of(Lanes const& holds) {
  return {holds};
}

#define MESHTF_DUAL_COMPARISON(op)                                                              \
  template<class V, unsigned A, unsigned B>                                                     \
  [[gnu::always_inline]] constexpr auto operator op(dual<V, A> const& a, dual<V, B> const& b) { \
    return mask_of<V>(a.value op b.value);                                                      \
  }                                                                                             \
  template<class V, unsigned A, PlainNumber C>                                                  \
  [[gnu::always_inline]] constexpr auto operator op(dual<V, A> const& a, C c) {                 \
    return a op constant<V>(c);                                                                 \
  }                                                                                             \
  template<class V, unsigned A, PlainNumber C>                                                  \
  [[gnu::always_inline]] constexpr auto operator op(C c, dual<V, A> const& a) {                 \
    return constant<V>(c) op a;                                                                 \
  }
MESHTF_DUAL_COMPARISON(<)
MESHTF_DUAL_COMPARISON(>)
MESHTF_DUAL_COMPARISON(<=)
MESHTF_DUAL_COMPARISON(>=)
MESHTF_DUAL_COMPARISON(==)
MESHTF_DUAL_COMPARISON(!=)
#undef MESHTF_DUAL_COMPARISON

template<class V, class Lanes>
[[gnu::always_inline]] constexpr auto operator&&(mask<V, Lanes> const& a, mask<V, Lanes> const& b) {
  return mask<V, Lanes>{static_cast<Lanes>(a.holds & b.holds)};
}
template<class V, class Lanes>
[[gnu::always_inline]] constexpr auto operator||(mask<V, Lanes> const& a, mask<V, Lanes> const& b) {
  return mask<V, Lanes>{static_cast<Lanes>(a.holds | b.holds)};
}
template<class V, class Lanes>
[[gnu::always_inline]] constexpr auto operator!(mask<V, Lanes> const& a) {
  return mask<V, Lanes>{!a.holds};
}

/// a where the comparison holds, else b, and its derivatives: the value that is not chosen has no influence,
/// even if it is NaN.
template<class V, class Lanes, unsigned A, unsigned B>
[[gnu::always_inline]] constexpr dual<V, A | B> where(mask<V, Lanes> const& yes, dual<V, A> const& a,
                                                      dual<V, B> const& b) {
  using math::select;
  return dual < V, A | B > ::with(select(yes.holds, a.value, b.value), [&](auto k) {
                         if constexpr (!dual<V, B>::template depends<k>)
                           return select(yes.holds, a.template slope<k>(), V(0));
                         else if constexpr (!dual<V, A>::template depends<k>)
                           return select(yes.holds, V(0), b.template slope<k>());
                         else return select(yes.holds, a.template slope<k>(), b.template slope<k>());
                       });
}
template<class V, class Lanes, unsigned A, PlainNumber C>
[[gnu::always_inline]] constexpr dual<V, A> where(mask<V, Lanes> const& yes, dual<V, A> const& a, C b) {
  return where(yes, a, constant<V>(b));
}
template<class V, class Lanes, PlainNumber C, unsigned B>
[[gnu::always_inline]] constexpr dual<V, B> where(mask<V, Lanes> const& yes, C a, dual<V, B> const& b) {
  return where(yes, constant<V>(a), b);
}
template<class V, class Lanes, PlainNumber C, PlainNumber D>
[[gnu::always_inline]] constexpr dual<V, 0> where(mask<V, Lanes> const& yes, C a, D b) {
  return where(yes, constant<V>(a), constant<V>(b));
}

// ---- the price

/// What a function does when it is called with `counted`.
struct counter {
  extent steps = 0;      // of arithmetic
  bool decides = false;  // by a comparison, as if there were one element
};

/// A number that counts the arithmetic steps it takes part in: a function is priced by calling it with these.
/// Constants are free.
struct counted {
  counter* by = nullptr;

  constexpr explicit counted(counter* c) : by(c) {}
  template<PlainNumber C>
  constexpr explicit counted(C) {}

  constexpr void decide() const {
    if (by != nullptr) by->decides = true;
  }
  static constexpr counted after(extent n, counted const& a, counted const& b) {
    counter* const c = a.by != nullptr ? a.by : b.by;
    if (c != nullptr) c->steps += n;
    return counted{c};
  }
  friend constexpr counted operator+(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator-(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator*(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator/(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator<(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator>(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator<=(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator>=(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator==(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator!=(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator&(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator|(counted const& a, counted const& b) { return after(1, a, b); }
  friend constexpr counted operator!(counted const& a) { return after(1, a, a); }
  friend constexpr counted operator-(counted const& a) { return after(1, a, a); }
  friend constexpr counted select(counted const& yes, counted const& a, counted const& b) {
    return after(1, yes, after(0, a, b));
  }
};

}  // namespace fusion
}  // namespace v0
}  // namespace meshtf
