// Beam search: steps are those of whole passes, hypotheses those of a search by hand, of an enumeration and
// of every layout; no key is sent. Drawn ids are among the likeliest of whole passes, and those of every
// layout. (Short runs find and draw under two of them, and count prices under two.)
// test: processes 1 4
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <meshtf/meshtf.hpp>

#include <meshtf/nn/beam_search.hpp>

#include "../catch.hpp"

using namespace meshtf;

namespace {

struct batch : dim<4> {};
struct source : dim<6> {};
struct target : dim<7> {};
struct vocab : dim<12> {};
struct model : dim<8> {};
struct heads : dim<4> {};
struct key : dim<2> {};
struct hidden : dim<16> {};
struct one_beam : dim<1> {};
struct beam : dim<3> {};

struct solo : axis<1> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct wide : axis<4> {};
struct alone : mesh<solo> {};
struct by_four : mesh<rows, cols> {};
struct in_line : mesh<wide> {};

struct whole : layout<alone> {};
struct data : layout<in_line, split<batch, wide>> {};
struct by_heads : layout<in_line, split<heads, wide>, split<hidden, wide>> {};
struct by_vocab : layout<in_line, split<vocab, wide>> {};
struct mixed : layout<by_four, split<batch, rows>, split<heads, cols>, split<vocab, cols>> {};

template<Dimension Target, Dimension Vocab>
struct dims_of : nn::seq2seq_dims<source, Target, Vocab, model, heads, key, hidden> {
  using positions                     = nn::learned_positions;
  static constexpr int encoder_layers = 1;
  static constexpr int decoder_layers = 2;
  static constexpr double stddev      = 1;
};
using dims = dims_of<target, vocab>;

template<class Dims, Layout L>
constexpr auto some_sources(machine<L>& m) {
  constexpr int last = static_cast<int>(Dims::vocab::size) - 1;
  auto const across  = broadcast<batch, source>(iota<int, L, batch>(m)) * 5;
  auto const ids     = modulo(across + iota<int, L, source>(m) * 7, last) + 1;
  auto const seen    = less(iota<int, L, source>(m) + broadcast<batch, source>(iota<int, L, batch>(m)), 7);
  return nn::source_rows{ids, seen};
}

/// Hypotheses of all sources on every process: ids and scores, one after the other.
struct found_hypotheses {
  std::vector<int> ids;
  std::vector<double> scores;

