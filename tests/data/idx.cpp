// IDX files: what is in them is read, and whatever is wrong with one is said with its name.
#include <cmath>
#include <functional>
#include <string>

#include <sys/stat.h>

#include <meshtf/data/labelled_images.hpp>

#include "../catch.hpp"
#include "files.hpp"

using namespace meshtf;
using files::bytes;

namespace {

bytes const pixels{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255};
bytes const pictures = files::idx(0x803, {2, 3, 2}, pixels);  // two images of 3 x 2
bytes const names    = files::idx(0x801, {2}, {9, 0});

/// What f complains of, and the status that a program would end with.
template<class Error>
std::string complaint(std::function<void()> const& f) {
  try {
    f();
  } catch (Error const& e) {
    return std::to_string(e.exit_status()) + " " + e.what();
  }
  return "nothing";
}

std::string complaint_of_reading(std::string const& path, int rank) {
  return complaint<data_error>([&] { read_idx(path, rank); });
}

bool says(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a file is read as it was written") {
  files::folder const at;
  auto const images = read_idx(files::write(at / "images", pictures), 3);
  CHECK(images.extents == std::vector<extent>{2, 3, 2});
  CHECK(images.bytes == pixels);
  CHECK(read_idx(files::write(at / "labels", names), 1).bytes == bytes{9, 0});

  // more than one piece of memory
  bytes const many(3'000'001, 7);
  CHECK(read_idx(files::write(at / "many", files::idx(0x801, {3'000'001}, many)), 1).bytes == many);
}

TEST_CASE("a file that is too short is refused, wherever it ends") {
  files::folder const at;
  for (std::size_t n = 0; n < pictures.size(); ++n) {
    auto const path = files::write(
        at / "short", bytes(pictures.begin(), pictures.begin() + static_cast<std::ptrdiff_t>(n)));
    auto const text = complaint_of_reading(path, 3);
    CAPTURE(n, text);
    CHECK(text.starts_with("65 expected " + path + " to have "));
    if (n >= 16) CHECK(says(text, "12 bytes after its header, got " + std::to_string(n - 16) + ":"));
  }
}

TEST_CASE("a file with more than its header promises is refused") {
  files::folder const at;
  auto longer = pictures;
  longer.push_back(0);
  CHECK(says(complaint_of_reading(files::write(at / "long", longer), 3),
             "12 bytes after its header, got more"));
}

TEST_CASE("a file of another kind is refused by its magic number") {
  files::folder const at;
  auto const labels = files::write(at / "labels", names);
  CHECK(says(complaint_of_reading(labels, 3),
             "the magic number 0x00000803 (unsigned bytes in 3 dimensions), got 0x00000801"));
  CHECK(says(complaint_of_reading(files::write(at / "floats", files::idx(0xd01, {2}, bytes(8))), 1),
             "got 0x00000d01"));
  CHECK(says(complaint_of_reading(files::write(at / "text", bytes(40, ' ')), 1), "got 0x20202020"));
}

TEST_CASE("a header that promises too much costs no memory") {
  files::folder const at;
  for (auto const& extents : {std::vector<std::uint32_t>{0xffffffff, 0xffffffff, 0xffffffff},
                              {1u << 31, 1u << 31, 4},
                              {1u << 30, 1, 2},
                              {2, 1u << 30, 1}})
    CHECK(says(complaint_of_reading(files::write(at / "absurd", files::idx(0x803, extents, pixels)), 3),
               "a header that promises more"));
  CHECK(
      says(complaint_of_reading(files::write(at / "large", files::idx(0x803, {1u << 20, 32, 32}, pixels)), 3),
           "1073741824 bytes after its header, got 12"));
  CHECK(says(complaint_of_reading(
                 files::write(at / "zero", files::idx(0x803, {0, 0xffffffff, 0xffffffff}, pixels)), 3),
             "0 bytes after its header, got more"));
}

TEST_CASE("a file that can't be read is named, with the reason") {
  files::folder const at;
  CHECK(complaint<no_input>([&] { read_idx(at / "absent", 1); }) ==
        "66 expected to read the file " + (at / "absent") + ", got: No such file or directory");
  CHECK(says(complaint<no_input>([&] { read_idx(at.path(), 1); }), "got: it is a folder"));
  REQUIRE(mkfifo((at / "fifo").c_str(), 0666) == 0);
  CHECK(says(complaint<no_input>([&] { read_idx(at / "fifo", 1); }), "got: it is a FIFO"));
}

#if MESHTF_WITH_ZLIB

TEST_CASE("a compressed file is read as it was written") {
  files::folder const at;
  CHECK(read_idx(files::write_compressed(at / "images.gz", pictures), 3).bytes == pixels);
}

TEST_CASE("a compressed file that is too short is refused, wherever it ends") {
  files::folder const at;
  auto const whole = files::read(files::write_compressed(at / "images.gz", pictures));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    auto const path =
        files::write(at / "short.gz", bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    CAPTURE(n);
    CHECK(complaint_of_reading(path, 3).starts_with("65 expected " + path + " to have "));
  }
}

TEST_CASE("a changed bit in a compressed file is found, or changes nothing") {
  files::folder const at;
  auto const whole = files::read(files::write_compressed(at / "images.gz", pictures));
  int found        = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto changed = whole;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    auto const path = files::write(at / "changed.gz", changed);
    CAPTURE(bit);
    bytes read      = pixels;
    auto const text = complaint<data_error>([&] { read = read_idx(path, 3).bytes; });
    CHECK(read == pixels);
    if (text.starts_with("65 expected " + path + " to have ")) ++found;
  }
  CHECK(found > static_cast<int>(4 * whole.size()));
}

