// If it compiles, it passes.
#include <meshtf/plan/bucket_plan.hpp>

namespace {

using namespace meshtf;

constexpr extent small = 1024;
constexpr extent half  = largest_packed / 2;
constexpr extent most  = largest_packed;
constexpr extent big   = largest_packed + 4;

constexpr bucket_member of(axis_set over, extent bytes, element type = element::float32,
                           axis_set unreduced = 0) {
  return {.type = type, .over = over, .unreduced = unreduced, .bytes = bytes};
}

/// The number of each array's message, messages counted from their first arrays.
template<std::size_t N>
constexpr std::array<int, N> messages(std::array<bucket_member, N> arrays) {
  std::array<int, N> number{};
  int const found = plan_buckets(std::span{arrays});
  int count       = 0;
  for (std::size_t i = 0; i < N; ++i) {
    if (!arrays[i].leads) continue;
    for (int at = static_cast<int>(i); at >= 0; at = arrays[static_cast<std::size_t>(at)].next)
      number[static_cast<std::size_t>(at)] = count;
    ++count;
  }
  if (count != found) throw "as many messages as it says";
  return number;
}

using numbers = std::array<int, 4>;

// arrays of one type over the same axes go together, in their order
static_assert(messages(std::array{of(1, small), of(1, half), of(1, most), of(1, 4)}) == numbers{0, 0, 0, 0});

// a long one goes alone, and those around it together all the same
static_assert(messages(std::array{of(1, small), of(1, big), of(1, small), of(1, big)}) ==
              numbers{0, 1, 0, 2});

// other axes, another type and another debt are other messages
static_assert(messages(std::array{of(1, small), of(2, small), of(3, small), of(1, small)}) ==
              numbers{0, 1, 2, 0});
static_assert(messages(std::array{of(1, small), of(1, small, element::float64), of(1, small),
                                  of(1, small, element::float64)}) == numbers{0, 1, 0, 1});
static_assert(messages(std::array{of(3, small), of(3, small, element::float32, 1),
                                  of(3, small, element::float32, 2), of(3, small, element::float32, 1)}) ==
              numbers{0, 1, 2, 1});

// a full message is followed by another: 32 of the longest fill one
constexpr auto many = [] {
  std::array<bucket_member, 70> arrays;
  arrays.fill(of(1, most));
  return messages(arrays);
}();
static_assert(largest_bucket == 32 * most && many[31] == 0 && many[32] == 1 && many[63] == 1 &&
              many[64] == 2 && many[69] == 2);

// more kinds than messages can be open: still each array is in one message
constexpr auto kinds = [] {
  std::array<bucket_member, 24> arrays;
  for (std::size_t i = 0; i < arrays.size(); ++i) arrays[i] = of(static_cast<axis_set>(1 + i % 12), small);
  return messages(arrays);
}();
static_assert(kinds[0] == 0 && kinds[11] == 11 && kinds[12] == 12);

// nothing is no message
static_assert(plan_buckets(std::span<bucket_member>{}) == 0);

}  // namespace
