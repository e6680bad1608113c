// The norm of all gradients together, and clipping by it.
#pragma once

#include <source_location>
#include <type_traits>
#include <utility>

#include <meshtf/core/exchange.hpp>
#include <meshtf/core/function.hpp>
#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/pointwise/square.hpp>
#include <meshtf/optim/buckets.hpp>
#include <meshtf/plan/nest.hpp>
#include <meshtf/tensor/parameters.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct into_root : of_elements<1> {
  template<class V>
  constexpr void operator()(V& x) const {
    using math::sqrt;
    x = sqrt(x);
  }
};

/// norm -> min(1, limit / norm); a NaN stays NaN.
template<class T>
struct into_clip : of_elements<2> {
  T limit;
  constexpr explicit into_clip(T l) : limit(l) {}
  template<class V>
  constexpr void operator()(V& norm) const {
    using math::min;
    norm = min(V(1), V(limit) / norm);
  }
};

/// The local term of a process whose elements count on another one: 0 instead of x, but NaN if x is not
/// finite.
template<class T>
struct into_share : of_elements<1> {
  T factor;  // 1 or 0
  constexpr explicit into_share(bool counts) : factor(counts ? T{1} : T{}) {}
  template<class V>
  constexpr void operator()(V& x) const {
    x = x * V(factor);
  }
};

/// Multiplies elements of type `T` by a number that is known only when the step runs, never in the compiler.
template<class T, class By>
struct scale_by_value : of_elements<1> {
  By const* factor;
  constexpr explicit scale_by_value(By const* b) : factor(b) {}
  template<class V>
  constexpr void operator()(V& x) const {
    x = x * V(static_cast<T>(*factor));
  }
};

}  // namespace function

#define MESHTF_CLIP(T)                                                      \
  template void kernel::update(extent, function::into_root const&, T*);     \
  template void kernel::update(extent, function::into_share<T> const&, T*); \
  template void kernel::update(extent, function::into_clip<T> const&, T*);
MESHTF_COMPILE_WIDE(MESHTF_CLIP)
#undef MESHTF_CLIP

#define MESHTF_SCALE(T)                                                                          \
  template void kernel::update(extent, function::scale_by_value<computed<T>, float> const&, T*); \
  template void kernel::update(extent, function::scale_by_value<computed<T>, double> const&, T*);
MESHTF_COMPILE_WIDE(MESHTF_SCALE)
#undef MESHTF_SCALE

namespace detail {

/// The norm of elements that are spread over many processes. Elements that several processes hold count on
/// one of them. So one all-reduce of one number joins everything, wherever the elements are, and gives all
/// processes the same bits.
///
/// Under a layout with stages each array has a sum of its own until all are known, and these are added up in
/// order: so the norm has the same bits for every number of stages.
template<class T, class L>
class norm_sum {
  using sums_type = shared<storage<T, machine<L>>, machine<L>>;

public:
  /// `arrays`: how many there are on all stages. `of_all`: the norm is not finite, either, if a process that
  /// does not count has what is not.
  constexpr norm_sum(machine<L>& m, std::size_t arrays, bool of_all = false)
      : sum_(m), arrays_(static_cast<extent>(arrays)), of_all_(of_all) {
    if constexpr (is_staged<L>) {
      sums_ = sums_type::make(m, m, arrays_);
      m.fill(arrays_, T{}, sums_->data());
    }
  }

  /// `number`: which of the arrays; `replicas`: the axes along which other processes hold the same elements.
  template<class U>
  constexpr void add(std::size_t number, U const* x, auto n, axis_set replicas) {
    auto& m   = sum_.machine();
    auto part = tensor<computed<U>, L>::uninitialised(m);
    run_reduce<reduction::sum>(m, all_into_one(n), function::square{}, part.data(), x);
    if constexpr (std::is_same_v<T, computed<U>>) join(number, std::move(part), replicas);
    else join(number, each<T, shape<>>(function::converted<T>{}, part), replicas);
  }

  /// `reports`: whether a norm that is not finite is said.
  constexpr tensor<T, L> norm(bool reports = true) {
    auto& m = sum_.machine();
    if constexpr (is_staged<L>) {
      constexpr axis_set over_stages = stage_axes<L> & joining_axes<typename L::mesh_type>;
      m.all_reduce(reduction::sum, sums_->data(), arrays_, replica_axes<L, shape<>>);
      if constexpr (over_stages != 0) m.all_reduce(reduction::sum, sums_->data(), arrays_, over_stages);
      run_reduce<reduction::sum>(m, all_into_one(arrays_), function::identity{}, sum_.data(),
                                 static_cast<T const*>(sums_->data()));
    } else {
      m.all_reduce(reduction::sum, sum_.data(), 1, joining_axes<typename L::mesh_type>);
    }
    m.transform(1, function::into_root{}, sum_.data());
    if (reports) expect_finite(sum_, "the norm of the gradients");
    return sum_;
  }

private:
  constexpr void join([[maybe_unused]] std::size_t number, tensor<T, L> part, axis_set replicas) {
    auto& m     = sum_.machine();
    bool counts = m.counts(replicas);
    if (of_all_) m.transform(1, function::into_share<T>{detail::exchange(counts, true)}, part.data());
    if constexpr (is_staged<L>)
      m.add_up(1, counts, false, static_cast<T const*>(part.data()), static_cast<T const*>(part.data()),
               array_at<machine<L>>(sums_->data(), static_cast<extent>(number)));
    else
      m.add_up(1, true, counts, static_cast<T const*>(sum_.data()), static_cast<T const*>(part.data()),
               sum_.data());
  }

