// Windows: consecutive bytes of a text, from which the next byte is predicted. Every process takes the part
// that its tensors hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/philox.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/data/batch_part.hpp>
#include <meshtf/data/byte_tokenizer.hpp>
#include <meshtf/data/text.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {

/// Batches of windows without end, for training. The start of window b of step s is drawn from (seed, s, b)
/// only, so the whole batches are the same under every layout, and a run can continue from any step. Nothing
/// is sent, nothing is allocated.
///
///     meshtf::random_windows windows{training, seed};
///     for (...) { windows.next(ids, targets); ... }
///     windows.seek(checkpoint_step);   // as if that many steps had been taken
///
/// The text must outlive it. It draws from Philox's streams from 2^63 on; initialisers and dropout count
/// streams from 0, so they
/// share no number with it, whatever their seed.
class random_windows {
public:
  explicit random_windows(text const& from, std::uint64_t seed = 0) : text_{from}, seed_{seed} {}
  explicit random_windows(text const&&, std::uint64_t = 0) = delete;

  /// Fills this process's part of the next batch: each window has `Length` bytes, and the target of each byte
  /// is the byte that follows it.
  ///
  /// Errors: `data_error` if the text is shorter than a window and the byte after it.
  template<class L, class Batch, class Length>
  void next(tensor<std::int32_t, L, Batch, Length>& ids, tensor<std::int32_t, L, Batch, Length>& targets) {
    fill(batch_part{ids}, batch_part{targets});
  }
  /// The same in plain memory, for `prefetched`.
  template<class L, class Batch, class Length>
  void fill(batch_part<std::int32_t, L, Batch, Length> const& ids,
            batch_part<std::int32_t, L, Batch, Length> const& targets) {
    extent const starts       = starts_of(Length::size);
    constexpr auto dims       = placed_dims<L, shape<Batch, Length>>;
    auto const first          = ids.first();
    auto const [rows, length] = ids.extents();
    philox const random{seed_, (std::uint64_t{1} << 63) + static_cast<std::uint64_t>(step_)};

    std::int32_t* const id     = ids.data();
    std::int32_t* const target = targets.data();
    for (extent row = 0; row < rows; ++row) {
      auto const start =
          static_cast<extent>(uniform_at(random, first[0] + row) * static_cast<double>(starts));
      char const* bytes = text_.bytes.data() + std::min(start, starts - 1) + first[1];
      for (extent position = row * dims[1].allocated_extent(), k = position; k < position + length; ++k) {
        id[k]     = byte_tokenizer::id_of(*bytes++);
        target[k] = byte_tokenizer::id_of(*bytes);
      }
    }
    ++step_;
  }

  /// The number of the next step, counted from 0.
  extent step() const { return step_; }
  /// The same, as the position that `seek` returns to.
  extent position() const { return step_; }

  /// Errors: `software_error` if `step` is negative.
  void seek(extent step);

private:
  /// How many places a window of this length can start at. Errors: `data_error` if there is none.
  extent starts_of(extent length) const;

  text const& text_;
  std::uint64_t seed_;
  extent step_ = 0;
};

/// All of a text once, for evaluation: every byte except the first, which has no byte before it, is a target
/// exactly once. Windows follow one another, so a byte is predicted from the bytes before it in its window.
///
/// The rest of the last batch has weight 0, id 0 and target 0. The exact mean, under any layout, batch and
/// number of processes, is the sum of `loss * weights` over all batches divided by `count()`:
///
///     meshtf::windows_in_order test{held_out};
///     while (test.next(ids, targets, weights)) total += sum(losses(ids, targets) * weights).value();
///     auto bits = total / double(test.count()) / std::log(2.0);
///
/// The text must outlive it. Errors: `data_error` if the text has less than two bytes.
class windows_in_order {
public:
  explicit windows_in_order(text const& from);
  explicit windows_in_order(text const&&) = delete;

  /// Fills this process's part of the next batch; returns false after the last one. Nothing is sent, nothing
  /// is allocated.
  template<FloatingElement T, class L, class Batch, class Length>
  bool next(tensor<std::int32_t, L, Batch, Length>& ids, tensor<std::int32_t, L, Batch, Length>& targets,
            tensor<T, L, Batch, Length>& weights) {
    if (at_ >= count()) return false;
    constexpr auto dims = placed_dims<L, shape<Batch, Length>>;
    auto const& windows = ids.machine().counted();

    std::int32_t* const id     = ids.data_to_write();
    std::int32_t* const target = targets.data_to_write();
    T* const weight            = weights.data_to_write();
    for_each_run(dims, ids.machine().place(), windows, [&](extent local, extent global, extent n) {
      // windows of a batch follow one another, so an index in the batch is also an index in the text
      extent const from = at_ + global;
      extent const real = std::clamp<extent>(count() - from, 0, n);
      for (extent k = 0; k < real; ++k) {
        id[local + k]     = byte_tokenizer::id_of(text_.bytes[static_cast<std::size_t>(from + k)]);
        target[local + k] = byte_tokenizer::id_of(text_.bytes[static_cast<std::size_t>(from + k + 1)]);
      }
      std::fill_n(id + local + real, n - real, 0);
      std::fill_n(target + local + real, n - real, 0);
      std::fill_n(weight + local, real, T{1});
      std::fill_n(weight + local + real, n - real, T{0});
    });
    at_ += windows.size_of(shape<Batch, Length>{});
    return true;
  }

  /// The number of targets in the whole text.
  extent count() const { return text_.size() - 1; }

private:
  text const& text_;
  extent at_ = 0;  // the first byte of the next batch
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE void random_windows::seek(extent step) {
  if (step < 0)
    throw software_error("expected a step from 0 on, got " + std::to_string(step) +
                         ": steps are counted from the start of the training");
  step_ = step;
}

MESHTF_DEFINE extent random_windows::starts_of(extent length) const {
  extent const starts = text_.size() - length;
  if (starts < 1)
    throw data_error("expected at least " + std::to_string(length + 1) + " bytes, a window of " +
                     std::to_string(length) + " and the byte after it, got " + std::to_string(text_.size()) +
                     " in " + text_.name + ": take a longer text, or compile for shorter windows");
  return starts;
}

MESHTF_DEFINE windows_in_order::windows_in_order(text const& from) : text_{from} {
  if (from.size() < 2)
    throw data_error("expected at least 2 bytes, one to predict and one before it, got " +
                     std::to_string(from.size()) + " in " + from.name + ": take a longer text");
}

#endif

}  // namespace v0
}  // namespace meshtf
