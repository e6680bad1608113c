// Partial values: sums that the processes have not added up yet.
#pragma once

#include <meshtf/tensor/tensor.hpp>

namespace meshtf::inline v0 {

namespace detail {

template<class A, class B>
struct remaining_axes;

template<class... A, class B>
struct remaining_axes<axes<A...>, B> {
  template<class... X, class... Y>
  static axes<X..., Y...> join(axes<X...>, axes<Y...>);

  template<class List, class... Rest>
  struct chain : std::type_identity<List> {};
  template<class List, class First, class... Rest>
  struct chain<List, First, Rest...> : chain<decltype(join(List{}, First{})), Rest...> {};

  using type = typename chain<axes<>, std::conditional_t<B::template has<A>, axes<>, axes<A>>...>::type;
};

template<class L, class S>
struct splitting_axes;

template<class L, class... D>
struct splitting_axes<L, shape<D...>> {
  template<class A>
  static constexpr bool has = (axes_of<L, D>::template has<A> || ...);
};

/// The axes of the mesh that do not split a tensor of shape `S`, and those that do.
template<class L, class S>
using axes_that_do_not_split = typename remaining_axes<typename L::mesh_type::all_axes, splitting_axes<L, S>>::type;
template<class L, class S>
using axes_that_split = typename remaining_axes<typename L::mesh_type::all_axes, axes_that_do_not_split<L, S>>::type;

/// A local result and what it still owes: the form in which operations hand parts to one another.
template<class Tensor>
struct open_sum {
  Tensor value;
  axis_set owed = 0;
};

}  // namespace detail

/// A tensor whose true content is the sum, over the axes it owes, of what the processes hold; along the other axes of `Over` all hold the same.
///
/// `finish(p)` and `reshard<L2>(p)` make a tensor of it. Linear operations hand the open sum through; others do not compile, since f(a) + f(b) is not
/// f(a + b). The addends themselves are not handed out.
template<class Value, class Over>
class partial {
public:
  using tensor_type = Value;

  constexpr partial(Value addend, axis_set owed) : addend_(std::move(addend)), owed_(owed) {}

  /// The axes over which the content is still a sum: some of `Over`, and all of it unless this is a gradient.
  constexpr axis_set owed() const { return owed_; }
  constexpr auto& machine() const { return addend_.machine(); }

  // what operations are written with
  constexpr Value const& addend() const& { return addend_; }
  constexpr Value addend() && { return std::move(addend_); }

private:
  Value addend_;
  axis_set owed_;
};

/// The value is still a sum over `Axes`: an operation that is not linear can't be applied to its addends.
template<class Axes>
struct still_a_sum_over {};

}  // namespace meshtf::inline v0
