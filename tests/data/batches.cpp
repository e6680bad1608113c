// Batches: every image once an epoch, in an order of its own, and the same whole batch under every layout.
#ifndef MESHTF_POISON
#define MESHTF_POISON  // what nobody fills is NaN, or -1
#endif
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <boost/mpi/communicator.hpp>

#include <meshtf/data/batches.hpp>
#include <meshtf/io/global.hpp>
#include <meshtf/ops/index.hpp>
#include <meshtf/ops/pointwise.hpp>
#include <meshtf/ops/reduce.hpp>

#include "../accounting/heap.hpp"
#include "../catch.hpp"

using namespace meshtf;

namespace {

// clang-format off
struct batch  : dim<8>  {};
struct few    : dim<4>  {};
struct many   : dim<128> {};
struct some   : up_to<8> {};
struct pixels : dim<12> {};
struct height : dim<3>  {};
struct width  : dim<4>  {};

struct one  : axis<1> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct third : axis<3> {};
struct lone : mesh<one> {};
struct grid : mesh<rows, cols> {};

struct trio : mesh<third> {};

struct single        : layout<lone> {};
struct replicated    : layout<grid> {};
struct by_image      : layout<grid, split<batch, rows>> {};
struct by_pixel      : layout<grid, split<pixels, cols>, split<width, cols>> {};
struct mixed         : layout<grid, split<batch, cols>, split<pixels, rows>, split<width, rows>> {};
struct image_by_two  : layout<grid, split<batch, cols, rows>> {};
struct pixel_by_two  : layout<grid, split<pixels, cols, rows>, split<width, rows, cols>> {};
struct image_thirds  : layout<trio, padded<batch, third>, padded<few, third>, padded<many, third>> {};
struct width_thirds  : layout<trio, padded<width, third>> {};   // 2 + 2 + 0
// clang-format on

/// 21 images: no multiple of a batch. Byte k of image i is 12 i + k, its label i modulo 10.
labelled_images numbered() {
  labelled_images images{"numbered", 21, 12, {}, {}, {}};
  for (std::size_t b = 0; b < 21 * 12; ++b) images.bytes.push_back(static_cast<std::uint8_t>(b));
  for (std::size_t i = 0; i < 21; ++i) images.labels.push_back(static_cast<std::uint8_t>(i % 10));
  for (std::size_t byte = 0; byte < 256; ++byte) images.value[byte] = static_cast<float>(byte);
  return images;
}

/// The images of one epoch after another, as one process sees them.
std::vector<extent> order_of(labelled_images const& images, std::uint64_t seed, std::size_t n) {
  process_mesh<lone> m{MPI_COMM_SELF};
  tensor<float, single, batch, pixels> x{m};
  tensor<int, single, batch> labels{m};
  shuffled_batches batches{images, seed};
  std::vector<extent> order;
  while (order.size() < n) {
    batches.next(x, labels);
    for (extent i = 0; i < batch::size; ++i) {
      auto const image = static_cast<extent>(x.data()[i * 12]) / 12;
      for (extent k = 0; k < 12; ++k) REQUIRE(x.data()[i * 12 + k] == static_cast<float>(image * 12 + k));
      REQUIRE(labels.data()[i] == image % 10);
      order.push_back(image);
    }
  }
  order.resize(n);
  return order;
}

std::vector<extent> part(std::vector<extent> const& all, int epoch) {
  return {all.begin() + 21 * epoch, all.begin() + 21 * (epoch + 1)};
}

/// Each whole batch of x and labels under L is that of one process.
template<class L, class Batch, class... Pixel, class Batches>
void check_batches_of(Batches make, int n) {
  process_mesh<typename L::mesh_type> m{boost::mpi::communicator{}};
  process_mesh<lone> alone{MPI_COMM_SELF};
  auto const images = numbered();
  tensor<float, L, Batch, Pixel...> x{m};
  tensor<int, L, Batch> labels{m};
  tensor<float, single, Batch, pixels> expected{alone};
  tensor<int, single, Batch> expected_labels{alone};
  auto batches   = make(images);
  auto reference = make(images);
  for (int i = 0; i < n; ++i) {
    batches.next(x, labels);
    reference.next(expected, expected_labels);
    auto const whole        = to_global(x);
    auto const whole_labels = to_global(labels);
    REQUIRE(std::equal(whole.begin(), whole.end(), expected.data()));
    REQUIRE(std::equal(whole_labels.begin(), whole_labels.end(), expected_labels.data()));
  }
}
template<class L, class... Pixel, class Batches>
void check_like_one_process(Batches make, int n) {
  check_batches_of<L, batch, Pixel...>(make, n);
}

/// After `seek(step)`, from any place before, whole batches under L go on as after `step` batches of one
/// process.
template<class L, class Batch>
void check_seek() {
  auto const images = numbered();
  process_mesh<typename L::mesh_type> m{boost::mpi::communicator{}};
  process_mesh<lone> alone{MPI_COMM_SELF};
  tensor<float, L, Batch, pixels> x{m};
  tensor<int, L, Batch> labels{m};
  tensor<float, single, Batch, pixels> expected{alone};
  tensor<int, single, Batch> expected_labels{alone};
  shuffled_batches sought{images, 5};
  for (int step : {0, 3, 1, 21, 20, 0, 7, 8, 50}) {
    INFO("after " << step << " batches of " << Batch::size);
    shuffled_batches reference{images, 5};
    for (int i = 0; i < step; ++i) reference.next(expected, expected_labels);
    sought.seek(step);
    for (int i = 0; i < 4; ++i) {
      sought.next(x, labels);
      reference.next(expected, expected_labels);
      REQUIRE(sought.epoch() == reference.epoch());
      auto const whole        = to_global(x);
      auto const whole_labels = to_global(labels);
      REQUIRE(std::equal(whole.begin(), whole.end(), expected.data()));
      REQUIRE(std::equal(whole_labels.begin(), whole_labels.end(), expected_labels.data()));
    }
  }
}

/// 10,000 images, of each of which one pixel tells its class, and of every seventh the wrong one.
labelled_images to_be_told() {
  labelled_images images{
      "to be told", 10000, 12, std::vector<std::uint8_t>(10000 * 12), std::vector<std::uint8_t>(10000), {}};
  for (std::size_t i = 0; i < 10000; ++i) {
    images.labels[i]                                            = static_cast<std::uint8_t>(i % 12);
    images.bytes[12 * i + (i % 7 == 0 ? (i + 1) % 12 : i % 12)] = 255;
  }
  scale(images, {});
  return images;
}

/// How many images the brightest pixel tells rightly.
template<class L>
double told_rightly(labelled_images const& images, extent& batches) {
  process_mesh<typename L::mesh_type> m{L::mesh_type::size == 1 ? MPI_COMM_SELF : MPI_COMM_WORLD};
  tensor<float, L, many, pixels> x{m};
  tensor<int, L, many> labels{m};
  double right = 0;
  batches      = 0;
  for (batches_in_order test{images}; test.next(x, labels); ++batches) {
    auto const off = cast<float>(argmax<pixels>(x) - labels);
    right += static_cast<double>(sum(relu(1 - square(off))).value());
  }
  return right;
}

}  // namespace

