// If it compiles, it passes.
#include <limits>

#include <meshtf/core/math.hpp>

namespace {

using namespace meshtf;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr bool is_number(double x) { return x == x; }

static_assert(math::max(1.0, 2.0) == 2 && math::max(2, 1) == 2 && math::min(1.0, 2.0) == 1 &&
              math::min(2, 1) == 1);
static_assert(math::select(true, 1, 2) == 1 && math::select(false, 1, 2) == 2);

// one that is not a number wins where it is second, as in the processor's instruction: so relu(x) = max(0, x)
// hands it on
static_assert(!is_number(math::max(0.0, not_a_number)) && math::max(not_a_number, 0.0) == 0);
static_assert(!is_number(math::min(0.0, not_a_number)) && math::min(not_a_number, 0.0) == 0);

// roots are constants, to the last bit: both sides of a power of two, the smallest and the largest number
constexpr double infinity = std::numeric_limits<double>::infinity();
static_assert(math::sqrt(2.0) == 0x1.6a09e667f3bcdp+0 && math::sqrt(2.0f) == 0x1.6a09e6p+0f &&
              math::sqrt(0.5) == 0x1.6a09e667f3bcdp-1);
static_assert(math::sqrt(64.0) == 8 && math::sqrt(1.0) == 1 && math::sqrt(0.25f) == 0.5f &&
              math::sqrt(1e300) == 0x1.38d352e5096afp+498);
static_assert(math::sqrt(0x1.fffffffffffffp-1) == 0x1.fffffffffffffp-1 &&
              math::sqrt(0x1.0000000000001p+0) == 1);
static_assert(math::sqrt(0x1p-1074) == 0x1p-537 &&
              math::sqrt(0x1.fffffffffffffp+1023) == 0x1.fffffffffffffp+511);
static_assert(math::sqrt(0.0) == 0 && math::sqrt(infinity) == infinity && !is_number(math::sqrt(-1.0)) &&
              !is_number(math::sqrt(not_a_number)));
static_assert(math::reciprocal_sqrt(64.0) == 0.125);

}  // namespace
