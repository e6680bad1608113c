// Rows by index against plain loops.
#include <vector>

#include <meshtf/kernel/gather.hpp>

#include "../catch.hpp"

using namespace meshtf;

namespace {

template<class T>
void check(extent ids, extent outer, extent along, extent inner, extent first) {
  INFO(ids << " ids, table " << outer << " x " << along << " x " << inner << " from " << first);
  auto const at = [](extent i) { return static_cast<std::size_t>(i); };
  std::vector<std::int32_t> index(at(ids));
  for (extent i = 0; i < ids; ++i) index[at(i)] = static_cast<std::int32_t>(i * i * 7 % (first + along + 3));
  std::vector<T> table(at(outer * along * inner)), rows(at(ids * outer * inner), T{-1}), sums(table.size(), T{1});
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<T>(i + 1);

  std::vector<T> expected_rows(rows.size()), expected_sums = sums;
  for (extent i = 0; i < ids; ++i)
    for (extent o = 0; o < outer; ++o)
      for (extent k = 0; k < inner; ++k) {
        extent const a = index[at(i)] - first, from = (i * outer + o) * inner + k, to = (o * along + a) * inner + k;
        if (a < 0 || a >= along) continue;
        expected_rows[at(from)] = table[at(to)];
        expected_sums[at(to)] += expected_rows[at(from)];
      }

  kernel::gather_rows(ids, outer, along, inner, first, table.data(), index.data(), rows.data());
  CHECK(rows == expected_rows);
  kernel::scatter_rows(ids, outer, along, inner, first, rows.data(), index.data(), sums.data());
  CHECK(sums == expected_sums);
}

}  // namespace

TEST_CASE("rows are copied, and added where they came from") {
  for (extent inner : {1, 3, 8, 37})
    for (extent outer : {1, 2})
      for (extent first : {0, 5}) check<float>(20, outer, 6, inner, first), check<double>(20, outer, 6, inner, first);
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
