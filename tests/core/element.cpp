// Element types: what a tensor may hold, and how ledgers name it.
#include <meshtf/core/element.hpp>

using namespace meshtf;

// float, double and int32, and nothing that only looks like them.
static_assert(Element<float> && Element<double> && Element<int>);
static_assert(!Element<char> && !Element<bool> && !Element<long double> && !Element<unsigned> && !Element<std::int64_t> && !Element<float const>);

// Gradients flow through floating point.
static_assert(FloatingElement<float> && FloatingElement<double> && !FloatingElement<int>);

// A value stands for each, with its size in bytes and its name.
static_assert(element_of<float> == element::float32 && element_of<double> == element::float64 && element_of<int> == element::int32);
static_assert(bytes_of(element::float32) == sizeof(float) && bytes_of(element::float64) == sizeof(double) && bytes_of(element::int32) == sizeof(int));
static_assert(to_string(element::float32) == "float" && to_string(element::float64) == "double" && to_string(element::int32) == "int32");
