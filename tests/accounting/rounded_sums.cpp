// Gradients that travel as bfloat16: half of the bytes, promised and counted; the same bits on all processes,
// near the sums in float, and as good a training.
#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "program.hpp"

namespace accounting {

namespace {

using meshtf::element;

// clang-format off
struct far : meshtf::dim<1023> {};   // w is longer than what is packed, and the others have no equal parts
// clang-format on

enum class way { sgd, adam, sharded, adafactor, in_two };

template<way How, element Travels, meshtf::Layout L>
struct net {
  static constexpr bool prepared = false;
  static constexpr bool is_sgd   = How == way::sgd || How == way::in_two;

  using momentless = std::conditional_t<is_sgd, meshtf::sgd, meshtf::adam>;
  using optimizer  = std::conditional_t<How == way::adafactor, meshtf::adafactor, momentless>;

  meshtf::parameter<float, L, in, far> w;
  meshtf::parameter<float, L, far> b;
  meshtf::parameter<float, L, far> v;
  meshtf::tensor<float, L, batch, in> x;
  optimizer opt{is_sgd ? 4e-4 : 1e-3};

  constexpr explicit net(meshtf::machine<L>& m)
      : w{m, meshtf::he_normal{1}},
        b{m, meshtf::normal{2, 0.1F}},
        v{m, meshtf::normal{3, 0.03F}},
        x{meshtf::random_normal<float, L, batch, in>(m, {.seed = 7})} {
    opt.sums_travel_as = Travels;
    if constexpr (How == way::sharded) {
      opt.shard_state = true;
      opt.max_norm    = 1e9;  // more than there is
    }
  }
  constexpr auto parameters() { return meshtf::parameters(w, b, v); }
  constexpr auto loss() const {
    auto const h = tanh(meshtf::einsum<batch, far>(x, w) + b);
    auto const y = meshtf::einsum<batch>(h, v);
    return mean(square(y - sum<batch>(x * x) * 0.1F));
  }
  /// In two, each micro-batch is the whole batch, and counts half: the gradients are those of the whole.
  constexpr auto step() {
    if constexpr (How == way::in_two) {
      auto l = meshtf::accumulate<2>([&](meshtf::extent) { return loss() * 0.5F; });
      opt.step(parameters());
      return l;
    } else {
      auto l = loss();
      backward(l);
      opt.step(parameters());
      return l;
    }
  }
};

template<meshtf::Layout L>
using sgd_as_float = net<way::sgd, element::float32, L>;
template<meshtf::Layout L>
using sgd_rounded = net<way::sgd, element::bfloat16, L>;
template<meshtf::Layout L>
using adam_rounded = net<way::adam, element::bfloat16, L>;
template<meshtf::Layout L>
using sharded_rounded = net<way::sharded, element::bfloat16, L>;
template<meshtf::Layout L>
using adafactor_as_float = net<way::adafactor, element::float32, L>;
template<meshtf::Layout L>
using adafactor_rounded = net<way::adafactor, element::bfloat16, L>;
template<meshtf::Layout L>
using in_two_rounded = net<way::in_two, element::bfloat16, L>;

template<template<meshtf::Layout> class Program, meshtf::Layout L>
consteval meshtf::extent sent_by_step() {
  constexpr auto cost  = meshtf::dry_run<Program, L>();
  meshtf::extent bytes = 0;
  for (auto const& c : cost.collectives())
    if (std::string_view{c.site.operation} == "sgd::step") bytes += c.sent;
  return bytes;
}
static_assert(2 * sent_by_step<sgd_rounded, data>() == sent_by_step<sgd_as_float, data>());
static_assert(sent_by_step<in_two_rounded, data>() == sent_by_step<sgd_rounded, data>());

/// The gradients of one step, as the weights tell: those that travelled rounded are near the others.
template<meshtf::Layout L>
void check_gradients() {
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  sgd_as_float<L> plain{m};
  sgd_rounded<L> rounded{m};
  sgd_as_float<L> before{m};
  plain.step();
  rounded.step();
  m.agree(rounded.parameters());  // the same bits on all replicas
  double const bound = std::sqrt(static_cast<double>(L::mesh_type::size)) / 128;
  auto const compare = [&](auto const& start, auto const& one, auto const& other) {
    double error = 0;
    double norm  = 0;
    for (meshtf::extent i = 0; i < start.size; ++i) {
      error += std::pow(double{one.data()[i]} - other.data()[i], 2);
      norm += std::pow(double{one.data()[i]} - start.data()[i], 2);
    }
    CHECK(norm > 0);
    CHECK(std::sqrt(error / norm) <= bound);
    CHECK(error > 0);
  };
  INFO(meshtf::name_of<L>());
  compare(before.w, plain.w, rounded.w);
  compare(before.b, plain.b, rounded.b);
  compare(before.v, plain.v, rounded.v);
}

/// Each element of a sum is as near as `sums_travel_as` says.
void check_elements(int processes) {
  meshtf::process_mesh<line> m{MPI_COMM_WORLD};
  meshtf::detail::gradient_sums const sums{m, element::bfloat16};
  for (meshtf::extent const n : {1, 2, 5, 1000}) {
    std::vector<float> terms(static_cast<std::size_t>(n));
    std::vector<double> sum(terms.size());
    std::vector<double> most(terms.size());
    auto const term = [](int rank, std::size_t i) {
      return std::sin(static_cast<float>(1 + rank * 31) * static_cast<float>(i + 1));
    };
    for (int rank = 0; rank < processes; ++rank)
      for (std::size_t i = 0; i < terms.size(); ++i) {
        sum[i] += double{term(rank, i)};
        most[i] += std::abs(double{term(rank, i)});
        if (rank == static_cast<int>(m.rank())) terms[i] = term(rank, i);
      }
    m.begin_operation("test", std::source_location::current());
    sums.all_reduce_rounded(m, terms.data(), n, terms.data(), meshtf::axis_set_of<line, meshtf::axes<all>>);
    for (std::size_t i = 0; i < terms.size(); ++i)
      REQUIRE(std::abs(double{terms[i]} - sum[i]) <= (most[i] + std::abs(sum[i])) / 256 * 1.01);
  }
}

template<template<meshtf::Layout> class Program, meshtf::Layout L>
double loss_after(int steps) {
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  Program<L> program{m};
  for (int i = 0; i < steps; ++i) program.step();
  m.agree(program.parameters());
  return double{program.loss().value()};
}

/// Steps whose gradients are not finite on one process, also since they were rounded, are skipped on all.
void check_skipped(float bad) {
  meshtf::process_mesh<line> m{MPI_COMM_WORLD};
  adam_rounded<data> program{m};
  adam_rounded<data> other{m};
  program.opt.skip_if_not_finite = 2;
  other.opt.skip_if_not_finite   = 2;
  auto const same                = [&] {
    CHECK(std::equal(program.w.data(), program.w.data() + program.w.size, other.w.data()));
    CHECK(std::equal(program.b.data(), program.b.data() + program.b.size, other.b.data()));
  };
  auto const loss = program.loss();
  backward(loss);
  if (m.rank() == 1) program.w.slot().sum->data()[3] = bad;
  program.opt.step(program.parameters());
  CHECK(program.opt.skipped() == 1);
  same();
  program.step();
  other.step();
  CHECK(program.opt.skipped() == 1);
  same();
}

template<class F>
std::string said_by(F const& f) {
  try {
    f();
  } catch (meshtf::software_error const& e) {
    return e.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("gradients travel rounded on 2 processes: half of the bytes, near the sums in float", "[2]") {
  costs_what_was_promised<sgd_rounded, data>();
  costs_what_was_promised<sharded_rounded, data>();
  check_gradients<data>();
  check_elements(2);
  double const first   = loss_after<sgd_as_float, data>(0);
  double const plain   = loss_after<sgd_as_float, data>(30);
  double const rounded = loss_after<sgd_rounded, data>(30);
  CHECK(plain < 0.8 * first);
  CHECK(std::abs(rounded - plain) <= 0.01 * plain);
  CHECK(rounded != plain);
  // two terms have the same sum in either order, so the state may be sharded
  CHECK(loss_after<adam_rounded, data>(5) == loss_after<sharded_rounded, data>(5));
}

TEST_CASE("gradients travel rounded to adafactor, and of micro-batches", "[2]") {
  costs_what_was_promised<adafactor_rounded, data>();
  costs_what_was_promised<in_two_rounded, data>();
  double const plain   = loss_after<adafactor_as_float, data>(10);
  double const rounded = loss_after<adafactor_rounded, data>(10);
  CHECK(std::abs(rounded - plain) <= 0.01 * plain);
  CHECK(rounded != plain);
  // halves are exact: what travels is the same
  CHECK(loss_after<in_two_rounded, data>(3) == loss_after<sgd_rounded, data>(3));
}

TEST_CASE("gradients that are rounded and not finite are skipped on all processes", "[2]") {
  check_skipped(std::numeric_limits<float>::quiet_NaN());
  check_skipped(-std::numeric_limits<float>::infinity());
  check_skipped(std::numeric_limits<float>::max());  // which bfloat16 rounds to infinity
}

TEST_CASE("gradients travel rounded on 3 processes, which do not divide the batch", "[3]") {
  costs_what_was_promised<sgd_rounded, uneven_data>();
  check_gradients<uneven_data>();
}

TEST_CASE("gradients travel rounded on 4 processes of which two hold the same gradients", "[4]") {
  costs_what_was_promised<sgd_rounded, mixed>();
  costs_what_was_promised<sharded_rounded, mixed>();
  check_gradients<mixed>();
}

TEST_CASE("gradients travel rounded over two axes", "[8]") { check_gradients<wide_two_axes>(); }

TEST_CASE("what can't travel rounded is refused", "[2]") {
  meshtf::process_mesh<line> m{MPI_COMM_WORLD};
  sgd_rounded<data> program{m};
  auto const loss = program.loss();
  backward(loss);
  {
    meshtf::early_sums const early{program.parameters()};
    CHECK(said_by([&] { program.opt.step(program.parameters()); }) ==
          "expected no early_sums with sums_travel_as = element::bfloat16, got one that lives: it sends "
          "gradients as they are, so leave one of the two out");
  }
  program.opt.sums_travel_as = element::int32;
  auto const again           = program.loss();
  backward(again);
  CHECK(said_by([&] {
          program.opt.step(program.parameters());
        }).starts_with("expected sums_travel_as = element::float32 or element::bfloat16, got another"));
}

}  // namespace accounting
