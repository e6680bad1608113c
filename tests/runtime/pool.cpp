// The pool: memory that is taken once, given out aligned, and never handed to two at a time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <utility>
#include <vector>

#include <unistd.h>

#include <meshtf/runtime/pool.hpp>

#include "../catch.hpp"

using namespace meshtf;

namespace {

struct held {
  unsigned char* start;
  std::size_t bytes;
  unsigned char mark;
};

bool is_intact(held const& h) {
  for (std::size_t k = 0; k < h.bytes; k += h.bytes > 4096 ? 509 : 1)
    if (h.start[k] != h.mark) return false;
  return h.bytes == 0 || h.start[h.bytes - 1] == h.mark;
}

}  // namespace

TEST_CASE("pieces are aligned and keep what was written to them") {
  pool p;
  std::mt19937 random{1};
  std::vector<held> all;
  for (int turn = 0; turn < 20000; ++turn) {
    if (all.size() > 200 || (!all.empty() && random() % 3 == 0)) {
      auto const k = random() % all.size();
      REQUIRE(is_intact(all[k]));
      p.deallocate(all[k].start, all[k].bytes);
      all[k] = all.back();
      all.pop_back();
    } else {
      std::size_t const bytes = random() % (std::size_t{1} << (random() % 20));
      auto* const start       = static_cast<unsigned char*>(p.allocate(bytes));
      REQUIRE(reinterpret_cast<std::uintptr_t>(start) % 64 == 0);
      all.push_back({start, bytes, static_cast<unsigned char>(random())});
      std::memset(start, all.back().mark, bytes);
    }
  }
  for (auto const& h : all) {
    REQUIRE(is_intact(h));
    p.deallocate(h.start, h.bytes);
  }
}

TEST_CASE("a repeated step takes no new block after its first turns") {
  pool p;
  auto const step = [&] {
    std::mt19937 random{7};
    std::vector<std::pair<void*, std::size_t>> forward;
    for (int k = 0; k < 300; ++k) {
      std::size_t const bytes = random() % (std::size_t{1} << (random() % 22));
      forward.emplace_back(p.allocate(bytes), bytes);
      if (k % 3 == 0) {
        auto const [start, size] = forward[random() % forward.size()];
        forward.erase(std::find(forward.begin(), forward.end(), std::pair{start, size}));
        p.deallocate(start, size);
      }
    }
    while (!forward.empty()) {
      p.deallocate(forward.back().first, forward.back().second);
      forward.pop_back();
    }
  };
  step();
  step();
  int const blocks       = p.blocks();
  std::size_t const held = p.reserved_bytes();
  for (int k = 0; k < 20; ++k) step();
  CHECK(p.blocks() == blocks);
  CHECK(p.reserved_bytes() == held);
}

TEST_CASE("what is freed is used for other sizes") {
  pool p;
  constexpr std::size_t mebibyte = 1 << 20;
  void* const wide               = p.allocate(64 * mebibyte);
  p.deallocate(wide, 64 * mebibyte);
  std::size_t const held = p.reserved_bytes();

  std::vector<void*> narrow;
  for (int k = 0; k < 60; ++k) narrow.push_back(p.allocate(mebibyte));
  CHECK(p.reserved_bytes() == held);
  for (std::size_t k = 0; k < 60; k += 2) p.deallocate(narrow[k], mebibyte);
  for (std::size_t k = 1; k < 60; k += 2) p.deallocate(narrow[k], mebibyte);
  CHECK(p.allocate(64 * mebibyte) == wide);
  CHECK(p.reserved_bytes() == held);
}

TEST_CASE("little more is taken than was asked for") {
  pool p;
  constexpr std::size_t each = 1 << 20;
  for (int k = 0; k < 100; ++k) std::memset(p.allocate(each), 1, each);
  CHECK(p.reserved_bytes() < 104 * each);  // a 64th for growth, a 64th for rounding
}

TEST_CASE("a large piece lies across what were blocks of their own") {
  pool p;
  constexpr std::size_t mebibyte = 1 << 20;
  std::vector<void*> pieces;
  for (int k = 0; k < 40; ++k) pieces.push_back(p.allocate(2 * mebibyte));
  std::size_t const held = p.reserved_bytes();
  REQUIRE(p.blocks() > 4);
  for (void* start : pieces) p.deallocate(start, 2 * mebibyte);
  void* const wide = p.allocate(79 * mebibyte);
  std::memset(wide, 1, 79 * mebibyte);
  CHECK(p.reserved_bytes() == held);
  p.deallocate(wide, 79 * mebibyte);
}

TEST_CASE("nothing is a size too") {
  pool p;
  void* const a = p.allocate(0);
  void* const b = p.allocate(0);
  CHECK(a != nullptr);
  CHECK(a != b);
  p.deallocate(a, 0);
  p.deallocate(b, 0);
  p.deallocate(nullptr, 0);
}

TEST_CASE("a size that no machine has is refused with its number") {
  pool p;
  CHECK_THROWS_WITH(p.allocate(std::size_t{1} << 60), Catch::Contains("1152921504606846976 bytes"));
  CHECK(p.allocate(100) != nullptr);
}

namespace {

/// What the address sanitizer has in memory about each 8 bytes of the pools of this test: a byte.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t of_sanitizer = 12 << 20;
#elif defined(__has_feature)
constexpr std::size_t of_sanitizer = __has_feature(address_sanitizer) ? 12 << 20 : 0;
#else
constexpr std::size_t of_sanitizer = 0;
#endif

/// Bytes of this process in memory.
std::size_t resident() {
  std::size_t whole = 0;
  std::size_t pages = 0;
  REQUIRE(std::ifstream{"/proc/self/statm"} >> whole >> pages);
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("pages of gaps between arrays are returned to a system that is short of memory") {
  constexpr std::size_t mebibyte = 1 << 20;
  constexpr std::size_t most     = 64 * mebibyte;
  bool const returns             = GENERATE(true, false);
  pool p;
  std::size_t const before = resident();
  std::vector<held> all;
  auto const take = [&](std::size_t bytes) {
    all.push_back(
        {static_cast<unsigned char*>(p.allocate(bytes)), bytes, static_cast<unsigned char>(all.size() + 1)});
    std::memset(all.back().start, all.back().mark, bytes);
  };
  for (int k = 0; k < 60; ++k) take(mebibyte);
  if (returns) p.return_pages();
  for (int k = 0; k < 60; k += 2) p.deallocate(all[static_cast<std::size_t>(k)].start, mebibyte);
  for (int k = 0; k < 10; ++k) take(3 * mebibyte);  // of which none fits into a gap
  for (std::size_t k = 0; k < all.size(); ++k)
    if (k >= 60 || k % 2 == 1) CHECK(is_intact(all[k]));

  CHECK(p.reserved_bytes() > 88 * mebibyte);
  std::size_t const grown = resident() - before;
  if (returns) {
    CHECK(p.resident_bytes() < most + most / 10);
    CHECK(grown < most + most / 8 + of_sanitizer);
  } else {
    CHECK(p.resident_bytes() == p.reserved_bytes());
    CHECK(grown > 80 * mebibyte);
  }
  for (int k = 0; k < 25; ++k) take(mebibyte);  // into the gaps, whose pages come back
  for (std::size_t k = 60; k < all.size(); ++k) CHECK(is_intact(all[k]));
  if (returns) CHECK(p.resident_bytes() < 92 * mebibyte);
  CHECK(p.resident_bytes() <= p.reserved_bytes());
}
