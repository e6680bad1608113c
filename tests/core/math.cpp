// Mathematics of one element: what a NaN does, and what is decided at all in constant evaluation.
#include <limits>

#include <meshtf/core/math.hpp>

namespace math = meshtf::math;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr bool is_nan(double x) { return x != x; }

static_assert(math::max(2.0, 3.0) == 3.0 && math::min(2.0, 3.0) == 2.0 && math::max(-1, -2) == -1);

// The second where one of the two is not a number: max(0, x) hands a NaN on, max(x, 0) does not.
static_assert(is_nan(math::max(0.0, nan)) && math::max(nan, 0.0) == 0.0);
static_assert(is_nan(math::min(0.0, nan)) && math::min(nan, 0.0) == 0.0);

static_assert(math::select(true, 1.0f, 2.0f) == 1.0f && math::select(false, 1.0f, 2.0f) == 2.0f);
