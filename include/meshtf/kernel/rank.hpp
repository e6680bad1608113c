// The order of the elements of lines: sorting, and finding the first elements in order.
//
// An element is turned into a key, an unsigned number that has its order, and is joined to its place. Equal
// elements are then ordered by their places without further care, so every sort is stable.
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

/// Keys are ordered as elements are; those of -0 and 0 are the same; that of a NaN is the largest, in either
/// order.
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
  std::uint64_t key_and_index;

  short_entry() = default;
  short_entry(std::uint32_t key, extent place)
      : key_and_index(std::uint64_t{key} << 32 | static_cast<std::uint64_t>(place)) {}
  std::uint64_t key() const { return key_and_index >> 32; }
  extent place() const { return static_cast<extent>(key_and_index & 0xffffffff); }
  friend bool operator<(short_entry const& a, short_entry const& b) {
    return a.key_and_index < b.key_and_index;
  }
};
struct long_entry {
  std::uint64_t word;
  std::uint64_t index;

  long_entry() = default;
  long_entry(std::uint64_t key, extent place) : word(key), index(static_cast<std::uint64_t>(place)) {}
  std::uint64_t key() const { return word; }
  extent place() const { return static_cast<extent>(index); }
  friend bool operator<(long_entry const& a, long_entry const& b) {
    return a.word < b.word || (a.word == b.word && a.index < b.index);
  }
};
template<Element T>
using entry_of = std::conditional_t<sizeof(computed<T>) == 4, short_entry, long_entry>;

/// Sorts n entries, whose places are 0, 1, ..., n - 1, and returns where they are: in `from` or in `to`. Long
/// lines are sorted by one byte of the keys after the other, without the bytes that all keys share.
template<int KeyBytes, class Entry>
Entry* sort_entries(extent n, Entry* from, Entry* to) {
  constexpr extent worth_counting = 256;
  if (n < worth_counting) {
    std::sort(from, from + n);
    return from;
  }
  std::array<std::array<extent, 256>, std::size_t{KeyBytes}> count{};
  for (extent i = 0; i < n; ++i)
    for (int b = 0; b < KeyBytes; ++b) ++count[static_cast<std::size_t>(b)][from[i].key() >> (8 * b) & 255];
  for (int b = 0; b < KeyBytes; ++b) {
    auto& starts = count[static_cast<std::size_t>(b)];
    if (starts[from[0].key() >> (8 * b) & 255] == n) continue;
    extent position = 0;
    for (extent& c : starts) position += std::exchange(c, position);
    for (extent i = 0; i < n; ++i) to[starts[from[i].key() >> (8 * b) & 255]++] = from[i];
    std::swap(from, to);
  }
  return from;
}

/// The number of entries that are kept sorted while a line is read.
inline constexpr extent small_ranks = 64;

/// The first `kept` entries of a line so far, in order.
template<Element T, bool Descending>
struct first_few {
  using entry = entry_of<T>;
  entry* found;
  extent kept;
  extent have = 0;
  computed<T> last{};  // once `kept` are found, the last of them

  /// Whether x comes before the last one.
  static bool comes_before(T x, computed<T> last) {
    if constexpr (Descending) return static_cast<computed<T>>(x) > last;
    else return static_cast<computed<T>>(x) < last;
  }
  /// Whether an element that does not come before the last one may be among the first: if there are too few
  /// so far, or some of them are NaN.
  bool takes_any() const { return have < kept || last != last; }
  void take(T const* line, extent step, extent i) {
    entry const e{key_for(line[i * step], Descending), i};
    if (have == kept && !(e < found[kept - 1])) return;
    have += have < kept ? 1 : 0;
    extent position = have - 1;
    for (; position > 0 && e < found[position - 1]; --position) found[position] = found[position - 1];
    found[position] = e;
    if (have == kept) last = static_cast<computed<T>>(line[found[kept - 1].place() * step]);
  }
  void finish() {}
};

/// The same of many. There is space for `capacity` of them: once it is full, those that are not among the
/// first are dropped.
template<Element T, bool Descending>
struct first_many : first_few<T, Descending> {
  extent capacity;
  bool full = false;

  bool takes_any() const { return !full || this->last != this->last; }
  void take(T const* line, extent step, extent i) {
    this->found[this->have++] = {key_for(line[i * step], Descending), i};
    if (this->have < capacity) return;
    drop_others();
    full       = true;
    this->last = static_cast<computed<T>>(line[this->found[this->kept - 1].place() * step]);
  }
  void finish() {
    drop_others();
    std::sort(this->found, this->found + this->have);
  }

private:
  void drop_others() {
    if (this->have <= this->kept) return;
    std::nth_element(this->found, this->found + this->kept - 1, this->found + this->have);
    this->have = this->kept;
  }
};

