// What an operation returns after its assertion has failed. Everything accepts it, so the assertion's error
// is the only one.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <type_traits>

#include <meshtf/core/shape.hpp>

namespace meshtf {
inline namespace v0 {

struct rejected;

namespace detail {

/// What a rejected value may be assigned to: a tensor or a partial sum. A parameter, which is not copied,
/// takes the tensor.
template<class Value>
concept Replaceable = !std::is_same_v<Value, rejected> && std::is_copy_constructible_v<Value> &&
                      (requires { typename Value::shape_type; } || requires { typename Value::tensor_type; });

}  // namespace detail

/// The result of an operation that the compiler has refused: the error above says why. Operations, layers and
/// `backward` accept it and return it, so that no error follows from the first one. It lies in this namespace
/// so that argument-dependent lookup finds the operations.
struct rejected {
  using shape_type   = shape<>;
  using element_type = float;

  /// Like a tensor it has a destructor, so there is no warning about a variable that is never read.
  constexpr ~rejected() {}

  /// Any tensor or partial sum, for a variable, a parameter or a result of declared type. It exists only for
  /// the compiler's checks.
  template<detail::Replaceable Value>
  constexpr operator Value() const {
    throw rejected{};
  }

  // ---- members of tensors and partial sums

  static constexpr extent size = 0;
  constexpr short value() const { return 0; }  // converts to every element type without a warning
  constexpr rejected local() const { return {}; }
  constexpr rejected local_terms() const { return {}; }
  constexpr bool needs_gradient() const { return false; }
  /// Of `with_bias(b)`.
  constexpr rejected and_segments(auto const&...) const { return {}; }
  constexpr rejected and_mask(auto const&) const { return {}; }

  // ---- members of `x.local()`

  template<class... Index>
  constexpr short operator()(Index const&...) const {
    return 0;
  }
  constexpr short* begin() const { return nullptr; }
  constexpr short* end() const { return nullptr; }
};

namespace detail {

using meshtf::rejected;

/// As many types as there are of `X`, each `rejected`.
template<class>
using rejected_for = rejected;

template<class X>
inline constexpr bool is_rejected = false;
template<>
inline constexpr bool is_rejected<rejected> = true;
template<std::size_t N>
inline constexpr bool is_rejected<std::array<rejected, N>> = true;

/// Whether an operation on operands of these types was refused when one of them was made.
template<class... X>
concept AnyRejected = (is_rejected<X> || ...);

}  // namespace detail

}  // namespace v0
}  // namespace meshtf

/// MESHTF_ACCEPT_REJECTED(relu) after the definition of an operation: relu(x) of a rejected operand is
/// rejected, and the compiler says nothing more. _AS: the same with another result, for operations with
/// several. _WITH: with an argument of this type after one operand, since arguments in braces have no type.
#define MESHTF_ACCEPT_REJECTED(name) MESHTF_ACCEPT_REJECTED_AS(::meshtf::rejected, name)
#define MESHTF_ACCEPT_REJECTED_AS(Result, name)  \
  template<class... Named, class... X>           \
    requires ::meshtf::detail::AnyRejected<X...> \
  constexpr Result name(X const&...) {           \
    return {};                                   \
  }
#define MESHTF_ACCEPT_REJECTED_WITH(Result, name, Options)                     \
  template<class... Named, ::meshtf::detail::AnyRejected X>                    \
  constexpr Result name(X const&, Options const&, std::source_location = {}) { \
    return {};                                                                 \
  }
