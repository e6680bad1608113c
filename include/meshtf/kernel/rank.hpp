// The order of the elements of lines: sorting, and finding the first elements in order.
//
// An element is turned into a key, an unsigned number that has its order, and is joined to its place. Equal elements are then ordered by their places
// without further care, so every sort is stable.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <meshtf/kernel/parallel.hpp>
#include <meshtf/plan/rank_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// The unsigned type of keys of `T`.
template<Element T>
using key_of = std::conditional_t<sizeof(computed<T>) == 4, std::uint32_t, std::uint64_t>;

/// Keys are ordered as elements are; those of -0 and 0 are the same; that of a NaN is the largest, in either order.
template<Element T>
key_of<T> key_for(T x, bool descending) {
  using key          = key_of<T>;
  constexpr key sign = key{1} << (8 * sizeof(key) - 1);
  auto const v       = static_cast<computed<T>>(x);
  key k;
  if constexpr (FloatingElement<T>) {
    if (v != v) return std::numeric_limits<key>::max();
    k = std::bit_cast<key>(v + computed<T>(0));  // -0 + 0 is 0
    k ^= (k & sign) != 0 ? std::numeric_limits<key>::max() : sign;
  } else {
    k = static_cast<key>(v) ^ sign;
  }
  return descending ? static_cast<key>(~k) : k;
}

/// A key and the place of its element: in one word, or in two.
struct short_entry {
  std::uint64_t both;

  short_entry() = default;
  short_entry(std::uint32_t key, extent place) : both(std::uint64_t{key} << 32 | static_cast<std::uint64_t>(place)) {}
  std::uint64_t key() const { return both >> 32; }
  extent place() const { return static_cast<extent>(both & 0xffffffff); }
  friend bool operator<(short_entry const& a, short_entry const& b) { return a.both < b.both; }
};
struct long_entry {
  std::uint64_t word, at;

  long_entry() = default;
  long_entry(std::uint64_t key, extent place) : word(key), at(static_cast<std::uint64_t>(place)) {}
  std::uint64_t key() const { return word; }
  extent place() const { return static_cast<extent>(at); }
  friend bool operator<(long_entry const& a, long_entry const& b) { return a.word < b.word || (a.word == b.word && a.at < b.at); }
};
template<Element T>
using entry_of = std::conditional_t<sizeof(computed<T>) == 4, short_entry, long_entry>;

/// Sorts n entries, whose places are 0, 1, ..., n - 1, and returns where they are: in `from` or in `to`. Long lines are sorted by one byte of the keys
/// after the other, without the bytes that all keys share.
template<int KeyBytes, class Entry>
Entry* sort_entries(extent n, Entry* from, Entry* to) {
  constexpr extent worth_counting = 256;
  if (n < worth_counting) {
    std::sort(from, from + n);
    return from;
  }
  std::array<std::array<extent, 256>, KeyBytes> count{};
  for (extent i = 0; i < n; ++i)
    for (int b = 0; b < KeyBytes; ++b) ++count[static_cast<std::size_t>(b)][from[i].key() >> (8 * b) & 255];
  for (int b = 0; b < KeyBytes; ++b) {
    auto& starts = count[static_cast<std::size_t>(b)];
    if (starts[from[0].key() >> (8 * b) & 255] == n) continue;
    extent at = 0;
    for (extent& c : starts) at += std::exchange(c, at);
    for (extent i = 0; i < n; ++i) to[starts[from[i].key() >> (8 * b) & 255]++] = from[i];
    std::swap(from, to);
  }
  return from;
}

/// The first `kept` of the n elements of a line, in order, in `found`, which has room for `room` > kept entries. Once it is full, the entries that are
/// not among the first are dropped, and elements that come after all of the others are not taken any more.
template<class T, class Entry>
void first_entries(extent n, T const* x, extent step, bool descending, extent kept, extent room, Entry* found) {
  using key              = key_of<T>;
  constexpr extent block = 16;
  extent have            = 0;
  key last               = std::numeric_limits<key>::max();
  bool full              = false;  // there are `kept` entries up to `last`
  auto const take        = [&](key k, extent i) {
    if (full && k >= last) return;
    found[have++] = Entry(k, i);
    if (have < room) return;
    std::nth_element(found, found + kept - 1, found + have);
    have = kept, full = true;
    last = static_cast<key>(found[kept - 1].key());
  };
  for (extent begin = 0; begin < n; begin += block) {
    extent const end = std::min(n, begin + block);
    std::array<key, block> keys;
    if (end - begin == block) {
      bool some = !full;
      for (extent i = 0; i < block; ++i) keys[static_cast<std::size_t>(i)] = key_for(x[(begin + i) * step], descending);
      for (extent i = 0; i < block; ++i) some |= keys[static_cast<std::size_t>(i)] < last;
      if (some)
        for (extent i = 0; i < block; ++i) take(keys[static_cast<std::size_t>(i)], begin + i);
    } else {
      for (extent i = begin; i < end; ++i) take(key_for(x[i * step], descending), i);
    }
  }
  extent const most = std::min(kept, have);
  if (most < have) std::nth_element(found, found + most, found + have);
  std::sort(found, found + most);
}

