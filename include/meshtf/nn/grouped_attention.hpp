// Causal self-attention whose heads share keys and values, with rotary positions.
#pragma once

#include <meshtf/nn/attention.hpp>
#include <meshtf/nn/attention_along.hpp>
#include <meshtf/nn/linear.hpp>
#include <meshtf/nn/streams.hpp>
#include <meshtf/ops/pointwise/rotary.hpp>
#include <meshtf/ops/shape/write.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// `Groups` times `Each` heads of `Key` elements: the `Each` heads of a group have one key and one value.
/// `Each` of size 1 is multi-head attention, `Groups` of size 1 multi-query attention. Without biases;
/// queries and keys are rotated by their positions.
///
/// x and the result have `Length` and `Model`. For model parallelism split `Groups`, which needs the messages
/// of `self_attention`, or, for multi-query attention, `Each`: then every process computes the keys and
/// values, whose gradients are added up. Where `Length` is split, keys and values, which are few, are
/// gathered (`attention_along`).
/// Source: Ainslie et al., GQA (2023); Shazeer, Fast Transformer Decoding (2019); Touvron et al., Llama 2
/// (2023).
template<FloatingElement T, Layout L, Dimension Length, Dimension Model, Dimension Groups, Dimension Each,
         Dimension Key>
struct grouped_attention {
  /// The dimension of a cache: `Length`, or `all_of<Length>` where the layout splits it.
  using positions = detail::positions_of<L, Length>;

  projection<T, L, Model, shape<Groups, Each, Key>> query;
  projection<T, L, Model, shape<Groups, Key>> key;
  projection<T, L, Model, shape<Groups, Key>> value;
  projection<T, L, shape<Groups, Each, Key>, Model> output;
  double base   = 10000;  // of the rotation
  extent window = 0;      // if > 0, how many positions each sees

  constexpr grouped_attention(machine<L>& m, streams& seeds, double stddev, double output_stddev)
      : query{m, normal{seeds.next(), stddev}},
        key{m, normal{seeds.next(), stddev}},
        value{m, normal{seeds.next(), stddev}},
        output{m, normal{seeds.next(), output_stddev}} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    return (*this)(x, {.causal = true, .window = window}, at);
  }
  /// With options that say otherwise: `attends(x, {.causal = true, .dropout = 0.1, .random = key})`.
  template<class X>
  constexpr auto operator()(X const& x, attention_options options,
                            std::source_location at = std::source_location::current()) const {
    auto const q = rotary<Length, Key>(query(x, at), {.base = base}, at);
    auto const k = rotary<Length, Key>(key(x, at), {.base = base}, at);
    auto const v = value(x, at);
    auto const z = attention_along<Length, Key>(q, k, v, options, at);
    return output(z, at);
  }

  /// The keys and values of x, for `attend` and `extend`.
  template<class X>
  constexpr auto cache(X const& x, std::source_location at = std::source_location::current()) const {
    auto const k           = rotary<Length, Key>(key(x, at), {.base = base}, at);
    auto const v           = value(x, at);
    auto const& all_keys   = detail::gathered<Length>(k, at);
    auto const& all_values = detail::gathered<Length>(v, at);
    return key_value_cache<std::remove_cvref_t<decltype(all_keys)>>{all_keys, all_values};
  }
  /// Causal attention of the positions `first` and following, along `Step`, to keys and values that are
  /// there.
  template<Dimension Step, class X, Tensor Cache>
  constexpr auto attend(X const& x, key_value_cache<Cache> const& seen, extent first,
                        std::source_location at = std::source_location::current()) const {
    auto const q = rotary<Step, Key>(query(x, at), {.first = first, .base = base}, at);
    auto const z = meshtf::attention<Step, positions, Key>(
        q, seen.keys, seen.values, {.causal = true, .window = window, .first = first}, at);
    return output(z, at);
  }

  /// Of positions `first` and following, which have the dimension `Step` of x in place of `Length`. `keys`
  /// and `values` are the caches: they hold what earlier calls wrote, and get the keys and values of these
  /// positions. They have `positions`.
  template<Dimension Step, class X, Tensor Cache>
  constexpr auto extend(X const& x, Cache& keys, Cache& values, extent first,
                        std::source_location at = std::source_location::current()) const {
    auto const q = rotary<Step, Key>(query(x, at), {.first = first, .base = base}, at);
    auto const k = rotary<Step, Key>(key(x, at), {.first = first, .base = base}, at);
    auto const v = value(x, at);
    keys         = write<positions>(keys, k, first, at);
    values       = write<positions>(values, v, first, at);
    auto const z = meshtf::attention<Step, positions, Key>(
        q, keys, values, {.causal = true, .window = window, .first = first}, at);
    return output(z, at);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("query", query), named("key", key), named("value", value),
                              named("output", output));
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
