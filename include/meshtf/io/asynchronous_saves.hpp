// asynchronous_saves: checkpoints that a thread writes while training goes on.
#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/io/checkpoint.hpp>
#include <meshtf/io/checkpoint_parts.hpp>
#include <meshtf/io/file_thread.hpp>
#include <meshtf/io/kept_arrays.hpp>
#include <meshtf/io/step_folder.hpp>
#include <meshtf/io/training_position.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/price/machine.hpp>
#include <meshtf/runtime/waiting.hpp>
#include <meshtf/tensor/parameters.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <cstdint>
#include <cstring>
#include <exception>

#include <meshtf/io/box_range.hpp>
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/collectives.hpp>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// How far the save of a process has come. The least of all processes says how far all have.
enum class save_standing : int { failed, works, done, done_and_equal };

#if MESHTF_WITH_JANSSON

/// A copy of elements that a process writes. Its memory is kept for the next one.
class snapshot {
public:
  /// Copies the elements of the arrays' ranges, and makes `data` point at the copies.
  void take(std::vector<stored_array>& arrays);

private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

/// The saves of one process. A thread does what concerns files; members that get a communicator communicate,
/// and all processes call them.
class running_save {
public:
  running_save()                               = default;
  running_save(running_save const&)            = delete;
  running_save& operator=(running_save const&) = delete;

  /// No save is under way.
  bool is_idle() const { return stage_ == stage::idle; }

  /// Waits for the save before, copies the arrays, and lets the thread write.
  void begin(boost::mpi::communicator const& world, parts_to_save what);

  /// What this process says to the others.
  save_standing standing() const;

  /// `all`: the least of what all processes say. If all are done, the next stage begins; if one has failed,
  /// all throw its error.
  void go_on(boost::mpi::communicator const& world, save_standing all);

  /// Waits until the thread has ended.
  void join() { thread_.join(); }

  /// Waits until the save is on disk on all processes, and what it makes superfluous is removed.
  void finish(boost::mpi::communicator const& world);

private:
  enum class stage { idle, writing, committing };

  void commit(boost::mpi::communicator const& world, bool equal);
  void end();

  snapshot copy_;
  std::shared_ptr<parts_save> save_;
  stage stage_ = stage::idle;
  file_thread thread_;  // ends first
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE void snapshot::take(std::vector<stored_array>& arrays) {
  std::size_t wanted = 0;
  for (auto const& array : arrays)
    wanted += static_cast<std::size_t>(array.range.size()) * static_cast<std::size_t>(array.element_bytes);
  if (wanted > size_) {
    bytes_.reset();
    size_  = 0;
    bytes_ = std::make_unique_for_overwrite<char[]>(wanted);
    size_  = wanted;
  }
  char* to = bytes_.get();
  for (auto& array : arrays) {
    char* const copy = to;
    box_runs runs{array.range, array.allocated, array.whole.extents};
    for (box_run run; runs.next(run);) {
      auto const bytes = static_cast<std::size_t>(run.n) * static_cast<std::size_t>(array.element_bytes);
      std::memcpy(to,
                  array.data + static_cast<std::uint64_t>(run.stored - array.skipped) * array.element_bytes,
                  bytes);
      to += bytes;
    }
    array.allocated = array.range.extents;  // the copy has the range of the box, and nothing between
    array.skipped   = array.range.begin;
    array.data      = copy;
  }
}

MESHTF_DEFINE void running_save::begin(boost::mpi::communicator const& world, parts_to_save what) {
  finish(world);
  agreed(world, [&] { copy_.take(what.arrays); });
  save_  = std::make_shared<parts_save>(world, std::move(what));
  stage_ = stage::writing;
  thread_.start([save = save_] { save->write_part(); });
}

MESHTF_DEFINE save_standing running_save::standing() const {
  if (is_idle()) return save_standing::done_and_equal;
  if (!thread_.is_done()) return save_standing::works;
  if (thread_.caught()) return save_standing::failed;
  return save_->is_equal() ? save_standing::done_and_equal : save_standing::done;
}

MESHTF_DEFINE void running_save::go_on(boost::mpi::communicator const& world, save_standing all) {
  if (is_idle() || all == save_standing::works) return;
  thread_.join();
  if (all == save_standing::failed) {
    auto const failed = std::move(save_);  // process 0 removes the folder when all have ended
    stage_            = stage::idle;
    agree(world, thread_.caught());
  } else if (stage_ == stage::writing) {
    commit(world, all == save_standing::done_and_equal);
  } else {
    end();
  }
}

MESHTF_DEFINE void running_save::commit(boost::mpi::communicator const& world, bool equal) {
  save_->collect(world);
  stage_ = stage::committing;
  if (world.rank() == 0) thread_.start([save = save_, equal] { save->commit(equal); });
}

MESHTF_DEFINE void running_save::end() {
  stage_    = stage::idle;
  auto save = std::move(save_);
  if (!save->is_first()) return;
  thread_.start([save]() mutable {
    auto const place = save->place();
    save.reset();  // it removes what was there before
    remove_superseded_checkpoints(place);
  });
}

MESHTF_DEFINE void running_save::finish(boost::mpi::communicator const& world) {
  while (!is_idle()) {
    thread_.join();
    auto least = static_cast<int>(standing());
    {
      waiting_for_file const here{"others, which write a checkpoint", "save"};
      meshtf::all_reduce(world, reduction::min, &least, 1);
    }
    go_on(world, static_cast<save_standing>(least));
  }
  thread_.join();
}

#endif

template<class List, class Optimizer>
void begin_save(running_save& save, List const& list, Optimizer const& opt, training_position const& position,
                std::string const& folder, setting_texts const& about) {
  if constexpr (can_be_kept<List, Optimizer>())
    with_parts_to_save(list, opt, position, folder, about,
                       [&save](auto& m, parts_to_save what) { save.begin(m.world(), std::move(what)); });
}

/// In a dry run.
struct no_save {};

template<class Machine>
struct running_save_on {
  using type = no_save;
};
template<class Machine>
  requires Machine::computes
struct running_save_on<Machine> {
  using type = running_save;
};

#else

template<class... Arguments>
void begin_save(Arguments const&... arguments) {
  save_to(arguments...);
}

template<class Machine>
struct running_save_on {
  static_assert(
      sizeof(Machine) == 0,
      "meshtf: checkpoints need the library jansson: apt install libjansson-dev, and configure again; "
      "without CMake: -DMESHTF_WITH_JANSSON=1 -ljansson");
};

#endif

}  // namespace detail

/// Checkpoints that are written while training goes on. `save` copies what this process has of the arrays,
/// and a thread writes the copy, in the form and with the guarantees of `meshtf::save`: the same files, the
/// same order on disk, the same errors.
///
///     meshtf::asynchronous_saves saves{m};
///     for (std::uint64_t step = first; step < steps;) {
///       t.step();
///       ++step;
///       saves.poll();
///       if (step % 100 == 0) saves.save(parameters(net), opt, {.step = step, .seed = seed}, "run1");
///     }
///     saves.finish();
///
/// The thread works on files alone and never calls MPI. So the main thread has to look: `poll`, called after
/// each step, asks all processes how far they are. When all parts are on disk process 0 gives the checkpoint
/// its name, and when `poll` has told all processes that it has, older ones are removed. A save takes at
/// least two calls of `poll`, or one of `finish`.
///
/// A save that fails on any process is an error on all, at the next `poll`, `save` or `finish`, and what was
/// saved before is untouched. After it, saves go on.
///
/// The destructor waits for the thread of this process, and communicates with no other: so it may end by an
/// exception. A save that has not ended then is not there, and the newest checkpoint is the one before it.
/// What it has left, the next save in the folder removes.
///
/// A process needs memory for a second copy of what it writes, which is kept from one save to the next. While
/// a save is under way any other save in its folder is a `usage_error` on all processes.
template<class Machine>
  requires requires { typename Machine::mesh_type; }
class asynchronous_saves {
public:
  constexpr explicit asynchronous_saves(Machine& m) : machine_{&m} {}
  asynchronous_saves(asynchronous_saves const&)            = delete;
  asynchronous_saves& operator=(asynchronous_saves const&) = delete;

