// Prefetched batches: the same as without, in the same order, from any step on, and errors where they belong.
// test: processes 1 2 4
#ifndef MESHTF_POISON
#define MESHTF_POISON  // what nobody fills is NaN, or -1
#endif
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <boost/mpi/communicator.hpp>

#include <meshtf/data/batches.hpp>
#include <meshtf/data/prefetched.hpp>
#include <meshtf/data/windows.hpp>
#include <meshtf/io/global.hpp>
#include <meshtf/tensor/counted.hpp>

#include "../../examples/translation_pairs.hpp"
#include "../catch.hpp"

using namespace meshtf;

namespace {

// clang-format off
struct batch  : dim<8>   {};
struct some   : up_to<8> {};
struct length : dim<12>  {};
struct height : dim<3>   {};
struct width  : dim<4>   {};

struct one  : axis<1> {};
struct two  : axis<2> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct lone : mesh<one> {};
struct pair : mesh<two> {};
struct grid : mesh<rows, cols> {};

struct single : layout<lone> {};
struct halves : layout<pair, split<length, two>, split<width, two>> {};
struct mixed  : layout<grid, split<batch, rows>, split<length, cols>, split<width, cols>> {};
// clang-format on

/// f.operator()<L>() under the layout for as many processes as there are.
template<class F>
void under_this_layout(F const& f) {
  switch (boost::mpi::communicator{}.size()) {
    case 1: return f.template operator()<single>();
    case 2: return f.template operator()<halves>();
    default: return f.template operator()<mixed>();
  }
}

text some_text() {
  text t{"some", {}};
  for (int i = 0; i < 2000; ++i) t.bytes.push_back(static_cast<char>(1 + (i * 7919 >> 3) % 120));
  return t;
}

labelled_images some_images() {
  labelled_images images{"some", 21, 12, {}, {}, {}};
  for (std::size_t b = 0; b < 21 * 12; ++b) images.bytes.push_back(static_cast<std::uint8_t>(b));
  for (std::size_t i = 0; i < 21; ++i) images.labels.push_back(static_cast<std::uint8_t>(i % 10));
  for (std::size_t byte = 0; byte < 256; ++byte) images.value[byte] = static_cast<float>(byte);
  return images;
}

std::vector<pair_of_ids> some_pairs() {
  std::vector<pair_of_ids> pairs;
  for (std::int32_t i = 1; i <= 30; ++i)
    pairs.push_back({id_list(static_cast<std::size_t>(1 + i % 5), i),
                     id_list(static_cast<std::size_t>(1 + i % 7), 100 + i)});
  return pairs;
}

template<class... X>
std::vector<double> elements(X const&... x) {
  std::vector<double> all;
  (
      [&] {
        auto const whole = to_global(x);
        for (auto const element : whole) all.push_back(static_cast<double>(element));
      }(),
      ...);
  return all;
}
std::vector<double> elements(batch_of_pairs const& b) {
  std::vector<double> all;
  for (auto const* side : {&b.source, &b.target})
    for (auto const* array : {&side->ids, &side->segments})
      all.insert(all.end(), array->begin(), array->end());
  return all;
}

template<class L, class Batch = batch>
struct windows_of {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  tensor<int, L, Batch, length> ids{m};
  tensor<int, L, Batch, length> targets{m};

  auto operator()(auto& reader) {
    reader.next(ids, targets);
    return elements(ids, targets);
  }
};
template<class L, class Batch = batch>
struct images_of {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  tensor<float, L, Batch, height, width> x{m};
  tensor<int, L, Batch> labels{m};

  auto operator()(auto& reader) {
    reader.next(x, labels);
    return elements(x, labels);
  }
};
struct pairs_of {
  auto operator()(auto& reader) { return elements(reader.next()); }
};

/// Eight batches of a copy of `reader`, then from another step on, are as without prefetching.
template<class Next, class Reader>
void check_same(Next&& next, Reader const& reader) {
  for (int const ahead : {1, 3}) {
    CAPTURE(ahead);
    Reader plain = reader;
    prefetched batches{Reader{reader}, ahead};
    for (int i = 0; i < 8; ++i) {
      REQUIRE(batches.step() == i);
      auto const expected = next(plain);
      REQUIRE(next(batches) == expected);
    }
    for (extent const step : {5, 2, 11}) {
      plain.seek(step);
      batches.seek(step);
      CHECK(batches.step() == step);
      for (int i = 0; i < 2; ++i) {
        auto const expected = next(plain);
        REQUIRE(next(batches) == expected);
      }
    }
    // what was consumed counts, and not what was read ahead
    Reader later = reader;
    later.seek(batches.position());
    auto const expected = next(later);
    CHECK(next(batches) == expected);
  }
}

/// Counts, and fails at batch number `bad`, as often as it is asked for.
struct counting_reader {
  int bad                     = -1;
  extent at                   = 0;
  std::chrono::milliseconds t = {};

