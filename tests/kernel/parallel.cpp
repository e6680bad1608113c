// The threads of a process: every part runs once, on any number of threads, exceptions reach the caller, and
// nothing hangs.
#include "../catch.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <meshtf/core/error.hpp>
#include <meshtf/kernel/parallel.hpp>

using namespace meshtf::kernel;
using meshtf::extent;

namespace {

/// So many threads until the end of the scope.
struct with_threads {
  explicit with_threads(int n) { use_threads(n); }
  ~with_threads() { use_threads(1); }
};

}  // namespace

TEST_CASE("every part runs once, whatever the number of threads") {
  for (int n : {1, 2, 3, 4, 7}) {
    with_threads const some{n};
    REQUIRE(thread_count() == n);
    std::vector<std::atomic<int>> count(16);
    for (int round = 0; round < 2000; ++round) {
      extent const parts = round % 17;
      parallel_parts(parts, [&](extent part, int thread) {
        if (thread >= 0 && thread < n) ++count[static_cast<std::size_t>(part)];
      });
    }
    for (std::size_t part = 0; part < 16; ++part)
      CHECK(count[part] ==
            2000 / 17 * (16 - static_cast<int>(part)) + std::max(0, 2000 % 17 - 1 - static_cast<int>(part)));
  }
}

TEST_CASE("ranges cover everything, begin at the grain, and do not depend on the number of threads") {
  for (extent n : {1, 63, 64, 65, 1000, 40000})
    for (extent grain : {1, 16, 64}) {
      std::set<std::pair<extent, extent>> expected;
      for (int t : {1, 2, 4}) {
        with_threads const some{t};
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
        std::vector<std::pair<extent, extent>> ranges(16, {0, 0});
        std::atomic<std::size_t> count = 0;
        parallel_for(n, grain, 1 << 20, [&](extent begin, extent end) {
          ranges[count++] = {begin, end};
          for (extent i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        std::set<std::pair<extent, extent>> const found(
            ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(count.load()));
        CHECK(std::all_of(seen.begin(), seen.end(), [](auto const& x) { return x == 1; }));
        CHECK(std::all_of(found.begin(), found.end(), [&](auto const& r) { return r.first % grain == 0; }));
        if (t == 1) expected = found;
        CHECK(found == expected);
      }
    }
}

TEST_CASE("little work stays on the thread that has it") {
  with_threads const some{2};
  int calls = 0;
  parallel_for(10000, 1, worth_dividing - 1, [&](extent begin, extent end, int thread) {
    ++calls;
    CHECK(begin == 0);
    CHECK(end == 10000);
    CHECK(thread == 0);
  });
  CHECK(calls == 1);
}

TEST_CASE("the exception of the first part that throws reaches the caller, and the next work runs") {
  for (int n : {1, 2, 4}) {
    with_threads const some{n};
    for (int round = 0; round < 50; ++round) {
      std::string said;
      try {
        parallel_parts(16, [](extent part, int) {
          if (part >= 5) throw meshtf::data_error("part " + std::to_string(part));
        });
      } catch (meshtf::data_error const& e) {
        said = e.what();
      }
      CHECK(said == "part 5");
      CHECK(meshtf::error::latest().text == "part 5");
      std::atomic<int> ran = 0;
      parallel_parts(16, [&](extent, int) { ++ran; });
      CHECK(ran == 16);
    }
  }
}

TEST_CASE("work within a part runs on the thread of the part") {
  with_threads const some{4};
  std::atomic<int> ran = 0;
  parallel_parts(8, [&](extent, int) {
    auto const me = pthread_self();
    parallel_parts(
        8, [&](extent, int thread) { ran += thread == 0 && pthread_equal(me, pthread_self()) ? 1 : 0; });
  });
  CHECK(ran == 64);
}

TEST_CASE("helpers flush denormals if the caller does, whenever it begins") {
  auto const before = float_control();
  with_threads const some{4};
  for (bool flushes : {false, true, false}) {
    set_float_control(flushes ? before | flushes_denormals : before & ~flushes_denormals);
    std::atomic<int> zeros = 0;
    for (int round = 0; round < 20; ++round) {
      std::vector<float> z(16);
      parallel_parts(16, [&](extent part, int) {
        float volatile least = std::numeric_limits<float>::min();
        usleep(20);  // so that each thread gets some
        z[static_cast<std::size_t>(part)] = least / 2;
      });
      // x == 0 may hold for a denormal
      for (float x : z) zeros += std::bit_cast<std::uint32_t>(x) == 0 ? 1 : 0;
    }
    CHECK(zeros == (flushes && flushes_denormals != 0 ? 320 : 0));
  }
  set_float_control(before);
}

TEST_CASE("a process that is forked does its work alone") {
  with_threads const some{3};
  parallel_parts(16, [](extent, int) {});
  pid_t const child = fork();
  if (child == 0) {
    std::atomic<int> ran = 0;
    parallel_parts(16, [&](extent, int) { ++ran; });
    _exit(ran == 16 && thread_count() == 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
