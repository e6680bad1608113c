// How this thread's processor rounds, and whether it takes denormal numbers for zeros.
#pragma once

#include <cstdint>

namespace meshtf {
inline namespace v0 {
namespace kernel {

#if defined(__SSE2__)

inline constexpr std::uint64_t flushes_denormals = 0x8040;  // FTZ and DAZ

/// Rounding and denormals, without the notes about exceptions that have happened. The builtins are what
/// <xmmintrin.h> calls, which takes long to compile.
inline std::uint64_t float_control() { return __builtin_ia32_stmxcsr() & ~0x3fU; }
inline void set_float_control(std::uint64_t wished) {
  __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & 0x3fU) | static_cast<unsigned>(wished));
}

#elif defined(__aarch64__)

inline constexpr std::uint64_t flushes_denormals = std::uint64_t{1} << 24;

inline std::uint64_t float_control() {
  std::uint64_t now;
  asm volatile("mrs %0, fpcr" : "=r"(now));
  return now;
}
inline void set_float_control(std::uint64_t wished) { asm volatile("msr fpcr, %0" : : "r"(wished)); }

#else

inline constexpr std::uint64_t flushes_denormals = 0;

inline std::uint64_t float_control() { return 0; }
inline void set_float_control(std::uint64_t) {}

#endif

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
