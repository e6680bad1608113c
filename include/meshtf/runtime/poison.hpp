// What tells AddressSanitizer which memory of a pool nobody may touch.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define MESHTF_POOL_POISONS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MESHTF_POOL_POISONS
#endif
#endif
#ifdef MESHTF_POOL_POISONS
// <sanitizer/asan_interface.h> is not always installed
extern "C" void __asan_poison_memory_region(void const volatile*, std::size_t);
extern "C" void __asan_unpoison_memory_region(void const volatile*, std::size_t);
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Makes AddressSanitizer report accesses to memory that the pool has not given out.
inline void poison([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MESHTF_POOL_POISONS
  __asan_poison_memory_region(p, bytes);
#endif
}

inline void unpoison([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MESHTF_POOL_POISONS
  __asan_unpoison_memory_region(p, bytes);
#endif
}

#undef MESHTF_POOL_POISONS

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
