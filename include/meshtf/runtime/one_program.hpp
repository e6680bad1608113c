// What all units of a program must agree on. Where they don't, the linker stops, and the name of the symbol in its message says what differs.
//
// Of each choice there is a variable, which belongs to a thread on one side of the choice and to the program on the other: GNU ld and gold refuse to
// mix the two. (lld takes both without a word.)
#pragma once

#include <meshtf/core/compiled.hpp>
#include <meshtf/version.hpp>

namespace meshtf {
inline namespace v0 {
namespace one_program {

#if defined(MESHTF_COMPILED) || defined(MESHTF_COMPILED_PART) || defined(MESHTF_COMPILED_START)
[[gnu::used]] inline thread_local char units_with_and_without_MESHTF_COMPILED = 0;
#else
[[gnu::used]] inline char units_with_and_without_MESHTF_COMPILED = 0;
#endif
#if defined(MESHTF_WITH_ONEDNN) && MESHTF_WITH_ONEDNN
[[gnu::used]] inline thread_local char units_with_and_without_MESHTF_WITH_ONEDNN = 0;
#else
[[gnu::used]] inline char units_with_and_without_MESHTF_WITH_ONEDNN = 0;
#endif
#if defined(MESHTF_WITH_JANSSON) && MESHTF_WITH_JANSSON
[[gnu::used]] inline thread_local char units_with_and_without_MESHTF_WITH_JANSSON = 0;
#else
[[gnu::used]] inline char units_with_and_without_MESHTF_WITH_JANSSON = 0;
#endif
#if defined(MESHTF_WITH_ZLIB) && MESHTF_WITH_ZLIB
[[gnu::used]] inline thread_local char units_with_and_without_MESHTF_WITH_ZLIB = 0;
#else
[[gnu::used]] inline char units_with_and_without_MESHTF_WITH_ZLIB = 0;
#endif

// "compiled_part_of_meshtf_0_1_0": units that only declare kernels ask for it, and only the compiled part of the same version has it.
#define MESHTF_PASTED(a, b, c) compiled_part_of_meshtf_##a##_##b##_##c
#define MESHTF_PASTE(a, b, c) MESHTF_PASTED(a, b, c)
#define MESHTF_COMPILED_PART_NAME MESHTF_PASTE(MESHTF_VERSION_MAJOR, MESHTF_VERSION_MINOR, MESHTF_VERSION_PATCH)
#if defined(MESHTF_COMPILED_START)
[[gnu::used]] inline char MESHTF_COMPILED_PART_NAME = 0;
#elif MESHTF_DECLARES_ONLY
extern char MESHTF_COMPILED_PART_NAME;
[[gnu::used]] inline char* const compiled_part = &MESHTF_COMPILED_PART_NAME;
#endif
#undef MESHTF_PASTED
#undef MESHTF_PASTE
#undef MESHTF_COMPILED_PART_NAME

}  // namespace one_program
}  // namespace v0
}  // namespace meshtf
