// Saving a checkpoint in parts: each process writes its own, and process 0 the manifest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/io/box_range.hpp>
#include <meshtf/io/checkpoint_folder.hpp>
#include <meshtf/io/checkpoint_saving.hpp>
#include <meshtf/io/kept_arrays.hpp>
#include <meshtf/io/step_folder.hpp>
#include <meshtf/io/training_position.hpp>
#include <meshtf/optim/replica_parts.hpp>
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/point_to_point.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/runtime/waiting.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#endif

#if MESHTF_WITH_JANSSON

namespace meshtf {
inline namespace v0 {
namespace detail {

/// What the process at `here` has of an array whose storage, or part of one, begins at `data`; nothing if
/// that is null.
stored_array stored_array_of(std::string name, safetensors_array whole, std::uint64_t element_bytes,
                             std::span<placed const> dims, place_in_mesh const& here,
                             replica_parts const& parts, void* data);

/// What this process has of the arrays; if they are `shared_by_replicas`, its share of that. `stages`: the
/// axis along which stages lie.
template<class M>
std::vector<stored_array> stored_arrays_of(process_mesh<M>& m, kept_arrays<M> const& arrays, axis_set stages,
                                           bool shared_by_replicas) {
  std::vector<stored_array> stored;
  arrays.for_each([&]<class T>(kept_array<T, M> const& array) {
    stored.push_back(stored_array_of(array.name, array.described(), sizeof(T), array.dims, m.place(),
                                     array.parts, array.is_absent() ? nullptr : array.data->data()));
    if (!shared_by_replicas) return;
    axis_set const others = array.over | array.parts.over | (array.stage < 0 ? axis_set{0} : stages);
    axis_set const over   = joining_axes<M> & ~others;
    auto const number     = static_cast<extent>(stored.size()) - 1;
    restrict_to_share(stored.back().range, sizeof(T), number, m.rank_along(over),
                      processes_along(axis_sizes<M>, over));
  });
  return stored;
}

/// A layout in words: its name, its mesh, and how many processes that has along each axis.
template<Layout L>
std::string layout_in_words() {
  using mesh_type  = typename L::mesh_type;
  std::string text = std::string{name<L>} + " on " + std::string{name<mesh_type>} + " of ";
  for (std::size_t a = 0; a < std::size_t{mesh_type::all_axes::count}; ++a)
    text += (a == 0 ? "" : " x ") + std::to_string(axis_sizes<mesh_type>[a]);
  return text;
}

/// Where a checkpoint is to be saved.
struct saving_place {
  std::string folder;
  training_position position;
  std::string bad;            // the name of the first array that is not finite
  std::uint64_t longest = 0;  // the longest header of a file of this model
};

/// What this process has of a checkpoint in parts, and where it is to be saved.
struct parts_to_save {
  std::vector<stored_array> arrays;
  manifest_head head;
  saving_place place;
};

/// One save of a checkpoint in parts. Some members communicate, and all processes call them; the others work
/// on files alone. Without `commit` its destructor removes the folder.
class parts_save {
public:
  /// Makes the folder. It communicates. Errors, the same on all processes: those of `save`.
  parts_save(boost::mpi::communicator const& world, parts_to_save what);
  parts_save(parts_save const&)            = delete;
  parts_save& operator=(parts_save const&) = delete;
  /// Also removes what was there before, after an exchange.
  ~parts_save();

  /// Writes the part of this process.
  void write_part();
  /// Whether the step is there already, with the same bytes in this part.
  bool is_equal() const { return equal_; }
  /// Process 0 receives what the manifest says of each part. It communicates.
  void collect(boost::mpi::communicator const& world);
  /// Writes the manifest and gives the folder its name, unless all parts are `equal`. Process 0 calls it.
  void commit(bool equal);

  saving_place const& place() const { return what_.place; }
  /// Whether this is process 0.
  bool is_first() const { return rank_ == 0; }

private:
  std::array<std::int64_t, 2> begin();
  std::string unfinished(std::int64_t job) const;
  std::string own_name() const { return "/" + part_name(rank_, size_); }

  parts_to_save what_;
  std::string path_;
  std::string unfinished_;
  std::optional<under_way> under_way_;  // on process 0
  std::string record_;                  // what the manifest says of this part
  std::vector<std::string> records_;    // of all parts, on process 0
  int rank_;
  int size_;
  bool taken_ = false;
  bool equal_ = false;
  bool keeps_ = false;
};

/// Process 0 removes the checkpoints that a new one makes superfluous. A failure is said, and no error: the
/// new one is there, and that is what all processes know.
void remove_superseded_checkpoints(saving_place const& place);

/// All processes call it. Errors, the same on all: those of `save`.
void save_parts(boost::mpi::communicator const& world, parts_to_save what);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE stored_array stored_array_of(std::string name, safetensors_array whole,
                                           std::uint64_t element_bytes, std::span<placed const> dims,
                                           place_in_mesh const& here, replica_parts const& parts,
                                           void* data) {
  stored_array array{.name          = std::move(name),
                     .whole         = std::move(whole),
                     .element_bytes = element_bytes,
                     .allocated     = {},
                     .range         = box_at(dims, here),
                     .data          = static_cast<char*>(data)};
  for (placed const& d : dims) array.allocated.push_back(d.allocated_extent());
  extent replica = 0;  // ranks along a set of axes are row-major in the mesh's order
  for (std::size_t a = 0; a < max_axes; ++a)
    if ((parts.over >> a & 1) != 0) replica = replica * here.sizes[a] + here.coordinates[a];
  array.skipped = parts.first(replica);
  restrict_to_storage(array.range, array.allocated, array.skipped,
                      array.skipped + parts.local_extent(replica));
  if (data == nullptr) array.range.end = array.range.begin;
  return array;
}

/// The texts of all processes on process 0, padded with spaces.
MESHTF_DEFINE std::vector<std::string> gathered_texts(boost::mpi::communicator const& world,
                                                      std::string text) {
  text.resize((text.size() + 3) / 4 * 4, ' ');
  std::vector<std::int32_t> words(text.size() / 4);
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(words.data()));
  auto const mine = static_cast<std::int64_t>(words.size());
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(world.size()));
  meshtf::all_gather(world, &mine, 1, sizes.data());
  std::vector<std::string> texts;
  if (world.rank() == 0) texts.push_back(std::move(text));
  for (int from = 1; from < world.size(); ++from) {
    auto const n = sizes[static_cast<std::size_t>(from)];
    std::vector<std::int32_t> received(world.rank() == 0 ? static_cast<std::size_t>(n) : 0);
    std::string& to = world.rank() == 0 ? texts.emplace_back() : text;
    hand_over(world, from, 0, words.data(), received.data(), n, largest_count, [&](extent, extent length) {
      to.append(reinterpret_cast<char const*>(received.data()), static_cast<std::size_t>(length) * 4);
    });
  }
  return texts;
}

MESHTF_DEFINE parts_save::parts_save(boost::mpi::communicator const& world, parts_to_save what)
    : what_{std::move(what)}, rank_{world.rank()}, size_{world.size()} {
  std::array<std::int64_t, 2> told{};
  agreed(world, [&] {
    if (rank_ == 0) told = begin();
  });
  meshtf::broadcast(world, told.data(), 2, 0);
  path_       = what_.place.folder + "/" + checkpoint_name(what_.place.position.step, true);
  unfinished_ = unfinished(told[0]);
  taken_      = told[1] != 0;
}

/// "runs" for "runs/1" and for "runs/1/", "." for a name alone.
MESHTF_DEFINE std::string folder_above(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  auto const slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return path.substr(0, slash == 0 ? 1 : slash);
}

MESHTF_DEFINE parts_save::~parts_save() {
  if (rank_ != 0 || unfinished_.empty() || keeps_) return;
  try {
    remove_folder(unfinished_);
  } catch (std::bad_alloc const&) {  // the next save removes it
  }
}

/// Returns the number in the name of the folder, and whether there is a checkpoint in parts already.
MESHTF_DEFINE std::array<std::int64_t, 2> parts_save::begin() {
  auto const& place = what_.place;
  struct stat about{};
  bool const is_new = ::stat(place.folder.c_str(), &about) != 0;
  path_             = reserve_path_for(place.folder, place.position, place.bad, place.longest, true);
  if (is_new) sync_folder(folder_above(place.folder));
  auto const job            = static_cast<std::int64_t>(new_run());
  std::string const to_make = unfinished(job);
  if (::mkdir(to_make.c_str(), 0777) != 0)
    throw unavailable("expected to make the folder " + to_make + ", got: " + std::strerror(errno));
  unfinished_ = to_make;
  under_way_.emplace(unfinished_);
  return {job, ::stat(path_.c_str(), &about) == 0 ? 1 : 0};
}

MESHTF_DEFINE std::string parts_save::unfinished(std::int64_t job) const {
  return path_ + std::string{unfinished_infix} + spelled_run(static_cast<std::uint64_t>(job));
}

MESHTF_DEFINE void parts_save::write_part() {
  auto const part = detail::write_part(unfinished_ + own_name(), what_.arrays);
  equal_          = taken_ && has_part(path_ + own_name(), part);
  record_         = part.text();
}

MESHTF_DEFINE void parts_save::collect(boost::mpi::communicator const& world) {
  records_ = gathered_texts(world, std::move(record_));
}

MESHTF_DEFINE void parts_save::commit(bool equal) {
  std::string const name     = "/" + std::string{manifest_name};
  std::string const manifest = manifest_text(what_.head, what_.arrays, records_);
  if (equal && read_whole(path_ + name) == manifest) return;  // it is there
  write_file(unfinished_ + name, manifest);
  sync_folder(unfinished_);
  put_in_place(unfinished_, path_, taken_);
  keeps_ = true;  // until it is certain that the new one stays
  sync_folder(what_.place.folder);
  keeps_ = false;
}

MESHTF_DEFINE void remove_superseded_checkpoints(saving_place const& place) {
  try {
    remove_superseded_checkpoints(place.folder, place.position, place.bad, place.longest, true);
  } catch (error const& e) {
    say(e.what());
  }
}

MESHTF_DEFINE void save_parts(boost::mpi::communicator const& world, parts_to_save what) {
  bool const first = world.rank() == 0;
  std::optional<parts_save> save{std::in_place, world, std::move(what)};
  std::exception_ptr caught;
  try {
    save->write_part();
  } catch (...) {
    caught = std::current_exception();
  }
  std::int64_t equal = save->is_equal() ? 1 : 0;
  {
    waiting_for_file const here{"others, which write a checkpoint", "save"};
    agree(world, caught);
    meshtf::all_reduce(world, reduction::min, &equal, 1);
  }
  save->collect(world);
  {
    std::optional<waiting_for_file> others_wait;
    if (!first) others_wait.emplace("process 0, which writes a checkpoint", "save");
    agreed(world, [&] {
      if (first) save->commit(equal != 0);
    });
  }
  auto const place = save->place();
  save.reset();
  if (first) remove_superseded_checkpoints(place);
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf

#endif