  std::vector<int> number(std::size_t i) const {
    auto const n = static_cast<std::ptrdiff_t>(ids.size() / scores.size());
    auto const k = static_cast<std::ptrdiff_t>(i);
    return {ids.begin() + k * n, ids.begin() + (k + 1) * n};
  }
};

template<class H>
found_hypotheses all_of(H const& h) {
  auto const ids    = to_global(h.ids);
  auto const scores = to_global(h.scores);
  return {{ids.begin(), ids.end()}, {scores.begin(), scores.end()}};
}

template<class Dims, Layout L>
auto model_of(machine<L>& m) {
  return nn::seq2seq<double, L, Dims>{m, 1};
}

template<Dimension Beam, Layout L, class Dims = dims>
found_hypotheses search(machine<L>& m, int end, nn::beam_options options = {}) {
  return all_of(nn::beam_search<Beam>(model_of<Dims, L>(m), some_sources<Dims, L>(m), end, options));
}

/// It lives until the end: MPI is down when static objects die.
process_mesh<alone>& one_process() {
  static auto* const made = new process_mesh<alone>{MPI_COMM_SELF};
  return *made;
}

double penalty_of(std::size_t length, double exponent) {
  return std::pow((5 + static_cast<double>(length)) / 6, exponent);
}

/// Ids of a hypothesis, with its end.
std::size_t length_of(std::vector<int> const& ids, int end) {
  auto const last = std::find(ids.begin(), ids.end(), end);
  return last == ids.end() ? ids.size() : static_cast<std::size_t>(last - ids.begin()) + 1;
}

template<class Dims>
auto log_probabilities_by_pass(nn::seq2seq<double, whole, Dims> const& net,
                               std::vector<std::vector<int>> const& targets) {
  using in_targets        = typename Dims::target;
  using in_vocab          = typename Dims::vocab;
  auto& m                 = one_process();
  xt::xtensor<int, 2> ids = xt::zeros<int>({targets.size(), targets[0].size()});
  for (std::size_t b = 0; b < targets.size(); ++b)
    for (std::size_t i = 0; i < targets[b].size(); ++i) ids(b, i) = targets[b][i];
  auto const to      = from_global<int, whole, batch, in_targets>(m, ids);
  auto const sources = some_sources<Dims, whole>(m);
  no_gradient const guard{m};
  auto const logits = net(nn::packed_pairs{sources.source, sources.visible, to, to * 0 + 1});
  return to_global(logits - logsumexp<in_vocab>(logits));
}

/// The log probabilities of the next id at each position of these targets, one for each source, by a pass
/// over all positions at once. All nets of these dimensions are equal, and searches meet the same targets
/// again, so each pass is made once.
template<class Dims>
auto const& log_probabilities(nn::seq2seq<double, whole, Dims> const& net,
                              std::vector<std::vector<int>> const& targets) {
  static std::map<std::vector<std::vector<int>>, decltype(log_probabilities_by_pass(net, targets))> known;
  auto found = known.find(targets);
  if (found == known.end()) found = known.emplace(targets, log_probabilities_by_pass(net, targets)).first;
  return found->second;
}

/// Log probabilities of a hypothesis for each source.
template<class Net>
std::vector<double> log_probabilities_of(Net const& net, std::vector<std::vector<int>> const& targets,
                                         int end) {
  auto const& each = log_probabilities(net, targets);
  std::vector<double> sums;
  for (std::size_t b = 0; b < targets.size(); ++b) {
    double sum = 0;
    for (std::size_t i = 0; i < length_of(targets[b], end); ++i)
      sum += each(b, i, static_cast<std::size_t>(targets[b][i]));
    sums.push_back(sum);
  }
  return sums;
}

void check_near(double found, double expected, double within) {
  INFO("got " << found << ", expected " << expected);
  CHECK(std::abs(found - expected) <= within);
}

/// Scores of each step are those of all positions at once, also after beams have changed their places.
template<class T>
void check_steps(double tolerance) {
  using net_type     = nn::seq2seq<T, whole, dims>;
  using next         = typename net_type::next_position;
  auto& m            = one_process();
  net_type const net = {m, 1};
  auto const sources = some_sources<dims, whole>(m);
  no_gradient const guard{m};
  auto caches         = net.template start<beam>(sources);
  auto const terms    = sources.source_terms();
  auto const of_beams = [&](int i) {  // the ids at position i, other ones for each beam and source
    xt::xtensor<int, 3> ids = xt::zeros<int>({4, 3, 1});
    for (std::size_t b = 0; b < 4; ++b)
      for (std::size_t j = 0; j < 3; ++j)
        ids(b, j, 0) = static_cast<int>(b + 3 * j + 5 * std::size_t(i)) % 12;
    return ids;
  };
  // from position 3 on, beam j goes on with what beam 2 - j has written
  using places        = nn::detail::kept_of_beams<beam>;
  auto const reversed = broadcast<batch, places>(iota<int, whole, places>(m) * -1 + 2);
  for (int i = 0; i < 7; ++i) {
    auto before = i == 0 ? xt::xtensor<int, 3>(xt::zeros<int>({4, 3, 1})) : of_beams(i - 1);
    auto const logits =
        to_global(net.next_scores(from_global<int, whole, batch, beam, next>(m, before), i, caches, terms));
    for (std::size_t j = 0; j < 3; ++j) {
      xt::xtensor<int, 2> written = xt::zeros<int>({4, 7});
      for (int p = 0; p < i; ++p)
        for (std::size_t b = 0; b < 4; ++b)
          written(b, std::size_t(p)) = of_beams(p)(b, i > 3 && p < 3 ? 2 - j : j, 0);
      auto const to = from_global<int, whole, batch, target>(m, written);
      auto const at_once =
          to_global(net(nn::packed_pairs{sources.source, cast<int>(sources.visible), to, to * 0 + 1}));
      for (std::size_t b = 0; b < 4; ++b)
        for (std::size_t v = 0; v < 12; ++v)
          check_near(logits(b, j, 0, v), at_once(b, std::size_t(i), v), tolerance);
    }
    if (i == 3) nn::detail::reorder<beam>(caches, reversed, std::source_location::current());
  }
}

struct ranked {
  double score;
  std::vector<int> ids;
};
bool is_better(ranked const& x, ranked const& y) { return x.score > y.score; }

/// The live hypotheses of one source go on: `each` has the log probabilities of the next id of each.
void advance(std::vector<ranked>& live, std::vector<ranked>& ended,
             std::vector<std::vector<double>> const& each, std::size_t place, int end, double penalty) {
  std::size_t const beams = live.size();
  std::vector<ranked> all;
  for (std::size_t j = 0; j < beams; ++j)
    for (std::size_t v = 0; v < each[j].size(); ++v) {
      all.push_back({live[j].score + each[j][v], live[j].ids});
      all.back().ids[place] = static_cast<int>(v);
    }
  std::sort(all.begin(), all.end(), is_better);
  live.clear();
  for (std::size_t c = 0; live.size() < beams; ++c)
    if (all[c].ids[place] != end) live.push_back(all[c]);
    else if (c < beams) ended.push_back({all[c].score / penalty, all[c].ids});
}

/// A search of all steps, without a cache.
template<Dimension Beam>
std::vector<std::vector<ranked>> searched_by_hand(int end, double exponent) {
  std::size_t const beams = Beam::size;
  auto const net          = model_of<dims, whole>(one_process());
  std::vector<std::vector<ranked>> ended(4);
  std::vector<std::vector<ranked>> live(4, std::vector<ranked>(beams, {-1e9, std::vector<int>(7, 0)}));
  for (auto& of_source : live) of_source[0].score = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    std::vector<std::vector<std::vector<double>>> each(4);
    for (std::size_t j = 0; j < beams; ++j) {
      auto const& next =
          log_probabilities(net, {live[0][j].ids, live[1][j].ids, live[2][j].ids, live[3][j].ids});
      for (std::size_t b = 0; b < 4; ++b) {
        each[b].emplace_back();
        for (std::size_t v = 0; v < 12; ++v) each[b].back().push_back(next(b, i, v));
      }
    }
    for (std::size_t b = 0; b < 4; ++b)
      advance(live[b], ended[b], each[b], i, end, penalty_of(i + 1, exponent));
  }
  for (std::size_t b = 0; b < 4; ++b) {
    std::sort(ended[b].begin(), ended[b].end(), is_better);
    for (ranked const& l : live[b]) ended[b].push_back({l.score / penalty_of(7, exponent), l.ids});
    ended[b].resize(beams);
  }
  return ended;
}

