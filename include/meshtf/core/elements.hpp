// Elements in the memory of one process, one after the other, also bools: std::vector<bool> has no elements
// to point to.
#pragma once

#include <cstddef>
#include <memory>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// `n` elements, all zeros at first.
template<class T>
class elements {
public:
  elements() = default;
  explicit elements(std::size_t n) : size_{n}, data_{std::make_unique<T[]>(n)} {}

  std::size_t size() const { return size_; }
  T* data() { return data_.get(); }
  T const* data() const { return data_.get(); }

private:
  std::size_t size_ = 0;
  std::unique_ptr<T[]> data_;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
