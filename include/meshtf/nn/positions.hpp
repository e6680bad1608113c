// Positions for models: sinusoids, and biases by distance for attention (ALiBi, T5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <meshtf/nn/linear.hpp>
#include <meshtf/nn/weight.hpp>
#include <meshtf/ops/index/gather.hpp>
#include <meshtf/ops/index/iota.hpp>
#include <meshtf/ops/pointwise/abs.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/pointwise/compare.hpp>
#include <meshtf/ops/pointwise/exp.hpp>
#include <meshtf/ops/pointwise/integer_division.hpp>
#include <meshtf/ops/pointwise/map.hpp>
#include <meshtf/ops/pointwise/sin_cos.hpp>
#include <meshtf/ops/pointwise/where.hpp>
#include <meshtf/ops/shape/broadcast.hpp>
#include <meshtf/tensor/initialiser.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

namespace detail {

/// The sinusoids of positions, which have one dimension.
template<FloatingElement T, Dimension Model, Layout L, Dimension Place>
constexpr auto sinusoids_of(tensor<double, L, Place> const& places) {
  static_assert(Model::size % 2 == 0 && Model::size >= 4,
                "meshtf: sinusoid_positions needs an even number of elements, at least 4");
  constexpr extent half = Model::size / 2;
  constexpr double rate = -9.210340371976182736 / static_cast<double>(half - 1);  // -log(10000)
  auto const column     = iota<std::int32_t, L, Model>(places.machine());
  auto const rates      = exp(cast<double>(modulo(column, static_cast<std::int32_t>(half))) * rate);
  auto const angle      = einsum<Place, Model>(places, rates);
  return cast<T>(where(cast<double>(less(column, static_cast<std::int32_t>(half))), sin(angle), cos(angle)));
}

}  // namespace detail

/// Sinusoids for each position: element i of the first half is sin(position * 10000^(-i / (Model::size / 2 -
/// 1))), the second half has the cosines. They are computed in double. Add them to embeddings.
/// Source: Vaswani et al., Attention Is All You Need (2017), 3.5, in the order and with the rates of Mesh
/// TensorFlow.
template<FloatingElement T, Layout L, Dimension Length, Dimension Model>
constexpr auto sinusoid_positions(machine<L>& m) {
  return detail::sinusoids_of<T, Model>(iota<double, L, Length>(m));
}

/// Sinusoids as the positions of a model: `using positions = nn::sinusoids;` in its dimensions.
struct sinusoids {
  template<class T, class L, class Length, class Model>
  struct layer {
    constexpr layer(machine<L>&, auto const&) {}
    template<class X>
    constexpr auto operator()(X const& x) const {
      if constexpr (meshtf::detail::AnyRejected<X>) return x;
      else return x + sinusoid_positions<typename X::element_type, L, Length, Model>(x.machine());
    }
    /// The same of some positions, which `places` names.
    template<class X, class Places>
    constexpr auto add(X const& x, Places const& places, std::source_location at) const {
      if constexpr (meshtf::detail::AnyRejected<X>) return x;
      else return x + detail::sinusoids_of<typename X::element_type, Model>(cast<double>(places, at));
    }
  };
};

/// The slope of a head: 2^(-8 (head + 1) / heads). If `heads` is no power of two, the slopes of the next
/// smaller one, then every other of the next larger.
struct alibi_slope {
  static constexpr bool parallel = true;
  extent heads;

  double operator()(double head) const {
    extent power = 1;
    while (2 * power <= heads) power *= 2;
    double const n = static_cast<double>(power);
    return head < n ? std::exp2(-8 * (head + 1) / n) : std::exp2(-4 * (2 * (head - n) + 1) / n);
  }
};

namespace detail {

/// Of a function of positions, which have no gradient.
struct no_slope {
  static constexpr bool parallel = true;
  double operator()(double) const { return 0; }
};

/// i - j for each element of a bias by distance: its number less that of the distance 0.
template<Layout L, Dimension Memory, Dimension Distance>
constexpr auto distances(machine<L>& m) {
  return iota<double, L, Distance>(m) - static_cast<double>(Memory::size - 1);
}

}  // namespace detail

/// A bias by distance: minus the slope of each head times the distance. `Distance` has Query::size +
/// Memory::size - 1 elements.
///
///     auto bias = nn::alibi<float, L, heads, length, distance>(m);
///     auto z    = attention<length, length, key>(q, k, v, with_bias(bias), {.causal = true});
///
/// Source: Press et al., Train Short, Test Long (2022), section 3.
template<FloatingElement T, Layout L, Dimension Heads, Dimension Memory, Dimension Distance>
constexpr auto alibi(machine<L>& m) {
  auto const slopes = map(alibi_slope{Heads::size}, detail::no_slope{}, iota<double, L, Heads>(m));
  auto const far    = abs(detail::distances<L, Memory, Distance>(m));
  return cast<T>(einsum<Heads, Distance>(-slopes, far));
}

