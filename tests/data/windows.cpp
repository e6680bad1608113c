// Windows of a text: the same whole batch under every layout, from any step on; in order, every byte once.
#ifndef MESHTF_POISON
#define MESHTF_POISON  // what nobody fills is NaN, or -1
#endif
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <boost/mpi/communicator.hpp>

#include <meshtf/data/windows.hpp>
#include <meshtf/io/global.hpp>

#include "../accounting/heap.hpp"
#include "../catch.hpp"

using namespace meshtf;

namespace {

// clang-format off
struct batch  : dim<8>  {};
struct few    : dim<3>  {};
struct length : dim<12> {};
struct brief  : dim<5>  {};
struct four   : dim<4>  {};

struct one  : axis<1> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct third : axis<3> {};
struct lone : mesh<one> {};
struct trio : mesh<third> {};
struct grid : mesh<rows, cols> {};

struct single        : layout<lone> {};
struct replicated    : layout<grid> {};
struct by_batch      : layout<grid, split<batch, rows>> {};
struct by_length     : layout<grid, split<length, cols>> {};
struct mixed         : layout<grid, split<batch, rows>, split<length, cols>> {};
struct turned        : layout<grid, split<batch, cols>, split<length, rows>> {};
struct batch_by_two  : layout<grid, split<batch, cols, rows>> {};
struct length_by_two : layout<grid, split<length, cols, rows>> {};
struct batch_thirds  : layout<trio, padded<batch, third>, padded<four, third>> {};   // 3 + 3 + 2, 2 + 2 + 0
struct length_thirds : layout<trio, padded<brief, third>, padded<four, third>> {};   // 2 + 2 + 1
// clang-format on

/// No two windows of four bytes or more are alike, and no byte is 0.
text numbered(extent size) {
  text t{"numbered", {}};
  for (extent i = 0; i < size; ++i)
    t.bytes.push_back(static_cast<char>(1 + (i % 2 == 0 ? i / 2 % 251 : (i / 2 / 251 + i / 2) % 241)));
  return t;
}

/// What `next` of one process gives: a batch in memory order.
struct seen {
  std::vector<int> ids;
  std::vector<int> targets;
  std::vector<double> weights;
  friend bool operator==(seen const&, seen const&) = default;
};

template<class X>
auto elements(X const& x) {
  auto const whole = to_global(x);
  return std::vector<typename X::element_type>(whole.begin(), whole.end());
}

/// Under L, the whole batch of `windows` that comes next.
template<class L, class Batch = batch, class Length = length>
struct reader {
  process_mesh<typename L::mesh_type> m{L::mesh_type::size == 1 ? MPI_COMM_SELF : MPI_COMM_WORLD};
  tensor<int, L, Batch, Length> ids{m};
  tensor<int, L, Batch, Length> targets{m};
  tensor<double, L, Batch, Length> weights{m};

