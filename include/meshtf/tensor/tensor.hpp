// Tensors: named dimensions, a layout, and this process's part of the elements.
#pragma once

#include <array>

#include <meshtf/core/element.hpp>
#include <meshtf/core/placement.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/price/machine.hpp>
#include <meshtf/tensor/rejected.hpp>
#include <meshtf/tensor/shared.hpp>
#include <meshtf/tensor/stale.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class L>
inline constexpr bool holds_values = !is_dry<L>;

/// Under a dry layout there is no array to point into.
template<class L, class T, class N>
constexpr T* offset(T* data, N distance) {
  if constexpr (is_dry<L>) return data;
  else return data + distance;
}

}  // namespace detail

/// The part of a tensor that does not depend on its dimensions and layout: a handle to this process's
/// elements, and one to the slot that collects their gradient. What operations do with these alone they do
/// with a shard, so it is compiled once for each element type and machine.
template<class T, class Machine>
class shard {
public:
  using handle_type = detail::shared<detail::storage<T, Machine>, Machine>;
  using slot_type   = detail::shared<detail::slot<T, Machine>, Machine>;

  constexpr shard(Machine& m, handle_type value, slot_type slot = {})
      : machine_(&m), value_(std::move(value)), slot_(std::move(slot)) {}

  constexpr Machine& machine() const { return *machine_; }

  // ---- for operations

  constexpr T* data() { return value_->data(); }
  constexpr T const* data() const { return value_->data(); }
  constexpr handle_type const& handle() const { return value_; }
  constexpr handle_type release() { return std::move(value_); }

  /// A value needs a gradient if it has a slot for one: if it is a parameter, or was computed from one.
  constexpr bool needs_gradient() const { return bool(slot_); }
  constexpr auto& slot() const { return *slot_; }
  constexpr slot_type const& slot_handle() const { return slot_; }
  /// A linear image of a parameter leaves its gradient unreduced, as the parameter does.
  constexpr bool gradient_stays_unreduced() const { return needs_gradient() && slot_->stays_unreduced; }
  constexpr void need_gradient(bool stays_unreduced) {
    slot_                  = slot_type::make(*machine_);
    slot_->stays_unreduced = stays_unreduced;
  }

private:
  Machine* machine_;
  handle_type value_;
  slot_type slot_;
};

namespace detail {

/// A shard with dimensions that are counted at run time. Its elements have values only as far as was counted
/// when they were made, so it is read under the same counts, or smaller ones.
template<class T, class Machine, class... D>
class counted_shard : public shard<T, Machine> {
  using base = shard<T, Machine>;

public:
  using base::base;
  constexpr T* data() {
    expect_made();
    return base::data();
  }
  constexpr T const* data() const {
    expect_made();
    return base::data();
  }

private:
  template<class One>
  constexpr void expect_made(counts const& made, counts const& counted) const {
    if constexpr (CountedDimension<One>)
      if (extent const there = made.of<One>(), wanted = counted.of<One>(); there < wanted)
        throw_counted_less(this->machine().now(), name_of<One>(), there, wanted);
  }
  constexpr void expect_made() const {
    auto& m               = this->machine();
    unsigned const number = this->handle()->counted();
    if (number == 0 || number == m.counted_number()) return;
    (expect_made<D>(m.counted(number), m.counted()), ...);
  }
};

/// A shard of a value that one stage of a pipeline has. Others must not read it.
template<class Base>
class staged_shard : public Base {
public:
  using Base::Base;
  constexpr auto* data() {
    expect_present();
    return Base::data();
  }
  constexpr auto const* data() const {
    expect_present();
    return Base::data();
  }

private:
  constexpr void expect_present() const {
    if (this->handle()->is_absent() && !this->machine().idles())
      throw_of_another_stage(this->machine().now(), this->handle()->stage(), this->machine().stage());
  }
};

template<bool Counted>
struct shard_if_counted {
  template<class T, class Machine, class... D>
  using type = shard<T, Machine>;
};
template<>
struct shard_if_counted<true> {
  template<class T, class Machine, class... D>
  using type = counted_shard<T, Machine, D...>;
};
template<class T, class Machine, class... D>
using shard_of = typename shard_if_counted<(CountedDimension<D> || ...)>::template type<T, Machine, D...>;

template<bool Staged>
struct shard_if_staged {
  template<class Base>
  using type = Base;
};
template<>
struct shard_if_staged<true> {
  template<class Base>
  using type = staged_shard<Base>;
};
template<class T, class L, class... D>
using shard_under = typename shard_if_staged<is_staged<L>>::template type<shard_of<T, machine<L>, D...>>;

/// Refuses to show the elements of one stage while it works.
template<class L>
constexpr void expect_all_stages(machine<L> const& m, char const* asked) {
  if constexpr (is_staged<L>)
    if (m.stage() >= 0) throw_inside_a_stage(asked);
}

}  // namespace detail

