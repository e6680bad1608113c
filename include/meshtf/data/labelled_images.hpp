// Labelled images: a data set as bytes, and how bytes become numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/dim.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/data/idx.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <cmath>
#include <cstddef>
#include <utility>

#include <unistd.h>
#endif

namespace meshtf {
inline namespace v0 {

/// The number subtracted from a pixel in [0, 1], and the number that it is then divided by.
struct pixel_scale {
  double mean      = 0;
  double deviation = 1;
};

/// Images of one size, each with the number of its class. Every process has the same images; each takes
/// another part of a batch.
struct labelled_images {
  std::string name;                  // the file, for messages
  extent count  = 0;                 // number of images
  extent pixels = 0;                 // of one image
  std::vector<std::uint8_t> bytes;   // image by image
  std::vector<std::uint8_t> labels;  // one for each image
  // the number that each byte stands for, with the same bits in any part of a tensor
  std::array<float, 256> value{};
};

/// Sets the number that each byte stands for: from 0 to 1, shifted and scaled.
void scale(labelled_images& images, pixel_scale const& pixels);

/// The scale that gives the pixels of `images` mean 0 and deviation 1. A network gets the scale of its
/// training images, in tests too.
pixel_scale standard_scale(labelled_images const& images);

/// Reads images and their labels from two IDX files. Labels are numbers from 0 to classes - 1.
///
/// Every process reads the files. A process that fails must not leave the others waiting:
/// `agreed(world, [&] { return read_images(...); })`.
labelled_images read_images(std::string const& image_file, std::string const& label_file, int classes);

/// The folder of the files of Debian's package dataset-fashion-mnist.
inline constexpr char const* fashion_mnist_folder = "/usr/share/datasets/fashion-mnist";

/// Reads a data set with the files of MNIST and ten classes: `which` is "train", or "t10k" for the test
/// images. Files may end in .gz.
labelled_images read_mnist(std::string const& folder, std::string const& which);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE void scale(labelled_images& images, pixel_scale const& pixels) {
  for (std::size_t byte = 0; byte < 256; ++byte)
    images.value[byte] =
        static_cast<float>((static_cast<double>(byte) / 255 - pixels.mean) / pixels.deviation);
}

MESHTF_DEFINE pixel_scale standard_scale(labelled_images const& images) {
  std::array<std::int64_t, 256> times{};
  for (auto const byte : images.bytes) ++times[byte];
  double const n = static_cast<double>(images.bytes.size());
  double mean    = 0;
  double square  = 0;
  for (std::size_t byte = 0; byte < 256; ++byte)
    mean += static_cast<double>(byte) / 255 * static_cast<double>(times[byte]) / n;
  for (std::size_t byte = 0; byte < 256; ++byte)
    square += std::pow(static_cast<double>(byte) / 255 - mean, 2) * static_cast<double>(times[byte]) / n;
  return {mean, square > 0 ? std::sqrt(square) : 1};
}

MESHTF_DEFINE labelled_images read_images(std::string const& image_file, std::string const& label_file,
                                          int classes) {
  auto pictures = read_idx(image_file, 3);
  auto names    = read_idx(label_file, 1);
  labelled_images images{image_file,
                         pictures.extents[0],
                         pictures.extents[1] * pictures.extents[2],
                         std::move(pictures.bytes),
                         std::move(names.bytes),
                         {}};
  if (images.bytes.empty())
    throw data_error("expected images in " + image_file + ", got none: fetch the file again");
  if (names.extents[0] != images.count)
    throw data_error("expected " + label_file + " to have a label for each of the " +
                     std::to_string(images.count) + " images, got " + std::to_string(names.extents[0]) +
                     ": take both files from one set");
  for (std::size_t i = 0; i < images.labels.size(); ++i)
    if (images.labels[i] >= classes)
      throw data_error("expected the labels in " + label_file + " to be classes from 0 to " +
                       std::to_string(classes - 1) + ", got " + std::to_string(images.labels[i]) +
                       " as number " + std::to_string(i) + ": the file is damaged or of another set");
  scale(images, {});
  return images;
}

MESHTF_DEFINE labelled_images read_mnist(std::string const& folder, std::string const& which) {
  std::string const prefix = (folder.empty() || folder.ends_with('/') ? folder : folder + "/") + which;
  auto const find          = [&](std::string const& name) {
    std::string const plain = prefix + name;
    for (auto const& path : {plain + ".gz", plain})
      if (::access(path.c_str(), F_OK) == 0) return path;
    throw no_input("expected the file " + plain + ".gz, or the same without .gz, got neither: " +
                            (folder == fashion_mnist_folder ? "install it (Debian: apt install "
                                                              "dataset-fashion-mnist)"
                                                            : "name the folder that has the four files of "
                                                              "the set"));
  };
  std::string const images = find("-images-idx3-ubyte");
  return read_images(images, find("-labels-idx1-ubyte"), 10);
}

#endif

}  // namespace v0
}  // namespace meshtf