  seen next(random_windows& windows) {
    windows.next(ids, targets);
    return {elements(ids), elements(targets), {}};
  }
  bool next(windows_in_order& windows, seen& batch_seen) {
    if (!windows.next(ids, targets, weights)) return false;
    batch_seen = {elements(ids), elements(targets), elements(weights)};
    return true;
  }
};

std::vector<extent> starts_of(text const& from, seen const& s) {
  std::vector<extent> starts;
  for (std::size_t b = 0; b < s.ids.size(); b += length::size) {
    std::string window;
    for (std::size_t k = 0; k < length::size; ++k) window.push_back(static_cast<char>(s.ids[b + k]));
    starts.push_back(static_cast<extent>(from.bytes.find(window)));
  }
  return starts;
}

template<class L, class Batch = batch, class Length = length>
void check_random_like_one_process(text const& from) {
  reader<L, Batch, Length> many;
  reader<single, Batch, Length> alone;
  random_windows windows{from, 5};
  random_windows reference{from, 5};
  for (int i = 0; i < 5; ++i) REQUIRE(many.next(windows) == alone.next(reference));
}

template<class L, class Batch = batch, class Length = length>
void check_in_order_like_one_process(text const& from) {
  reader<L, Batch, Length> many;
  reader<single, Batch, Length> alone;
  windows_in_order windows{from};
  windows_in_order reference{from};
  CHECK(windows.count() == reference.count());
  int batches = 0;
  for (seen ours, truth; alone.next(reference, truth); ++batches) {
    REQUIRE(many.next(windows, ours));
    REQUIRE(ours == truth);
  }
  seen beyond;
  CHECK(!many.next(windows, beyond));
  constexpr extent bytes = Batch::size * Length::size;
  CHECK(batches == (from.size() - 1 + bytes - 1) / bytes);
}

/// Every target once, in order, each after the id that it follows; nothing but zeros beyond.
template<class Batch, class Length>
void check_exact(extent size) {
  CAPTURE(size, Batch::size, Length::size);
  auto const from = numbered(size);
  reader<single, Batch, Length> alone;
  windows_in_order windows{from};
  CHECK(windows.count() == size - 1);
  std::string ids;
  std::string targets;
  double weights = 0;
  for (seen s; alone.next(windows, s);)
    for (std::size_t i = 0; i < s.ids.size(); ++i) {
      weights += s.weights[i];
      if (s.weights[i] == 0) {
        CHECK((s.ids[i] == 0 && s.targets[i] == 0));
      } else {
        REQUIRE(s.weights[i] == 1);
        ids.push_back(static_cast<char>(s.ids[i]));
        targets.push_back(static_cast<char>(s.targets[i]));
      }
    }
  CHECK(weights == static_cast<double>(size - 1));
  CHECK(ids == from.bytes.substr(0, from.bytes.size() - 1));
  CHECK(targets == from.bytes.substr(1));
  seen beyond;
  CHECK(!alone.next(windows, beyond));
}

template<class F>
std::string refusal(F const& f) {
  try {
    f();
  } catch (error const& e) {
    return std::to_string(e.exit_status()) + " " + e.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("a window is a piece of the text, and its targets follow") {
  auto const from = numbered(1000);
  reader<single> alone;
  random_windows windows{from, 1};
  std::set<extent> all;
  for (int i = 0; i < 20; ++i) {
    auto const s      = alone.next(windows);
    auto const starts = starts_of(from, s);
    for (std::size_t b = 0; b < starts.size(); ++b) {
      REQUIRE(starts[b] >= 0);
      all.insert(starts[b]);
      for (std::size_t k = 0; k < length::size; ++k)
        REQUIRE(s.targets[b * length::size + k] ==
                static_cast<unsigned char>(from.bytes[static_cast<std::size_t>(starts[b]) + k + 1]));
    }
  }
  CHECK(all.size() > 130);  // of 988 starts, 160 draws
}

TEST_CASE("windows depend on the seed, the step and their number, and go on from any step") {
  auto const from = numbered(5000);
  reader<single> alone;
  random_windows windows{from, 7};
  std::vector<seen> steps;
  for (int i = 0; i < 4; ++i) {
    CHECK(windows.step() == i);
    steps.push_back(alone.next(windows));
  }
  CHECK(steps[0] != steps[1]);
  random_windows later{from, 7};
  later.seek(2);
  CHECK(alone.next(later) == steps[2]);
  CHECK(alone.next(later) == steps[3]);
  CHECK(later.step() == 4);
  later.seek(0);
  CHECK(alone.next(later) == steps[0]);
  random_windows other{from, 8};
  CHECK(alone.next(other) != steps[0]);

  // a batch of another size begins with the same windows
  reader<single, few> small;
  windows.seek(1);
  auto const first = small.next(windows);
  CHECK(std::equal(first.ids.begin(), first.ids.end(), steps[1].ids.begin()));

  // a run that is resumed far on
  windows.seek(extent{1} << 40);
  CHECK(alone.next(windows) != steps[0]);
}

TEST_CASE("every start is as likely, the first and the last too") {
  auto const from = numbered(length::size + 4);
  reader<single> alone;
  random_windows windows{from, 3};
  double times[4]{};
  constexpr int n = 1000;
  for (int i = 0; i < n; ++i)
    for (extent start : starts_of(from, alone.next(windows))) {
      REQUIRE((start >= 0 && start < 4));
      ++times[start];
    }
  for (double t : times) CHECK(std::abs(t / (8 * n) - 0.25) < 5 * 0.433 / std::sqrt(8.0 * n));
}

TEST_CASE("the shortest text has one window") {
  auto const from = numbered(length::size + 1);
  reader<single> alone;
  random_windows windows{from, 3};
  for (extent start : starts_of(from, alone.next(windows))) CHECK(start == 0);
}

TEST_CASE("whole batches of windows are the same under every layout", "[4]") {
  auto const from = numbered(1000);
  check_random_like_one_process<replicated>(from);
  check_random_like_one_process<by_batch>(from);
  check_random_like_one_process<by_length>(from);
  check_random_like_one_process<mixed>(from);
  check_random_like_one_process<turned>(from);
  check_random_like_one_process<batch_by_two>(from);
  check_random_like_one_process<length_by_two>(from);
}

TEST_CASE("windows in order: every byte but the first is a target once") {
  for (extent size : {2, 3, 12, 13, 14, 96, 97, 98, 193, 200, 1000}) check_exact<batch, length>(size);
  check_exact<few, brief>(1000);
  check_exact<batch, brief>(77);
}

TEST_CASE("windows in order are the same under every layout", "[4]") {
  // the last batch: one target, half a batch, none but a whole one, and some over
  for (extent size : {2, 50, 97, 200, 205}) {
    auto const from = numbered(size);
    check_in_order_like_one_process<replicated>(from);
    check_in_order_like_one_process<by_batch>(from);
    check_in_order_like_one_process<by_length>(from);
    check_in_order_like_one_process<mixed>(from);
    check_in_order_like_one_process<turned>(from);
    check_in_order_like_one_process<batch_by_two>(from);
    check_in_order_like_one_process<length_by_two>(from);
  }
}

TEST_CASE("windows whose processes hold unequally much of them are the same", "[3]") {
  for (extent size : {6, 13, 14, 50, 97, 205}) {
    auto const from = numbered(size);
    if (size >= 13) check_random_like_one_process<batch_thirds>(from);
    if (size >= 13) check_random_like_one_process<batch_thirds, four, length>(from);
    check_random_like_one_process<length_thirds, batch, brief>(from);
    check_random_like_one_process<length_thirds, batch, four>(from);
    check_in_order_like_one_process<batch_thirds>(from);
    check_in_order_like_one_process<batch_thirds, four, length>(from);
    check_in_order_like_one_process<length_thirds, batch, brief>(from);
    check_in_order_like_one_process<length_thirds, batch, four>(from);
  }
}

TEST_CASE("windows past the held ones are left alone", "[3]") {
  process_mesh<trio> m{boost::mpi::communicator{}};
  auto const from = numbered(50);
  tensor<int, length_thirds, batch, brief> ids{m};
  tensor<int, length_thirds, batch, brief> targets{m};
  auto const others = [&] {
    return std::pair{std::count(ids.data(), ids.data() + ids.size, -77),
                     std::count(targets.data(), targets.data() + targets.size, -77)};
  };
  for (auto* x : {&ids, &targets}) std::fill_n(x->data(), x->size, -77);
  random_windows{from, 1}.next(ids, targets);
  CHECK(others() == (m.rank() == 2 ? std::pair{batch::size, batch::size} : std::pair{extent{0}, extent{0}}));
}

TEST_CASE("windows and their weights in single precision") {
  auto const from = numbered(20);
  process_mesh<lone> m{MPI_COMM_SELF};
  tensor<int, single, few, brief> ids{m};
  tensor<int, single, few, brief> targets{m};
  tensor<float, single, few, brief> weights{m};
  windows_in_order windows{from};
  REQUIRE(windows.next(ids, targets, weights));
  CHECK(std::all_of(weights.data(), weights.data() + 15, [](float w) { return w == 1; }));
  REQUIRE(windows.next(ids, targets, weights));
  CHECK(std::count(weights.data(), weights.data() + 15, 1.0f) == 4);
  CHECK(std::count(weights.data(), weights.data() + 15, 0.0f) == 11);
}

TEST_CASE("texts that are too short are refused") {
  reader<single> alone;
  auto const brief_text = numbered(12);
  random_windows windows{brief_text};
  CHECK(refusal([&] { alone.next(windows); }) ==
        "65 expected at least 13 bytes, a window of 12 and the byte after it, got 12 in numbered: take a "
        "longer text, or compile for shorter windows");
  CHECK(windows.step() == 0);
  for (extent size : {0, 1}) {
    auto const none = numbered(size);
    CHECK(refusal([&] { windows_in_order{none}; }) ==
          "65 expected at least 2 bytes, one to predict and one before it, got " + std::to_string(size) +
              " in numbered: take a longer text");
  }
  CHECK(refusal([&] { windows.seek(-1); }) ==
        "70 expected a step from 0 on, got -1: steps are counted from the start of the training");
}

TEST_CASE("a batch of windows takes no memory, and counts as written") {
  auto const from = numbered(1000);
  reader<single> alone;
  random_windows windows{from, 1};
  auto const version = alone.ids.handle()->version();
  auto const before  = heap::allocations();
  for (int i = 0; i < 10; ++i) windows.next(alone.ids, alone.targets);
  windows_in_order all{from};
  while (all.next(alone.ids, alone.targets, alone.weights)) {
  }
  CHECK(heap::allocations() == before);
  CHECK(alone.ids.handle()->version() != version);
  CHECK(alone.targets.handle()->version() != 0);
  CHECK(alone.weights.handle()->version() != 0);
}
