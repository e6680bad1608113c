// An encoder and decoder of packed pairs: loss and gradients are PyTorch's under every layout (see
// tests/golden/README.md), a packed pair is the pair alone, parts count by their targets.
// test: processes 1 4
#include "../golden.hpp"

#include <meshtf/meshtf.hpp>

#include <meshtf/nn/seq2seq.hpp>

#include "../catch.hpp"

#if MESHTF_WITH_JANSSON

using namespace meshtf;

namespace {

struct batch : dim<4> {};
struct source : dim<8> {};
struct target : dim<6> {};
struct vocab : dim<18> {};
struct model : dim<8> {};
struct heads : dim<2> {};
struct key : dim<4> {};
struct hidden : dim<16> {};
struct part : dim<2> {};

struct solo : axis<1> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct wide : axis<4> {};
struct alone : mesh<solo> {};
struct by_four : mesh<rows, cols> {};
struct in_line : mesh<wide> {};

struct whole : layout<alone> {};
struct data : layout<in_line, split<batch, wide>, split<part, wide>> {};
struct mixed : layout<by_four, split<batch, rows>, split<part, rows>, split<heads, cols>, split<hidden, cols>,
                      split<vocab, cols>> {};
// two heads over four processes, 18 ids in parts of five
struct sparse : layout<in_line, padded<heads, wide>, padded<vocab, wide>, split<hidden, wide>> {};
struct by_positions : layout<by_four, split<source, rows>, split<target, cols>> {};

struct told : nn::seq2seq_dims<source, target, vocab, model, heads, key, hidden> {
  static constexpr int encoder_layers = 2;
  static constexpr int decoder_layers = 2;
};
struct learned : told {
  using positions = nn::learned_positions;
};

constexpr cross_entropy_options terms{.label_smoothing = 0.1, .z_loss = 1e-2};

golden_arrays const& golden() {
  static golden_arrays const file{"seq2seq"};
  return file;
}

double number(std::string const& name) { return golden().file().read<double>(name).at(0); }

double largest(std::string const& name) {
  double most = 0;
  for (double x : golden().file().read<double>(name)) most = std::max(most, std::abs(x));
  return most;
}

template<class T, class L, class... D>
void take(parameter<T, L, D...>& p, std::string const& name) {
  auto const golden_weight = golden().tensor<double, L, D...>(p.machine(), name);
  p                        = cast<T>(golden_weight);
}

template<class T, Layout L, class Dims>
nn::seq2seq<T, L, Dims> golden_model(machine<L>& m) {
  nn::seq2seq<T, L, Dims> net{m, 1};
  net.parameters().for_each_named([](std::string const& name, auto& w) { take(w, "w." + name); });
  return net;
}

template<Layout L>
auto golden_pairs(machine<L>& m) {
  using on_source = tensor<int, L, batch, source>;
  using on_target = tensor<int, L, batch, target>;
  return nn::packed_pairs<on_source, on_target>{golden().tensor<int, L, batch, source>(m, "source"),
                                                golden().tensor<int, L, batch, source>(m, "of_source"),
                                                golden().tensor<int, L, batch, target>(m, "target"),
                                                golden().tensor<int, L, batch, target>(m, "of_target")};
}

void check_near(std::string const& what, double found, double expected, double within) {
  INFO(what << ": got " << found << ", expected " << expected);
  CHECK(std::abs(found - expected) <= within);
}

/// The gradients are the golden ones, in parts of the largest entry of all.
template<class Net>
void check_gradients(Net& net, std::string const& prefix, int expected_count, double tolerance) {
  double scale = 0;
  int count    = 0;
  net.parameters().for_each_named([&](std::string const& name, auto&) {
    scale = std::max(scale, largest(prefix + "g." + name));
    ++count;
  });
  CHECK(count == expected_count);
  net.parameters().for_each_named([&](std::string const& name, auto& w) {
    auto const g = cast<double>(finish(gradient(w)));
    check_near("gradient of " + name, golden().distance(g, prefix + "g." + name) / scale, 0, tolerance);
  });
}

template<class T, Layout L, class Dims>
void compare(double tolerance) {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  auto net          = golden_model<T, L, Dims>(m);
  auto const pairs  = golden_pairs<L>(m);
  bool const is_old = std::is_same_v<Dims, told>;
  INFO("under " << name_of<L>() << (is_old ? ", sinusoids" : ", learned positions"));
  auto const loss          = net.loss(pairs, {.terms = terms}) / net.count(pairs);
  std::string const prefix = is_old ? "" : "learned.";
  auto const expected      = number(prefix + "loss");
  check_near("loss", static_cast<double>(loss.value()), expected, tolerance * expected);
  backward(loss);
  check_gradients(net, prefix, is_old ? 89 : 91, tolerance);
}

}  // namespace

TEST_CASE("loss and gradients of packed pairs are PyTorch's", "[1]") {
  compare<double, whole, told>(1e-12);
  compare<double, whole, learned>(1e-12);
  compare<float, whole, told>(1e-5);
  compare<float, whole, learned>(1e-5);
}

TEST_CASE("so they are where batch, heads, hidden and vocabulary are split", "[4]") {
  compare<double, mixed, told>(1e-12);
  compare<double, mixed, learned>(1e-12);
  compare<float, mixed, told>(1e-5);
}

TEST_CASE("and under data parallelism, in parts that do not divide, and where positions are split", "[4]") {
  compare<double, data, told>(1e-12);
  compare<double, sparse, told>(1e-12);
  compare<double, by_positions, learned>(1e-12);
}

#endif
