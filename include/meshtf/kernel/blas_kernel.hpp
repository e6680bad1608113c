// The kernels of BLAS: which of its own it has chosen for this processor.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include <meshtf/core/compiled.hpp>

// Only OpenBLAS has these functions; with any other BLAS their addresses are null.
extern "C" char* openblas_get_corename() __attribute__((weak));
extern "C" int openblas_get_parallel() __attribute__((weak));

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// The kernels that BLAS chose for this processor, as OpenBLAS names them; empty if BLAS does not tell.
std::string_view blas_kernel_name();

/// Whether BLAS runs kernels for processors without AVX2 on one that has it. OpenBLAS does so silently where
/// it does not know the model, and is then 5 times slower; setting the environment variable OPENBLAS_CORETYPE
/// to Haswell, Zen or SkylakeX cures it.
bool blas_kernel_is_generic();

/// Whether only one thread at a time may call BLAS. An OpenBLAS that was built for programs of one thread
/// (Debian's libopenblas0-serial) hands its buffers out without a lock: of two threads that call it at once,
/// one now and then gets the other's numbers (https://github.com/OpenMathLib/OpenBLAS/issues/2126).
bool blas_is_for_one_thread();

/// Whether the first product of bfloat16 that is done in float is still to be told of. The environment sets
/// it on one process of a job.
#ifdef MESHTF_ARCHITECTURE
extern std::atomic<bool> tell_of_widened_products;
#else
inline std::atomic<bool> tell_of_widened_products = false;
#endif

#if !MESHTF_DECLARES_ONLY

MESHTF_DEFINE std::string_view blas_kernel_name() {
  if (!openblas_get_corename) return {};
  return openblas_get_corename();
}

MESHTF_DEFINE bool blas_is_for_one_thread() { return openblas_get_parallel && openblas_get_parallel() == 0; }

MESHTF_DEFINE bool blas_kernel_is_generic() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();  // for calls before main
  if (!__builtin_cpu_supports("avx2")) return false;
  constexpr std::string_view older =
      " unknown generic katmai coppermine northwood prescott banias atom core2 penryn nehalem dunnington "
      "athlon opteron opteron_sse3 barcelona "
      "bobcat bulldozer piledriver steamroller nano sandybridge ";
  std::string name{" "};
  (name += blas_kernel_name()) += " ";
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return older.find(name) != older.npos;
#else
  return false;
#endif
}

#endif

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
