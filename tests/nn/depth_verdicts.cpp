// If it compiles, it passes: the depth of a model is said once, by its dimensions or when it is made.
#include <concepts>

#include <meshtf/nn/depth.hpp>

namespace {

using namespace meshtf;

struct two_layers {
  static constexpr int layers = 2;
};
struct any_layers {
  static constexpr int layers = nn::any_depth;
};
static_assert(is_legal<nn::detail::depth_verdict<two_layers>> &&
              is_legal<nn::detail::said_depth_verdict<any_layers>>);
static_assert(std::same_as<nn::detail::depth_verdict<any_layers>, nn::depth_is_left_open<any_layers>>);
static_assert(std::same_as<nn::detail::said_depth_verdict<two_layers>, nn::depth_is_in_dims<two_layers>>);

}  // namespace
