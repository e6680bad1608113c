// Prefetching: a thread reads the next batches while the program computes.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <pthread.h>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/dim.hpp>
#include <meshtf/data/batch_part.hpp>
#include <meshtf/io/file_thread.hpp>
#include <meshtf/tensor/tensor.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <string>

#include <meshtf/core/error.hpp>
#endif

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Fills the slots of a ring, one after the other, by a thread that calls no MPI. One thread calls all
/// members.
class slot_filler {
public:
  /// Errors: `software_error` unless there is a slot.
  explicit slot_filler(int slots);
  slot_filler(slot_filler const&)            = delete;
  slot_filler& operator=(slot_filler const&) = delete;
  ~slot_filler() { stop(); }

  /// Begins to call fill(slot) for slot 0, 1, ... as soon as each is free. All are free.
  void start(std::function<void(int)> fill);
  bool is_started() const { return fill_ != nullptr; }

  /// Waits until the next slot is filled, and returns its number. What `fill` threw there is thrown, and all
  /// stops.
  int wait();
  /// The slot that `wait` returned is free.
  void free_slot();
  /// Ends after the slot that is being filled. What has been filled is dropped.
  void stop();

private:
  void work();
  /// Waits until a slot is free. Returns its number, or -1 if this is to end.
  int wait_for_room();

  int slots_;
  std::function<void(int)> fill_;
  pthread_t owner_{};
  pthread_mutex_t mutex_  = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  // guarded by the mutex
  std::uint64_t filled_ = 0;
  std::uint64_t freed_  = 0;
  bool works_           = false;
  bool stops_           = false;
  std::exception_ptr caught_;
  file_thread thread_;  // ends first
};

#if MESHTF_DEFINES_RUNTIME

/// Locks a mutex while it lives. (<mutex> would add to the compile time of every program.)
class held_mutex {
public:
  explicit held_mutex(pthread_mutex_t& mutex) : mutex_{mutex} { pthread_mutex_lock(&mutex_); }
  held_mutex(held_mutex const&)     = delete;
  void operator=(held_mutex const&) = delete;
  ~held_mutex() { pthread_mutex_unlock(&mutex_); }

private:
  pthread_mutex_t& mutex_;
};

MESHTF_DEFINE slot_filler::slot_filler(int slots) : slots_{slots} {
  if (slots < 1)
    throw software_error("expected to prefetch 1 batch or more, got " + std::to_string(slots) +
                         ": without prefetching, call the reader itself");
}

MESHTF_DEFINE void slot_filler::start(std::function<void(int)> fill) {
  stop();
  fill_  = std::move(fill);
  owner_ = pthread_self();
  works_ = true;
  thread_.start([this] { work(); });
}

MESHTF_DEFINE int slot_filler::wait_for_room() {
  held_mutex const lock{mutex_};
  auto const is_full = [this] { return filled_ - freed_ == static_cast<std::uint64_t>(slots_); };
  // where the system starts no thread, the owner fills one slot at a time
  bool const has_thread = pthread_equal(owner_, pthread_self()) == 0;
  while (has_thread && is_full() && !stops_) pthread_cond_wait(&changed_, &mutex_);
  if (stops_ || is_full() || (!has_thread && filled_ != freed_)) {
    works_ = false;
    return -1;
  }
  return static_cast<int>(filled_ % static_cast<std::uint64_t>(slots_));
}

MESHTF_DEFINE void slot_filler::work() {
  for (int slot; (slot = wait_for_room()) >= 0;) {
    std::exception_ptr caught;
    try {
      fill_(slot);
    } catch (...) {
      caught = std::current_exception();
    }
    held_mutex const lock{mutex_};
    if (caught) {
      caught_ = caught;
      works_  = false;
    } else {
      ++filled_;
    }
    pthread_cond_broadcast(&changed_);
    if (caught) return;
  }
}

MESHTF_DEFINE int slot_filler::wait() {
  for (;;) {
    {
      held_mutex const lock{mutex_};
      while (filled_ == freed_ && works_) pthread_cond_wait(&changed_, &mutex_);
      if (filled_ != freed_) return static_cast<int>(freed_ % static_cast<std::uint64_t>(slots_));
      if (caught_) break;
      works_ = true;
    }
    thread_.start([this] { work(); });
  }
  auto const caught = caught_;
  stop();
  try {
    std::rethrow_exception(caught);
  } catch (error const& e) {
    e.be_latest();  // it was made on the other thread
    throw;
  }
}

