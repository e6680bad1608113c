// The ranges of a file that nothing uses.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Ranges of bytes that can be taken: in the order of their places, and no two touch.
class free_ranges {
public:
  struct range {
    extent start = 0;
    extent bytes = 0;
  };

  /// `forget` must not fail, so there is room before it needs some.
  free_ranges() { ranges_.reserve(256); }

  /// The start of the first range that is long enough, or -1. In steady state each array finds a place of its
  /// size.
  extent take(extent bytes) {
    for (auto r = ranges_.begin(); r != ranges_.end(); ++r) {
      if (r->bytes < bytes) continue;
      extent const start = r->start;
      r->start += bytes;
      r->bytes -= bytes;
      if (r->bytes == 0) ranges_.erase(r);
      return start;
    }
    return -1;
  }

  void give_back(range r) {
    auto const after = std::lower_bound(ranges_.begin(), ranges_.end(), r.start,
                                        [](range const& a, extent start) { return a.start < start; });
    bool const joins = after != ranges_.end() && r.start + r.bytes == after->start;
    bool const joined =
        after != ranges_.begin() && std::prev(after)->start + std::prev(after)->bytes == r.start;
    if (joined) {
      std::prev(after)->bytes += r.bytes + (joins ? after->bytes : 0);
      if (joins) ranges_.erase(after);
    } else if (joins) {
      after->start = r.start;
      after->bytes += r.bytes;
    } else {
      ranges_.insert(after, r);
    }
  }

private:
  std::vector<range> ranges_;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