/// A tensor of elements `T` and dimensions `D...`, split over processes as `L` says and equal on all other
/// axes.
///
/// It is a cheap handle: copies share the shard, `copy(x)` does not. Under a dry layout it is a shape and a
/// machine, without storage. It must not outlive its machine. With dimensions that are counted at run time
/// (`up_to`), it has values for as many elements as were counted when it was made.
template<Element T, Layout L, Dimension... D>
class tensor : public detail::shard_under<T, L, D...> {
  using aliased = detail::sentence<aliases_are_one_dim, detail::shown_placement<L, D...>>;
  static_assert(accepted<typename aliased::own>,
                "meshtf: two dims are aliases of one type: write struct length : meshtf::dim<64> {};");
  static_assert(accepted<typename aliased::common>,
                "meshtf: this layout cannot place a tensor of these dimensions");
  using base = detail::shard_under<T, L, D...>;

public:
  using element_type = T;
  using layout_type  = L;
  using shape_type   = shape<D...>;
  using machine_type = meshtf::machine<L>;
  using typename base::handle_type;
  using typename base::slot_type;

  /// The allocated elements: equal on all processes.
  static constexpr auto size = shard_size<L, shape<D...>>;

  /// All zeros.
  constexpr explicit tensor(machine_type& m) : base(m, handle_type::make(m, m, size)) {
    m.fill(size, T{}, this->data());
  }

  /// This process's part as an xtensor view, row-major in the order of the dimensions. Writing through it
  /// counts as writing to the tensor.
  ///
  /// Where processes hold unequally much (`padded`), the view has the extents that this process holds,
  /// perhaps 0, and steps over the padding: it is of another type, whose elements do not lie in one piece.
  /// `data()` points to all `size` elements of the storage, padding included.
  constexpr auto local() {
    static_assert(detail::holds_values<L>,
                  "meshtf: a tensor under a dry layout has no elements, so local() has nothing to show");
    detail::expect_all_stages<L>(this->machine(), "local()");
    if constexpr (detail::holds_values<L>) return view_of(this->machine(), data_to_write());
    else return detail::rejected{};
  }
  constexpr auto local() const {
    static_assert(detail::holds_values<L>,
                  "meshtf: a tensor under a dry layout has no elements, so local() has nothing to show");
    detail::expect_all_stages<L>(this->machine(), "local()");
    if constexpr (detail::holds_values<L>) return view_of(this->machine(), this->data());
    else return detail::rejected{};
  }

  /// The number that a tensor without dimensions holds.
  constexpr T value() const {
    static_assert(detail::holds_values<L>,
                  "meshtf: a tensor under a dry layout has no elements, so value() has nothing to show");
    static_assert(sizeof...(D) == 0,
                  "meshtf: value() is for a tensor without dimensions; use local() or to_global(x)");
    detail::expect_all_stages<L>(this->machine(), "value()");
    if constexpr (detail::holds_values<L>) return *this->data();
    else return T{};
  }

  /// After an operation that was refused, so that a dry run's loop `x = block(x)` goes on without a further
  /// error.
  constexpr tensor& operator=(rejected) { return *this; }

  // ---- for operations

  constexpr tensor(machine_type& m, handle_type value, slot_type slot = {})
      : base(m, std::move(value), std::move(slot)) {}
  /// The elements of this process, for a caller that writes as many as are counted now. The backward pass
  /// detects the write.
  constexpr T* data_to_write() {
    this->handle()->written();
    if (!this->gradient_stays_unreduced())
      this->handle()->count_again();  // a parameter always has all elements
    return this->data();
  }
  /// A tensor whose elements have no particular value.
  static constexpr tensor uninitialised(machine_type& m) { return tensor{m, handle_type::make(m, m, size)}; }

  /// The same gradient slot without the elements, so that these need not live.
  constexpr tensor without_value() const { return tensor{this->machine(), {}, this->slot_handle()}; }
  /// The same elements without the slot.
  constexpr tensor without_slot() const { return tensor{this->machine(), this->handle()}; }

private:
  template<class P>
  static auto view_of(machine_type const& m, P* data) {
    if constexpr (is_uneven<L, shape_type>)
      return m.view(data, local_extents(placed_dims<L, shape_type>, m.place(), m.counted()),
                    allocated_extents<L, shape_type>);
    else return m.view(data, allocated_extents<L, shape_type>);
  }
};

namespace detail {

template<class T, class L, class S>
struct tensor_of_shape;

template<class T, class L, class... D>
struct tensor_of_shape<T, L, shape<D...>> : std::type_identity<tensor<T, L, D...>> {};

}  // namespace detail

/// A tensor of elements `T` and shape `S`.
template<class T, class L, class S>
using tensor_of = typename detail::tensor_of_shape<T, L, S>::type;

namespace detail {

/// The same values in storage of their own, in the name of the current operation. Nothing is put on the tape.
template<class T, class L, class... D>
constexpr auto copied(tensor<T, L, D...> const& x) {
  auto z = tensor<T, L, D...>::uninitialised(x.machine());
  x.machine().copy(x.size, x.data(), z.data());
  return z;
}

template<class T, class L, class... D>
void take_tensor(tensor<T, L, D...> const&);

}  // namespace detail

/// Whether this is a tensor. Parameters are tensors.
template<class X>
concept Tensor = requires(X const& x) { detail::take_tensor(x); };

}  // namespace v0
}  // namespace meshtf
