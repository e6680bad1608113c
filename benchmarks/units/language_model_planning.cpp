// A translation unit whose compilation is timed: the price of a Transformer's training step.
#include "language_model.hpp"

constexpr auto cost = meshtf::dry_run<unit::training, unit::mixed>();
static_assert(cost.peak_bytes() > 0);
