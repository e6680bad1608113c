// The hashes in a manifest: XXH3 where libxxhash is there, else zlib's CRC-32, else none.
#pragma once

#if MESHTF_WITH_JANSSON

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <meshtf/core/compiled.hpp>
#include <meshtf/io/safetensors.hpp>
#include <meshtf/runtime/one_program.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <cstdio>

#if MESHTF_WITH_XXHASH
#include <xxhash.h>
#endif
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// What finds damaged bytes. A manifest names it, and a program that lacks its library does not compare.
enum class chunk_hash { none, crc32, xxh3 };

/// The hash that this program writes. XXH3 is as fast as memory; CRC-32 takes about as long as a disk.
constexpr chunk_hash own_chunk_hash() {
#if MESHTF_WITH_XXHASH
  return chunk_hash::xxh3;
#elif MESHTF_WITH_ZLIB
  return chunk_hash::crc32;
#else
  return chunk_hash::none;
#endif
}

/// Whether this program can compute it.
constexpr bool is_available(chunk_hash kind) {
#if MESHTF_WITH_ZLIB
  if (kind == chunk_hash::crc32) return true;
#endif
  return kind != chunk_hash::none && kind == own_chunk_hash();
}

/// "none", "crc32" or "xxh3", as a manifest names it.
constexpr std::string_view hash_name(chunk_hash kind) {
  switch (kind) {
    case chunk_hash::none: return without_zlib;
    case chunk_hash::crc32: return "crc32";
    case chunk_hash::xxh3: return "xxh3";
  }
  return without_zlib;
}

/// The hash of that name, if there is one.
constexpr std::optional<chunk_hash> chunk_hash_named(std::string_view name) {
  for (auto const kind : {chunk_hash::none, chunk_hash::crc32, chunk_hash::xxh3})
    if (name == hash_name(kind)) return kind;
  return std::nullopt;
}

/// In hexadecimal digits: 16 of XXH3, else 8, which are zeros without its library.
std::string hash_of(void const* bytes, std::size_t n, chunk_hash kind = own_chunk_hash());

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::string hash_of(void const* bytes, std::size_t n, chunk_hash kind) {
#if MESHTF_WITH_XXHASH
  if (kind == chunk_hash::xxh3) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(XXH3_64bits(bytes, n)));
    return digits;
  }
#endif
  checksum sum;  // of nothing where zlib is missing
  if (kind == chunk_hash::crc32) sum.add(bytes, n);
  return sum.text();
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf

#endif
