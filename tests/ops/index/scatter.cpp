// Rows written and added by index: scatter and scatter_add, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

/// Indices of `Rows` that are the same under every layout; some come more than once.
template<class Rows, class... D, class X>
constexpr auto ids(X const& x, std::uint64_t seed) {
  using L = typename X::layout_type;
  return argmax<Rows>(random_normal<double, L, Rows, D...>(x.machine(), {.seed = seed}));
}

struct pick : dim<5> {};
struct again : dim<3> {};
struct many : dim<16> {};

constexpr auto written = [](auto const& x, auto const& y, auto const& z, auto const& u, auto const& v,
                            auto const& w) {
  return std::tuple{scatter<vocab>(x, ids<vocab, batch, pick>(x, 5), u),
                    scatter<vocab>(y, ids<vocab, pick, again>(x, 6), v),
                    scatter<out>(z, ids<out, hidden, pick, batch>(x, 7), w)};
};

constexpr auto added = [](auto const& x, auto const& y, auto const& z, auto const& u, auto const& v,
                          auto const& w) {
  return std::tuple{scatter_add<vocab>(x, ids<vocab, batch, pick>(x, 5), u),
                    scatter_add<vocab>(y, ids<vocab, batch, again>(x, 6), v),
                    scatter_add<out>(z, ids<out, hidden, length, batch>(x, 7), w)};
};

}  // namespace

TEST_CASE("scatter and scatter_add of literal numbers") {
  if (!on_one_process()) return;
  auto const x   = literal<trio, key>({{1, 2}, {3, 4}, {5, 6}});
  auto const u   = literal<duo, key>({{10, 20}, {30, 40}});
  auto const ids = integers<duo>({2, 0});
  auto const z   = scatter<trio>(x, ids, u);
  backward(sum(z));
  CHECK(numbers_of(z) == list{30, 40, 3, 4, 10, 20});
  CHECK(slopes_of(x) == list{0, 0, 1, 1, 0, 0});
  CHECK(slopes_of(u) == list{1, 1, 1, 1});
  CHECK(numbers_of(scatter_add<trio>(x, ids, u)) == list{31, 42, 3, 4, 15, 26});
}

TEST_CASE(
    "scatter: rows split and whole, dimensions shared or not; of several updates of a row the last counts") {
  check_operation<shape<batch, vocab, in>, shape<in, vocab>, shape<hidden, out, batch>,
                  shape<batch, pick, in>, shape<pick, again, in>, shape<hidden, pick, batch>>(written);
}

TEST_CASE("scatter_add: updates split and whole, dimensions shared or not") {
  check_operation<shape<batch, vocab, in>, shape<in, vocab>, shape<hidden, out>, shape<batch, pick, in>,
                  shape<batch, again, in>, shape<hidden, length, batch>>(added);
}

TEST_CASE("gather takes back what scatter wrote, and scatter_add counts") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    tensor<int, L, vocab> const none{m};
    auto const tokens = argmax<vocab>(random_normal<double, L, vocab, batch, length>(m, {.seed = 4}));
    see(scatter_add<vocab>(
        none, tokens,
        iota<int, L, batch>(m) * 0 + broadcast<batch, length>(iota<int, L, length>(m)) * 0 + 1));
    auto const places = iota<int, L, vocab>(m);
    auto const order  = iota<int, L, pick>(m);
    see(scatter<vocab>(places, modulo(order * 3, 4), order + 100));
    see(gather<vocab>(scatter<vocab>(places, modulo(order * 3, 4), order + 100), modulo(order * 3, 4)));
    see(cast<int>(scatter<vocab>(greater(places, 8), order, less(order, 3))));
  });
}

TEST_CASE("scatter_add of partial sums is unreduced over the axes of the updates, too") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, out> x{m, normal{1}};
    parameter<double, L, batch, in> y{m, normal{2}};
    auto const p      = partial_einsum<out, in>(x, y);  // over the axes of batch
    auto const rows   = slice<out, pick>(p, 1);
    auto const places = modulo(iota<int, L, pick>(m) * 3, 4);
    auto const sum2   = finish(scatter_add<out>(p, places, rows));
    auto const moved  = finish(scatter<out>(p, places, rows));
    see(sum2);
    see(moved);
    backward(sum(square(sum2) + moved * sum2));
    see(finish(gradient(x)));
    see(finish(gradient(y)));
  });
}

TEST_CASE("sums of many bfloat16 rows are rounded once") {
  if (boost::mpi::communicator{}.size() > 2) return;
  check_program_under_two(
      []<Layout L>(machine<L>& m, value_recorder const& see) {
        tensor<bfloat16, L, vocab> const none{m};
        auto const tokens = modulo(iota<int, L, many>(m), 2);
        // in bfloat16, 256 + 1 is 256
        see(scatter_add<vocab>(none + 256, tokens, cast<bfloat16>(tokens) * 0 + 1));
      },
      0);
}

TEST_CASE("an id that is no row is named, by scatter too") {
  if (boost::mpi::communicator{}.size() != 2) return;
  auto& m = processes<pair>();
  tensor<double, fixture::model, vocab> const base{m};
  tensor<double, fixture::model, pick> const rows{m};
  tensor<int, fixture::model, pick> which{m};
  which.local()(3) = 8;
  CHECK_THROWS_WITH(scatter<vocab>(base, which, rows),
                    "id number 3 of this process is 8, expected a row from 0 to 7: check the ids");
  which.local()(3) = -1;
  CHECK_THROWS_WITH(scatter_add<vocab>(base, which, rows),
                    "id number 3 of this process is -1, expected a row from 0 to 7: check the ids");
}
