// What the tests of work during the backward pass share: their meshes, and arrays as all processes have them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "../layout_fixture.hpp"

namespace during_backward {

using namespace meshtf;

template<int N>
struct rows : axis<N> {};
template<int N>
struct cols : axis<N> {};
template<int R, int C>
struct grid : mesh<rows<R>, cols<C>> {};

/// The processes of this job as the mesh M, until it ends.
template<Mesh M>
process_mesh<M>& processes() {
  static auto* const made = new process_mesh<M>{boost::mpi::communicator{}};
  return *made;
}

/// The elements of `of(w)` of each parameter of a list, one after the other.
std::vector<double> global_elements(auto const& list, auto const& of) {
  std::vector<double> all;
  list.for_each([&](auto const& w) {
    auto const whole = to_global(of(w));
    all.insert(all.end(), whole.begin(), whole.end());
  });
  return all;
}
std::vector<double> global_elements(auto const& list) {
  return global_elements(list, [](auto const& w) -> auto const& { return w; });
}

inline double difference(std::vector<double> const& a, std::vector<double> const& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace during_backward
