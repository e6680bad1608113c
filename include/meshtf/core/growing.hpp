// An array that grows, also in constant evaluation.
#pragma once

#include <cstddef>

#include <meshtf/core/exchange.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A std::vector is 20 to 25 functions for each type, of which constant evaluation pays for each call: this
/// is the few that are needed.
template<class T>
class growing {
public:
  constexpr growing()            = default;
  growing(growing const&)        = delete;
  void operator=(growing const&) = delete;
  constexpr ~growing() { delete[] data_; }

  constexpr int size() const { return count_; }
  constexpr T* data() { return data_; }
  constexpr T const* data() const { return data_; }
  constexpr T& operator[](int i) { return data_[i]; }
  constexpr T const& operator[](int i) const { return data_[i]; }
  /// Adds `n` elements and returns the first of them.
  constexpr T* more(int n) {
    if (count_ + n > capacity_) {
      capacity_     = 2 * capacity_ + n + 16;
      T* const next = new T[static_cast<std::size_t>(capacity_)]{};
      for (int i = 0; i < count_; ++i) next[i] = data_[i];
      delete[] detail::exchange(data_, next);
    }
    count_ += n;
    return data_ + count_ - n;
  }
  constexpr void push_back(T const& value) { *more(1) = value; }
  constexpr void keep_first(int n) { count_ = n; }

private:
  T* data_      = nullptr;
  int count_    = 0;
  int capacity_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
