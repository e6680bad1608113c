// attention: the same numbers as its composition of einsum, mask and softmax, under every layout.
// test: program attention
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct moment : dim<6> {};  // whole everywhere, as attention wants its positions
struct past : dim<6> {};
struct source : dim<5> {};

using self = shape<batch, moment, heads, key>;

/// What `attention` is equal to, from other operations.
template<class Memory, bool Causal, class Q, class K, class V>
constexpr auto composed(Q const& q, K const& k, V const& v, double scale) {
  using L           = typename Q::layout_type;
  auto const scores = einsum<batch, heads, moment, Memory>(q, k);
  auto const scaled = scores * scale;
  if constexpr (Causal) {
    auto const visible = less_equal(iota<int, L, Memory>(q.machine()), iota<int, L, moment>(q.machine()));
    auto const masked  = where(visible, scaled, -1e30);
    auto const weights = softmax<Memory>(masked);
    return einsum<batch, moment, heads, key>(weights, v);
  } else {
    auto const weights = softmax<Memory>(scaled);
    return einsum<batch, moment, heads, key>(weights, v);
  }
}

constexpr double root_half = 0.70710678118654752440;  // 1 / sqrt(key::size)

}  // namespace

TEST_CASE("attention of literal numbers: each query gets the mean of the values, by the keys it likes") {
  if (!on_one_process()) return;
  auto const q = literal<duo, key>({{0, 0}, {1, 0}});
  auto const k = literal<trio, key>({{0, 0}, {0, 0}, {std::log(2.0), 0}});  // weights 1/3 each; 1/4, 1/4, 1/2
  auto const v = literal<trio, key>({{3, 0}, {0, 6}, {6, 3}});
  auto const z = attention<duo, trio, key>(q, k, v, {.scale = 1});
  backward(sum(z));
  CHECK(rounded(numbers_of(z)) == list{3, 3, 3.75, 3});
  CHECK(rounded(slopes_of(v)) == list{0.5833, 0.5833, 0.5833, 0.5833, 0.8333, 0.8333});
}

TEST_CASE("causal self-attention: heads and batch split") {
  check_operation<self, self, self>([](auto const& q, auto const& k, auto const& v) {
    return attention<moment, moment, key>(q, k, v, {.causal = true});
  });
}

TEST_CASE("attention to another sequence, its dimensions in another order, with a scale of its own") {
  check_operation<self, shape<heads, source, key, batch>, shape<source, batch, heads, key>>(
      [](auto const& q, auto const& k, auto const& v) {
        return attention<moment, source, key>(q, k, v, {.scale = 0.3});
      });
}

TEST_CASE("attention of one head, without a batch; values and gradients in single precision") {
  using one = shape<moment, key>;
  check_operation<one, one, one>([](auto const& q, auto const& k, auto const& v) {
    return attention<moment, moment, key>(q, k, v, {.causal = true});
  });
  check_operation_in_float<self, self, self>(
      [](auto const& q, auto const& k, auto const& v) { return attention<moment, moment, key>(q, k, v); });
}

TEST_CASE("attention is einsum, mask, softmax and einsum: values, gradients, flops") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, moment, heads, key> q{m, normal{1}};
    parameter<double, L, batch, moment, heads, key> k{m, normal{2}};
    parameter<double, L, batch, moment, heads, key> v{m, normal{3}};
    auto const probe = random_normal<double, L, batch, moment, heads, key>(m, {.seed = 4});
    auto const turn  = [&](auto const& f) {
      auto const z    = f();
      auto const loss = sum(z * probe);
      backward(loss);
      auto found =
          std::tuple{z.without_slot(), finish(gradient(q)), finish(gradient(k)), finish(gradient(v))};
      zero_gradients(parameters(q, k, v));
      return found;
    };
    auto const of_scores = [&]<class Masked>(Masked) {
      auto const renamed_k = rename<moment, past>(k);
      auto const renamed_v = rename<moment, past>(v);
      return composed<past, Masked::value>(q, renamed_k, renamed_v, root_half);
    };
    auto const differ = [&](auto const& a, auto const& b) {
      see(a);
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        auto const one = [&](auto const& x, auto const& y) {
          auto const apart = x - y;
          auto const far   = sum(square(apart));
          if constexpr (!is_dry<L>)
            CHECK(far.value() <
                  1e-24 * static_cast<double>(batch::size * heads::size * moment::size * key::size));
        };
        (one(std::get<I>(a), std::get<I>(b)), ...);
      }(std::index_sequence<0, 1, 2, 3>{});
    };
    auto const masked = turn([&] { return attention<moment, moment, key>(q, k, v, {.causal = true}); });
    auto const by_sum = turn([&] { return of_scores(std::true_type{}); });
    differ(masked, by_sum);
    auto const open         = turn([&] { return attention<moment, moment, key>(q, k, v); });
    auto const local_result = turn([&] { return of_scores(std::false_type{}); });
    differ(open, local_result);
  });
}

TEST_CASE("attention costs what its composition costs in flops, and sends nothing") {
  constexpr auto price = []<bool Fused>(std::bool_constant<Fused>) {
    return dry_run<mixed>([]<Layout L>(machine<L>& m) {
      parameter<float, L, batch, moment, heads, key> q{m};
      parameter<float, L, batch, moment, heads, key> k{m};
      parameter<float, L, batch, moment, heads, key> v{m};
      auto const z = [&] {
        if constexpr (Fused) {
          return attention<moment, moment, key>(q, k, v, {.causal = true});
        } else {
          auto const renamed_k = rename<moment, past>(k);
          auto const renamed_v = rename<moment, past>(v);
          return composed<past, true>(q, renamed_k, renamed_v, root_half);
        }
      }();
      auto const loss = partial_einsum<>(z, stop_gradient(z));
      m.unwind_tape(false);
      (void)loss;
    });
  };
  constexpr auto fused = price(std::true_type{});
  constexpr auto apart = price(std::false_type{});
  STATIC_REQUIRE(fused.flops() == apart.flops());
  STATIC_REQUIRE(fused.calls() == 0);
  STATIC_REQUIRE(fused.peak_bytes() < apart.peak_bytes());
}