void check_equal(found_hypotheses const& found, std::vector<std::vector<ranked>> const& expected) {
  std::size_t const beams = expected[0].size();
  REQUIRE(found.scores.size() == 4 * beams);
  for (std::size_t i = 0; i < 4 * beams; ++i) {
    INFO("source " << i / beams << ", hypothesis " << i % beams);
    ranked const& e = expected[i / beams][i % beams];
    check_near(found.scores[i], e.score, 1e-12 * std::abs(e.score));
    CHECK(found.number(i) == e.ids);
  }
}

// An enumeration: 3 ids but the end, at most 3 positions, so 1 + 3 + 9 hypotheses end and 27 are cut.
struct few_targets : dim<3> {};
struct few_ids : dim<4> {};
struct all_beams : dim<40> {};
using tiny = dims_of<few_targets, few_ids>;

/// All hypotheses of each source: those that end, then those that are cut, each from the best on.
std::vector<std::vector<ranked>> all_hypotheses(int end, double exponent) {
  auto const net = model_of<tiny, whole>(one_process());
  std::vector<std::vector<ranked>> ended(4);
  std::vector<std::vector<ranked>> cut(4);
  for (int n = 0; n < 64; ++n) {
    std::vector<int> ids{n / 16, n / 4 % 4, n % 4};
    std::size_t const length = length_of(ids, end);
    if (std::any_of(ids.begin() + static_cast<std::ptrdiff_t>(length), ids.end(),
                    [](int id) { return id != 0; }))
      continue;  // after its end a hypothesis has zeros
    auto const sums = log_probabilities_of(net, {ids, ids, ids, ids}, end);
    bool const ends = ids[length - 1] == end;
    for (std::size_t b = 0; b < 4; ++b)
      (ends ? ended : cut)[b].push_back({sums[b] / penalty_of(length, exponent), ids});
  }
  for (std::size_t b = 0; b < 4; ++b) {
    std::sort(ended[b].begin(), ended[b].end(), is_better);
    std::sort(cut[b].begin(), cut[b].end(), is_better);
    ended[b].insert(ended[b].end(), cut[b].begin(), cut[b].end());
  }
  return ended;
}