  tensor<T, L> sum_;
  extent arrays_;
  bool of_all_;
  sums_type sums_{};
};

/// The factor by which gradients of the norm `norm` are scaled, so that their norm is at most `limit`.
template<class T, class L>
constexpr tensor<T, L> clip_factor(tensor<T, L> const& norm, double limit) {
  auto factor = copied(norm);
  factor.machine().transform(1, function::into_clip<T>{static_cast<T>(limit)}, factor.data());
  return factor;
}

/// Makes `sum` a handle of n elements that nobody else reads: a copy, unless it is one.
template<class Handle, class Machine>
constexpr void become_own_copy(Handle& sum, Machine& m, auto n) {
  using element = std::remove_pointer_t<decltype(sum->data())>;
  if (sum.alone()) return;
  auto own = Handle::make(m, m, n);
  m.copy(n, static_cast<element const*>(sum->data()), own->data());
  sum = std::move(own);
}

/// Multiplies the n elements of `sum` by `factor`, in place unless others read them.
template<class Handle, class T, class L>
constexpr void scale(Handle& sum, auto n, tensor<T, L> const& factor) {
  using element = std::remove_pointer_t<decltype(sum->data())>;
  auto& m       = factor.machine();
  become_own_copy(sum, m, n);
  m.transform(n, function::scale_by_value<computed<element>, T>{factor.data()}, sum->data());
}

/// The type of a norm: wide enough for its sum of squares.
template<class T>
using number_of_norm = std::conditional_t<FloatingElement<T>, computed<T>, float>;

template<class List>
using norm_of = tensor<number_of_norm<typename first_parameter<List>::type::element_type>,
                       typename first_parameter<List>::type::layout_type>;

/// The machine of a list that has gradients.
template<class List>
constexpr auto& machine_of_gradients(List const& list) {
  return machine_of(list, "the norm of the gradients");
}

/// Reduces the gradients: from now on they are finished, and finishing them again sends nothing. If
/// this fails, all gradients are discarded, since some would be finished and others not.
template<class List>
constexpr void finish_gradients(List const& list) {
  try {
    buckets sent{machine_of_gradients(list), count_in(list)};
    list.for_each([&sent](auto& w) {
      if (!w.slot().sum) return;
      clear_gradient_padding(w);
      sent.sum(w.slot(), w.size);
    });
    sent.send();
  } catch (...) {
    zero_gradients(list);
    throw;
  }
}

/// Adds all gradients of a list, which are finished, to a norm.
template<class Sum, class List>
constexpr void add_gradients(Sum& sum, List const& list) {
  std::size_t i = 0;
  list.for_each([&sum, &i]<class T, class L, class... D>(parameter<T, L, D...>& w) {
    std::size_t const at = i++;
    if (!w.slot().sum) return;
    sum.add(at, w.slot().sum->data(), w.size, replica_axes<L, shape<D...>>);
  });
}

template<class List>
constexpr norm_of<List> norm_of_gradients(List const& list) {
  using number = norm_of<List>;
  norm_sum<typename number::element_type, typename number::layout_type> sum{machine_of_gradients(list),
                                                                            count_in(list)};
  finish_gradients(list);
  add_gradients(sum, list);
  return sum.norm();
}

}  // namespace detail

/// The square root of the sum of the squares of all elements of all gradients. Each element counts once, and
/// the norm is the same under every layout. It first finishes the gradients, which stay finished; then it
/// all-reduces one number. Each parameter must be in the list once.
template<class First, class... Rest>
constexpr auto global_norm(parameter_list<First, Rest...> const& list,
                           std::source_location at = std::source_location::current()) {
  detail::machine_of_gradients(list).begin_operation("global_norm", at);
  return detail::norm_of_gradients(list);
}

/// Scales all gradients by min(1, limit / norm), so that their `global_norm` is at most `limit`, and returns
/// the norm before scaling. An optimizer with sharded state sends less if it clips by its own `max_norm`:
/// gradients that are finished here are no longer reduce-scattered there.
template<class First, class... Rest>
constexpr auto clip_by_global_norm(parameter_list<First, Rest...> const& list, double limit,
                                   std::source_location at = std::source_location::current()) {
  detail::machine_of_gradients(list).begin_operation("clip_by_global_norm", at);
  auto norm         = detail::norm_of_gradients(list);
  auto const factor = detail::clip_factor(norm, limit);
  list.for_each([&factor](auto& w) {
    if (w.slot().sum) detail::scale(w.slot().sum, w.size, factor);
  });
  return norm;
}

}  // namespace v0
}  // namespace meshtf