TEST_CASE("every image comes once in an epoch, and epochs differ") {
  auto const order = order_of(numbered(), 1, 3 * 21);
  for (int epoch = 0; epoch < 3; ++epoch) {
    auto const images = part(order, epoch);
    CHECK(std::set<extent>(images.begin(), images.end()).size() == 21);
    CHECK(!std::is_sorted(images.begin(), images.end()));
  }
  CHECK(part(order, 0) != part(order, 1));
  CHECK(part(order, 1) != part(order, 2));
}

TEST_CASE("the order depends on the seed and on nothing else") {
  auto const images = numbered();
  CHECK(order_of(images, 1, 63) == order_of(images, 1, 63));
  CHECK(order_of(images, 1, 21) != order_of(images, 2, 21));
}

TEST_CASE("every place of an epoch is as likely for an image") {
  labelled_images images{"four", 4, 12, std::vector<std::uint8_t>(48), {0, 1, 2, 3}, {}};
  process_mesh<lone> m{MPI_COMM_SELF};
  tensor<float, single, batch, pixels> x{m};
  tensor<int, single, batch> labels{m};
  shuffled_batches batches{images, 3};
  double times[4][4]{};
  constexpr int n = 2000;  // batches of two epochs
  for (int i = 0; i < n; ++i) {
    batches.next(x, labels);
    REQUIRE(batches.epoch() == 2 * i + 2);
    for (extent k = 0; k < 8; ++k) ++times[labels.data()[k]][k % 4];
  }
  for (auto const& places : times)
    for (double t : places) CHECK(std::abs(t / (2 * n) - 0.25) < 5 * 0.433 / std::sqrt(2.0 * n));
}