MESHTF_DEFINE void slot_filler::free_slot() {
  held_mutex const lock{mutex_};
  ++freed_;
  pthread_cond_broadcast(&changed_);
}

MESHTF_DEFINE void slot_filler::stop() {
  {
    held_mutex const lock{mutex_};
    stops_ = true;
    pthread_cond_broadcast(&changed_);
  }
  thread_.join();
  fill_   = nullptr;
  caught_ = nullptr;
  filled_ = freed_ = 0;
  works_ = stops_ = false;
}

#endif

/// What readers of plain batches fill: the batch that `next` returns.
template<class Reader>
using batch_of = decltype(std::declval<Reader&>().next());

/// A slot's arrays for tensors of these types.
template<class X>
struct part_like;
template<class T, class L, class... D>
struct part_like<tensor<T, L, D...>> : std::type_identity<batch_part<T, L, D...>> {};

/// Batches that wait in plain memory, in the form that one call of `next` asked for.
template<class Reader>
struct waiting_batches {
  virtual ~waiting_batches()                          = default;
  virtual void read(Reader& reader, std::size_t slot) = 0;
};

/// In the form of tensors.
template<class Reader, class... X>
class waiting_parts : public waiting_batches<Reader> {
public:
  using parts = std::tuple<typename part_like<X>::type...>;

  waiting_parts(std::size_t slots, X&... x) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      arrays_.push_back({std::make_unique<typename X::element_type[]>(static_cast<std::size_t>(X::size))...});
      parts_.push_back(std::apply([&](auto const&... array) { return parts{part_in(array.get(), x)...}; },
                                  arrays_.back()));
    }
  }
  void read(Reader& reader, std::size_t slot) override {
    std::apply([&](auto const&... part) { reader.fill(part...); }, parts_[slot]);
  }
  /// Whether it waits for tensors like these, with the same counts.
  bool fits(X&... x) const {
    return parts_.front() == parts{part_in<typename X::element_type>(nullptr, x)...};
  }
  void copy_to(X&... x, std::size_t slot) const {
    std::apply([&](auto const&... part) { (std::copy_n(part.data(), X::size, x.data_to_write()), ...); },
               parts_[slot]);
  }

private:
  template<class T, class L, class... D>
  static batch_part<T, L, D...> part_in(T* data, tensor<T, L, D...> const& x) {
    return {data, x.machine().place(), x.machine().counted()};
  }

  std::vector<std::tuple<std::unique_ptr<typename X::element_type[]>...>> arrays_;
  std::vector<parts> parts_;
};

/// In the form of values.
template<class Reader, class Batch>
class waiting_values : public waiting_batches<Reader> {
public:
  explicit waiting_values(std::size_t slots) : values_(slots) {}
  void read(Reader& reader, std::size_t slot) override { values_[slot].emplace(reader.next()); }
  Batch take(std::size_t slot) {
    Batch batch{std::move(*values_[slot])};
    values_[slot].reset();
    return batch;
  }

private:
  std::vector<std::optional<Batch>> values_;
};

}  // namespace detail

/// What gives batches one after the other, and goes on from any step: `seek(step)`, and `position()`, a value
/// that `seek` returns to. It has `fill(batch_part...)`, for batches in tensors, or `next()`, which returns a
/// batch. Neither may call MPI or touch a machine or a tensor, if it is prefetched.
template<class R>
concept BatchReader = std::move_constructible<R> && requires(R& reader, R const& r, extent step) {
  reader.seek(step);
  reader.seek(r.position());
};

/// A reader whose batches are read ahead: while the program computes with one, a thread reads, decodes and
/// tokenises the next `ahead`. The batches are the same, in the same order, as without.
///
///     meshtf::prefetched windows{meshtf::random_windows{training, seed}, 2};
///     windows.seek(first_step);
///     for (...) { windows.next(ids, targets); ... }
///
/// The thread starts with the first `next`, calls no MPI, and touches no machine, tape or tensor: it fills
/// plain memory, from which `next` copies. That memory is `ahead` batches of this process, and no part of a
/// price. Nothing else may use the reader's data meanwhile, except to read it.
///
/// What the thread throws is thrown by the `next` that asks for that batch, on the processes where it is
/// without prefetching. A `next` for tensors of other types, or under other counts, drops what has been read
/// ahead and reads again from there. The destructor waits for the batch that is being read, and for nothing
/// else, so an exception may end the loop.
/// Source: `prefetch` of tf.data (Murray et al., tf.data: A Machine Learning Data Processing Framework,
/// 2021), `prefetch_factor` of PyTorch's DataLoader.
template<BatchReader Reader>
class prefetched {
public:
  using position_type = std::remove_cvref_t<decltype(std::declval<Reader const&>().position())>;

