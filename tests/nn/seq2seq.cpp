// An encoder and decoder of packed pairs: loss and gradients are PyTorch's under every layout (see
// tests/golden/README.md), a packed pair is the pair alone, parts count by their targets.
// test: processes 1 4
#include "../golden.hpp"

#include <meshtf/meshtf.hpp>

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
// weights in parts over the processes that share a batch
struct kept : layout<by_four, split<batch, rows>, split<heads, cols>, split<hidden, cols>, kept_over<rows>> {
};
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

/// Four of the eight golden pairs, from number `first` on, each alone in a row, with padding after it.
template<Layout L>
auto pairs_alone(machine<L>& m, int first) {
  auto const alone_in_rows = [&]<Dimension D>(shape<D>, std::string const& name) {
    auto const ids                       = golden().file().read<int>(name);
    auto const segments                  = golden().file().read<int>("of_" + name);
    xt::xtensor<int, 2> rows_of_ids      = xt::zeros<int>({4, int{D::size}});
    xt::xtensor<int, 2> rows_of_segments = rows_of_ids;
    int pair                             = -1;
    std::size_t place                    = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (segments[i] == 0) continue;
      bool const goes_on = i % std::size_t{D::size} != 0 && segments[i] == segments[i - 1];
      place              = goes_on ? place + 1 : 0;
      pair += goes_on ? 0 : 1;
      if (pair < first || pair >= first + 4) continue;
      rows_of_ids(static_cast<std::size_t>(pair - first), place)      = ids[i];
      rows_of_segments(static_cast<std::size_t>(pair - first), place) = 1;
    }
    CHECK(pair == 7);
    return std::pair{from_global<int, L, batch, D>(m, rows_of_ids),
                     from_global<int, L, batch, D>(m, rows_of_segments)};
  };
  auto const [source_ids, of_source] = alone_in_rows(shape<source>{}, "source");
  auto const [target_ids, of_target] = alone_in_rows(shape<target>{}, "target");
  return nn::packed_pairs{source_ids, of_source, target_ids, of_target};
}

template<Layout L>
void check_alone() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  auto net             = golden_model<double, L, learned>(m);
  auto const pairs     = golden_pairs<L>(m);
  auto const together  = net.loss(pairs, {.terms = terms}).value();
  auto const first     = pairs_alone<L>(m, 0);
  auto const second    = pairs_alone<L>(m, 4);
  auto const apart     = net.loss(first, {.terms = terms}) + net.loss(second, {.terms = terms});
  auto const all_words = net.count(pairs);
  check_near("sum of the losses of each pair alone", apart.value(), together, 1e-12 * together);
  CHECK(net.count(first).value() + net.count(second).value() == all_words.value());
  backward(apart / all_words);
  check_gradients(net, "learned.", 91, 1e-12);
}

template<Layout L>
void check_parts() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  auto net         = golden_model<double, L, told>(m);
  auto const pairs = golden_pairs<L>(m);
  auto const part_ = [&](extent i) { return pairs.template part<batch, part>(i); };
  CHECK(net.count(part_(0)).value() != net.count(part_(1)).value());
  auto const loss = accumulate<2>(
      m, [&](extent i) { return net.loss(part_(i), {.terms = terms}); },
      [&](extent i) { return net.count(part_(i)); });
  check_near("loss", loss.value(), number("loss"), 1e-12 * number("loss"));
  check_gradients(net, "", 89, 1e-12);
}

/// The ids that greedy decoding finds, without a cache: all positions at once, again for each id.
template<Layout L, class Net, class Sources>
std::vector<int> by_whole_passes(Net const& net, Sources const& sources, int end) {
  auto& m    = sources.source.machine();
  auto found = xt::xtensor<int, 2>(xt::zeros<int>({4, 6}));
  no_gradient const guard{m};
  for (std::size_t i = 0; i < 6; ++i) {
    auto const ids = from_global<int, L, batch, target>(m, found);
    // every position counts, so that those that are not found yet see only themselves and those before
    nn::packed_pairs const pairs{sources.source, sources.visible, ids, ids * 0 + 1};
    auto const best = to_global(argmax<vocab>(net(pairs)));
    for (std::size_t b = 0; b < 4; ++b) {
      bool ended = false;
      for (std::size_t j = 0; j < i; ++j) ended = ended || found(b, j) == end;
      found(b, i) = ended ? 0 : best(b, i);
    }
  }
  return {found.begin(), found.end()};
}