/// The bucket of T5 in which a distance falls, that of the query's position less the memory's: half of the
/// buckets have one distance each, the others have distances that grow as a power, up to `most`, beyond which
/// all are in the last. If `both_ways`, half of all are for positions that come later; otherwise these are in
/// bucket 0.
/// Source: Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer
/// (2020), 2.1, and Mesh TensorFlow.
struct relative_bucket {
  static constexpr bool parallel = true;
  extent buckets                 = 32;
  extent most                    = 128;
  bool both_ways                 = true;

  double operator()(double distance) const {
    extent const each  = both_ways ? buckets / 2 : buckets;
    extent const exact = each / 2;
    double const from  = both_ways && distance < 0 ? static_cast<double>(each) : 0;
    double const n     = both_ways ? std::abs(distance) : std::max(distance, 0.0);
    if (n < static_cast<double>(exact)) return from + n;
    double const power = std::log(n / static_cast<double>(exact)) /
                         std::log(static_cast<double>(most) / static_cast<double>(exact));
    // a distance where a bucket begins is in it: logarithms are rounded
    double const grown = std::floor(power * static_cast<double>(each - exact) + 1e-9);
    return from + std::min(static_cast<double>(exact) + grown, static_cast<double>(each - 1));
  }
};

/// A trained bias by distance for each head: `with_bias(bias(m))`. Its table may serve all layers of a model.
template<FloatingElement T, Layout L, Dimension Buckets, Dimension Heads, Dimension Memory,
         Dimension Distance>
struct relative_bias {
  kept_parameter<T, L, Buckets, Heads> table;
  relative_bucket bucket{Buckets::size};

  template<class Initialiser>
  constexpr relative_bias(machine<L>& m, Initialiser const& initialiser, bool both_ways = true,
                          extent max_distance = 128)
      : table{m, initialiser}, bucket{Buckets::size, max_distance, both_ways} {}

  /// [Distance, Heads], in elements of type `Activation`.
  template<FloatingElement Activation = T>
  constexpr auto operator()(machine<L>& m, std::source_location at = std::source_location::current()) const {
    auto const ids =
        cast<std::int32_t>(map(bucket, detail::no_slope{}, detail::distances<L, Memory, Distance>(m)));
    if constexpr (std::is_same_v<Activation, T>) return gather<Buckets>(table, ids, at);
    else return cast<Activation>(gather<Buckets>(table, ids, at));
  }
  constexpr auto parameters() { return meshtf::parameters(table); }
};

/// A bias that depends on the query too: its product with a trained vector for each bucket of distances,
/// `with_bias(bias(q))`. q has `Heads`, a dimension or a `shape` of several, `Key` and `Query`; the bias has
/// an element for each score, so `Memory` is not `Query`.
/// Source: Shaw et al., Self-Attention with Relative Position Representations (2018), in the buckets of T5:
/// "contextual" in Mesh TensorFlow.
template<FloatingElement T, Layout L, class Heads, Dimension Key, Dimension Buckets, Dimension Query,
         Dimension Memory>
struct contextual_bias {
  detail::parameter_of<T, L, united<detail::shape_of<Heads>, shape<Key, Buckets>>> table;
  relative_bucket bucket{Buckets::size};

  template<class Initialiser>
  constexpr contextual_bias(machine<L>& m, Initialiser const& initialiser, bool both_ways = true,
                            extent max_distance = 128)
      : table{m, initialiser}, bucket{Buckets::size, max_distance, both_ways} {}

  template<class Q>
  constexpr auto operator()(Q const& q, std::source_location at = std::source_location::current()) const {
    if constexpr (meshtf::detail::AnyRejected<Q>) {
      return q;
    } else {
      auto& m           = q.machine();
      auto const values = detail::einsum_with_weight(
          united<without<typename Q::shape_type, shape<Key>>, shape<Buckets>>{}, q, table, at);
      auto const distance = broadcast<Query, Memory>(iota<double, L, Query>(m)) - iota<double, L, Memory>(m);
      return gather<Buckets>(values, cast<std::int32_t>(map(bucket, detail::no_slope{}, distance)), at);
    }
  }
  constexpr auto parameters() { return meshtf::parameters(table); }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
