// A translation unit whose compilation is timed: the price of a perceptron's training step under one layout.
#include "mlp.hpp"

constexpr auto cost = meshtf::dry_run<unit::training, unit::mixed>();
static_assert(cost.bytes_sent<unit::rows>() > 0);