/// Whether scores are equal to 1e-6 and ids too, but for ties: where they differ, the hypothesis stands in
/// the place of another whose score is equal, or is as good as the last one.
bool same_or_tied(found_hypotheses const& found, found_hypotheses const& expected, std::size_t beams) {
  auto const near = [](double x, double y) { return std::abs(x - y) <= 1e-6; };
  for (std::size_t i = 0; i < found.scores.size(); ++i) {
    if (!near(found.scores[i], expected.scores[i])) return false;
    if (found.number(i) == expected.number(i)) continue;
    std::size_t const first = i / beams * beams;
    bool tied               = near(found.scores[i], expected.scores[first + beams - 1]);
    for (std::size_t j = first; j < first + beams; ++j)
      tied = tied || (near(expected.scores[j], found.scores[i]) && expected.number(j) == found.number(i));
    if (!tied) return false;
  }
  return found.ids.size() == expected.ids.size();
}

template<Layout L>
void check_layout() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  INFO("under " << name_of<L>());
  for (int end : {0, 7, 10})
    for (double exponent : {0.0, 0.6}) {
      nn::beam_options const options{.length_penalty = exponent};
      auto const expected = search<beam, whole>(one_process(), end, options);
      auto const found    = search<beam, L>(m, end, options);
      CHECK(same_or_tied(found, expected, 3));
      CHECK(found.ids == expected.ids);  // scores of this model lie far apart
    }
}

/// Where all ids are equally probable, each place is a tie.
template<Layout L>
void check_ties() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  auto const of_equal_ids = []<Layout In>(machine<In>& of) {
    auto net         = model_of<dims, In>(of);
    net.tokens.table = net.tokens.table * 0;
    return all_of(nn::beam_search<beam>(net, some_sources<dims, In>(of), 1));
  };
  auto const expected = of_equal_ids.template operator()<whole>(one_process());
  auto const found    = of_equal_ids.template operator()<L>(m);
  CHECK(same_or_tied(found, expected, 3));
  auto other    = expected;
  other.ids[20] = 5;  // the last hypothesis of the first source
  CHECK(same_or_tied(other, expected, 3));
}

/// How many steps a search took: each has one broadcast.
template<Layout L>
extent steps_until(int end, double exponent) {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  auto const counted =
      recorded<L>(m, [&]<class>(auto&) { search<beam, L>(m, end, {.length_penalty = exponent}); });
  return counted.template calls<collective::broadcast>();
}

/// A search that no hypothesis ends, so that all steps are run.
struct searches_to_the_end {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    nn::seq2seq<double, L, dims> const net{m, 1};
    nn::beam_search<beam>(net, some_sources<dims, L>(m), -1);
  }
};

template<Layout L>
constexpr auto price = dry_run<L>(searches_to_the_end{});

template<Layout L>
void check_price() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  CHECK(recorded<L>(m, searches_to_the_end{}) == price<L>);
}

template<class Cost>
constexpr extent gathered(Cost const& cost) {
  extent bytes = 0;
  cost.for_each_collective([&](collective_call const& c, extent times) {
    if (c.kind == collective::all_gather) bytes += times * c.payload;
  });
  return bytes;
}

// Nothing is gathered or moved where the vocabulary is whole. Where it is split over four, each process
// gathers its 3 of 12 ids (of 6 that would be wanted), numbers and values, of 12 beams in each of 7 steps.
static_assert(price<data>.calls<collective::all_gather>() == 0);
static_assert(price<by_heads>.calls<collective::all_gather>() == 0);
static_assert(price<by_heads>.calls<collective::all_to_all>() == 0);
static_assert(price<by_vocab>.calls<collective::all_gather>() == 7 * 2);
static_assert(gathered(price<by_vocab>) == 7 * 12 * 3 * (8 + 4));
static_assert(gathered(price<mixed>) == 7 * 6 * 6 * (8 + 4));  // of half the sources, 6 of 6 ids
static_assert(price<mixed>.calls<collective::all_to_all, collective::permute>() == 0);

