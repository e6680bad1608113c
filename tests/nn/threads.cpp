// test: processes 1 2
//
// A language model has the same losses and weights, bit for bit, with 1, 2 and 4 threads a process, and takes
// the memory that is promised for them.
#include "../catch.hpp"

#include "../../benchmarks/random_language_model.hpp"

#include <cstring>
#include <vector>

#include <meshtf/meshtf.hpp>

namespace {

// clang-format off
struct batch  : meshtf::dim<4>   {};
struct length : meshtf::dim<96>  {};
struct vocab  : meshtf::dim<160> {};
struct model  : meshtf::dim<96>  {};
struct heads  : meshtf::dim<4>   {};
struct key    : meshtf::dim<24>  {};
struct hidden : meshtf::dim<384> {};

struct one : meshtf::axis<1> {};
struct two : meshtf::axis<2> {};
struct alone : meshtf::layout<meshtf::mesh<one>> {};
struct data_parallel : meshtf::layout<meshtf::mesh<two>, meshtf::split<batch, two>> {};
// clang-format on

struct sizes : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 2;
};

template<meshtf::Layout L>
struct training : random_language_model<L, batch, sizes> {
  constexpr explicit training(meshtf::machine<L>& m)
      : random_language_model<L, batch, sizes>{m, 3e-3, 1, false} {}
};

/// The losses of the steps, and then all weights of this process.
template<meshtf::Layout L, int Threads>
std::vector<float> trained(int steps) {
  static constexpr auto promised = meshtf::dry_run<training, L>(meshtf::threads{Threads});
  meshtf::kernel::use_threads(Threads);
  std::vector<float> found;
  {
    meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
    training<L> program{m};
    auto const counted =
        meshtf::recorded<L>(m, [&]<class>(auto&) { found.push_back(program.step().value()); });
    CHECK(promised == counted);
    CHECK(counted.peak_bytes() == promised.peak_bytes());
    while (--steps > 0) found.push_back(program.step().value());
    parameters(program.net).for_each([&](auto const& w) {
      found.insert(found.end(), w.data(), w.data() + w.size);
    });
  }
  meshtf::kernel::use_threads(1);
  return found;
}

template<meshtf::Layout L>
void check() {
  meshtf::kernel::use_one_library_thread();
  constexpr int steps = 20;
  auto const expected = trained<L, 1>(steps);
  CHECK(expected[steps - 1] < 0.9F * expected[0]);
  for (auto const& found : {trained<L, 2>(steps), trained<L, 4>(steps)}) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < steps; ++i) CHECK(found[i] == expected[i]);
    CHECK(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0);
  }
}

}  // namespace

TEST_CASE("a language model is the same on any number of threads", "[1]") { check<alone>(); }
TEST_CASE("a language model on two processes is the same on any number of threads", "[2]") {
  check<data_parallel>();
}

namespace {

/// Nothing but attention, so that its scratch memory is in the peak.
constexpr auto attends = []<meshtf::Layout L>(meshtf::machine<L>& m) {
  auto const q = meshtf::random_normal<float, L, batch, length, heads, key>(m, {.seed = 1});
  auto const z = meshtf::attention<length, length, key>(q, q, q);
};
template<int Threads>
constexpr auto price_of_attention = meshtf::dry_run<alone>(attends, meshtf::threads{Threads});

constexpr meshtf::extent a_thread =
    sizeof(float) *
    meshtf::attention_scratch(
        {.queries = length::size, .memories = length::size, .depth = key::size, .width = key::size});
static_assert(price_of_attention<1>.peak_bytes() == meshtf::dry_run<alone>(attends).peak_bytes());
static_assert(price_of_attention<3>.peak_bytes() == price_of_attention<1>.peak_bytes() + 2 * a_thread);

}  // namespace

TEST_CASE("each thread has scratch memory of its own, and it is promised", "[1]") {
  meshtf::kernel::use_threads(3);
  {
    meshtf::process_mesh<alone::mesh_type> m{MPI_COMM_WORLD};
    CHECK(meshtf::recorded<alone>(m, attends) == price_of_attention<3>);
    CHECK(m.peak_bytes() == price_of_attention<3>.peak_bytes());
  }
  meshtf::kernel::use_threads(1);
}