TEST_CASE("whole batches are the same under every layout", "[4]") {
  auto const shuffled = [](labelled_images const& images) { return shuffled_batches{images, 5}; };
  check_like_one_process<replicated, pixels>(shuffled, 7);
  check_like_one_process<by_image, pixels>(shuffled, 7);
  check_like_one_process<by_pixel, pixels>(shuffled, 7);
  check_like_one_process<mixed, pixels>(shuffled, 7);
  check_like_one_process<image_by_two, pixels>(shuffled, 7);
  check_like_one_process<pixel_by_two, pixels>(shuffled, 7);
  // pixels of two dimensions
  check_like_one_process<by_pixel, height, width>(shuffled, 7);
  check_like_one_process<mixed, height, width>(shuffled, 7);
  check_like_one_process<pixel_by_two, height, width>(shuffled, 7);
}

TEST_CASE("all images once: the last batch is filled up the same under every layout", "[4]") {
  auto const in_order = [](labelled_images const& images) { return batches_in_order{images}; };
  check_like_one_process<by_image, pixels>(in_order, 3);
  check_like_one_process<mixed, pixels>(in_order, 3);
  check_like_one_process<image_by_two, pixels>(in_order, 3);
}

TEST_CASE("all images once: as many batches as it takes, and padding is of no class") {
  auto const images = numbered();
  process_mesh<lone> m{MPI_COMM_SELF};
  tensor<float, single, batch, pixels> x{m};
  tensor<int, single, batch> labels{m};
  extent n       = 0;
  extent batches = 0;
  for (batches_in_order all{images}; all.next(x, labels); ++batches)
    for (extent i = 0; i < batch::size; ++i) {
      if (labels.data()[i] == -1) {
        CHECK(std::all_of(x.data() + i * 12, x.data() + i * 12 + 12, [](float v) { return v == 0; }));
      } else {
        CHECK(labels.data()[i] == n % 10);
        CHECK(x.data()[i * 12] == static_cast<float>(n * 12));
        ++n;
      }
    }
  CHECK(batches == 3);
  CHECK(n == 21);
}

TEST_CASE("batches whose processes hold unequally much of them are the same", "[3]") {
  auto const shuffled = [](labelled_images const& images) { return shuffled_batches{images, 5}; };
  auto const in_order = [](labelled_images const& images) { return batches_in_order{images}; };
  check_batches_of<image_thirds, batch, pixels>(shuffled, 7);  // 3 + 3 + 2
  check_batches_of<image_thirds, few, pixels>(shuffled, 7);    // 2 + 2 + 0
  check_batches_of<image_thirds, many, height, width>(shuffled, 2);
  check_batches_of<width_thirds, batch, height, width>(shuffled, 7);
  check_batches_of<image_thirds, batch, pixels>(in_order, 3);
  check_batches_of<image_thirds, few, pixels>(in_order, 6);
  check_batches_of<width_thirds, batch, height, width>(in_order, 3);
}

