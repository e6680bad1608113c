// Which elements of an array a process writes to a checkpoint, or needs of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/placed.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>

#include <meshtf/core/shard.hpp>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A range of the elements of a box, which has some indices of each dimension of an array: the elements
/// `begin` to before `end`, in the row-major order of the box. A shard is a box.
struct box_range {
  std::vector<extent> first;    // the first index of each dimension
  std::vector<extent> extents;  // how many indices of it
  extent begin = 0;
  extent end   = 0;

  extent size() const { return end - begin; }
  friend bool operator==(box_range const&, box_range const&) = default;
};

/// Elements that lie one after the other in the storage of a box and in the array.
struct box_run {
  extent stored = 0;
  extent global = 0;
  extent n      = 0;
};

/// The runs of a range in ascending order. The storage has `allocated` indices of each dimension, of which
/// the first are those of the box.
class box_runs {
public:
  box_runs(box_range const& range, std::vector<extent> const& allocated, std::vector<extent> const& sizes);

  /// Returns whether there is another.
  bool next(box_run& run);

private:
  std::vector<extent> extents_;         // of the dimensions outside of a run
  std::vector<extent> stored_strides_;  // from one index of them to the next
  std::vector<extent> global_strides_;
  extent longest_  = 1;
  extent global_   = 0;
  extent position_ = 0;
  extent end_      = 0;
};

/// f(offset in the storage of a, offset in that of b, length) for all elements that both ranges have.
template<class F>
void for_each_shared_run(box_runs a, box_runs b, F const& f) {
  box_run x;
  box_run y;
  bool more = a.next(x) && b.next(y);
  while (more) {
    extent const from  = x.global < y.global ? y.global : x.global;
    extent const x_end = x.global + x.n;
    extent const y_end = y.global + y.n;
    extent const until = x_end < y_end ? x_end : y_end;
    if (from < until) f(x.stored + (from - x.global), y.stored + (from - y.global), until - from);
    more = x_end <= y_end ? a.next(x) : b.next(y);
  }
}

/// Whether both boxes have an element.
bool boxes_meet(box_range const& a, box_range const& b);

/// The whole box of a process at `here`.
box_range box_at(std::span<placed const> dims, place_in_mesh const& here);

/// Restricts the range of a box to what the storage has from `begin` to before `end`, where it has
/// `allocated` indices of each dimension.
void restrict_to_storage(box_range& range, std::vector<extent> const& allocated, extent begin, extent end);

/// The share of replica number `replica` of `count`: each element has one. A range of few bytes is not
/// divided; `number`, that of the array, says who has it, so that all have some.
void restrict_to_share(box_range& range, std::uint64_t element_bytes, extent number, extent replica,
                       extent count);

/// Fewer bytes than these are not divided among replicas: each part costs a place in the manifest.
inline constexpr extent min_share = extent{16} << 10;

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE box_runs::box_runs(box_range const& range, std::vector<extent> const& allocated,
                                 std::vector<extent> const& sizes)
    : position_{range.begin}, end_{range.end} {
  if (position_ >= end_) return;
  auto const& n     = range.extents;
  std::size_t outer = n.size();
  while (outer > 0) {
    --outer;
    longest_ *= n[outer];
    if (n[outer] != sizes[outer] || n[outer] != allocated[outer]) break;
  }
  extent stored = 1;
  extent global = 1;
  for (std::size_t d = n.size(); d-- > 0;) {
    if (d < outer) {
      extents_.push_back(n[d]);
      stored_strides_.push_back(stored);
      global_strides_.push_back(global);
    }
    global_ += range.first[d] * global;
    stored *= allocated[d];
    global *= sizes[d];
  }
}

MESHTF_DEFINE bool box_runs::next(box_run& run) {
  if (position_ >= end_) return false;
  extent row          = position_ / longest_;
  extent const inside = position_ % longest_;
  run = {.stored = inside, .global = global_ + inside, .n = std::min(longest_ - inside, end_ - position_)};
  for (std::size_t d = 0; d < extents_.size(); ++d, row /= extents_[d - 1]) {
    run.stored += row % extents_[d] * stored_strides_[d];
    run.global += row % extents_[d] * global_strides_[d];
  }
  position_ += run.n;
  return true;
}

MESHTF_DEFINE bool boxes_meet(box_range const& a, box_range const& b) {
  if (a.begin >= a.end || b.begin >= b.end) return false;
  for (std::size_t d = 0; d < a.first.size(); ++d)
    if (a.first[d] >= b.first[d] + b.extents[d] || b.first[d] >= a.first[d] + a.extents[d]) return false;
  return true;
}

MESHTF_DEFINE box_range box_at(std::span<placed const> dims, place_in_mesh const& here) {
  box_range box{{}, {}, 0, 1};
  auto const first = first_indices(dims, here);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    box.first.push_back(first[d]);
    box.extents.push_back(dims[d].local_extent(here.part_of(dims[d].over)));
    box.end *= box.extents.back();
  }
  return box;
}

/// How many elements of a box its storage has before an offset.
MESHTF_DEFINE extent elements_before(std::vector<extent> const& extents, std::vector<extent> const& allocated,
                                     extent offset) {
  extent stored = 1;
  extent n      = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    stored *= allocated[d];
    n *= extents[d];
  }
  if (offset >= stored || n == 0) return n;
  extent count = 0;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    stored /= allocated[d];
    n /= extents[d];
    extent const index = offset / stored;
    if (index >= extents[d]) return count + extents[d] * n;
    count += index * n;
    offset %= stored;
  }
  return count;
}

MESHTF_DEFINE void restrict_to_storage(box_range& range, std::vector<extent> const& allocated, extent begin,
                                       extent end) {
  range.begin = elements_before(range.extents, allocated, begin);
  range.end   = elements_before(range.extents, allocated, end);
}

MESHTF_DEFINE void restrict_to_share(box_range& range, std::uint64_t element_bytes, extent number,
                                     extent replica, extent count) {
  extent const n       = range.size();
  extent const wanted  = (n * static_cast<extent>(element_bytes) + min_share - 1) / min_share;
  extent const sharers = std::clamp(wanted, extent{1}, count);
  extent const turn    = (replica + count - number % count) % count;
  extent const begin   = range.begin;
  range.begin          = begin + (turn < sharers ? n * turn / sharers : n);
  range.end            = begin + (turn < sharers ? n * (turn + 1) / sharers : n);
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
