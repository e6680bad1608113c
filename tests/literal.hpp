// Literal numbers for the first test case of an operation, which a reader can check by hand:
//
//   TEST_CASE("cumsum of literal numbers") {
//     if (!on_one_process()) return;
//     auto const x = literal<quartet>({1, 2, 3, 4});
//     auto const z = cumsum<quartet>(x);
//     backward(sum(z));
//     CHECK(numbers_of(z) == list{1, 3, 6, 10});
//     CHECK(slopes_of(x) == list{4, 3, 2, 1});
//   }
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "layout_fixture.hpp"

namespace fixture {

struct duo : dim<2> {};
struct trio : dim<3> {};
struct quartet : dim<4> {};

using list = std::vector<double>;

inline bool on_one_process() { return boost::mpi::communicator{}.size() == 1; }

/// A parameter with these elements, whose last dimension runs fastest.
template<class... D>
  requires(sizeof...(D) != 2)
parameter<double, alone, D...> literal(std::initializer_list<double> elements) {
  parameter<double, alone, D...> x{processes<single>()};
  REQUIRE(static_cast<extent>(elements.size()) == x.size);
  std::copy(elements.begin(), elements.end(), x.data());
  return x;
}

/// A matrix, row by row.
template<class Rows, class Columns>
parameter<double, alone, Rows, Columns> literal(std::initializer_list<std::initializer_list<double>> rows) {
  parameter<double, alone, Rows, Columns> x{processes<single>()};
  REQUIRE(static_cast<extent>(rows.size()) == Rows::size);
  double* to = x.data();
  for (auto const& row : rows) {
    REQUIRE(static_cast<extent>(row.size()) == Columns::size);
    to = std::copy(row.begin(), row.end(), to);
  }
  return x;
}

/// Integers, for what takes indices.
template<class... D>
tensor<std::int32_t, alone, D...> integers(std::initializer_list<std::int32_t> elements) {
  tensor<std::int32_t, alone, D...> x{processes<single>()};
  REQUIRE(static_cast<extent>(elements.size()) == x.size);
  std::copy(elements.begin(), elements.end(), x.data());
  return x;
}

/// The elements of a tensor under `alone`.
template<class X>
list numbers_of(X const& x) {
  list all;
  for (extent i = 0; i < x.size; ++i) all.push_back(static_cast<double>(x.data()[i]));
  return all;
}

/// The gradient of `x`.
template<class X>
list slopes_of(X const& x) {
  return numbers_of(finish(gradient(x)));
}

/// Numbers to four decimals.
inline list rounded(list numbers) {
  for (double& x : numbers) x = std::round(x * 1e4) / 1e4;
  return numbers;
}

}  // namespace fixture
