// Partial values: sums that the processes have not added up yet.
#pragma once

#include <meshtf/plan/pending.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {

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
using axes_that_do_not_split =
    typename remaining_axes<typename L::mesh_type::all_axes, splitting_axes<L, S>>::type;
template<class L, class S>
using axes_that_split =
    typename remaining_axes<typename L::mesh_type::all_axes, axes_that_do_not_split<L, S>>::type;

template<class A, class B>
struct either {
  template<class X>
  static constexpr bool has = A::template has<X> || B::template has<X>;
};

/// The axes of `A` and `B`, in the order of the mesh; `A` itself if `B` adds none.
template<class L, class A, class B>
using united_axes =
    std::conditional_t<remaining_axes<B, A>::type::count == 0, A,
                       typename remaining_axes<typename L::mesh_type::all_axes,
                                               typename remaining_axes<typename L::mesh_type::all_axes,
                                                                       either<A, B>>::type>::type>;

/// The axes of several lists, in the order of the mesh. If only one list has any, the result is that list.
template<class L, class Found, class... Axes>
struct union_of_axes : std::type_identity<Found> {};
template<class L, class Found, class... Rest>
struct union_of_axes<L, Found, axes<>, Rest...> : union_of_axes<L, Found, Rest...> {};
template<class L, class Found, class First, class... Rest>
struct union_of_axes<L, Found, First, Rest...>
    : union_of_axes<L, std::conditional_t<Found::count == 0, First, united_axes<L, Found, First>>, Rest...> {
};

template<class L, class... Axes>
using union_of = typename union_of_axes<L, axes<>, Axes...>::type;

/// What an operation computed on this process, the axes over which it is still unreduced, and why. It is
/// local because the all-reduce comes later, and a result rather than a `partial`: the caller either reduces
/// it at once or makes a `partial` of it.
template<class Tensor>
struct local_result {
  Tensor value;
  axis_set unreduced           = 0;
  collective_reason const* why = nullptr;
};

}  // namespace detail

/// A tensor whose true content is the sum, over its unreduced axes, of what the processes hold. Along the
/// other axes of `Over` all processes hold the same.
///
/// `finish(p)` and `reshard<L2>(p)` make a tensor of it. Linear operations hand the partial sum through;
/// other operations do not compile, since f(a) + f(b) is not f(a + b). There is no access to the local terms.
template<class Value, class Over>
class partial {
public:
  using tensor_type = Value;

  constexpr partial(Value local_terms, axis_set unreduced)
      : local_terms_(std::move(local_terms)), unreduced_(unreduced) {}

  constexpr partial& operator=(rejected) { return *this; }

  /// The axes over which the content is still a sum: for a gradient some of `Over`, otherwise all of it.
  constexpr axis_set owed() const { return unreduced_; }
  constexpr auto& machine() const { return local_terms_.machine(); }

  // for operations
  constexpr Value const& local_terms() const& { return local_terms_; }
  constexpr Value local_terms() && { return std::move(local_terms_); }
  [[deprecated("use local_terms()")]] constexpr Value const& addend() const& { return local_terms_; }
  [[deprecated("use local_terms()")]] constexpr Value addend() && { return std::move(local_terms_); }

private:
  Value local_terms_;
  axis_set unreduced_;
};

/// The value is still a sum over `Axes`, so this operation can't be applied to its local terms. `Fix` says
/// what to write instead, with its price.
template<class Axes, class... Fix>
struct still_a_sum_over {};

/// Bytes that each process would send for `finish(p)`.
template<extent Bytes>
struct finish_sends {};

namespace detail {

template<class X>
inline constexpr algebra::pending pending_of = algebra::pending::nothing;
template<class V, class Over>
inline constexpr algebra::pending pending_of<partial<V, Over>> = algebra::pending::sum;

template<class P>
struct finishing;
template<class V, class Over>
struct finishing<partial<V, Over>> {
  using over                          = Over;
  using mesh_type                     = typename V::layout_type::mesh_type;
  static constexpr axis_set unreduced = joining_among<mesh_type, Over>;
  static constexpr extent held        = V::size * extent{sizeof(typename V::element_type)};
  static constexpr extent bytes =
      sent_by_one(collective::all_reduce, held, processes_along(axis_sizes<mesh_type>, unreduced));
  using sends = finish_sends<bytes>;
};

template<algebra::remedy Fix, class P>
struct partial_sum_objection
    : std::type_identity<still_a_sum_over<typename finishing<P>::over, typename finishing<P>::sends>> {};
template<class P>
struct partial_sum_objection<algebra::remedy::none, P> : std::type_identity<legal> {};

/// `legal`, or why the partial sum `P` can't be used so: the answer of `after` in the program's names.
template<algebra::use How, class P>
using use_verdict = typename partial_sum_objection<algebra::after(How, pending_of<P>).fix, P>::type;

/// The same for two values, of which `X` or `Y` is a partial sum.
template<algebra::meeting How, class X, class Y>
using meeting_verdict = typename partial_sum_objection<
    algebra::after(How, pending_of<X>, pending_of<Y>).fix,
    std::conditional_t<pending_of<X> == algebra::pending::nothing, Y, X>>::type;

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
