// Tensors as text: << shows a process its own part and sends nothing, print(x) shows the whole.
#include <sstream>
#include <string>

#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

template<class X>
std::string shown(X const& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

struct pages : dim<4> {};
struct lines : dim<4> {};
struct letters : dim<64> {};
struct sheet : layout<two_by_two, split<pages, rows>, split<lines, cols, rows>, split<letters, cols>> {};
struct tall_sheet : layout<two_by_two, split<lines, cols, rows>> {};

/// 0, 1, 2 ... in the order of the whole.
template<class T, class L, class... D>
tensor<T, L, D...> counted_up(machine<L>& m) {
  auto whole = xt::xarray<T>::from_shape({static_cast<std::size_t>(D::size)...});
  T n        = 0;
  for (T& x : whole) x = n++;
  return from_global<T, L, D...>(m, whole);
}

}  // namespace

TEST_CASE("<< shows type, placement and the part of this process, also to one process alone", "[4]") {
  auto& m      = processes<two_by_two>();
  auto const x = counted_up<float, sheet, pages, in>(m);
  auto const y = counted_up<int, sheet, lines>(m);
  if (m.rank() == 2) {  // nobody else does
    CHECK(shown(x) ==
          "tensor<float, sheet, pages, in> pages 2-3 of 4, in 0-5 of 6: {{12, 13, 14, 15, 16, 17}, {18, 19, "
          "20, 21, 22, 23}}");
    CHECK(shown(y) == "tensor<int32, sheet, lines> lines 1 of 4: {1}");
  }
  m.world().barrier();
  if (m.rank() == 1) CHECK(shown(y) == "tensor<int32, sheet, lines> lines 2 of 4: {2}");
}

TEST_CASE("<< shows numbers as numbers, and of a long part the beginning", "[1]") {
  auto& m = processes<single>();
  CHECK(shown(parameter<double, alone>{m, constant{0.5}}) == "tensor<double, alone>: 0.5");
  auto const x = counted_up<double, alone, pages, letters>(m);
  CHECK(shown(x) ==
        "tensor<double, alone, pages, letters> pages 0-3 of 4, letters 0-63 of 64: 0, 1, 2, 3, 4, 5, 6, 7 "
        "... (256 elements)");
  std::ostringstream out;
  out.precision(2);
  out << parameter<double, alone>{m, constant{1.23456}};
  CHECK(out.str() == "tensor<double, alone>: 1.2");
}

TEST_CASE("<< says over which axes a partial sum is unreduced", "[4]") {
  auto& m      = processes<two_by_two>();
  auto const x = counted_up<double, mixed, hidden>(m);
  auto const p = partial_einsum<>(x, x);
  if (m.rank() == 1)
    CHECK(shown(p) ==
          "partial<tensor<double, mixed>, axes<cols>> unreduced over cols: " +
              std::to_string(8 * 8 + 9 * 9 + 10 * 10 + 11 * 11 + 12 * 12 + 13 * 13 + 14 * 14 + 15 * 15));
  m.world().barrier();
  parameter<double, mixed, in> const w{m, constant{2}};
  CHECK(shown(gradient(w)).ends_with("axes<rows, cols>> fully reduced, in 0-5 of 6: {0, 0, 0, 0, 0, 0}"));
}

TEST_CASE("<< shows type and placement alone where nothing has elements") {
  ledger<two_by_two> m;
  CHECK(shown(tensor<double, dry<mixed>, batch, in>{m}) ==
        "tensor<double, dry<mixed>, batch, in> batch=8 over rows, in=6");
  CHECK(shown(tensor<double, dry<mixed>>{m}) == "tensor<double, dry<mixed>>");
  using open = dry<undecided_layout<batch>>;
  machine<open> none;
  CHECK(shown(tensor<double, open, batch, in>{none}).starts_with("tensor<double, dry<"));
}

TEST_CASE("print writes the whole, on process 0 only", "[1][4]") {
  auto const all_print = []<class L>(machine<L>& m, std::string const& placement) {
    auto const x = counted_up<int, L, pages, lines>(m);
    std::ostringstream out;
    print(x, out);
    if (m.rank() == 0) {
      auto text = out.str();
      CHECK(text.starts_with(placement));
      text.erase(0, placement.size());
      std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
      CHECK(text == "{{0,1,2,3},{4,5,6,7},{8,9,10,11},{12,13,14,15}}");
    } else {
      CHECK(out.str().empty());
    }
  };
  if (boost::mpi::communicator{}.size() == 1)
    all_print.template operator()<alone>(processes<single>(), "int32 [pages=4, lines=4]\n");
  else
    all_print.template operator()<tall_sheet>(processes<two_by_two>(),
                                              "int32 [pages=4, lines=4 over cols, rows]\n");
}