/// The first entries of a line of n elements. Most elements are only compared, many at a time.
template<class First, Element T>
void take_line(First line, extent n, T const* x, extent step) {
  constexpr extent block = 64;
  extent i               = 0;
  while (i < n) {
    for (; i < n && line.takes_any(); ++i) line.take(x, step, i);
    for (; i + block <= n && !line.takes_any(); i += block) {
      int some = 0;
      if (step == 1)
        for (extent j = i; j < i + block; ++j) some |= First::comes_before(x[j], line.last) ? 1 : 0;
      else
        for (extent j = i; j < i + block; ++j) some |= First::comes_before(x[j * step], line.last) ? 1 : 0;
      if (some != 0)
        for (extent j = i; j < i + block; ++j)
          if (First::comes_before(x[j * step], line.last)) line.take(x, step, j);
    }
    if (i + block > n)
      for (; i < n && !line.takes_any(); ++i)
        if (First::comes_before(x[i * step], line.last)) line.take(x, step, i);
  }
  line.finish();
}

/// The same for neighbouring lines, which are read together.
inline constexpr extent lines_read_together = 16;
template<bool Descending, Element T, class Lines>
void take_lines(Lines lines, extent n, T const* x, extent step, extent kept, entry_of<T>* found) {
  using first = first_few<T, Descending>;
  std::array<first, lines_read_together> line;
  std::array<computed<T>, lines_read_together> last{};
  for (extent i = 0; i < lines; ++i) line[static_cast<std::size_t>(i)] = {found + i * kept, kept};
  bool waiting = true;  // for lines that take any element
  for (extent a = 0; a < n; ++a) {
    T const* const row = x + a * step;
    if (!waiting) {
      int some = 0;
      for (extent i = 0; i < lines; ++i)
        some |= first::comes_before(row[i], last[static_cast<std::size_t>(i)]) ? 1 : 0;
      if (some == 0) continue;
    }
    waiting = false;
    for (extent i = 0; i < lines; ++i) {
      auto& l = line[static_cast<std::size_t>(i)];
      if (l.takes_any() || first::comes_before(row[i], l.last)) l.take(x + i, step, a);
      last[static_cast<std::size_t>(i)] = l.last;
      waiting |= l.takes_any();
    }
  }
}

/// The first entry of a short line.
template<bool Descending, Element T>
entry_of<T> first_of(extent n, T const* x, extent step) {
  using order        = first_few<T, Descending>;
  computed<T> first  = static_cast<computed<T>>(x[0]);
  extent place       = 0;
  auto const is_none = [](computed<T> v) { return v != v; };
  for (extent i = 1; i < n; ++i)
    if (T const v = x[i * step];
        order::comes_before(v, first) || (is_none(first) && !is_none(static_cast<computed<T>>(v)))) {
      first = static_cast<computed<T>>(v);
      place = i;
    }
  return {key_for(x[place * step], Descending), place};
}

/// The first few entries of one line, or of several neighbours.
template<bool Descending, Element T>
void take_few(extent lines, extent n, T const* x, extent step, extent kept, entry_of<T>* found) {
  if (lines == 1 && kept == 1 && n <= small_ranks) *found = first_of<Descending>(n, x, step);
  else if (lines == 1) take_line(first_few<T, Descending>{found, kept}, n, x, step);
  else if (lines == lines_read_together)
    take_lines<Descending>(std::integral_constant<extent, lines_read_together>{}, n, x, step, kept, found);
  else take_lines<Descending>(lines, n, x, step, kept, found);
}
template<bool Descending, Element T>
void take_many(extent n, T const* x, extent step, extent kept, extent capacity, entry_of<T>* found) {
  take_line(first_many<T, Descending>{{found, kept}, capacity}, n, x, step);
}

/// f(lines of x, lines of z, how many, thread) for groups of neighbouring lines of a block: where they begin.
/// Threads share the groups.
template<class F>
void for_groups_of_lines(line_steps const& s, F const& f) {
  parallel_for(s.outer * s.inner, s.inner == 1 ? 1 : lines_read_together, 4 * s.outer * s.along * s.inner,
               [&](extent begin, extent end, int thread) {
                 while (begin < end) {
                   extent const o     = begin / s.inner;
                   extent const i     = begin % s.inner;
                   extent const lines = std::min({lines_read_together, end - begin, s.inner - i});
                   f(o * s.outer_stride + i, o * s.line_stride + i, lines, thread);
                   begin += lines;
                 }
               });
}

