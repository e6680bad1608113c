// The depth of a stack of equal blocks: a number that the compiler knows, or one that is known when the
// program runs.
#pragma once

#include <type_traits>

#include <meshtf/core/verdict.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// As the number of layers of a model's dimensions: the program says it, with `depth`. All layers have one
/// type, so nothing is compiled anew:
///
///     struct dims : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
///       static constexpr int layers = nn::any_depth;
///     };
///     nn::transformer<float, L, dims> net{m, nn::depth{chosen.layers}, 1};
inline constexpr int any_depth = 0;

/// The number of layers of a model, where its dimensions leave it open.
struct depth {
  int layers;
};

/// The dimensions of a model say `layers = nn::any_depth`, and it is made without a `depth`.
template<class Dims>
struct depth_is_left_open {};

/// A model is made with a `depth`, but its dimensions say how many layers it has.
template<class Dims>
struct depth_is_in_dims {};

namespace detail {

template<class Dims>
using depth_verdict = std::conditional_t<Dims::layers == any_depth, depth_is_left_open<Dims>, legal>;
template<class Dims>
using said_depth_verdict = std::conditional_t<Dims::layers != any_depth, depth_is_in_dims<Dims>, legal>;

/// The depth that the dimensions have, or that is said.
template<class Dims>
constexpr depth depth_of() {
  static_assert(accepted<depth_verdict<Dims>>,
                "meshtf: the dimensions leave the number of layers open: say it, net{m, nn::depth{n}, seed}");
  return {Dims::layers == any_depth ? 1 : Dims::layers};  // 1: no errors after that one
}
template<class Dims>
constexpr depth depth_of(depth said) {
  static_assert(
      accepted<said_depth_verdict<Dims>>,
      "meshtf: the dimensions say how many layers there are: leave out nn::depth, or say any_depth there");
  return said;
}

/// The standard deviation of weights that end a branch of a stream: divided by the square root of the number
/// of branches, by Newton's method, since std::sqrt is not constexpr.
constexpr double stddev_of_branches(double stddev, int layers, int branches_of_layer = 2) {
  double const n = static_cast<double>(branches_of_layer) * layers;
  double root    = n;
  for (int i = 0; i < 40; ++i) root = (root + n / root) / 2;
  return stddev / root;
}

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