constexpr int end_id = 1;

/// Sources of 3 to 5 ids in rows of their own, and as targets the same backwards, ended by `end_id`.
template<Layout L>
auto reversed(machine<L>& m) {
  auto const ids           = golden().file().read<int>("source");
  xt::xtensor<int, 2> from = xt::zeros<int>({4, 8});
  xt::xtensor<int, 2> to   = xt::zeros<int>({4, 6});
  for (std::size_t b = 0; b < 4; ++b) {
    std::size_t const n = 3 + b % 3;
    for (std::size_t i = 0; i < n; ++i) to(b, n - 1 - i) = from(b, i) = 2 + ids[8 * b + i] % 16;
    to(b, n) = end_id;
  }
  auto const sources = from_global<int, L, batch, source>(m, from);
  auto const targets = from_global<int, L, batch, target>(m, to);
  return nn::packed_pairs{sources, not_equal(sources, 0), targets, not_equal(targets, 0)};
}

/// A model that has learned these pairs by heart finds them.
template<Layout L, class Dims>
void check_decoding() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  nn::seq2seq<double, L, Dims> net{m, 1};
  auto const pairs = reversed<L>(m);
  adamw opt{1e-2};
  for (int step = 0; step < 150; ++step) {
    backward(net.loss(pairs) / net.count(pairs));
    opt.step(net.parameters());
  }
  nn::source_rows const sources{pairs.source, pairs.source_segments};
  auto const found   = to_global(net.greedy(sources, end_id));
  auto const targets = to_global(pairs.target);
  std::vector<int> const ids(found.begin(), found.end());
  CHECK(ids == std::vector<int>(targets.begin(), targets.end()));
  CHECK(ids == by_whole_passes<L>(net, sources, end_id));
}

template<Layout L>
void check_places(std::vector<int> const& ids, std::vector<int> const& expected) {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  auto const segments = from_global<int, L, source>(m, xt::adapt(ids, {8}));
  auto const places   = to_global(nn::positions_in_segments<source>(segments));
  CHECK(std::vector<int>(places.begin(), places.end()) == expected);
}

template<Layout L>
void check_all_places() {
  check_places<L>({1, 1, 1, 2, 2, 3, 0, 0}, {0, 1, 2, 0, 1, 0, 0, 1});
  check_places<L>({0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 2, 3, 4, 5, 6, 7});
  check_places<L>({0, 0, 5, 5, 5, 5, 5, 1}, {0, 1, 0, 1, 2, 3, 4, 0});
  check_places<L>({1, 2, 1, 2, 2, 2, 2, 2}, {0, 0, 0, 0, 1, 2, 3, 4});
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

TEST_CASE("and where nothing divides, where positions are split, and with weights in parts", "[4]") {
  compare<double, data, told>(1e-12);
  compare<double, sparse, told>(1e-12);
  compare<double, by_positions, learned>(1e-12);
  compare<double, kept, learned>(1e-12);
}

TEST_CASE("the loss of packed pairs is the sum of the losses of each alone, and so are the gradients",
          "[1]") {
  check_alone<whole>();
}
TEST_CASE("so it is on four processes", "[4]") { check_alone<mixed>(), check_alone<by_positions>(); }

TEST_CASE("micro-batches count by their targets", "[1]") { check_parts<whole>(); }
TEST_CASE("so they do on four processes", "[4]") { check_parts<mixed>(); }

TEST_CASE("positions begin anew in each sequence", "[1]") { check_all_places<whole>(); }
TEST_CASE("so they do where they are split", "[4]") { check_all_places<by_positions>(); }

TEST_CASE(
    "greedy decoding with caches finds what a model has learned, and what passes over all positions find",
    "[1]") {
  check_decoding<whole, told>();
}
TEST_CASE("so it does on four processes", "[4]") {
  check_decoding<mixed, told>(), check_decoding<by_positions, learned>();
}

#endif