template<Element T>
void rank(rank_steps const& s, extent first, bool descending, T const* x, T* ranked, std::int32_t* index,
          std::int64_t* scratch) {
  // a dimension counted at run time, of no elements: the loops below keep at least one
  if (s.kept == 0) return;
  using entry = entry_of<T>;
  static_assert(sizeof(entry) == sizeof(std::int64_t) * task::rank<T>::words &&
                std::is_trivially_copyable_v<entry>);
  extent const along    = s.lines.along;
  extent const step     = s.lines.step;
  extent const kept     = std::min(s.kept, along);
  extent const capacity = s.candidates();
  auto const store      = [&](entry const* found, T const* line, extent to) {
    for (extent k = 0; k < kept; ++k) {
      extent const position   = found[k].place();
      ranked[to + k * s.step] = line[position * step];
      index[to + k * s.step]  = static_cast<std::int32_t>(first + position);
    }
    for (extent k = kept; k < s.kept; ++k) {
      ranked[to + k * s.step] = T{};
      index[to + k * s.step]  = -1;
    }
  };
  bool const few = !s.sorts_all() && kept <= small_ranks;
  for_groups_of_lines(s.lines, [&](extent from, extent to, extent lines, int thread) {
    T const* const line = x + from;
    if (few) {
      std::array<entry, lines_read_together * small_ranks> found;
      if (descending) take_few<true>(lines, along, line, step, kept, found.data());
      else take_few<false>(lines, along, line, step, kept, found.data());
      for (extent l = 0; l < lines; ++l) store(found.data() + l * kept, line + l, to + l);
      return;
    }
    for (extent l = 0; l < lines; ++l) {
      auto* found = reinterpret_cast<entry*>(scratch + thread * capacity * task::rank<T>::words);
      if (s.sorts_all()) {
        for (extent i = 0; i < along; ++i) found[i] = entry(key_for(line[l + i * step], descending), i);
        found = sort_entries<sizeof(key_of<T>)>(along, found, found + s.lines.allocated);
      } else if (descending) {
        take_many<true>(along, line + l, step, kept, capacity, found);
      } else {
        take_many<false>(along, line + l, step, kept, capacity, found);
      }
      store(found, line + l, to + l);
    }
  });
}

}  // namespace kernel

namespace task {

template<Element T>
void rank<T>::compute(rank_steps const& s, place_in_mesh const& here, T const* x, T* ranked,
                      std::int32_t* index, std::int64_t* scratch) const {
  s.lines.blocks.for_each([&](auto const& start) {
    kernel::rank(s, s.lines.first(here), descending, x + start[0], ranked + start[1], index + start[1],
                 scratch);
  });
}

template<Element T>
void merge_ranks<T>::compute(merge_steps const& s, place_in_mesh const&, T const* x,
                             std::int32_t const* where, T* ranked, std::int32_t* index,
                             std::int64_t* scratch) const {
  struct candidate {
    std::uint64_t key;
    std::int32_t index;
    std::int32_t position;
    bool operator<(candidate const& other) const {
      return key != other.key ? key < other.key : index < other.index;
    }
  };
  static_assert(sizeof(candidate) == 2 * sizeof(std::int64_t));
  auto* const found = reinterpret_cast<candidate*>(scratch);
  auto const& r     = s.ranks;
  r.lines.blocks.for_each([&](auto const& start) {
    for (extent line = 0; line < r.lines.outer * r.lines.inner; ++line) {
      extent const o    = line / r.lines.inner;
      extent const i    = line % r.lines.inner;
      extent const from = start[0] + o * r.lines.outer_stride + i;
      extent const to   = start[1] + o * r.lines.line_stride + i;
      extent have       = 0;
      for (extent p = 0; p < s.parts; ++p)
        for (extent a = 0; a < r.lines.along; ++a) {
          extent const place = p * s.part_stride + from + a * r.lines.step;
          if (where[place] >= 0)
            found[have++] = {kernel::key_for(x[place], descending), where[place],
                             static_cast<std::int32_t>(p * r.lines.along + a)};
        }
      extent const kept = std::min(r.kept, have);
      std::partial_sort(found, found + kept, found + have);
      for (extent k = 0; k < kept; ++k) {
        extent const number     = found[k].position;
        extent const p          = number / r.lines.along;
        extent const a          = number % r.lines.along;
        ranked[to + k * r.step] = x[p * s.part_stride + from + a * r.lines.step];
        index[to + k * r.step]  = found[k].index;
      }
    }
  });
}

template<Element T>
void unrank<T>::compute(rank_steps const& s, place_in_mesh const& here, T const* dz,
                        std::int32_t const* index, T* dx) const {
  extent const first = s.lines.first(here);
  extent const along = s.lines.along;
  s.lines.blocks.for_each([&](auto const& start) {
    kernel::for_groups_of_lines(s.lines, [&](extent to, extent from, extent lines, int) {
      for (extent k = 0; k < s.kept; ++k)
        for (extent l = 0, z = start[1] + from + k * s.step; l < lines; ++l, ++z)
          if (extent const a = index[z] - first; a >= 0 && a < along)
            dx[start[0] + to + l + a * s.lines.step] = dz[z];
    });
  });
}

#define MESHTF_RANKS(T)    \
  template struct rank<T>; \
  template struct merge_ranks<T>;
MESHTF_COMPILE_NUMBERS(MESHTF_RANKS)
#undef MESHTF_RANKS
#define MESHTF_UNRANK(T) template struct unrank<T>;
MESHTF_COMPILE_FLOATING(MESHTF_UNRANK)
#undef MESHTF_UNRANK

}  // namespace task
}  // namespace v0
}  // namespace meshtf
