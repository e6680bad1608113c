// Rows and elements by index, and the index of the largest, against plain loops.
#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include <meshtf/kernel/gather.hpp>
#include <meshtf/kernel/lines.hpp>

#include "../catch.hpp"

using namespace meshtf;

namespace {

template<class T>
void check(extent ids, extent outer, extent along, extent inner, extent first) {
  INFO(ids << " ids, table " << outer << " x " << along << " x " << inner << " from " << first);
  auto const at = [](extent i) { return static_cast<std::size_t>(i); };
  std::vector<std::int32_t> index(at(ids));
  for (extent i = 0; i < ids; ++i) index[at(i)] = static_cast<std::int32_t>(i * i * 7 % (first + along + 3));
  std::vector<T> table(at(outer * along * inner));
  std::vector<T> rows(at(ids * outer * inner), T{-1});
  std::vector<T> sums(table.size(), T{1});
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<T>(i + 1);

  std::vector<T> expected_rows(rows.size());
  std::vector<T> expected_sums = sums;
  for (extent i = 0; i < ids; ++i)
    for (extent o = 0; o < outer; ++o)
      for (extent k = 0; k < inner; ++k) {
        extent const a    = index[at(i)] - first;
        extent const from = (i * outer + o) * inner + k;
        extent const to   = (o * along + a) * inner + k;
        if (a < 0 || a >= along) continue;
        expected_rows[at(from)] = table[at(to)];
        expected_sums[at(to)] += expected_rows[at(from)];
      }

  kernel::gather_rows(contiguous_gather(ids, outer, along, inner), first, table.data(), index.data(),
                      rows.data());
  CHECK(rows == expected_rows);
  kernel::scatter_rows(contiguous_gather(ids, outer, along, inner), first, rows.data(), index.data(),
                       sums.data());
  CHECK(sums == expected_sums);
}

std::size_t place(extent i) { return static_cast<std::size_t>(i); }

template<class T>
void check_pick(extent outer, extent along, extent inner, extent first, extent whole) {
  INFO(outer << " x " << along << " x " << inner << " from " << first << " of " << whole);
  std::vector<std::int32_t> index(place(outer * inner));
  for (extent i = 0; i < outer * inner; ++i) index[place(i)] = static_cast<std::int32_t>(i * i * 7 % whole);
  std::vector<T> x(place(outer * along * inner));
  std::vector<T> z(index.size(), T{-1});
  std::vector<T> expected(index.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i + 1);
  for (extent i = 0; i < outer * inner; ++i)
    if (extent const a = index[place(i)] - first; a >= 0 && a < along)
      expected[place(i)] = x[place((i / inner * along + a) * inner + i % inner)];
  kernel::pick(contiguous_lines(outer, along, inner), first, x.data(), index.data(), z.data(),
               along == whole);
  CHECK(z == expected);
}

/// Rows of every length that `values` makes; `values(i)` is element i of the array.
template<class T, class F>
void check_argmax(extent inner, F const& values) {
  for (extent along : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 100, 1000}) {
    constexpr extent outer = 37;
    INFO("rows of " << along << ", " << inner << " apart");
    std::vector<T> x(place(outer * along * inner));
    std::vector<T> best(place(outer * inner));
    std::vector<std::int32_t> where(best.size(), -1);
    for (extent i = 0; i < std::ssize(x); ++i) x[place(i)] = values(i);
    kernel::argmax(contiguous_lines(outer, along, inner), 0, x.data(), best.data(), where.data());
    int wrong = 0;
    for (extent i = 0; i < outer * inner; ++i) {
      T const* const row = x.data() + i / inner * along * inner + i % inner;
      extent at          = 0;
      for (extent a = 1; a < along; ++a)
        if (T const most = row[at * inner], v = row[a * inner]; most == most && !(v <= most)) at = a;
      T const most  = row[at * inner];
      T const found = best[place(i)];
      wrong += where[place(i)] != at || !(found == most || (found != found && most != most));
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("rows are copied, and added where they came from") {
  for (extent inner : {1, 3, 8, 37})
    for (extent outer : {1, 2})
      for (extent first : {0, 5})
        check<float>(20, outer, 6, inner, first), check<double>(20, outer, 6, inner, first);
}

TEST_CASE("each index has rows of its own") {
  for (extent inner : {1, 5}) {
    constexpr extent ids   = 7;
    constexpr extent along = 4;
    constexpr extent first = 2;
    auto steps             = contiguous_gather(ids, 1, along, inner);
    steps.table_stride     = along * inner;
    std::vector<std::int32_t> const index{5, 2, 6, 3, 0, 4, 2};
    std::vector<double> table(place(ids * along * inner));
    std::vector<double> rows(place(ids * inner), -1);
    std::vector<double> sums(table.size(), 1);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<double>(i + 1);
    std::vector<double> expected_rows(rows.size());
    std::vector<double> expected_sums = sums;
    for (extent i = 0; i < ids; ++i)
      for (extent k = 0; k < inner; ++k)
        if (extent const a = index[place(i)] - first; a >= 0 && a < along) {
          expected_rows[place(i * inner + k)] = table[place((i * along + a) * inner + k)];
          expected_sums[place((i * along + a) * inner + k)] += table[place((i * along + a) * inner + k)];
        }
    kernel::gather_all_rows(steps, first, table.data(), index.data(), rows.data());
    CHECK(rows == expected_rows);
    kernel::scatter_all_rows(steps, first, rows.data(), index.data(), sums.data());
    CHECK(sums == expected_sums);
  }
}

TEST_CASE("the first index that is out of range") {
  std::vector<std::int32_t> index(300, 4);
  CHECK(kernel::first_outside(300, index.data(), 5) == 300);
  CHECK(kernel::first_outside(300, index.data(), extent{1} << 40) == 300);
  CHECK(kernel::first_outside(0, index.data(), 0) == 0);
  index[299] = 5;
  CHECK(kernel::first_outside(300, index.data(), 5) == 299);
  index[17] = -1;
  CHECK(kernel::first_outside(300, index.data(), 5) == 17);
  CHECK(kernel::first_outside(300, index.data(), extent{1} << 40) == 17);
}

TEST_CASE("elements are picked where they are held") {
  for (extent outer : {1, 5, 64})
    for (extent inner : {1, 3}) {
      check_pick<float>(outer, 10, inner, 0, 10), check_pick<double>(outer, 10, inner, 0, 10);
      check_pick<float>(outer, 10, inner, 0, 30), check_pick<double>(outer, 10, inner, 10, 30),
          check_pick<std::int32_t>(outer, 10, inner, 20, 30);
    }
}

TEMPLATE_TEST_CASE("the first of the largest, wherever it is", "", float, double, std::int32_t) {
  using T = TestType;
  for (extent inner : {1, 3}) {
    check_argmax<T>(inner, [](extent i) { return static_cast<T>(i * i * 7919 % 1009 - 500); });
    // many that are as large
    check_argmax<T>(inner, [](extent i) { return static_cast<T>(i * 7919 % 5 - 10); });
    check_argmax<T>(inner, [](extent) { return std::numeric_limits<T>::lowest(); });
    check_argmax<T>(inner, [](extent i) { return static_cast<T>(-i); });
    check_argmax<T>(inner, [](extent i) { return static_cast<T>(i); });
    if constexpr (std::is_floating_point_v<T>) {
      T const nan      = std::numeric_limits<T>::quiet_NaN();
      T const infinity = std::numeric_limits<T>::infinity();
      check_argmax<T>(inner, [=](extent) { return nan; });
      check_argmax<T>(inner, [=](extent) { return -infinity; });
      check_argmax<T>(inner, [=](extent i) { return i * i * 31 % 11 == 4 ? nan : static_cast<T>(i % 13); });
      check_argmax<T>(inner, [=](extent i) {
        if (i % 97 == 96) return nan;
        return i % 5 == 3 ? infinity : static_cast<T>(-1);
      });
    }
  }
}
