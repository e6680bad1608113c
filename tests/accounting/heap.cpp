// operator new and delete that count.
// test: program accounting data nn optim mixed_precision
#include "heap.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

long count = 0;

void* counted(std::size_t bytes) {
  ++count;
  if (void* const p = std::malloc(std::max(bytes, std::size_t{1}))) return p;
  throw std::bad_alloc{};
}

void* counted(std::size_t bytes, std::align_val_t alignment) {
  ++count;
  auto const unit = static_cast<std::size_t>(alignment);
  if (void* const p = std::aligned_alloc(unit, (std::max(bytes, std::size_t{1}) + unit - 1) / unit * unit))
    return p;
  throw std::bad_alloc{};
}

}  // namespace

long heap::allocations() { return count; }

// The address sanitizer brings every form, so those that Catch2 and the standard library call are all
// replaced.
void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return counted(bytes, alignment); }
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  return ++count, std::malloc(std::max(bytes, std::size_t{1}));
}
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return counted(bytes, alignment); }
void* operator new[](std::size_t bytes, std::nothrow_t const&) noexcept {
  return ++count, std::malloc(std::max(bytes, std::size_t{1}));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
