// Parameters: tensors that are trained.
#pragma once

#include <meshtf/core/kept.hpp>
#include <meshtf/tensor/counted.hpp>
#include <meshtf/tensor/partial.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Writes the values of `x` to the shard of `to`.
template<class T, class L, class... D>
constexpr void copy_values(tensor<T, L, D...> const& x, tensor<T, L, D...>& to) {
  to.handle()->written();
  if constexpr ((CountedDimension<D> || ...)) {  // what is not counted keeps its values
    using nest = nest_plan<actual<L>, shape<D...>, shape<D...>>;
    to.machine().run(task::map<function::identity, T, T>{}, nest::local, to.data(), x.data());
  } else {
    to.machine().copy(to.size, x.data(), to.data());
  }
}

}  // namespace detail

/// A tensor whose gradient is kept. Every operation takes it as a tensor. It moves but does not copy, and
/// assigning a tensor copies the values in.
template<FloatingElement T, Layout L, Dimension... D>
class parameter : public tensor<T, L, D...> {
  using base = tensor<T, L, D...>;

public:
  /// All zeros.
  [[gnu::cold]] constexpr explicit parameter(meshtf::machine<L>& m) : base(m) {
    this->handle()->count_again(true);
    become_parameter();
  }

  /// The values that `initialiser` (`he_normal{1}`, `constant{0.5}`, ...) gives, the same under every layout.
  template<class Initialiser>
  [[gnu::cold]] constexpr parameter(meshtf::machine<L>& m, Initialiser const& initialiser)
      : base(base::uninitialised(m)) {
    this->handle()->count_again(true);
    become_parameter();
    detail::all_counted const all{m};
    initialiser(*this);
  }

  constexpr parameter(parameter&&) noexcept = default;
  constexpr parameter& operator=(parameter&& other) noexcept {
    remove_from_count();
    base::operator=(std::move(other));
    return *this;
  }
  parameter(parameter const&)            = delete;
  parameter& operator=(parameter const&) = delete;
  [[gnu::cold]] constexpr ~parameter() { remove_from_count(); }

  /// Copies the values of `x` in. The parameter keeps its shard.
  constexpr parameter& operator=(base const& x) {
    detail::copy_values(x, *this);
    return *this;
  }

  constexpr parameter& operator=(rejected) { return *this; }

  constexpr void zero_gradient() {
    this->slot().sum       = {};
    this->slot().unreduced = 0;
    this->slot().of_blocks = false;
  }

private:
  constexpr void remove_from_count() {  // a parameter that was moved from has no bytes to remove
    if (this->handle() && !this->handle()->is_absent())
      this->machine().count_parameter(-base::size * extent{sizeof(T)});
  }

  constexpr void become_parameter() {
    this->need_gradient(true);
    if (!this->handle()->is_absent()) this->machine().count_parameter(base::size * extent{sizeof(T)});
  }
};

/// A parameter of a layer: under a layout with a rule `kept_over` it is kept in smaller parts than it is used
/// in.
template<FloatingElement T, Layout L, Dimension... D>
using kept_parameter = parameter<T, kept_layout<T, L, shape<D...>>, D...>;

}  // namespace v0
}  // namespace meshtf
