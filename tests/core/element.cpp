// If it compiles, it passes.
#include <meshtf/core/element.hpp>

namespace {

using namespace meshtf;

struct half {};

// six types can be in a tensor
static_assert(Element<float> && Element<double> && Element<std::int32_t> && Element<int> &&
              Element<bfloat16> && Element<std::int64_t> && Element<bool>);
static_assert(!Element<long double> && !Element<std::int16_t> && !Element<char> && !Element<half> &&
              !Element<float const> && !Element<float&>);

// gradients flow through three of them, and only bool can't be added
static_assert(FloatingElement<float> && FloatingElement<double> && FloatingElement<bfloat16>);
static_assert(!FloatingElement<int> && !FloatingElement<std::int64_t> && !FloatingElement<bool>);
static_assert(NumberElement<bfloat16> && NumberElement<std::int64_t> && NumberElement<int> &&
              NumberElement<float> && !NumberElement<bool>);

// bfloat16 is stored in fewer bits than it is computed with
static_assert(NarrowElement<bfloat16> && !NarrowElement<float> && !NarrowElement<double> &&
              !NarrowElement<int> && !NarrowElement<bool>);
static_assert(std::same_as<computed<bfloat16>, float> && std::same_as<computed<std::int64_t>, std::int64_t>);

// nothing is taken for granted of a type without traits, or of another size than its traits say
template<class T>
concept HasTraits = requires { element_traits<T>::kind; };
static_assert(!HasTraits<char> && !HasTraits<half>);

// sums of many floats are kept in double
static_assert(std::same_as<element_traits<float>::sums_in, double> &&
              std::same_as<element_traits<float>::computes_in, float>);

// ledgers name them and know their bytes
static_assert(element_of<float> == element::float32 && element_of<double> == element::float64 &&
              element_of<int> == element::int32);
static_assert(bytes_of(element_of<float>) == sizeof(float) &&
              bytes_of(element_of<double>) == sizeof(double) && bytes_of(element_of<int>) == sizeof(int));
static_assert(to_string(element::float32) == "float" && to_string(element::float64) == "double" &&
              to_string(element::int32) == "int32");
static_assert(facts_of(element::float32).safetensors == "F32" &&
              facts_of(element::float64).safetensors == "F64" &&
              facts_of(element::int32).safetensors == "I32");
static_assert(bytes_of(element_of<bfloat16>) == 2 && bytes_of(element_of<std::int64_t>) == 8 &&
              bytes_of(element_of<bool>) == 1);
static_assert(to_string(element::bfloat16) == "bfloat16" && to_string(element::int64) == "int64" &&
              to_string(element::boolean) == "bool");
static_assert(facts_of(element::bfloat16).safetensors == "BF16" &&
              facts_of(element::int64).safetensors == "I64" &&
              facts_of(element::boolean).safetensors == "BOOL");
static_assert(facts_of(element::bfloat16).numpy == "bfloat16" &&
              facts_of(element::float32).numpy == "float32" && facts_of(element::int64).numpy == "int64" &&
              facts_of(element::boolean).numpy == "bool");

}  // namespace
