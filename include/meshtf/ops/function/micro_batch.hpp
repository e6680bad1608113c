// micro_batch: a share of a batch, of which every process has its part.
#pragma once

#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/ops/shape/reshape.hpp>
#include <meshtf/ops/shape/slice.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<extent N>
struct turn : dim<N> {};
struct this_turn : dim<1> {};

/// `x` without the one turn that it has. Only floating elements may want a gradient.
template<class T, class L, class... D>
constexpr auto of_this_turn(tensor<T, L, D...> const& x, std::source_location at) {
  if constexpr (FloatingElement<T>) return sum<this_turn>(x, at);
  else return tensor_of<T, L, without<shape<D...>, shape<this_turn>>>{x.machine(), x.handle()};
}

}  // namespace detail

/// Micro-batch `i` of `x`: the elements of `Batch` number i, i + N, i + 2 N and so on, as the dimension
/// `Micro`; N micro-batches make the batch. Split `Micro` as `Batch`: then each process takes them from what
/// it holds, and nothing is sent. `Batch` may be padded if its allocated extent is N times that of `Micro`
/// (14 elements and micro-batches of 7, each in 4 parts). Elements are numbers or bools.
///
/// It is `slice` of a `split_dim`. Errors: theirs; `software_error` if `i` is not 0 to N - 1.
/// Source: `serialize_training_step` of Mesh TensorFlow.
template<Dimension Batch, Dimension Micro, Tensor X>
constexpr auto micro_batch(X const& x, extent i, std::source_location at = std::source_location::current()) {
  using turn         = detail::turn<Batch::size / Micro::size>;
  auto const by_turn = split_dim<Batch, Micro, turn>(x, at);
  if constexpr (std::is_same_v<decltype(by_turn), detail::rejected const>) return detail::rejected{};
  else return detail::of_this_turn(slice<turn, detail::this_turn>(by_turn, i, at), at);
}

MESHTF_ACCEPT_REJECTED(micro_batch)

}  // namespace v0
}  // namespace meshtf
