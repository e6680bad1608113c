// If it compiles, it passes.
#include <meshtf/core/element.hpp>

namespace {

using namespace meshtf;

struct half {};

// three types can be in a tensor
static_assert(Element<float> && Element<double> && Element<std::int32_t> && Element<int>);
static_assert(!Element<long double> && !Element<bool> && !Element<std::int64_t> && !Element<half> && !Element<float const> && !Element<float&>);

// gradients flow through two of them
static_assert(FloatingElement<float> && FloatingElement<double> && !FloatingElement<int>);

// nothing is taken for granted of a type without traits, or of another size than its traits say
template<class T>
concept HasTraits = requires { element_traits<T>::kind; };
static_assert(!HasTraits<bool> && !HasTraits<half>);

// sums of many floats are kept in double
static_assert(std::same_as<element_traits<float>::sums_in, double> && std::same_as<element_traits<float>::computes_in, float>);

// ledgers name them and know their bytes
static_assert(element_of<float> == element::float32 && element_of<double> == element::float64 && element_of<int> == element::int32);
static_assert(bytes_of(element_of<float>) == sizeof(float) && bytes_of(element_of<double>) == sizeof(double) &&
              bytes_of(element_of<int>) == sizeof(int));
static_assert(to_string(element::float32) == "float" && to_string(element::float64) == "double" && to_string(element::int32) == "int32");
static_assert(facts_of(element::float32).safetensors == "F32" && facts_of(element::float64).safetensors == "F64" &&
              facts_of(element::int32).safetensors == "I32");

}  // namespace
