// Parts written into a dimension, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct three : dim<3> {};
struct one : dim<1> {};

}  // namespace

TEST_CASE("write of literal numbers: a part from element 1 on") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({1, 2, 3, 4});
  auto const p = literal<duo>({10, 20});
  auto const z = write<quartet>(x, p, 1);
  backward(sum(z));
  CHECK(numbers_of(z) == list{1, 10, 20, 4});
  CHECK(slopes_of(x) == list{1, 0, 0, 1});
  CHECK(slopes_of(p) == list{1, 1});
}

TEST_CASE("a tensor that is given up is written to itself, unless others have its elements") {
  if (!on_one_process()) return;
  auto const start = literal<quartet>({1, 2, 3, 4});
  no_gradient const guard{start.machine()};
  auto const p            = literal<duo>({10, 20}) * 1;
  auto x                  = start * 1;
  auto const shared       = x;
  auto y                  = write<quartet>(std::move(x), p, 1);
  double const* const was = std::as_const(y).data();
  CHECK(numbers_of(shared) == list{1, 2, 3, 4});
  auto const z = write<quartet>(std::move(y), p, 2);
  CHECK(z.data() == was);
  CHECK(numbers_of(z) == list{1, 10, 10, 20});
}

TEST_CASE("write to dimensions whole and split: each process writes what it has") {
  check_operation<shape<batch, vocab, in>, shape<left, in>, shape<batch, three, in>, shape<three, vocab, in>,
                  shape<one, in>>(
      [](auto const& x, auto const& y, auto const& p, auto const& q, auto const& r) {
        return std::tuple{write<vocab>(x, p, 3), write<batch>(x, q, 4), write<left>(y, r, 7)};
      });
}

TEST_CASE("write along the last dimension; a slice of what was written is the part") {
  check_operation<shape<in, hidden>, shape<in, three>>(
      [](auto const& x, auto const& p) { return write<hidden>(x, p, 12); });
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = iota<int, L, in>(m);
    auto const y = write<in>(x, iota<int, L, three>(m) + 50, 2);
    see(y);
    see(slice<in, three>(y, 2));
    see(cast<int>(write<in>(less(x, 2), less(iota<int, L, three>(m), 2), 0)));
  });
}

TEST_CASE("a part written into a partial sum is a partial sum") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, out> x{m, normal{1}};
    parameter<double, L, batch, in> y{m, normal{2}};
    auto const p = partial_einsum<out, in>(x, y);  // over the axes of batch
    auto const z = finish(write<out>(p, slice<out, three>(p, 0), 5));
    see(z);
    backward(sum(square(z)));
    see(finish(gradient(x)));
    see(finish(gradient(y)));
  });
}

TEST_CASE("a part that reaches outside is named") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  tensor<double, alone, in> const x{m};
  tensor<double, alone, three> const part{m};
  for (extent first : {-1, 4})
    CHECK_THROWS_WITH(write<in>(x, part, first),
                      "write to " + std::string{name_of<in>()} + " starts at " + std::to_string(first) +
                          ", expected 0 to 3: the part has 3 elements, and there are 6");
  CHECK_THROWS_AS(write<in>(x, part, 4), software_error);
}

namespace {

struct slots : up_to<7> {};
struct some : up_to<3> {};

/// A cache under split and padded slots grows by one or several elements at a time, and its gradients are
/// those of the parts.
template<class Slots>
struct cached : layout<by_three, padded<Slots, third>> {};

}  // namespace

TEST_CASE("a cache grows with what is counted") {
  auto const check = []<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    parameter<double, L, slots> first{m, constant{1}};
    parameter<double, L, some> more{m, constant{2}};
    tensor<double, L, slots> cache{m};
    auto const made = [&](extent n) {
      counted<slots> const c{m, n};
      return first * 3;
    };
    auto grown = made(2);
    counted<slots> const c{m, 5};
    {
      counted<some> const s{m, 2};
      CHECK_THROWS_WITH(write<slots>(grown, more * 1, 2), Catch::Contains("made when there were 2"));
      CHECK_THROWS_WITH(write<slots>(cache, more * 1, 4), Catch::Contains("expected 0 to 3"));
    }
    auto const all = [&](extent n) {  // what lies past the count is kept
      counted<slots> const few{m, n};
      return write<slots>(cache + 1, more * 1, 0);
    };
    CHECK_THROWS_AS(sum(all(3)), software_error);  // cache + 1 has three elements
    auto const full = cache + first;
    auto const kept = [&] {
      counted<slots> const few{m, 4};
      return write<slots>(full, more * 1, 1);
    }();
    auto const both = sum(kept);
    CHECK(both.value() == 3 * 2 + 2);
    grown            = write<slots>(grown, more * 1, 2);
    auto const total = sum(square(grown));
    CHECK(total.value() == 2 * 9 + 3 * 4);
    backward(total + both);
    CHECK(sum(finish(gradient(first))).value() == 2 * 18 + 2);
    CHECK(sum(finish(gradient(more))).value() == 3 * 4 + 3);
  };
  if (boost::mpi::communicator{}.size() == 1) check.operator()<alone>();
  if (boost::mpi::communicator{}.size() == 3) check.operator()<cached<slots>>();
}