struct best : dim<4> {};

/// Drawn ids, those of the first source first.
template<Layout L, class K = void>
std::vector<std::vector<int>> drawn(machine<L>& m, int end, nn::sampling choice, std::uint64_t seed = 1) {
  auto const net   = model_of<dims, L>(m);
  auto const local = net.template sample<K>(some_sources<dims, L>(m), end, choice, {.seed = seed});
  auto const ids   = to_global(local);
  std::vector<std::vector<int>> rows(4, std::vector<int>(7));
  for (std::size_t b = 0; b < 4; ++b)
    for (std::size_t i = 0; i < 7; ++i) rows[b][i] = ids(b, i);
  return rows;
}

std::vector<nn::sampling> const choices{{.temperature = 0},
                                        {},
                                        {.temperature = 3},
                                        {.temperature = 3, .top_k = 4},
                                        {.temperature = 2, .top_p = 0.7}};

template<Layout L>
void check_drawn() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  INFO("under " << name_of<L>());
  for (nn::sampling const& choice : choices) {
    INFO("temperature " << choice.temperature << ", top-p " << choice.top_p);
    CHECK(drawn<L>(m, 7, choice) == drawn<whole>(one_process(), 7, choice));
    CHECK((drawn<L, best>(m, 7, choice)) == (drawn<whole, best>(one_process(), 7, choice)));
  }
}

}  // namespace

TEST_CASE("scores of each step are those of all positions at once", "[1]") {
  check_steps<double>(1e-12);
  check_steps<float>(1e-5);
}

TEST_CASE("a search without caches that runs all steps finds the same", "[1]") {
  for (int end : {0, 7, 10})
    for (double exponent : {0.0, 0.6, 4.0}) {
      INFO("end " << end << ", length penalty " << exponent);
      check_equal(search<beam, whole>(one_process(), end, {.length_penalty = exponent}),
                  searched_by_hand<beam>(end, exponent));
    }
}

TEST_CASE("with room for all hypotheses it finds what an enumeration finds", "[1]") {
  for (int end : {1, 3})
    for (double exponent : {0.0, 0.6, 3.0}) {
      INFO("end " << end << ", length penalty " << exponent);
      auto const expected = all_hypotheses(end, exponent);
      CHECK(expected[0].size() == std::size_t{all_beams::size});
      check_equal(search<all_beams, whole, tiny>(one_process(), end, {.length_penalty = exponent}), expected);
    }
}

TEST_CASE("one beam without a length penalty is greedy decoding", "[1]") {
  auto& m        = one_process();
  auto const net = model_of<dims, whole>(m);
  int ended      = 0;
  for (int end = 0; end < 12; ++end) {
    auto const greedy = to_global(net.greedy(some_sources<dims, whole>(m), end));
    auto const h      = search<one_beam, whole>(m, end, {.length_penalty = 0});
    for (std::size_t b = 0; b < 4; ++b) {
      std::vector<int> expected;
      for (std::size_t i = 0; i < 7; ++i) expected.push_back(greedy(b, i));
      ended += std::find(expected.begin(), expected.end(), end) != expected.end() ? 1 : 0;
      INFO("end " << end << ", source " << b);
      CHECK(h.number(b) == expected);
    }
  }
  CHECK(ended > 0);
  CHECK(ended < 48);
}

TEST_CASE("a temperature of 0, and the likeliest id alone, are greedy decoding", "[1]") {
  auto& m           = one_process();
  auto const greedy = to_global(model_of<dims, whole>(m).greedy(some_sources<dims, whole>(m), 7));
  for (nn::sampling const& choice : {nn::sampling{.temperature = 0}, {.temperature = 3, .top_k = 1}}) {
    auto const rows = drawn<whole>(m, 7, choice);
    for (std::size_t b = 0; b < 4; ++b)
      for (std::size_t i = 0; i < 7; ++i) CHECK(rows[b][i] == greedy(b, i));
  }
}

