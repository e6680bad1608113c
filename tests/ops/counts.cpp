// Dimensions whose elements are counted at run time: one program for every count gives what programs of
// exactly these sizes give.
// test: processes 1 3 4
#include <algorithm>
#include <cmath>

#include "../layout_fixture.hpp"

using namespace meshtf;

namespace {

struct sequences : up_to<8> {};
struct places : up_to<7> {};
struct keys : up_to<7> {};
struct width : dim<6> {};
struct words : dim<11> {};
struct best_words : dim<4> {};
template<extent N>
struct exactly : dim<N> {};
template<extent N>
struct as_many_keys : dim<N> {};

struct first : axis<2> {};
struct second : axis<2> {};
struct plane : mesh<first, second> {};
struct by_sequence : layout<plane, split<sequences, first>, padded<words, second>> {};
struct by_both : layout<plane, split<sequences, second>, padded<places, first>> {};
struct by_three_parts : layout<fixture::by_three, padded<sequences, fixture::third>> {};

using values = xt::xarray<double>;

values pattern(std::vector<std::size_t> const& extents, double f) {
  values x = xt::zeros<double>(extents);
  for (std::size_t i = 0; i < x.size(); ++i) x.flat(i) = std::sin(f * static_cast<double>(i + 1));
  return x;
}

/// A layer of a small model: positions by name, a table of words, a norm, scores against a memory, classes.
/// Shows values and gradients.
template<class L, class Batch, class Place, class Key>
std::vector<values> run(machine<L>& m, extent batch, extent place, extent key) {
  auto const n = [](extent i) { return static_cast<std::size_t>(i); };
  parameter<double, L, Place, width> positions{m};
  parameter<double, L, Key, width> memory{m};
  parameter<double, L, words, width> table{m};
  parameter<double, L, width> scale{m};
  parameter<double, L, width> bias{m};
  positions                      = from_global<double, L, Place, width>(m, pattern({n(place), 6}, 1.1));
  memory                         = from_global<double, L, Key, width>(m, pattern({n(key), 6}, 0.7));
  table                          = from_global<double, L, words, width>(m, pattern({11, 6}, 0.9));
  scale                          = from_global<double, L, width>(m, pattern({6}, 0.4));
  xt::xarray<std::int32_t> which = xt::zeros<std::int32_t>({n(batch), n(place)});
  for (std::size_t i = 0; i < which.size(); ++i) which.flat(i) = static_cast<std::int32_t>(i * 5 % 11);
  auto const ids = from_global<std::int32_t, L, Batch, Place>(m, which);

  auto const x       = gather<words>(table, ids) + positions;
  auto const normed  = layer_norm<width>(x, scale, bias, 1e-5);
  auto const weights = softmax<Key>(einsum<Batch, Place, Key>(normed, memory));
  auto const mixed   = einsum<Batch, Place, width>(weights, memory);
  auto const logits  = einsum<Batch, Place, words>(normed + mixed, table);
  auto const losses  = softmax_cross_entropy<words>(logits, ids);
  auto const loss    = mean(losses);
  auto const longest = max<Place>(stop_gradient(logits));
  auto const turned  = einsum<Batch, Key, width>(weights, normed);
  auto const of_all  = sum<Batch>(turned);
  auto const near    = attention<Key, Key, width>(turned, of_all, of_all, {.causal = true, .window = 2});
  auto const seen    = attention<Key, Key, width>(turned, turned, near);
  auto const nearest = argmax<Key>(weights);  // classes of which there are as many as are counted
  auto const smooth  = softmax_cross_entropy<Key>(weights, nearest, {.label_smoothing = 0.1});
  auto const ordered = sum(sort<Key>(weights) * cumprod<Key>(weights, {.exclusive = true}));
  auto const picked  = gather<Key>(weights, nearest);
  auto const marked  = scatter<Key>(weights, nearest, picked * 2);
  auto const raised  = scatter_add<words>(logits, ids, picked);
  auto const by_id   = mean(square(marked)) + mean(square(raised));
  auto const total =
      by_id + loss + ordered + mean(square(seen)) + mean(smooth) + mean(square(sum<Place>(logits)));
  backward(total);

  std::vector<values> shown{to_global(normed), to_global(weights), to_global(logits),
                            to_global(loss),   to_global(total),   to_global(longest)};
  shown.push_back(to_global(argmax<words>(logits)));
  shown.push_back(to_global(argmax<Key>(weights)));
  shown.push_back(to_global(cumsum<Key>(weights)));
  shown.push_back(to_global(cumprod<Key>(weights, {.reverse = true})));
  shown.push_back(to_global(sort<Key>(weights)));
  shown.push_back(to_global(top_k<words, best_words>(logits).index));
  shown.push_back(to_global(seen));
  shown.push_back(to_global(smooth));
  shown.push_back(to_global(picked));
  shown.push_back(to_global(marked));
  shown.push_back(to_global(raised));
  auto const show = [&](auto const& w) { shown.push_back(to_global(finish(gradient(w)))); };
  show(positions);
  show(memory);
  show(table);
  show(scale);
  show(bias);
  return shown;
}

template<class L, extent B, extent P, extent K>
void check(process_mesh<typename L::mesh_type>& m) {
  INFO(name_of<L>() << ": " << B << " sequences, " << P << " places, " << K << " keys");
  auto const truth = run<fixture::alone, exactly<B>, as_many_keys<P>, dim<K>>(
      fixture::processes<fixture::single>(), B, P, K);
  counted<sequences> const b{m, B};
  counted<places> const p{m, P};
  counted<keys> const k{m, K};
  auto const found = run<L, sequences, places, keys>(m, B, P, K);
  REQUIRE(found.size() == truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    INFO("value number " << i);
    REQUIRE(found[i].shape() == truth[i].shape());
    int wrong = 0;
    for (std::size_t e = 0; e < truth[i].size(); ++e)
      wrong += !(std::abs(found[i].flat(e) - truth[i].flat(e)) <= 1e-12);
    CHECK(wrong == 0);
  }
}

template<class L>
void check_all() {
  auto& m = fixture::processes<typename L::mesh_type>();
  check<L, 8, 7, 7>(m);
  check<L, 5, 3, 2>(m);
  check<L, 1, 1, 1>(m);
  check<L, 8, 2, 6>(m);
  check<L, 5, 3, 2>(m);  // plans that were made before
}

}  // namespace