  /// Begins to save parameters, the state of their optimizer and the position of training, as
  /// `meshtf::save(list, opt, position, folder)` does, and as of this moment: they may change as soon as it
  /// returns. It first waits for a save that is under way, as `finish` does.
  ///
  /// Every process calls it, between two steps. As `meshtf::save`, it is no part of a price.
  /// Errors, the same on all processes: those of `meshtf::save`, of this save and of the one before.
  template<class First, class... Rest, class Optimizer>
  void save(parameter_list<First, Rest...> const& list, Optimizer const& opt,
            training_position const& position, std::string const& folder) {
    detail::begin_save(save_, list, opt, position, folder, {});
  }

  /// The same with the program's settings.
  template<class First, class... Rest, class Optimizer, Settings S>
  void save(parameter_list<First, Rest...> const& list, Optimizer const& opt,
            training_position const& position, S const& settings, std::string const& folder) {
    detail::begin_save(save_, list, opt, position, folder, detail::described_program(list, settings));
  }

  /// The same for a program that has no optimizer, or one without state of its own.
  template<class First, class... Rest>
  void save(parameter_list<First, Rest...> const& list, training_position const& position,
            std::string const& folder) {
    save(list, detail::no_optimizer{}, position, folder);
  }

  /// Looks how far the save has come, and goes on with it; it waits for no file unless a process has failed.
  /// Returns whether all is on disk that was to be saved, the same on all processes.
  ///
  /// One all-reduce of one number over the whole mesh, which is priced and counted. Once in a save, when all
  /// processes have written, what the manifest says of each part is sent too, which is not.
  /// Errors, the same on all processes: those of `meshtf::save`.
  constexpr bool poll(std::source_location at = std::source_location::current()) {
    agree_on("poll", at);
    if constexpr (Machine::computes) return save_.is_idle();
    else return true;
  }

  /// Waits until all is on disk, and older checkpoints are removed. One all-reduce of one number is priced
  /// and counted, as of `poll`; the rest, as of `meshtf::save`, is not.
  /// Errors, the same on all processes: those of `meshtf::save`.
  constexpr void finish(std::source_location at = std::source_location::current()) {
    if constexpr (Machine::computes) wait_for_all(at);
    else agree_on("finish", at);
  }

private:
  void wait_for_all(std::source_location at) {
    save_.join();
    {
      detail::waiting_for_file const here{"others, which write a checkpoint", "finish"};
      agree_on("finish", at);
    }
    save_.finish(machine_->world());
  }
  constexpr void agree_on(char const* operation, std::source_location at) {
    int least = 0;
    if constexpr (Machine::computes) least = static_cast<int>(save_.standing());
    machine_->begin_operation(operation, at);
    machine_->all_reduce(reduction::min, &least, 1, joining_axes<typename Machine::mesh_type>);
    if constexpr (Machine::computes)
      save_.go_on(machine_->world(), static_cast<detail::save_standing>(least));
  }

  Machine* machine_;
  [[no_unique_address]] typename detail::running_save_on<Machine>::type save_;
};

}  // namespace v0
}  // namespace meshtf