  int next() {
    std::this_thread::sleep_for(t);
    if (at == bad) throw data_error("expected a sound batch, got number " + std::to_string(at));
    return static_cast<int>(at++);
  }
  void seek(extent step) { at = step; }
  extent position() const { return at; }
};

std::string said_by(auto const& f) {
  try {
    f();
  } catch (error const& e) {
    return std::to_string(e.exit_status()) + " " + e.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("prefetched batches are those of the reader, in the same order, from any step on") {
  auto const from   = some_text();
  auto const images = some_images();
  auto const pairs  = some_pairs();
  under_this_layout([&]<class L>() {
    check_same(windows_of<L>{}, random_windows{from, 7});
    check_same(images_of<L>{}, shuffled_batches{images, 5});
    check_same(pairs_of{}, packed_batches{pairs, 3, 4, 8, 9});
  });
}

TEST_CASE("a call under other counts, or for other tensors, gets the batch that it would get") {
  auto const images = some_images();
  process_mesh<lone> m{MPI_COMM_SELF};
  tensor<float, single, some, height, width> x{m};
  tensor<int, single, some> labels{m};
  tensor<double, single, batch, height, width> wide{m};
  tensor<int, single, batch> wide_labels{m};
  prefetched batches{shuffled_batches{images, 5}, 3};
  shuffled_batches plain{images, 5};
  auto const one_of = [&](auto& reader, int i) {
    if (i % 5 == 4) {
      reader.next(wide, wide_labels);
      return elements(wide, wide_labels);
    }
    counted<some> const guard{m, 1 + i / 2 % 8};  // twice the same
    reader.next(x, labels);
    return elements(x, labels);
  };
  for (int i = 0; i < 20; ++i) {
    auto const expected = one_of(plain, i);
    REQUIRE(one_of(batches, i) == expected);
    CHECK(batches.position() == plain.position());
  }
}

TEST_CASE("an error is thrown where its batch is asked for, and again by a reader that fails again") {
  for (int const ahead : {1, 3}) {
    prefetched batches{counting_reader{.bad = 4}, ahead};
    for (int i = 0; i < 4; ++i) CHECK(batches.next() == i);
    CHECK(batches.position() == 4);
    for (int i = 0; i < 2; ++i) {
      CHECK(said_by([&] { batches.next(); }) == "65 expected a sound batch, got number 4");
      CHECK(error::latest().exit_status == 65);
    }
    CHECK(batches.step() == 4);
    batches.seek(5);
    CHECK(batches.next() == 5);
    batches.seek(3);
    CHECK(batches.next() == 3);
  }
  // an error that nobody asks for is none, as without prefetching
  prefetched batches{counting_reader{.bad = 2}, 3};
  CHECK(batches.next() == 0);
}

TEST_CASE("errors of a text are thrown on the processes that read it") {
  text const brief{"brief", "too short"};
  under_this_layout([&]<class L>() {
    windows_of<L> all;
    prefetched windows{random_windows{brief}};
    CHECK(said_by([&] { windows.next(all.ids, all.targets); }).starts_with("65 expected at least 13 bytes"));
    CHECK_THROWS_AS(windows.seek(-1), software_error);
  });
  CHECK(said_by([] { prefetched{counting_reader{}, 0}; }) ==
        "70 expected to prefetch 1 batch or more, got 0: without prefetching, call the reader itself");
}

TEST_CASE("the consumer may end by an exception, before and while the thread reads") {
  using namespace std::chrono_literals;
  {
    prefetched never_asked{counting_reader{}, 3};
  }
  for (auto const pause : {0ms, 20ms}) {
    CHECK_THROWS_AS(([&] {
                      prefetched batches{counting_reader{.t = pause}, 3};
                      batches.next();
                      throw stale_value{"the consumer"};
                    }()),
                    stale_value);
  }
}

TEST_CASE("no more batches are read ahead than was said") {
  struct noting_reader {
    int* read;
    int next() { return ++*read; }
    void seek(extent) {}
    extent position() const { return *read; }
  };
  int read = 0;
  {
    prefetched batches{noting_reader{&read}, 2};
    CHECK(batches.next() == 1);
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  CHECK(read <= 3);
  CHECK(read >= 1);
}
