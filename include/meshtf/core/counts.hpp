// Counts: how many elements there are of dimensions whose size is known only at run time.
#pragma once

#include <array>

#include <meshtf/core/error.hpp>
#include <meshtf/core/placed.hpp>

namespace meshtf {
inline namespace v0 {

/// At most this many dimensions are counted at the same time.
inline constexpr int max_counts = 8;

/// How many elements there are of some counted dimensions. There are as many as fit of the others.
class counts {
public:
  /// The elements of the dimension `which`, whose extent is at most `max_extent`. It is null for a dimension
  /// that is not counted.
  constexpr extent of(dim_identity which, extent max_extent) const {
    if (which == nullptr) return max_extent;
    for (int i = 0; i < size_; ++i)
      if (all_[i].which == which) return all_[i].n;
    return max_extent;
  }
  template<Dimension D>
  constexpr extent of() const {
    if constexpr (CountedDimension<D>) return of(detail::identity_of<D>, D::size);
    else return D::size;
  }
  /// The elements of a tensor of these dimensions.
  template<class... D>
  constexpr extent size_of(shape<D...>) const {
    return (of<D>() * ... * extent{1});
  }
  /// The same counts, but `n` elements of the dimension `which`.
  constexpr counts with(dim_identity which, extent n) const {
    counts c = *this;
    int i    = 0;
    while (i < c.size_ && c.all_[i].which != which) ++i;
    if (i == c.size_) {
      if (c.size_ == max_counts)
        throw software_error(
            "8 dimensions are counted already, and no more can be at the same time: end a guard first");
      ++c.size_;
    }
    c.all_[i] = {which, n};
    return c;
  }
  /// Whether both say the same of the dimensions that they count, in the same order.
  friend constexpr bool operator==(counts const& a, counts const& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (a.all_[i].which != b.all_[i].which || a.all_[i].n != b.all_[i].n) return false;
    return true;
  }

private:
  struct one {
    dim_identity which = nullptr;
    extent n           = 0;
  };
  small_array<one, max_counts> all_{};
  int size_ = 0;
};

}  // namespace v0
}  // namespace meshtf