  /// Errors: `software_error` unless `ahead` is 1 or more.
  explicit prefetched(Reader reader, int ahead = 1)
      : reader_{std::move(reader)}, position_{reader_.position()}, ahead_{ahead}, filler_{ahead} {
    if constexpr (requires { reader_.step(); }) step_ = static_cast<extent>(reader_.step());
  }
  prefetched(prefetched const&)            = delete;
  prefetched& operator=(prefetched const&) = delete;

  /// Fills this process's parts of the next batch, as the reader's own `next` does, with its errors.
  template<class... X>
    requires(sizeof...(X) > 0 && requires(Reader& reader, X&... x) { reader.fill(batch_part{x}...); })
  void next(X&... x) {
    using waiting_type = detail::waiting_parts<Reader, X...>;
    auto* waiting      = this->waiting<waiting_type>();
    if (waiting == nullptr || !waiting->fits(x...)) waiting = wait_for<waiting_type>(x...);
    take([&](std::size_t slot) { waiting->copy_to(x..., slot); });
  }

  /// The next batch, as the reader's own `next` returns it, with its errors.
  auto next()
    requires requires(Reader& reader) { reader.next(); }
  {
    using waiting_type = detail::waiting_values<Reader, detail::batch_of<Reader>>;
    auto* waiting      = this->waiting<waiting_type>();
    if (waiting == nullptr) waiting = wait_for<waiting_type>();
    std::optional<detail::batch_of<Reader>> batch;
    take([&](std::size_t slot) { batch.emplace(waiting->take(slot)); });
    return std::move(*batch);
  }

  /// The next batch is number `step`, counted from 0, whatever has been read ahead. Errors: the reader's.
  void seek(extent step) {
    stop();
    reader_.seek(step);
    position_ = reader_.position();
    step_     = step;
  }
  /// The number of the next batch: of batches that `next` has given, not of those read ahead.
  extent step() const { return step_; }
  /// The reader's position before the next batch, so after the last one that `next` has given.
  position_type const& position() const { return position_; }

private:
  /// The batches that wait, if they are of this type.
  template<class W>
  W* waiting() {
    return filler_.is_started() ? dynamic_cast<W*>(waiting_.get()) : nullptr;
  }
  /// Lets the thread read batches of this type.
  template<class W, class... X>
  W* wait_for(X&... x) {
    bool const goes_back = filler_.is_started();
    filler_.stop();
    if (goes_back) reader_.seek(position_);
    auto made    = std::make_unique<W>(static_cast<std::size_t>(ahead_), x...);
    W* const get = made.get();
    waiting_     = std::move(made);
    after_.assign(static_cast<std::size_t>(ahead_), position_);
    filler_.start([this](int slot) {
      auto const i = static_cast<std::size_t>(slot);
      waiting_->read(reader_, i);
      after_[i] = reader_.position();
    });
    return get;
  }
  template<class Take>
  void take(Take const& take_slot) {
    std::size_t slot = 0;
    try {
      slot = static_cast<std::size_t>(filler_.wait());
    } catch (...) {
      position_ = reader_.position();  // as it is after an error of the reader itself
      throw;
    }
    take_slot(slot);
    position_ = after_[slot];
    ++step_;
    filler_.free_slot();
  }
  void stop() {
    if (!filler_.is_started()) return;
    filler_.stop();
    reader_.seek(position_);
  }

  Reader reader_;
  position_type position_;
  extent step_ = 0;
  int ahead_;
  std::unique_ptr<detail::waiting_batches<Reader>> waiting_;
  std::vector<position_type> after_;  // of each slot: the reader's position after it
  detail::slot_filler filler_;        // its thread ends first
};

}  // namespace v0
}  // namespace meshtf
