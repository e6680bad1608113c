// Scratch memory, given back at the end of its scope.
#pragma once

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Memory of `m` for the time of a message or a task; given back even if that fails.
template<class T, class Machine>
class scratch_memory {
public:
  scratch_memory(Machine& m, extent n) : machine_(m), size_(n), data_(m.template take<T>(n)) {}
  scratch_memory(scratch_memory const&) = delete;
  void operator=(scratch_memory const&) = delete;
  ~scratch_memory() { machine_.give(data_, size_); }

  T* data() const { return data_; }

private:
  Machine& machine_;
  extent size_;
  T* data_;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
