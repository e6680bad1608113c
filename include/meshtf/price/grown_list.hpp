// How a list grows with the number of blocks that wrote it, found from the lists of one, two and three
// blocks.
#pragma once

#include <cstddef>
#include <span>

#include <meshtf/core/growing.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The list of n blocks is the list of one block with pieces between its entries. Each piece comes n - 1
/// times: once in the list of two blocks, twice in that of three. A stack of blocks that runs forward and
/// back makes two pieces, an optimizer more; two stacks that grow together make twice as many.
///
/// `Rules` says which entries correspond: `alike(x, y)` within a piece; between pieces `stays(x, y, z)` if
/// the entry is the same with one, two and three blocks, and `grows(x, y, z)` if its sizes differ but lie on
/// a line.
template<class Entry, class Rules>
class grown_list {
public:
  struct piece {
    std::size_t before = 0;  // the piece comes before this entry of the list of one block
    std::size_t first  = 0;  // where it begins in the list of two blocks
    std::size_t length = 0;
    std::size_t third  = 0;  // where it begins in the list of three blocks, twice in a row
  };

  constexpr grown_list(std::span<Entry const> one, std::span<Entry const> two, std::span<Entry const> three)
      : one_(one), two_(two), three_(three) {
    fits_ = one.size() <= two.size() && three.size() - two.size() == two.size() - one.size() && align(0, 0);
  }

  constexpr explicit operator bool() const { return fits_; }

  /// f(one, two, three) for each entry of the list of one block, and g(piece) for each piece, in order.
  template<class F, class G>
  constexpr void for_each(F const& f, G const& g) const {
    std::size_t more = 0;
    int next         = 0;
    for (std::size_t i = 0; i <= one_.size(); ++i) {
      for (; next < pieces_.size() && pieces_[next].before == i; ++next) {
        g(pieces_[next]);
        more += pieces_[next].length;
      }
      if (i < one_.size()) f(one_[i], two_[i + more], three_[i + 2 * more]);
    }
  }

private:
  struct place {
    std::size_t position;
    std::size_t more;
  };

  constexpr std::size_t longer() const { return two_.size() - one_.size(); }

  /// Whether the lists fit from entry `at` of one block on, after pieces of `more` entries in all. If they
  /// do, the pieces found are kept.
  constexpr bool align(std::size_t position, std::size_t more) {
    std::size_t i = position;
    while (i < one_.size() && Rules::stays(one_[i], two_[i + more], three_[i + 2 * more])) ++i;
    if (i == one_.size() && more == longer()) return true;
    for (bool last = false; !last; --i) {
      last = i == position;
      if (insert(i, more)) return true;
      if (i < one_.size() && Rules::grows(one_[i], two_[i + more], three_[i + 2 * more]) &&
          align(i + 1, more))
        return true;
    }
    return false;
  }

  constexpr bool insert(std::size_t i, std::size_t more) {
    for (int k = 0; k < failed_.size(); ++k)
      if (failed_[k].position == i && failed_[k].more == more) return false;
    for (std::size_t n = i == one_.size() ? longer() - more : 1; n > 0 && n <= longer() - more; ++n) {
      if (!repeats(i + more, i + 2 * more, n)) continue;
      pieces_.push_back({i, i + more, n, i + 2 * more});
      if (align(i, more + n)) return true;
      pieces_.keep_first(pieces_.size() - 1);
    }
    failed_.push_back({i, more});
    return false;
  }

  /// Whether the n entries at `in_two` of the list of two blocks come twice in a row at `in_three` of the
  /// list of three.
  constexpr bool repeats(std::size_t in_two, std::size_t in_three, std::size_t n) const {
    for (std::size_t k = 0; k < n; ++k)
      if (!Rules::alike(two_[in_two + k], three_[in_three + k]) ||
          !Rules::alike(two_[in_two + k], three_[in_three + n + k]))
        return false;
    return true;
  }

  std::span<Entry const> one_;
  std::span<Entry const> two_;
  std::span<Entry const> three_;
  growing<piece> pieces_{};
  growing<place> failed_{};
  bool fits_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