#endif

TEST_CASE("images and labels of one set belong together") {
  files::folder const at;
  auto const images = files::write(at / "images", pictures);
  auto const labels = files::write(at / "labels", names);

  auto const set = read_images(images, labels, 10);
  CHECK(set.count == 2);
  CHECK(set.pixels == 6);
  CHECK(set.bytes == pixels);
  CHECK(set.labels == bytes{9, 0});
  CHECK(set.value[0] == 0);
  CHECK(set.value[255] == 1);

  CHECK(complaint<data_error>([&] { read_images(images, labels, 9); }) ==
        "65 expected the labels in " + labels +
            " to be classes from 0 to 8, got 9 as number 0: the file is damaged or of another set");
  auto const three = files::write(at / "three", files::idx(0x801, {3}, {0, 1, 2}));
  CHECK(says(complaint<data_error>([&] { read_images(images, three, 10); }),
             three + " to have a label for each of the 2 images, got 3"));
  auto const none = files::write(at / "none", files::idx(0x803, {0, 28, 28}, {}));
  CHECK(says(complaint<data_error>([&] { read_images(none, labels, 10); }),
             "expected images in " + none + ", got none"));
}

TEST_CASE("a folder is searched for compressed and for plain files") {
  files::folder const at;
  auto const missing = [&] { return complaint<no_input>([&] { read_mnist(at.path(), "train"); }); };
  CHECK(says(missing(), at / "train-images-idx3-ubyte.gz"));
  CHECK(says(missing(), "name the folder"));
  files::write(at / "train-images-idx3-ubyte", pictures);
  CHECK(says(missing(), at / "train-labels-idx1-ubyte.gz"));
  files::write(at / "train-labels-idx1-ubyte", names);
  CHECK(read_mnist(at.path(), "train").count == 2);
}

TEST_CASE("the standard scale gives mean 0 and deviation 1") {
  labelled_images set{"", 2, 6, pixels, {9, 0}, {}};
  scale(set, standard_scale(set));
  double mean   = 0;
  double square = 0;
  for (auto byte : set.bytes) mean += static_cast<double>(set.value[byte]) / 12;
  for (auto byte : set.bytes) square += std::pow(static_cast<double>(set.value[byte]) - mean, 2) / 12;
  CHECK(std::abs(mean) < 1e-6);
  CHECK(std::abs(square - 1) < 1e-6);

  labelled_images plain{"", 1, 2, {5, 5}, {0}, {}};  // nothing to divide by
  scale(plain, standard_scale(plain));
  CHECK(std::abs(plain.value[5]) < 1e-6f);
}
