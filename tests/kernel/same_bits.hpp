// The same bits on any number of threads.
#pragma once

#include "../catch.hpp"

#include <cstring>
#include <random>
#include <vector>

#include <meshtf/kernel/parallel.hpp>

namespace {

using namespace meshtf;

std::size_t at(extent i) { return static_cast<std::size_t>(i); }

template<class T>
std::vector<T> drawn(extent n, unsigned seed) {
  std::mt19937 bits{seed};
  std::uniform_real_distribution<double> number{-1, 1};
  std::vector<T> v(at(n));
  for (T& x : v) x = static_cast<T>(number(bits));
  return v;
}

template<class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// What `f` makes on one thread, which is what it makes on more.
template<class F>
auto on_all_threads(F const& f) {
  kernel::use_one_library_thread();
  kernel::use_threads(1);
  auto const expected = f();
  for (int n : {2, 3, 4}) {
    kernel::use_threads(n);
    for (int again = 0; again < 3; ++again) {
      INFO("on " << n << " threads");
      CHECK(same_bits(f(), expected));
    }
  }
  kernel::use_threads(1);
  return expected;
}

}  // namespace
