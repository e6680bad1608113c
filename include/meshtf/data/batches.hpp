// Batches of labelled images: every process takes the part that its tensors hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/data/batch_part.hpp>
#include <meshtf/data/labelled_images.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/tensor/tensor.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <numeric>
#include <string>
#include <utility>

#include <meshtf/core/philox.hpp>
#endif

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Errors: `data_error` unless the images have this number of pixels.
void check_pixels(labelled_images const& images, extent pixels);

/// Element i of the whole batch is image `chosen[i]`; after the end of `chosen` it is padding, with pixels 0
/// and label -1.
///
/// `Pixel...` together are the pixels of an image; they may be split.
template<class T, class L, class Batch, class... Pixel>
void take_part(labelled_images const& images, std::span<std::int32_t const> chosen,
               batch_part<T, L, Batch, Pixel...> const& x, batch_part<std::int32_t, L, Batch> const& labels) {
  check_pixels(images, (Pixel::size * ... * extent{1}));
  auto const image        = std::span<placed const>{placed_dims<L, shape<Pixel...>>};
  auto const first        = first_indices(image, x.place());
  constexpr extent n      = shard_size<L, shape<Pixel...>>;
  extent const from       = labels.first()[0];
  extent const local_rows = labels.extents()[0];

  T* const all_pixels         = x.data();
  std::int32_t* const classes = labels.data();
  for (extent row = 0; row < local_rows; ++row) {
    T* const pixels = all_pixels + row * n;
    if (from + row >= static_cast<extent>(chosen.size())) {
      std::fill_n(pixels, n, T{});
      classes[row] = -1;
      continue;
    }
    auto const which                = static_cast<std::size_t>(chosen[static_cast<std::size_t>(from + row)]);
    std::uint8_t const* const bytes = images.bytes.data() + which * static_cast<std::size_t>(images.pixels);
    for_each_run(image, first, [&](extent local, extent global, extent length) {
      for (extent k = 0; k < length; ++k) pixels[local + k] = static_cast<T>(images.value[bytes[global + k]]);
    });
    classes[row] = images.labels[which];
  }
}

}  // namespace detail

/// Batches without end. In each epoch every image comes once, in an order that depends only on the seed and
/// the number of the epoch; a batch that reaches beyond the end of an epoch continues with the next one. The
/// whole batches are the same under every layout: nothing is sent.
///
///     meshtf::shuffled_batches batches{images, position.seed};
///     batches.seek(position.step);   // of a checkpoint: goes on with the next batch of that training
///     for (...) { batches.next(x, labels); ... }
///
/// The images must outlive it.
class shuffled_batches {
public:
  explicit shuffled_batches(labelled_images const& images, std::uint64_t seed = 0);

  /// Fills this process's part of the next batch. Only the first call allocates.
  template<class T, class L, class Batch, class... Pixel>
  void next(tensor<T, L, Batch, Pixel...>& x, tensor<std::int32_t, L, Batch>& labels) {
    fill(batch_part{x}, batch_part{labels});
  }
  /// The same in plain memory, for `prefetched`.
  template<class T, class L, class Batch, class... Pixel>
  void fill(batch_part<T, L, Batch, Pixel...> const& x, batch_part<std::int32_t, L, Batch> const& labels) {
    start_at_step(x.counted().template of<Batch>());
    choose(x.counted().template of<Batch>());
    detail::take_part(images_, chosen_, x, labels);
  }

  /// The epoch of the image that came last, counted from 1.
  extent epoch() const { return epoch_; }

  /// Where the batches are, whatever their sizes were.
  struct position_type {
    extent epoch       = 1;   // of the image that came last
    extent image       = 0;   // how many of its images have come
    extent sought_step = -1;  // what `seek` was given, if no batch has come since
    friend constexpr bool operator==(position_type const&, position_type const&) = default;
  };
  position_type position() const { return {epoch_, static_cast<extent>(at_), sought_step_}; }
  /// Returns to a position that `position` gave. It costs at most one shuffle of the image numbers.
  void seek(position_type const& position);

  /// The next batch is number `step`, counted from 0, as if `step` batches of its size had come before it.
  /// It costs at most one shuffle of the image numbers. Errors: `software_error` if `step` is negative.
  void seek(extent step);

private:
  /// Goes to the first image of the step that `seek` has set, for batches of n images.
  void start_at_step(extent n);
  /// The next image is number `image` of an epoch.
  void go_to(extent epoch, extent image);
  /// The shuffle of Fisher and Yates. Initialisers draw from Philox's stream 0 of a seed, so epochs use the
  /// streams from 1.
  void start_epoch();
  /// The next n images.
  void choose(extent n);

