// What all translation units of a program must agree on. Where they don't, the linker stops, and the name of
// the symbol in its message says what differs.
//
// Of each choice there is a symbol that every translation unit defines, in a group which is named after what
// it chose. A linker keeps one of the groups of a name, so translation units that agree define the symbol
// once; two groups define it twice, which no linker takes. (A variable that belongs to a thread on one side
// of the choice and to the program on the other is refused by GNU ld and gold, but lld takes both without a
// word.)
#pragma once

#include <meshtf/core/compiled.hpp>
#include <meshtf/version.hpp>

namespace meshtf {
inline namespace v0 {
namespace one_program {

// Groups are ELF's. They stand in functions: clang's -flto takes what stands outside of them for as many
// definitions as there are translation units. Where the assembler sees several translation units at once, it
// leaves out what it has seen.
#ifdef __ELF__
// clang-format off
#define MESHTF_UNITS_AGREE(symbol, choice)                                                                \
  [[gnu::used, gnu::noinline]] inline void symbol##_##choice() {                                          \
    __asm__(".ifndef .L" #symbol "_" #choice "\n"                                                         \
            ".set .L" #symbol "_" #choice ", 1\n"                                                         \
            ".pushsection .rodata.meshtf, \"aG\", %progbits, " #symbol "_" #choice ", comdat\n"           \
            ".globl " #symbol "\n"                                                                        \
            ".hidden " #symbol "\n"                                                                       \
            #symbol ": .byte 0\n"                                                                         \
            ".popsection\n"                                                                               \
            ".endif");                                                                                    \
  }
// clang-format on
#else
#define MESHTF_UNITS_AGREE(symbol, choice)
#endif
#define MESHTF_UNITS_OF(symbol, a, b, c) MESHTF_UNITS_AGREE(symbol, a##_##b##_##c)
#define MESHTF_UNITS_OF_VERSION(symbol, a, b, c) MESHTF_UNITS_OF(symbol, a, b, c)

#if defined(MESHTF_COMPILED) || defined(MESHTF_COMPILED_PART) || defined(MESHTF_COMPILED_START)
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_COMPILED, on)
#else
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_COMPILED, off)
#endif
#if defined(MESHTF_WITH_ONEDNN) && MESHTF_WITH_ONEDNN
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_WITH_ONEDNN, on)
#else
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_WITH_ONEDNN, off)
#endif
#if defined(MESHTF_WITH_JANSSON) && MESHTF_WITH_JANSSON
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_WITH_JANSSON, on)
#else
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_WITH_JANSSON, off)
#endif
#if defined(MESHTF_WITH_ZLIB) && MESHTF_WITH_ZLIB
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_WITH_ZLIB, on)
#else
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_WITH_ZLIB, off)
#endif
#if defined(MESHTF_WITH_XXHASH) && MESHTF_WITH_XXHASH
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_WITH_XXHASH, on)
#else
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_WITH_XXHASH, off)
#endif
#if defined(MESHTF_WITH_SENTENCEPIECE) && MESHTF_WITH_SENTENCEPIECE
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_WITH_SENTENCEPIECE, on)
#else
MESHTF_UNITS_AGREE(meshtf_units_with_and_without_MESHTF_WITH_SENTENCEPIECE, off)
#endif

MESHTF_UNITS_OF_VERSION(meshtf_units_of_different_versions, MESHTF_VERSION_MAJOR, MESHTF_VERSION_MINOR,
                        MESHTF_VERSION_PATCH)
#undef MESHTF_UNITS_OF_VERSION
#undef MESHTF_UNITS_OF
#undef MESHTF_UNITS_AGREE

// "compiled_part_of_meshtf_0_1_0": translation units that only declare kernels ask for it, and only the
// compiled library of the same version has it.
#define MESHTF_PASTED(a, b, c) compiled_part_of_meshtf_##a##_##b##_##c
#define MESHTF_PASTE(a, b, c) MESHTF_PASTED(a, b, c)
#define MESHTF_COMPILED_PART_NAME \
  MESHTF_PASTE(MESHTF_VERSION_MAJOR, MESHTF_VERSION_MINOR, MESHTF_VERSION_PATCH)
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
