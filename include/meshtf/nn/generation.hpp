// Text from a language model: ids after a prompt, one after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include <meshtf/core/error.hpp>
#include <meshtf/nn/incremental.hpp>
#include <meshtf/nn/sampling.hpp>
#include <meshtf/ops/index/iota.hpp>
#include <meshtf/ops/pointwise/compare.hpp>
#include <meshtf/ops/pointwise/logical.hpp>
#include <meshtf/ops/pointwise/where.hpp>
#include <meshtf/ops/reduce/any_all.hpp>
#include <meshtf/ops/shape/write.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// What `generate` is told: how many positions of each row are the prompt, how many ids follow, how they are
/// chosen, and the id that ends a row.
struct generation {
  extent prompt;
  extent length;
  sampling choice{};
  random_key random{};                   // each position draws with a key of its own
  std::optional<std::int32_t> end = {};  // not given: no id ends a row
};

namespace detail {

/// Errors: `usage_error`, on all processes alike.
constexpr void expect_room(generation const& g, extent room) {
  if (g.prompt < 1 || g.prompt > room)
    throw usage_error("expected a prompt of 1 to " + std::to_string(room) + " ids, got " +
                      std::to_string(g.prompt) + ": a model reads as many as it has positions");
  if (g.length < 0 || g.length > room - g.prompt)
    throw usage_error("expected 0 to " + std::to_string(room - g.prompt) + " ids after a prompt of " +
                      std::to_string(g.prompt) + ", got " + std::to_string(g.length) + ": the model has " +
                      std::to_string(room) + " positions");
}

}  // namespace detail

/// The prompt, then ids that the model chooses one after the other; then, and after the end of a row, zeros.
///
///     nn::transformer<float, L, dims> net{m, 1};
///     auto ids = nn::generate(net, prompt, {.prompt = 12, .length = 100, .choice = {.temperature = 0.8},
///                                           .random = {.seed = 7}});                  // [batch, length]
///
/// `prompt` has ids along the model's length, of which the first `prompt` count, in each row as many. The
/// model reads them in one pass (`prefill`); each further id costs one position (`extend`). `net` is a
/// `transformer`, a `llama`, or a model of yours with these two members. The ids are the same under every
/// layout, and on every number of processes; of the choices, `next_ids` says what they send, and `K` is its
/// own. With an `end`, an all-reduce of one number in each step tells whether all rows have ended; the last
/// step is then the same on all processes. A dry run prices all steps. No gradient.
/// Errors: `usage_error`, on all processes alike, for more ids than the model has positions, and those of
/// `next_ids`.
template<class K = void, class Net, Tensor Ids>
constexpr auto generate(Net const& net, Ids const& prompt, generation const& options,
                        std::source_location at = std::source_location::current()) {
  using length     = typename Net::length;
  using vocab      = typename Net::vocab;
  using candidates = std::conditional_t<std::is_void_v<K>, ranked_ids<vocab>, K>;
  using L          = typename Ids::layout_type;
  auto& m          = prompt.machine();
  detail::expect_room(options, m.counted().template of<length>());
  no_gradient const guard{m};

  auto const own = less(iota<std::int32_t, L, length>(m, at), static_cast<std::int32_t>(options.prompt), at);
  auto found     = where(own, prompt, std::int32_t{0}, at);
  if (options.length == 0) return found;
  auto read         = net.prefill(prompt, options.prompt - 1, at);
  auto scores       = std::move(read.scores);
  extent const stop = options.prompt + options.length;
  return [&]<Dimension... Batch>(shape<Batch...>) {
    tensor<std::int32_t, L, Batch..., next_position> ended{m};
    for (extent i = options.prompt;; ++i) {
      auto next =
          next_ids<vocab, candidates>(scores, options.choice, detail::at_position(options.random, i), at);
      if (options.end) {
        auto kept = where(ended, std::int32_t{0}, next, at);
        next      = std::move(kept);
        ended     = logical_or(ended, meshtf::equal(next, *options.end, at), at);
      }
      found = write<length>(found, next, i, at);
      if (i + 1 == stop) return found;
      if (options.end) {
        auto const all_ended = all(ended, at);
        if constexpr (machine<L>::computes)
          if (all_ended.value() != 0) return found;
      }
      auto following = net.template extend<next_position>(next, read.caches, i, at);
      scores         = std::move(following);
    }
  }(without<typename Ids::shape_type, shape<length>>{});
}

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
