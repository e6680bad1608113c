// Complaints whose subject gives the right result here: each case names the threads, what went wrong there,
// and what is checked.
#include <cmath>

#include <meshtf/meshtf.hpp>

#include "../catch.hpp"

using namespace meshtf;

namespace {

struct batch : dim<8> {};
struct in : dim<4> {};
struct hidden : dim<16> {};

struct line : dim<12> {};
struct tap : dim<3> {};
struct group : dim<2> {};
struct member : dim<2> {};
struct made : dim<3> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};
struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct turned : layout<grid, split<batch, cols>, split<hidden, rows>> {};
struct whole : layout<grid> {};
struct grouped : layout<grid, split<batch, rows>, split<group, cols>> {};
struct spaced : layout<grid, split<batch, rows>, split<line, cols>> {};

struct token : dim<7> {};
struct uneven : layout<grid, padded<token, rows, cols>> {};
struct query : dim<8> {};
struct memory : dim<8> {};
struct by_position : layout<grid, split<query, rows, cols>> {};

process_mesh<grid>& processes() {
  // never destroyed: MPI is down when static objects die
  static auto* const m = new process_mesh<grid>{MPI_COMM_WORLD};
  return *m;
}

double largest_difference(auto const& a, auto const& b) {
  auto const x = to_global(a);
  auto const y = to_global(b);
  REQUIRE(x.size() == y.size());
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    most = std::max(most, std::abs(double(x.flat(i)) - double(y.flat(i))));
  return most;
}

// ---- 1. openxla/xla#15207, jax-ml/jax#21562, EnzymeAD/Enzyme-JAX#822

// Between two legal layouts the whole tensor was gathered. Here a step that gathers can be refused by the
// build; this one turns the parts of both dimensions.
constexpr auto turning = dry_run<mixed>(
    []<Layout L>(machine<L>& m) { (void)reshard<turned>(tensor<float, L, batch, hidden>{m}); });
static_assert(turning.bytes_sent() <= 2 * 8 * 16 / 4 * 4,
              "no process sends more than two of its shards, where a gather of everything sends three");

// ---- 18. pytorch/pytorch PR#107305, #168255, StanfordLegion/legion#1963

// Layout decisions were made, and cached, for each operation at run time. Here they are constants.
constexpr auto product = einsum_plan<mixed, shape<batch, in>, shape<batch, hidden>, shape<hidden, in>>::local;
static_assert(product.flops == 2 * 8 / 2 * 4 * 16 / 2);

// ---- 14. openxla/xla#47945

// A grouped convolution gathered the batch. Here it sends nothing, whether the batch or the groups are split.
template<Layout L>
constexpr auto convolved(machine<L>& m) {
  auto const x = random_normal<double, L, batch, line, group, member>(m, {.seed = 5});
  auto const f = random_normal<double, L, tap, group, member, made>(m, {.seed = 6});
  return conv<window<line, tap>, member, made>(x, f);
}
static_assert(dry_run<grouped>([]<Layout L>(machine<L>& m) { (void)convolved<L>(m); }).calls() == 0);

// ---- 15. tensorflow/tensorflow#58161, NVIDIA/physicsnemo PR#784

// Halos were exchanged by one backend only. Here they are two messages to neighbours.
constexpr auto over_space = dry_run<spaced>([]<Layout L>(machine<L>& m) { (void)convolved<L>(m); });
static_assert(over_space.calls() == 2 && over_space.calls<collective::neighbours>() == 2);

}  // namespace

TEST_CASE(
    "14 and 15. openxla/xla#47945, tensorflow/tensorflow#58161: grouped convolutions, of which the batch, "
    "the groups or space are split") {
  auto& m             = processes();
  auto const expected = convolved<whole>(m);
  CHECK(largest_difference(convolved<grouped>(m), expected) <= 1e-12);
  CHECK(largest_difference(convolved<spaced>(m), expected) <= 1e-12);
}

TEST_CASE("4. pytorch/pytorch#153603, #147180: a pending sum times a number was a cached, wrong value") {
  auto& m      = processes();
  auto const x = random_normal<double, mixed, batch, hidden>(m, {.seed = 1});
  auto const w = random_normal<double, mixed, hidden, in>(m, {.seed = 2});
  auto const p = partial_einsum<batch, in>(x, w);
  for (double c : {2.0, 3.0, 2.0})
    CHECK(largest_difference(finish(p * c), einsum<batch, in>(x, w) * c) <= 1e-12);
}

TEST_CASE("13. jax-ml/jax#40232, #21232, Oneflow-Inc/oneflow#8465: random numbers changed with the layout") {
  auto& m = processes();
  random_key const key{.seed = 3, .stream = 4};
  CHECK(largest_difference(random_normal<float, mixed, batch, hidden>(m, key),
                           random_normal<float, whole, batch, hidden>(m, key)) == 0);
  auto const x = random_normal<float, mixed, batch, hidden>(m, key);
  CHECK(largest_difference(dropout(x, 0.5, key), dropout(reshard<turned>(x), 0.5, key)) == 0);
}

TEST_CASE("24. ml-explore/mlx-lm PR 1544: a mean of means, where the parts were unequal") {
  auto const program = []<Layout L>(process_mesh<grid>& m) {
    parameter<double, L, token> const x{m, normal{5}};
    auto const loss = mean(x);
    backward(loss);
    return std::pair{loss.value(), to_global(finish(gradient(x)))};
  };
  auto const [loss, gradients]   = program.operator()<uneven>(processes());  // 2, 2, 2 and 1 elements
  auto const [expected, unsplit] = program.operator()<whole>(processes());
  CHECK(std::abs(loss - expected) <= 1e-15);
  REQUIRE(gradients.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(gradients.flat(i) == 1.0 / 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(unsplit.flat(i) == 1.0 / 7);
}

TEST_CASE("28. axolotl-ai-cloud/axolotl#3608: packed documents saw each other where positions were split") {
  auto const program = []<Layout L>(process_mesh<grid>& m) {
    auto const q = random_normal<double, L, query, in>(m, {.seed = 7});
    parameter<double, L, memory, in> const k{m, normal{8}};
    parameter<double, L, memory, in> const v{m, normal{9}};
    auto const asking = floor_divide(iota<int, L, query>(m), 3);  // documents of 3, 3 and 2 positions
    auto const asked  = floor_divide(iota<int, L, memory>(m), 3);
    auto const y      = attention<query, memory, in>(q, k, v, with_segments(asking, asked), {.causal = true});
    backward(sum(square(y)));
    return std::tuple{y, finish(gradient(k)), finish(gradient(v))};
  };
  auto const [y, dk, dv]                    = program.operator()<by_position>(processes());
  auto const [expected, whole_dk, whole_dv] = program.operator()<whole>(processes());
  CHECK(largest_difference(y, expected) <= 1e-12);
  CHECK(largest_difference(dk, whole_dk) <= 1e-12);
  CHECK(largest_difference(dv, whole_dv) <= 1e-12);

  // without the documents' numbers the second one sees the first
  auto const q = random_normal<double, whole, query, in>(processes(), {.seed = 7});
  auto const k = random_normal<double, whole, memory, in>(processes(), {.seed = 8});
  CHECK(largest_difference(attention<query, memory, in>(q, k, k, {.causal = true}), expected) > 0.1);
}
