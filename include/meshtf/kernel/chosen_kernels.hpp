// The compiled library with kernels for several architectures: which of them this process runs. One source
// includes this, which CMake makes.
//
// A call of a kernel jumps through a table (meshtf-architectures.cmake makes them); here it is chosen which
// one, before `main`.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <meshtf/core/error.hpp>
#include <meshtf/kernel/architecture.hpp>
#include <meshtf/kernel/blas_kernel.hpp>
#include <meshtf/kernel/thread_team.hpp>

// It is X(avx2) X(avx512), say; without it there is nothing to choose.
#ifdef MESHTF_FOR_EACH_ARCHITECTURE
#define MESHTF_TABLE(name) [[gnu::visibility("hidden")]] extern void* const meshtf_kernels_of_##name[];
extern "C" {
MESHTF_FOR_EACH_ARCHITECTURE(MESHTF_TABLE)
[[gnu::visibility("hidden")]] extern void* const meshtf_refusing_kernels[];
[[gnu::visibility("hidden")]] void* const* meshtf_kernels = meshtf_refusing_kernels;
[[gnu::visibility("hidden")]] void meshtf_refuse_kernels();
}
#undef MESHTF_TABLE

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

inline kernel_choice chosen_kernels() {
  char const* const allowed = std::getenv("MESHTF_ARCHITECTURES");
#define MESHTF_NAME(name) #name,
  return choose_kernels({MESHTF_FOR_EACH_ARCHITECTURE(MESHTF_NAME)}, processors_instruction_set(),
                        allowed ? allowed : "");
#undef MESHTF_NAME
}

[[gnu::constructor(101)]] static void take_kernels() {
  int const chosen = chosen_kernels().chosen;
#define MESHTF_TAKE(name) \
  if (chosen == number_of_instruction_set(#name)) meshtf_kernels = meshtf_kernels_of_##name;
  MESHTF_FOR_EACH_ARCHITECTURE(MESHTF_TAKE)
#undef MESHTF_TAKE
}

/// What the kernels of all architectures have in common with the rest of the program, they ask for by name:
/// so it must be somewhere.
[[gnu::used]] inline int shared_by_kernels() {
  return team.threads() + error::latest().exit_status + tell_of_widened_products;
}

}  // namespace detail

/// `environment` throws this as an error.
MESHTF_DEFINE std::string objection_to_processor() { return detail::chosen_kernels().objection; }

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf

/// Instead of any kernel, where none can run and there is no `environment` that says so.
extern "C" void meshtf_refuse_kernels() {
  std::string const line = "meshtf: " + meshtf::kernel::objection_to_processor() + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::_Exit(64);
}

#endif
