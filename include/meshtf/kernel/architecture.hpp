// The instruction sets of processors: for which the kernels were compiled, and whether this processor has it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

#include <meshtf/core/compiled.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// Instruction sets of x86-64, each of which contains those before it; avx2 is x86-64-v3 and avx512 is
/// x86-64-v4. On other processors there is one.
inline constexpr std::array<std::string_view, 4> instruction_sets{"sse2", "avx", "avx2", "avx512"};

/// The number of an instruction set there, or -1.
constexpr int number_of_instruction_set(std::string_view name) {
  for (std::size_t i = 0; i < instruction_sets.size(); ++i)
    if (instruction_sets[i] == name) return static_cast<int>(i);
  return -1;
}

/// The instruction set for which the kernels of this process were compiled.
std::string_view kernels_instruction_set();

/// The largest instruction set of this processor. One of which the system lacks a part (AVX-512 without its
/// instructions on bytes) does not count.
std::string_view processors_instruction_set();

/// Why the kernels of this program can't run on this processor, or not as the environment variable
/// MESHTF_ARCHITECTURES says; empty if they can.
std::string objection_to_processor();

/// The line for a program whose kernels were compiled for `compiled`, a smaller instruction set than the
/// processor has. MESHTF_ARCHITECTURES is an option of the compiled library: where every unit compiles its
/// kernels (`has_compiled_part` is false) it does nothing.
inline std::string advice_for_wider_kernels(std::string_view compiled, std::string_view processor,
                                            bool has_compiled_part) {
  std::string advice = "meshtf: kernels compiled for ";
  ((advice += compiled) += ", this CPU has ") += processor;
  if (!has_compiled_part) return advice += ": add -march=native to the compiler's options";
  return (advice += ": add -march=native, or -DMESHTF_ARCHITECTURES=") += std::string{processor} +=
         " to CMake's options";
}

/// Which of the instruction sets that kernels were compiled for is taken, as their number; -1 if none can be,
/// and then why.
struct kernel_choice {
  int chosen = -1;
  std::string objection{};
};

#if !MESHTF_DECLARES_ONLY

MESHTF_DEFINE std::string_view kernels_instruction_set() {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
  return "avx512";
#elif defined(__AVX2__)
  return "avx2";
#elif defined(__AVX__)
  return "avx";
#else
  return "sse2";
#endif
}

#endif
#if MESHTF_DEFINES_RUNTIME

/// The largest one that the processor has, of those that `allowed` names ("avx2;avx512"; empty: all).
MESHTF_DEFINE kernel_choice choose_kernels(std::initializer_list<std::string_view> compiled,
                                           std::string_view processor, std::string_view allowed) {
  auto const listed = [](std::initializer_list<std::string_view> names) {
    std::string list;
    for (auto const name : names) (list += list.empty() ? "" : ", ") += name;
    return list;
  };
  std::array<bool, instruction_sets.size()> take{};
  for (auto const name : compiled)
    take[static_cast<std::size_t>(number_of_instruction_set(name))] = allowed.empty();
  while (!allowed.empty()) {
    auto const end  = std::min(allowed.find_first_of(";, "), allowed.size());
    auto const name = allowed.substr(0, end);
    allowed.remove_prefix(std::min(end + 1, allowed.size()));
    if (name.empty()) continue;
    bool known = false;
    for (auto const other : compiled) known = known || other == name;
    if (!known)
      return {.objection = "expected MESHTF_ARCHITECTURES to name kernels that this program has (" +
                           listed(compiled) + "), got '" + std::string{name} +
                           "': leave it out for the best ones"};
    take[static_cast<std::size_t>(number_of_instruction_set(name))] = true;
  }
  for (int i = number_of_instruction_set(processor); i >= 0; --i)
    if (take[static_cast<std::size_t>(i)]) return {.chosen = i};
  std::string taken;
  for (std::size_t i = 0; i < take.size(); ++i)
    if (take[i]) (taken += taken.empty() ? "" : ", ") += instruction_sets[i];
  return {.objection = "expected kernels for a processor with " + std::string{processor} +
                       ", which this one has, got kernels for " + taken +
                       ": compile them for it, too (CMake: -DMESHTF_ARCHITECTURES=\"" +
                       std::string{processor} + ";" + taken + "\")"};
}

MESHTF_DEFINE std::string_view processors_instruction_set() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();  // for calls before main
  bool const avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return "avx512";
  if (avx2) return "avx2";
  if (__builtin_cpu_supports("avx")) return "avx";
#endif
  return "sse2";
}

#ifndef MESHTF_FOR_EACH_ARCHITECTURE  // else chosen_kernels.hpp defines it

/// This program has nothing to choose, but a name that no program knows is a mistake in it, too.
MESHTF_DEFINE std::string objection_to_names(std::string_view allowed) {
  while (!allowed.empty()) {
    auto const end  = std::min(allowed.find_first_of(";, "), allowed.size());
    auto const name = allowed.substr(0, end);
    allowed.remove_prefix(std::min(end + 1, allowed.size()));
    if (!name.empty() &&
        std::find(instruction_sets.begin(), instruction_sets.end(), name) == instruction_sets.end())
      return "expected MESHTF_ARCHITECTURES to name kernels (sse2, avx, avx2, avx512), got '" +
             std::string{name} + "': leave it out for the best ones";
  }
  return "";
}

MESHTF_DEFINE std::string objection_to_processor() {
  char const* const allowed = std::getenv("MESHTF_ARCHITECTURES");
  if (auto objection = objection_to_names(allowed != nullptr ? allowed : ""); !objection.empty())
    return objection;
  return choose_kernels({kernels_instruction_set()}, processors_instruction_set(), {}).objection;
}

#endif
#endif

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