TEST_CASE("drawn ids are among the likeliest of a whole pass, up to the end, then zeros", "[1]") {
  auto const net                 = model_of<dims, whole>(one_process());
  nn::sampling const choice      = {.temperature = 3, .top_k = 4};
  std::vector<std::size_t> ranks = {0, 0, 0, 0};
  int ended                      = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto const rows  = drawn<whole>(one_process(), 7, choice, seed);
    auto const& each = log_probabilities(net, rows);
    for (std::size_t b = 0; b < 4; ++b) {
      std::size_t const length = length_of(rows[b], 7);
      for (std::size_t i = 0; i < length; ++i) {
        std::size_t above = 0;
        for (std::size_t v = 0; v < 12; ++v)
          if (each(b, i, v) > each(b, i, static_cast<std::size_t>(rows[b][i]))) ++above;
        REQUIRE(above < 4);
        ++ranks[above];
      }
      for (std::size_t i = length; i < 7; ++i) CHECK(rows[b][i] == 0);
      ended += length < 7 ? 1 : 0;
    }
  }
  CHECK(ended > 0);
  for (std::size_t r = 0; r < 4; ++r) CHECK(ranks[r] > 0);
  CHECK(ranks[0] > ranks[3]);
}

TEST_CASE("it refuses a top-k beyond the ids that are ranked", "[1]") {
  CHECK_THROWS_WITH(
      (drawn<whole, best>(one_process(), 7, {.top_k = 5})),
      "expected a top-k of 1 to 4, got 5: 1 takes the likeliest id; leave it out to draw from all");
}

TEST_CASE("it refuses what no search can do", "[1]") {
  auto const refuses = [](nn::beam_options options, std::string const& words) {
    std::string said;
    try {
      (void)search<beam, whole>(one_process(), 1, options);
    } catch (software_error const& e) {
      said = e.what();
    }
    INFO(said);
    CHECK(said.find(words) != std::string::npos);
  };
  refuses({.length_penalty = -1}, "expected a length penalty of at least 0, got -1");
  refuses({.longest = 8}, "expected a longest hypothesis of 1 to 7 ids");
  refuses({.longest = -1}, "got -1");
  auto const h = search<beam, whole>(one_process(), 1, {.longest = 2});
  for (std::size_t i = 0; i < 12; ++i) CHECK(h.number(i)[2] == 0);
}

TEST_CASE("every layout finds the same hypotheses", "[4]") {
#ifdef MESHTF_LONG_ZOO
  check_layout<data>();
  check_layout<by_vocab>();
#endif
  check_layout<by_heads>();
  check_layout<mixed>();
}

TEST_CASE("every layout draws the same ids", "[4]") {
#ifdef MESHTF_LONG_ZOO
  check_drawn<data>();
  check_drawn<by_heads>();
#endif
  check_drawn<by_vocab>();
  check_drawn<mixed>();
}

TEST_CASE("other ids are accepted only where scores are tied", "[4]") {
  check_ties<by_vocab>();
  found_hypotheses const expected{{1, 0, 2, 1, 3, 1}, {-1, -2, -3}};
  CHECK(same_or_tied(expected, expected, 3));
  CHECK(!same_or_tied({{2, 1, 1, 0, 3, 1}, {-1, -2, -3}}, expected, 3));
  CHECK(!same_or_tied({{1, 0, 2, 1, 3, 1}, {-1, -2.1, -3}}, expected, 3));
}

TEST_CASE("it stops when all sources are decided, on all processes in the same step", "[4]") {
  extent const steps = steps_until<by_heads>(10, 0);
  CHECK(steps >= 3);  // a source has 3 beams, and one of them ends in a step
  CHECK(steps < 7);
#ifdef MESHTF_LONG_ZOO
  CHECK(steps_until<data>(10, 0) == steps);
#endif
  CHECK(steps_until<mixed>(10, 0) == steps);
  CHECK(steps_until<by_heads>(10, 3) > steps);  // longer ones may become better
  CHECK(steps_until<by_heads>(-1, 0) == 7);
}

TEST_CASE("what is promised of all steps is what is counted", "[4]") {
#ifdef MESHTF_LONG_ZOO
  check_price<data>();
  check_price<by_heads>();
#endif
  check_price<by_vocab>();
  check_price<mixed>();
}