TEST_CASE("what lies past the held images is left alone", "[3]") {
  process_mesh<trio> m{boost::mpi::communicator{}};
  auto const images = numbered();
  tensor<float, image_thirds, few, pixels> x{m};
  tensor<int, image_thirds, few> labels{m};
  std::fill_n(labels.data(), labels.size, 77);
  std::fill_n(x.data(), x.size, -77.0F);
  shuffled_batches{images}.next(x, labels);
  auto const others = m.rank() == 2 ? 2 : 0;
  CHECK(std::count(labels.data(), labels.data() + labels.size, 77) == others);
  CHECK(std::count(x.data(), x.data() + x.size, -77.0F) == others * 12);
}

TEST_CASE("10,000 images are evaluated in batches of 128 under any layout", "[1][3]") {
  auto const images = to_be_told();
  extent batches    = 0;
  auto const right  = boost::mpi::communicator{}.size() == 3 ? told_rightly<image_thirds>(images, batches)
                                                             : told_rightly<single>(images, batches);
  // every seventh, from the first on; the 112 that fill up the last batch count as wrong
  CHECK(right == 10000 - 1429);
  CHECK(batches == 79);
}

TEST_CASE("a training goes on at any step without the batches before it", "[1][3][4]") {
  switch (boost::mpi::communicator{}.size()) {
    case 1:
      check_seek<single, batch>();
      check_seek<single, many>();  // several epochs a batch
      break;
    case 3:
      check_seek<image_thirds, batch>();
      check_seek<image_thirds, many>();
      break;
    default: check_seek<by_pixel, batch>(); check_seek<mixed, batch>();
  }
}

TEST_CASE("a step is sought in steps of the batch that comes next, and from 0 on") {
  auto const images = numbered();
  process_mesh<lone> m{MPI_COMM_SELF};
  tensor<float, single, some, pixels> x{m};
  tensor<int, single, some> labels{m};
  shuffled_batches batches{images, 1};
  counted<some> const three{m, 3};
  batches.next(x, labels);
  batches.seek(9);
  batches.next(x, labels);
  auto const order = order_of(images, 1, 30);
  for (std::size_t i = 0; i < 3; ++i) CHECK(x.data()[i * 12] == static_cast<float>(order[27 + i] * 12));
  CHECK(batches.epoch() == 2);
  std::string text;
  try {
    batches.seek(-1);
  } catch (software_error const& e) {
    text = e.what();
  }
  CHECK(text == "expected a step from 0 on, got -1: steps are counted from the start of the training");
}

TEST_CASE("a few counted images written to a parameter leave it complete") {
  auto const images = numbered();
  process_mesh<lone> m{MPI_COMM_SELF};
  parameter<float, single, some, pixels> x{m, constant{-1}};
  tensor<int, single, some> labels{m};
  shuffled_batches batches{images};
  {
    counted<some> const three{m, 3};
    batches.next(x, labels);
  }
  CHECK(std::count(x.data(), x.data() + x.size, -1.0F) == 5 * 12);
}

TEST_CASE("images of another size than the program's are refused") {
  auto images   = numbered();
  images.pixels = 6;
  process_mesh<lone> m{MPI_COMM_SELF};
  tensor<float, single, batch, pixels> x{m};
  tensor<int, single, batch> labels{m};
  shuffled_batches batches{images};
  std::string text;
  try {
    batches.next(x, labels);
  } catch (data_error const& e) {
    text = e.what();
  }
  CHECK(text.starts_with("expected images of 12 pixels, got 6 in numbered"));
}

TEST_CASE("a batch takes no memory after the first") {
  auto const images = numbered();
  process_mesh<lone> m{MPI_COMM_SELF};
  tensor<float, single, batch, pixels> x{m};
  tensor<int, single, batch> labels{m};
  shuffled_batches batches{images};
  batches.next(x, labels);
  auto const before = heap::allocations();
  for (int i = 0; i < 10; ++i) batches.next(x, labels);  // over the ends of epochs
  CHECK(heap::allocations() == before);
}
