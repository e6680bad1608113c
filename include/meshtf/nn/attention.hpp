// Multi-head attention to the sequence itself or to a memory of its own, with a cache of keys and values.
#pragma once

#include <concepts>
#include <utility>

#include <meshtf/nn/attention_along.hpp>
#include <meshtf/nn/linear.hpp>
#include <meshtf/nn/streams.hpp>
#include <meshtf/ops/shape/write.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Keys and values of the positions of a memory, which any number of queries attend to: `attention::cache`
/// and `attention::empty_cache` make one.
template<Tensor X>
struct key_value_cache {
  X keys;
  X values;
};

/// Multi-head attention: each position of x along `Length` sees the positions of a memory along `Memory`,
/// with `Heads` heads of `Key` elements each. x and the result have `Length` and `Model`.
///
///     nn::attention<float, L, model, heads, key, length> self{m, seeds, 0.02, 0.02};
///     auto y = self(x, {.causal = true});               // self-attention
///     nn::attention<float, L, model, heads, key, length, source> cross{m, seeds, 0.02, 0.02};
///     auto z = cross(y, encoded, with_mask(visible));   // cross attention
///
/// The memory has `Memory` and `MemoryModel`, the width of its own, for instance the result of an encoder;
/// without one, `Memory` is `Length` and x is its own memory. Nothing is hidden unless the options or the
/// terms say so: `causal`, `window` and dropout are options, `with_bias`, `with_segments` and `with_mask` are
/// terms.
///
/// Incremental decoding has a dimension `Step` of x in place of `Length`, most often of size 1.
/// Self-attention appends to a cache of all positions (`empty_cache`, `extend`). Cross attention computes
/// keys and values of the memory once for each sequence (`cache`) and attends to them in every step
/// (`attend`).
///
/// Layouts: for model parallelism split `Heads`: queries, keys and values need no message, the projection
/// back to `Model` needs one all-reduce; backward, one for the gradient of x and one for that of the memory.
/// `Length` may be split. Where `Memory` is split, keys, values and the terms of the memory are gathered, as
/// `attention_along` does; a cache is whole along the memory.
/// Source: Vaswani et al., Attention Is All You Need (2017), 3.2; Shoeybi et al., Megatron-LM
/// (2019), section 3.
template<FloatingElement T, Layout L, Dimension Model, Dimension Heads, Dimension Key, Dimension Length,
         Dimension Memory = Length, Dimension MemoryModel = Model>
struct attention {
  /// The dimension of a cache: `Memory`, or `all_of<Memory>` where the layout splits it.
  using positions = detail::positions_of<L, Memory>;

  linear<T, L, Model, shape<Heads, Key>> query;
  linear<T, L, MemoryModel, shape<Heads, Key>> key;
  linear<T, L, MemoryModel, shape<Heads, Key>> value;
  linear<T, L, shape<Heads, Key>, Model> output;

  /// Weights start normally distributed with `stddev`, those of the projection back with `output_stddev`.
  constexpr attention(machine<L>& m, streams& seeds, double stddev, double output_stddev)
      : query{m, normal{seeds.next(), stddev}},
        key{m, normal{seeds.next(), stddev}},
        value{m, normal{seeds.next(), stddev}},
        output{m, normal{seeds.next(), output_stddev}} {}

  /// Self-attention.
  template<Tensor X>
  constexpr auto operator()(X const& x, attention_options options = {},
                            std::source_location at = std::source_location::current()) const {
    return (*this)(x, no_terms, options, at);
  }
  /// With terms: `attends(x, with_segments(ids), {.causal = true})`.
  template<Tensor X, class... Terms>
  constexpr auto operator()(X const& x, meshtf::detail::attention_terms<Terms...> const& terms,
                            attention_options options = {},
                            std::source_location at   = std::source_location::current()) const {
    static_assert(has_own_memory, "meshtf: this attention has a memory of its own: attends(x, memory)");
    if constexpr (!has_own_memory) return meshtf::detail::rejected{};
    else return (*this)(x, x, terms, options, at);
  }

  /// Attention to `memory`.
  template<Tensor X, Tensor Y>
  constexpr auto operator()(X const& x, Y const& memory, attention_options options = {},
                            std::source_location at = std::source_location::current()) const {
    return (*this)(x, memory, no_terms, options, at);
  }
  template<Tensor X, Tensor Y, class... Terms>
  constexpr auto operator()(X const& x, Y const& memory,
                            meshtf::detail::attention_terms<Terms...> const& terms,
                            attention_options options = {},
                            std::source_location at   = std::source_location::current()) const {
    auto const q    = query(x, at);
    auto const seen = cache(memory, at);
    return attended<Length>(q, seen, terms, options, at);
  }

