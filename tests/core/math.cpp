// If it compiles, it passes.
#include <limits>

#include <meshtf/core/math.hpp>

namespace {

using namespace meshtf;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr bool is_number(double x) { return x == x; }

static_assert(math::max(1.0, 2.0) == 2 && math::max(2, 1) == 2 && math::min(1.0, 2.0) == 1 && math::min(2, 1) == 1);
static_assert(math::select(true, 1, 2) == 1 && math::select(false, 1, 2) == 2);

// one that is not a number wins where it is second, as in the processor's instruction: so relu(x) = max(0, x) hands it on
static_assert(!is_number(math::max(0.0, not_a_number)) && math::max(not_a_number, 0.0) == 0);
static_assert(!is_number(math::min(0.0, not_a_number)) && math::min(not_a_number, 0.0) == 0);

}  // namespace