/// f(line of x, line of z, thread) for each line of a block: where they begin. Threads share the lines; neighbours stay together.
template<class F>
void for_each_line(line_steps const& s, F const& f) {
  parallel_for(s.outer * s.inner, s.inner == 1 ? 1 : 16, 4 * s.outer * s.along * s.inner, [&](extent begin, extent end, int thread) {
    for (extent line = begin; line < end; ++line) {
      extent const o = line / s.inner, i = line % s.inner;
      f(o * s.outer_stride + i, o * s.line_stride + i, thread);
    }
  });
}

template<Element T>
void rank(rank_steps const& s, extent first, bool descending, T const* x, T* ranked, std::int32_t* index, std::int64_t* scratch) {
  using entry = entry_of<T>;
  static_assert(sizeof(entry) == sizeof(std::int64_t) * task::rank<T>::words && std::is_trivially_copyable_v<entry>);
  extent const along = s.lines.along, step = s.lines.step, kept = std::min(s.kept, along), room = s.candidates();
  for_each_line(s.lines, [&](extent from, extent to, int thread) {
    auto* found         = reinterpret_cast<entry*>(scratch + thread * room * task::rank<T>::words);
    T const* const line = x + from;
    if (s.sorts_all()) {
      for (extent i = 0; i < along; ++i) found[i] = entry(key_for(line[i * step], descending), i);
      found = sort_entries<sizeof(key_of<T>)>(along, found, found + s.lines.room);
    } else {
      first_entries(along, line, step, descending, kept, room, found);
    }
    for (extent i = 0; i < kept; ++i) {
      extent const at         = found[i].place();
      ranked[to + i * s.step] = line[at * step];
      index[to + i * s.step]  = static_cast<std::int32_t>(first + at);
    }
    for (extent i = kept; i < s.kept; ++i) ranked[to + i * s.step] = T{}, index[to + i * s.step] = -1;
  });
}

}  // namespace kernel

namespace task {

template<Element T>
void compute(rank<T> const& task, rank_steps const& s, place_in_mesh const& here, T const* x, T* ranked, std::int32_t* index, std::int64_t* scratch) {
  s.lines.blocks.for_each(
      [&](auto const& at) { kernel::rank(s, s.lines.first(here), task.descending, x + at[0], ranked + at[1], index + at[1], scratch); });
}

template<Element T>
void compute(merge_ranks<T> const& task, merge_steps const& s, place_in_mesh const&, T const* x, std::int32_t const* where, T* ranked,
             std::int32_t* index, std::int64_t* scratch) {
  struct candidate {
    std::uint64_t key;
    std::int32_t index, at;
    bool operator<(candidate const& other) const { return key != other.key ? key < other.key : index < other.index; }
  };
  static_assert(sizeof(candidate) == 2 * sizeof(std::int64_t));
  auto* const found = reinterpret_cast<candidate*>(scratch);
  auto const& r     = s.ranks;
  r.lines.blocks.for_each([&](auto const& at) {
    for (extent line = 0; line < r.lines.outer * r.lines.inner; ++line) {
      extent const o = line / r.lines.inner, i = line % r.lines.inner;
      extent const from = at[0] + o * r.lines.outer_stride + i, to = at[1] + o * r.lines.line_stride + i;
      extent have = 0;
      for (extent p = 0; p < s.parts; ++p)
        for (extent a = 0; a < r.lines.along; ++a) {
          extent const place = p * s.part_stride + from + a * r.lines.step;
          if (where[place] >= 0)
            found[have++] = {kernel::key_for(x[place], task.descending), where[place], static_cast<std::int32_t>(p * r.lines.along + a)};
        }
      extent const kept = std::min(r.kept, have);
      std::partial_sort(found, found + kept, found + have);
      for (extent k = 0; k < kept; ++k) {
        extent const number = found[k].at, p = number / r.lines.along, a = number % r.lines.along;
        ranked[to + k * r.step] = x[p * s.part_stride + from + a * r.lines.step];
        index[to + k * r.step]  = found[k].index;
      }
    }
  });
}

template<Element T>
void compute(unrank<T> const&, rank_steps const& s, place_in_mesh const& here, T const* dz, std::int32_t const* index, T* dx) {
  extent const first = s.lines.first(here), along = s.lines.along;
  s.lines.blocks.for_each([&](auto const& at) {
    kernel::for_each_line(s.lines, [&](extent to, extent from, int) {
      for (extent i = 0, k = at[1] + from; i < s.kept; ++i, k += s.step)
        if (extent const a = index[k] - first; a >= 0 && a < along) dx[at[0] + to + a * s.lines.step] = dz[k];
    });
  });
}

#define MESHTF_RANKS(T)                                                                                                                    \
  template void compute(rank<T> const&, rank_steps const&, place_in_mesh const&, T const*, T*, std::int32_t*, std::int64_t*);              \
  template void compute(merge_ranks<T> const&, merge_steps const&, place_in_mesh const&, T const*, std::int32_t const*, T*, std::int32_t*, \
                        std::int64_t*);
MESHTF_COMPILE_NUMBERS(MESHTF_RANKS)
#undef MESHTF_RANKS
#define MESHTF_UNRANK(T) template void compute(unrank<T> const&, rank_steps const&, place_in_mesh const&, T const*, std::int32_t const*, T*);
MESHTF_COMPILE_FLOATING(MESHTF_UNRANK)
#undef MESHTF_UNRANK

}  // namespace task
}  // namespace v0
}  // namespace meshtf