  /// The keys and values of `memory`, for `attend`.
  template<Tensor Y>
  constexpr auto cache(Y const& memory, std::source_location at = std::source_location::current()) const {
    auto const k           = key(memory, at);
    auto const v           = value(memory, at);
    auto const& all_keys   = detail::gathered<Memory>(k, at);
    auto const& all_values = detail::gathered<Memory>(v, at);
    return key_value_cache<std::remove_cvref_t<decltype(all_keys)>>{all_keys, all_values};
  }
  /// A cache of zeros for `extend`, for sequences along `Batch...`, in elements of type `Activation`.
  template<FloatingElement Activation, Dimension... Batch>
  constexpr auto empty_cache(machine<L>& m) const {
    using keys = tensor<Activation, L, Batch..., positions, Heads, Key>;
    return key_value_cache<keys>{keys{m}, keys{m}};
  }
  template<Dimension... Batch>
  constexpr auto empty_cache(machine<L>& m) const {
    return empty_cache<T, Batch...>(m);
  }

  /// Attention to a memory whose keys and values are there. x has `Step`, which may be `Length` or a part of
  /// it.
  template<Dimension Step, Tensor X, Tensor C>
  constexpr auto attend(X const& x, key_value_cache<C> const& seen, attention_options options = {},
                        std::source_location at = std::source_location::current()) const {
    return attend<Step>(x, seen, no_terms, options, at);
  }
  template<Dimension Step, Tensor X, Tensor C, class... Terms>
  constexpr auto attend(X const& x, key_value_cache<C> const& seen,
                        meshtf::detail::attention_terms<Terms...> const& terms,
                        attention_options options = {},
                        std::source_location at   = std::source_location::current()) const {
    auto const q = query(x, at);
    return attended<Step>(q, seen, terms, options, at);
  }

  /// Causal self-attention of the positions `first` and following, which have the dimension `Step` of x in
  /// place of `Length`: `cache` holds what earlier calls wrote, and gets the keys and values of these
  /// positions. In `options`, `causal` and `first` are as said here. Errors: `software_error` if a position
  /// is beyond the cache.
  template<Dimension Step, Tensor X, Tensor C>
  constexpr auto extend(X const& x, key_value_cache<C>& cache, extent first, attention_options options = {},
                        std::source_location at = std::source_location::current()) const {
    return extend<Step>(x, cache, first, no_terms, options, at);
  }
  template<Dimension Step, Tensor X, Tensor C, class... Terms>
  constexpr auto extend(X const& x, key_value_cache<C>& cache, extent first,
                        meshtf::detail::attention_terms<Terms...> const& terms,
                        attention_options options = {},
                        std::source_location at   = std::source_location::current()) const {
    static_assert(has_own_memory,
                  "meshtf: the memory of cross attention is not extended: attend<Step>(x, cache(memory))");
    if constexpr (!has_own_memory) {
      return meshtf::detail::rejected{};
    } else {
      auto const q   = query(x, at);
      auto const k   = key(x, at);
      auto const v   = value(x, at);
      cache.keys     = write<positions>(std::move(cache.keys), k, first, at);
      cache.values   = write<positions>(std::move(cache.values), v, first, at);
      options.causal = true;
      options.first  = first;
      return attended<Step>(q, cache, terms, options, at);
    }
  }

  // What the compiler has refused is accepted, and no error follows.
  template<class... X>
    requires meshtf::detail::AnyRejected<X...>
  constexpr rejected operator()(X const&...) const {
    return {};
  }
  template<meshtf::detail::AnyRejected X>
  constexpr rejected operator()(X const&, attention_options const&) const {
    return {};
  }
  template<class X, class Y>
    requires meshtf::detail::AnyRejected<X, Y>
  constexpr rejected operator()(X const&, Y const&, attention_options const&) const {
    return {};
  }
  template<meshtf::detail::AnyRejected Y>
  constexpr rejected cache(Y const&) const {
    return {};
  }
  template<Dimension Step, class X, class C>
    requires meshtf::detail::AnyRejected<X, C>
  constexpr rejected attend(X const&, C const&, attention_options const& = {}) const {
    return {};
  }
  template<Dimension Step, meshtf::detail::AnyRejected X, class C>
  constexpr rejected extend(X const&, C const&, extent, attention_options const& = {}) const {
    return {};
  }

  constexpr auto parameters() {
    return meshtf::parameters(named("query", query), named("key", key), named("value", value),
                              named("output", output));
  }

private:
  static constexpr bool has_own_memory = std::same_as<Length, Memory> && std::same_as<Model, MemoryModel>;
  static constexpr auto no_terms =
      meshtf::detail::terms_of(meshtf::detail::without_term, meshtf::detail::without_term,
                               meshtf::detail::without_term, meshtf::detail::without_term);

  template<Dimension Query, Tensor Q, Tensor C, class... Terms>
  constexpr auto attended(Q const& q, key_value_cache<C> const& seen,
                          meshtf::detail::attention_terms<Terms...> const& terms,
                          attention_options const& options, std::source_location at) const {
    auto const all_terms = detail::gathered<Memory>(terms, at);
    auto const z =
        meshtf::attention<Query, positions, Key>(q, seen.keys, seen.values, all_terms, options, at);
    return output(z, at);
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
