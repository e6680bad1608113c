// Rows written by index, and moved out again, against plain loops.
#include <vector>

#include <meshtf/kernel/scatter.hpp>

#include "../catch.hpp"

using namespace meshtf;

namespace {

std::size_t place(extent i) { return static_cast<std::size_t>(i); }

/// Of `ids` ids some come more than once, and some are rows of other processes.
template<class T>
void check(extent ids, extent outer, extent along, extent inner, extent first, bool own_rows) {
  INFO(ids << " ids, table " << outer << " x " << along << " x " << inner << " from " << first
           << (own_rows ? ", rows of its own for each id" : ""));
  auto steps = contiguous_gather(ids, outer, along, inner);
  if (own_rows) steps.table_stride = outer * along * inner;
  std::vector<std::int32_t> index(place(ids));
  for (extent i = 0; i < ids; ++i)
    index[place(i)] = static_cast<std::int32_t>(i * i * 7 % (first + along + 3));
  std::vector<T> table(place((own_rows ? ids : 1) * outer * along * inner));
  std::vector<T> rows(place(ids * outer * inner));
  std::vector<T> taken(rows.size(), T{-1});
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<T>(i % 50 + 100);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<T>(i % 90 + 1);

  auto const for_each_element = [&](auto const& f) {
    for (extent i = 0; i < ids; ++i)
      for (extent o = 0; o < outer; ++o)
        for (extent k = 0; k < inner; ++k)
          if (extent const a = index[place(i)] - first; a >= 0 && a < along)
            f(place(i * steps.table_stride + (o * along + a) * inner + k),
              place((i * outer + o) * inner + k));
  };
  auto expected_table = table;
  std::vector<std::size_t> writer(table.size(), rows.size());  // the last row that is written to an element
  for_each_element([&](std::size_t to, std::size_t from) {
    expected_table[to] = rows[from];
    writer[to]         = from;
  });
  kernel::set_rows(steps, first, rows.data(), index.data(), table.data());
  CHECK(table == expected_table);

  std::vector<T> expected_taken(rows.size());
  for_each_element([&](std::size_t to, std::size_t from) {
    if (writer[to] == from) expected_taken[from] = rows[from];
    expected_table[to] = T{};
  });
  kernel::take_rows(steps, first, taken.data(), index.data(), table.data());
  CHECK(taken == expected_taken);
  CHECK(table == expected_table);
}

}  // namespace

TEST_CASE("of several rows for one place the last counts, and it alone is found there again") {
  for (extent inner : {1, 3, 8, 37})
    for (extent outer : {1, 2})
      for (extent first : {0, 5})
        for (bool own : {false, true})
          check<float>(20, outer, 6, inner, first, own), check<double>(20, outer, 6, inner, first, own),
              check<std::int32_t>(20, outer, 6, inner, first, own);
}

TEST_CASE("blocks are walked backwards from the last") {
  block_loops blocks;
  blocks.add(3, 100, 10, 1);
  blocks.add(2, 1000, 0, 7);
  std::vector<std::array<extent, 3>> there;
  std::vector<std::array<extent, 3>> back;
  blocks.for_each([&](auto const& at) { there.push_back(at); });
  blocks.for_each_backwards([&](auto const& at) { back.insert(back.begin(), at); });
  CHECK(there.size() == 6);
  CHECK(there == back);
  blocks.size[1] = 0;
  blocks.for_each_backwards([&](auto const&) { FAIL("there is none"); });
}