template<class L>
void check_nothing() {
  auto& m = fixture::processes<typename L::mesh_type>();
  parameter<double, L, sequences, width> const x{m, normal{1}};
  auto const is_nan = [](auto const& z) {
    auto const whole = to_global(z);
    return std::all_of(whole.begin(), whole.end(), [](double v) { return std::isnan(v); });
  };
  counted<sequences> const none{m, 0};
  CHECK(std::isnan(mean(x).value()));
  CHECK(is_nan(mean<sequences>(x)));
  CHECK(is_nan(finish(mean<width>(sum<sequences>(x) * 0.0)) + mean<sequences>(sum<width>(x))));
  CHECK(is_nan(variance<sequences>(x)));
  CHECK(sum(x).value() == 0);
}

TEST_CASE("the mean of no element is NaN, as in PyTorch, and the sum is 0") {
  switch (boost::mpi::communicator{}.size()) {
    case 1: check_nothing<fixture::alone>(); break;
    case 3: check_nothing<by_three_parts>(); break;
    case 4: check_nothing<by_both>(); break;
    default: break;
  }
}

TEST_CASE("a program under counts gives what programs of these sizes give", "[1]") {
  check_all<fixture::alone>();
}
TEST_CASE("a program under counts over 3 processes gives what programs of these sizes give", "[3]") {
  check_all<by_three_parts>();
}
TEST_CASE("a program under counts over 4 processes gives what programs of these sizes give", "[4]") {
  check_all<by_sequence>();
  check_all<by_both>();
}
