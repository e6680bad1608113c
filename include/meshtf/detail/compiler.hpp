// Which compilers are new enough. Every header that programs include begins with this one, so that an older
// compiler says one sentence, and not what it does not understand of the others.
#pragma once

#define MESHTF_TEXT_OF(...) #__VA_ARGS__
#define MESHTF_TEXT(...) MESHTF_TEXT_OF(__VA_ARGS__)
#define MESHTF_PRAGMA_OF(...) _Pragma(#__VA_ARGS__)
#define MESHTF_PRAGMA(...) MESHTF_PRAGMA_OF(__VA_ARGS__)
// clang-format off: it puts spaces into what is said
#define MESHTF_NEEDS(...) \
  MESHTF_PRAGMA(GCC error MESHTF_TEXT(meshtf: expected g++ 12 or clang 16, or newer, got __VA_ARGS__))
// there is no such file: that is what ends a compilation at once
#define MESHTF_STOP <meshtf/needs/gpp_12_or_clang_16_or_newer>
// clang-format on

#if defined(__clang__)
#if __clang_major__ < 16
MESHTF_NEEDS(clang __clang_major__)
#include MESHTF_STOP
#endif
#elif defined(__GNUC__) && __GNUC__ < 12
MESHTF_NEEDS(g++ __GNUC__)
#include MESHTF_STOP
#endif

#undef MESHTF_STOP
#undef MESHTF_NEEDS
#undef MESHTF_PRAGMA
#undef MESHTF_PRAGMA_OF
#undef MESHTF_TEXT
#undef MESHTF_TEXT_OF