  labelled_images const& images_;
  std::uint64_t seed_;
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> chosen_;
  std::size_t at_     = 0;
  extent epoch_       = 0;
  extent sought_step_ = -1;  // set by `seek`, until the next batch says how many images a step has
};

/// All images once, in their order. The last batch is padded with images of pixels 0 and label -1, which is
/// no class, so that padding never counts as right.
///
///     for (meshtf::batches_in_order test{images}; test.next(x, labels);) right += ...;
///
/// If the batch is counted (`up_to`), the last one need not be padded:
///
///     for (meshtf::batches_in_order test{images}; extent n = test.left(batch::size); ) {
///       meshtf::counted<batch> guard{m, n};
///       test.next(x, labels);
///       ...
///     }
class batches_in_order {
public:
  explicit batches_in_order(labelled_images const& images) : images_{images} {}

  /// How many images the next batch would have if it had at most `limit`: 0 after the last one.
  extent left(extent limit) const { return std::min(limit, images_.count - at_); }

  /// Fills this process's part of the next batch; returns false after the last one. It has as many images as
  /// `counted<Batch>` says.
  template<class T, class L, class Batch, class... Pixel>
  bool next(tensor<T, L, Batch, Pixel...>& x, tensor<std::int32_t, L, Batch>& labels) {
    if (!choose(x.machine().counted().template of<Batch>())) return false;
    detail::take_part(images_, chosen_, batch_part{x}, batch_part{labels});
    return true;
  }

private:
  /// The next n images, or as many as there are; false if there are none.
  bool choose(extent n);

  labelled_images const& images_;
  std::vector<std::int32_t> chosen_;
  extent at_ = 0;
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE void detail::check_pixels(labelled_images const& images, extent pixels) {
  if (images.pixels != pixels)
    throw data_error("expected images of " + std::to_string(pixels) + " pixels, got " +
                     std::to_string(images.pixels) + " in " + images.name +
                     ": change the dimensions that the program was compiled for");
}

MESHTF_DEFINE shuffled_batches::shuffled_batches(labelled_images const& images, std::uint64_t seed)
    : images_{images}, seed_{seed}, order_(static_cast<std::size_t>(images.count)) {
  start_epoch();
}

MESHTF_DEFINE void shuffled_batches::start_epoch() {
  philox const random{seed_, static_cast<std::uint64_t>(++epoch_)};
  std::iota(order_.begin(), order_.end(), 0);
  for (std::size_t left = order_.size(); left > 1; --left) {
    auto const pick = uniform_at(random, static_cast<extent>(left)) * static_cast<double>(left);
    std::swap(order_[left - 1], order_[static_cast<std::size_t>(pick)]);
  }
  at_ = 0;
}

MESHTF_DEFINE void shuffled_batches::seek(extent step) {
  if (step < 0)
    throw software_error("expected a step from 0 on, got " + std::to_string(step) +
                         ": steps are counted from the start of the training");
  sought_step_ = step;
}

MESHTF_DEFINE void shuffled_batches::seek(position_type const& position) {
  go_to(position.epoch, position.image);
  sought_step_ = position.sought_step;
}

MESHTF_DEFINE void shuffled_batches::go_to(extent epoch, extent image) {
  if (epoch_ != epoch) {
    epoch_ = epoch - 1;
    start_epoch();
  }
  at_ = static_cast<std::size_t>(image);
}

MESHTF_DEFINE void shuffled_batches::start_at_step(extent n) {
  if (sought_step_ < 0) return;
  extent const step = std::exchange(sought_step_, -1);
  // step * n images came before; `images` steps are n epochs, so the remaining product is small
  extent const images = images_.count;
  extent const rest   = step % images * n;
  extent const epochs = step / images * n + rest / images;
  go_to(epochs + 1, rest % images);
}

MESHTF_DEFINE void shuffled_batches::choose(extent n) {
  chosen_.resize(static_cast<std::size_t>(n));
  for (auto& image : chosen_) {
    if (at_ == order_.size()) start_epoch();
    image = order_[at_++];
  }
}

MESHTF_DEFINE bool batches_in_order::choose(extent n) {
  if (at_ == images_.count) return false;
  chosen_.resize(static_cast<std::size_t>(std::min(n, images_.count - at_)));
  std::iota(chosen_.begin(), chosen_.end(), static_cast<std::int32_t>(at_));
  at_ += static_cast<extent>(chosen_.size());
  return true;
}

#endif

}  // namespace v0
}  // namespace meshtf
