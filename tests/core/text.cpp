// Text that the compiler makes.
#include <limits>

#include <meshtf/core/text.hpp>

using namespace meshtf;

static_assert(number_text(0) == "0" && number_text(-1234567) == "-1234567");
static_assert(number_text(std::numeric_limits<extent>::min()) == "-9223372036854775808");
static_assert(thousands_text(1234567) == "1,234,567" && thousands_text(-123) == "-123");

static_assert(decimal_text(12.345, 2) == "12.35" && decimal_text(-0.001, 2) == "0.00" &&
              decimal_text(-2.5, 1) == "-2.5" && decimal_text(7.6, 0) == "8");
static_assert(decimal_text(0.05, 2) == "0.05");
// what has no digits to show
static_assert(decimal_text(std::numeric_limits<double>::quiet_NaN(), 2) == "nan");
static_assert(decimal_text(std::numeric_limits<double>::infinity(), 2) == "inf" &&
              decimal_text(-std::numeric_limits<double>::infinity(), 0) == "-inf");
static_assert(decimal_text(1e17, 2) == "inf" && decimal_text(1e15, 2) == "1000000000000000.00");
