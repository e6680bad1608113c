// A translation unit that has a compiled library reads no header of the libraries that files need: their
// definitions are in the part alone.
// test: program io
#include <meshtf/meshtf.hpp>

#if defined(MESHTF_COMPILED) && (defined(JANSSON_H) || defined(ZLIB_H) || defined(_DIRENT_H))
#error "with MESHTF_COMPILED, <meshtf/meshtf.hpp> includes jansson.h, zlib.h or dirent.h: put it, and what "
"needs it, under #if MESHTF_DEFINES_RUNTIME"
#endif
