// The memory of a process mesh: taken from the system in large blocks, kept, and reused.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include <sys/mman.h>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/runtime/poison.hpp>

namespace meshtf {
inline namespace v0 {

/// Gives out 64-byte aligned memory in constant time and never calls `new`. Freed memory goes into free
/// lists; the system gets it back when the pool is destroyed, after everything that lives in it. For one
/// thread only.
///
/// Up to 16 KiB: a free list for each of 8 sizes per power of two, cut from slabs. Above: two-level
/// segregated fit with 64 sizes per power of two; free neighbours are merged. So rounding wastes at most an
/// eighth of a small piece and a 64th of a large one.
///
/// What lies free between arrays of many sizes can be half as much again as they. A program that is short of
/// memory calls `return_pages`: from then on the system gets the pages of free pieces whenever those in
/// memory would be more than a tenth above the most that was in use.
///
/// Source: Masmano, Ripoll, Crespo, Real, TLSF: a New Dynamic Memory Allocator for Real-Time Systems (2004).
class pool {
public:
  pool();
  pool(pool const&)            = delete;
  pool& operator=(pool const&) = delete;

  ~pool();

  void* allocate(std::size_t bytes) {
    if (bytes > small_limit) return allocate_large(bytes);
    auto const c    = size_class<3>(std::max(bytes, unit));
    auto& available = small_[c];
    if (available == nullptr) cut_slab(c);
    link* const p = available;
    detail::unpoison(p, sizeof(link));
    available = p->next;
    detail::poison(p, sizeof(link));
    detail::unpoison(p, bytes);
    return p;
  }

  /// `bytes`: the size that was asked for.
  void deallocate(void* p, std::size_t bytes) noexcept {
    if (p == nullptr) return;
    if (bytes > small_limit) return deallocate_large(p);
    auto const c      = size_class<3>(std::max(bytes, unit));
    auto* const freed = static_cast<link*>(p);
    detail::unpoison(freed, sizeof(link));
    freed->next = small_[c];
    small_[c]   = freed;
    detail::poison(freed, class_bytes<3>(c));
  }

  /// The number of blocks taken from the system so far; in steady state it does not grow.
  int blocks() const noexcept { return block_count_; }

  std::size_t reserved_bytes() const noexcept { return reserved_; }

  /// Of those, what has pages in memory, give or take a page for each free piece.
  std::size_t resident_bytes() const noexcept { return reserved_ - absent_; }

  /// From now on pages of free pieces are returned, at a fault for each when they are used again: for
  /// programs that write arrays to a file since memory is short.
  void return_pages() noexcept {
    if (!std::exchange(returns_pages_, true)) return_free_pages();
  }

private:
  static constexpr std::size_t unit        = 64;
  static constexpr std::size_t small_limit = 16 << 10;
  static constexpr std::size_t slab_bytes  = (64 << 10) - unit;
  static constexpr std::size_t page        = 4 << 10;
  static constexpr std::size_t huge_page   = 2 << 20;

  struct link {
    link* next;
  };

  struct block {
    block* next;
    void* start;
    std::size_t bytes;
  };

  /// The header of every large piece, free or not. A block ends with a piece of size 0 that is never free.
  struct alignas(unit) piece {
    std::size_t bytes  = 0;        // including this header
    piece* before      = nullptr;  // its neighbour in memory; null at the start of a block
    piece* previous    = nullptr;  // in its free list
    piece* next        = nullptr;
    std::size_t absent = 0;  // bytes without pages in memory; 0 if it is not free
    bool free          = false;

    piece* after() { return reinterpret_cast<piece*>(reinterpret_cast<std::byte*>(this) + bytes); }
    void* content() { return this + 1; }
  };
  static_assert(sizeof(piece) == unit && sizeof(block) <= unit);

  /// The smallest class that holds `bytes`, which are at least 64; each power of two has 2^Bits classes of
  /// equal width.
  template<int Bits>
  static constexpr std::size_t size_class(std::size_t bytes) {
    std::size_t const units = (bytes + unit - 1) / unit;
    int const shift         = std::max(0, static_cast<int>(std::bit_width(units)) - 1 - Bits);
    // may reach the next power of two: the class is the same
    std::size_t const steps = (units + (std::size_t{1} << shift) - 1) >> shift;
    return (static_cast<std::size_t>(shift) << Bits) + steps;
  }

  template<int Bits>
  static constexpr std::size_t class_bytes(std::size_t c) {
    std::size_t const per_power = std::size_t{1} << Bits;
    std::size_t const shift     = c < 2 * per_power ? 0 : c / per_power - 1;
    return ((c - shift * per_power) << shift) * unit;
  }

  /// The largest class whose size a free piece of `bytes` reaches.
  static constexpr std::size_t class_within(std::size_t bytes) {
    std::size_t const c = size_class<6>(bytes);
    return class_bytes<6>(c) > bytes ? c - 1 : c;
  }

  void* allocate_large(std::size_t bytes);

  void deallocate_large(void* content) noexcept;

  /// `q` follows `p` in memory, and neither is in a list.
  static void join(piece* p, piece* q) noexcept {
    p->bytes += q->bytes;
    p->absent += q->absent;
    p->after()->before = p;
    detail::poison(q, sizeof(piece));
  }

  void enter_list(piece* p) noexcept {
    std::size_t const c = class_within(p->bytes);
    p->free             = true;
    p->previous         = nullptr;
    p->next             = large_[c];
    if (p->next != nullptr) p->next->previous = p;
    large_[c] = p;
    filled_[c / 64] |= std::uint64_t{1} << c % 64;
  }

  void leave_list(piece* p) noexcept {
    std::size_t const c = class_within(p->bytes);
    p->free             = false;
    if (p->next != nullptr) p->next->previous = p->previous;
    if (p->previous != nullptr) {
      p->previous->next = p->next;
    } else {
      large_[c] = p->next;
      if (p->next == nullptr) filled_[c / 64] &= ~(std::uint64_t{1} << c % 64);
    }
  }

  /// A free piece of class `c`, or else of the next larger class that has one.
  piece* first_of_class(std::size_t c) const noexcept {
    std::uint64_t word = filled_[c / 64] >> c % 64 << c % 64;
    for (std::size_t i = c / 64;; word = filled_[i]) {
      if (word != 0) return large_[i * 64 + static_cast<std::size_t>(std::countr_zero(word))];
      if (++i == filled_.size()) return nullptr;
    }
  }

  void cut_slab(std::size_t c);

  /// Returns pages of free pieces, of the largest ones first, until few enough are in memory.
  void return_free_pages() noexcept;
  /// The same with pages of `each` bytes.
  void return_free_pages(std::size_t each) noexcept;

  /// A block is at least a 64th of the memory taken so far, so that few blocks are taken, but at most 256 MiB
  /// unless more is asked for, so that little is wasted. If the system can, it lies directly below the newest
  /// one and becomes a part of it: pieces of memory that the program no longer needs then merge across both,
  /// and a large array need not wait for a block of its own.
  void take_block(std::size_t whole, std::size_t asked);

  /// Whether the system gave the `bytes` below the newest block.
  bool take_below(std::size_t bytes);

  /// The place is a hint: what others have mapped there stays.
  static bool take_at(std::byte* place, std::size_t bytes);

  /// Memory that begins at a huge page: far from other memory if addresses are not scarce, so that the block
  /// can grow.
  std::byte* take_elsewhere(std::size_t bytes, std::size_t asked);

  [[noreturn]] void refuse(std::size_t bytes) const;

  std::array<link*, 64> small_{};
  std::array<piece*, 2304> large_{};
  std::array<std::uint64_t, 36> filled_{};
  block* blocks_        = nullptr;
  int block_count_      = 0;
  std::size_t reserved_ = 0;
  std::size_t in_use_   = 0;  // of large pieces
  std::size_t most_     = 0;  // that was ever in use
  std::size_t absent_   = 0;  // of reserved memory, what has no pages
  bool returns_pages_   = false;
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE pool::pool() = default;
MESHTF_DEFINE pool::~pool() {
  while (blocks_ != nullptr) {
    block const taken = *blocks_;
    detail::unpoison(taken.start, taken.bytes);
    munmap(taken.start, taken.bytes);
    blocks_ = taken.next;
  }
}

MESHTF_DEFINE void* pool::allocate_large(std::size_t bytes) {
  if (bytes > std::size_t{1} << 46) refuse(bytes);
  std::size_t const c     = size_class<6>(bytes + sizeof(piece));
  std::size_t const whole = class_bytes<6>(c);
  piece* p                = first_of_class(c);
  if (p == nullptr) {
    take_block(whole, bytes);
    p = first_of_class(c);
  }
  leave_list(p);
  // the upper end is given out, since a block grows at its lower one
  if (std::size_t const rest = p->bytes - whole; rest > small_limit) {
    p->bytes       = rest;
    piece* const q = p->after();
    detail::unpoison(q, sizeof(piece));
    *q                 = {.bytes = whole, .before = p, .absent = std::min(p->absent, whole)};
    q->after()->before = q;
    p->absent -= q->absent;
    enter_list(p);
    p = q;
  }
  in_use_ += p->bytes;
  most_ = std::max(most_, in_use_);
  if (p->absent != 0) {
    absent_ -= std::exchange(p->absent, 0);  // it will be written
    return_free_pages();
  }
  detail::unpoison(p->content(), bytes);
  return p->content();
}

MESHTF_DEFINE void pool::deallocate_large(void* content) noexcept {
  piece* p = static_cast<piece*>(content) - 1;
  in_use_ -= p->bytes;
  detail::poison(content, p->bytes - sizeof(piece));
  if (piece* const q = p->after(); q->free) {
    leave_list(q);
    join(p, q);
  }
  if (piece* const q = p->before; q != nullptr && q->free) {
    leave_list(q);
    join(q, p);
    p = q;
  }
  enter_list(p);
}

MESHTF_DEFINE void pool::return_free_pages() noexcept {
  return_free_pages(huge_page);  // one fault brings 2 MiB back
  return_free_pages(page);
}

MESHTF_DEFINE void pool::return_free_pages(std::size_t each) noexcept {
  std::size_t const allowed = most_ + most_ / 10;
  for (std::size_t c = large_.size(); c-- > 0 && resident_bytes() > allowed;) {
    for (piece* p = large_[c]; p != nullptr && resident_bytes() > allowed; p = p->next) {
      auto const content = reinterpret_cast<std::uintptr_t>(p->content());
      auto const start   = (content + each - 1) / each * each;
      auto const end     = reinterpret_cast<std::uintptr_t>(p->after()) / each * each;
      if (end <= start || end - start <= p->absent) continue;
      // MPI libraries that register memory with a network watch this call, as they do munmap
      if (madvise(reinterpret_cast<void*>(start), end - start, MADV_DONTNEED) != 0) return;
      absent_ += end - start - p->absent;
      p->absent = end - start;
    }
  }
}

MESHTF_DEFINE void pool::cut_slab(std::size_t c) {
  std::size_t const each = class_bytes<3>(c);
  auto* const slab       = static_cast<std::byte*>(allocate_large(slab_bytes));
  for (std::size_t position = slab_bytes / each * each; position != 0; position -= each) {
    small_[c] = ::new (slab + position - each) link{small_[c]};
  }
  detail::poison(slab, slab_bytes);
}

MESHTF_DEFINE void pool::take_block(std::size_t whole, std::size_t asked) {
  std::size_t const wanted = std::clamp(reserved_ / 64, huge_page, 128 * huge_page);
  auto const bytes_for     = [=](std::size_t missing) {
    return (std::max(wanted, missing) + huge_page - 1) / huge_page * huge_page;
  };
  piece const* const low =
      blocks_ == nullptr ? nullptr
                         : reinterpret_cast<piece const*>(static_cast<std::byte*>(blocks_->start) + unit);
  std::size_t bytes = bytes_for(whole - (low != nullptr && low->free ? low->bytes : 0));
  bool const below  = blocks_ != nullptr && take_below(bytes);
  if (!below) bytes = bytes_for(whole + 3 * unit);
  auto* const start = below ? static_cast<std::byte*>(blocks_->start) - bytes : take_elsewhere(bytes, asked);
#ifdef MADV_HUGEPAGE
  madvise(start, bytes, MADV_HUGEPAGE);
#endif
  // the first touch is slow: done once here, not in a step
  for (std::size_t position = 0; position < bytes && !returns_pages_; position += page) {
    start[position] = std::byte{0};
  }

  block const above = below ? *blocks_ : block{blocks_, nullptr, 0};
  piece* const next =
      reinterpret_cast<piece*>(below ? static_cast<std::byte*>(above.start) + unit : start + bytes - unit);
  if (!below) ::new (next) piece{};
  blocks_ = ::new (start) block{above.next, start, bytes + above.bytes};
  ++block_count_;
  reserved_ += bytes;

  auto const usable = static_cast<std::size_t>(reinterpret_cast<std::byte*>(next) - start) - unit;
  auto* const p     = ::new (start + unit) piece{.bytes = usable, .absent = returns_pages_ ? usable : 0};
  absent_ += p->absent;
  next->before = p;
  detail::poison(p->content(), p->bytes - sizeof(piece));
  if (next->free) {
    leave_list(next);
    join(p, next);
  }
  enter_list(p);
}

MESHTF_DEFINE bool pool::take_below(std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(blocks_->start) <= bytes) return false;
  return take_at(static_cast<std::byte*>(blocks_->start) - bytes, bytes);
}

MESHTF_DEFINE bool pool::take_at(std::byte* place, std::size_t bytes) {
  void* const mapped = mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == place) return true;
  if (mapped != MAP_FAILED) munmap(mapped, bytes);
  return false;
}

MESHTF_DEFINE std::byte* pool::take_elsewhere(std::size_t bytes, std::size_t asked) {
  constexpr std::size_t far = std::size_t{16} << 30;
  auto const to_huge_page   = [](void* p) {
    return (huge_page - reinterpret_cast<std::uintptr_t>(p) % huge_page) % huge_page;
  };
  void* const addresses =
      mmap(nullptr, bytes + 2 * far, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses != MAP_FAILED) {
    munmap(addresses, bytes + 2 * far);
    std::byte* const place = static_cast<std::byte*>(addresses) + to_huge_page(addresses) + far;
    if (take_at(place, bytes)) return place;
  }
  void* const mapped =
      mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) refuse(asked);
  auto* const from  = static_cast<std::byte*>(mapped);
  auto const before = to_huge_page(mapped);
  if (before != 0) munmap(from, before);
  munmap(from + before + bytes, huge_page - before);
  return from + before;
}

[[noreturn]] MESHTF_DEFINE void pool::refuse(std::size_t bytes) const {
  throw unavailable{"out of memory: the system refused " + std::to_string(bytes) +
                    " bytes, this process holds " + std::to_string(reserved_) +
                    " already: split more dimensions, or use more machines"};
}

#endif

}  // namespace v0
}  // namespace meshtf
