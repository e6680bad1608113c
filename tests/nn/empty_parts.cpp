// Parts with room for one element, of which a process holds none: 3 sequences over 4 processes, and 3 heads.
// What is past the local elements is NaN here, or -1 (MESHTF_POISON), so a loop that makes its one turn where
// there is nothing to do shows.
// test: processes 2 4
#include <bit>
#include <cstdint>

#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

struct three : dim<3> {};
struct six : dim<6> {};
struct classes : dim<5> {};
struct places : up_to<4> {};

struct four : mesh<wide> {};
// 1 + 1 + 1 + 0, 2 + 2 + 2 + 0
struct by_four : layout<four, padded<three, wide>, padded<six, wide>, split<places, wide>> {};
struct by_square : layout<two_by_two, padded<three, cols, rows>, padded<six, cols, rows>> {};
struct by_two : layout<pair, padded<three, line>> {};  // 2 + 1: one element of two for which there is storage

template<class F>
void under_each(F const& f) {
  if (boost::mpi::communicator{}.size() == 2) return f.template operator()<by_two>();
  f.template operator()<by_four>();
  f.template operator()<by_square>();
}

template<class... S, class F>
void check(F const&) {
  using program               = operation<double, F, drawn{}, S...>;
  recorded_values const truth = run<alone>(program{});
  under_each([&]<Layout L> { check_under<L>(program{}, truth, 1e-12); });
}

/// Whole numbers from 0 to 4, the same under every layout.
template<class... D>
constexpr auto classes_of(auto const& x) {
  using L = typename std::remove_cvref_t<decltype(x)>::layout_type;
  return cast<std::int32_t>(floor(random_uniform<double, L, D...>(x.machine(), {.seed = 8}, 0, 5)));
}

/// A step of a language model's parts, with three sequences, or six in two micro-batches.
template<class Batch, class Micro>
struct training {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    constexpr int turns = int{Batch::size / Micro::size};
    parameter<double, L, in> scale{m, normal{1}};
    parameter<double, L, in> shift{m, normal{2}};
    parameter<double, L, in, out> up{m, normal{3}};
    parameter<double, L, out> bias{m, normal{4}};
    parameter<double, L, out, classes> down{m, normal{5}};
    adam optimizer{0.05};
    auto const weights = parameters(scale, shift, up, bias, down);
    auto const x       = random_normal<double, L, Batch, length, in>(m, {.seed = 6});
    auto const y       = classes_of<Batch, length>(x);
    for (int step = 0; step < 3; ++step) {
      auto const loss = accumulate<turns>([&](extent i) {
        auto const rows   = layer_norm<in>(micro_batch<Batch, Micro>(x, i), scale, shift);
        auto const hidden = bias_gelu(einsum<Micro, length, out>(rows, up), bias);
        auto const logits = einsum<Micro, length, classes>(rms_norm<out>(hidden, bias), down);
        return mean(softmax_cross_entropy<classes>(logits, micro_batch<Batch, Micro>(y, i))) / turns;
      });
      see(loss);
      optimizer.step(weights);
    }
    see(scale);
    see(shift);
    see(up);
    see(bias);
    see(down);
  }
};

/// Attention of three heads whose queries and keys are normalised.
struct normalised_heads {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    parameter<double, L, key> of_queries{m, normal{1}};
    parameter<double, L, key> of_keys{m, normal{2}};
    parameter<double, L, in, three, key> query{m, normal{3}};
    parameter<double, L, in, three, key> keys{m, normal{4}};
    parameter<double, L, in, three, key> value{m, normal{5}};
    auto const x = random_normal<double, L, length, in>(m, {.seed = 6});
    auto const q = rms_norm<key>(einsum<three, length, key>(x, query), of_queries);
    auto const k = rms_norm<key>(einsum<three, length, key>(x, keys), of_keys);
    auto const z =
        attention<length, length, key>(q, k, einsum<three, length, key>(x, value), {.causal = true});
    see(z);
    backward(sum(square(z)));
    see(finish(gradient(of_queries)));
    see(finish(gradient(of_keys)));
    see(finish(gradient(query)));
    see(finish(gradient(value)));
  }
};

/// Three of the four places that fit are counted.
struct counting {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    parameter<double, L, in> scale{m, normal{1}};
    parameter<double, L, in> shift{m, normal{2}};
    parameter<double, L, in> bias{m, normal{3}};
    counted<places> const guard{m, 3};
    auto const x      = random_normal<double, L, places, in>(m, {.seed = 6});
    auto const h      = bias_gelu(layer_norm<in>(x, scale, shift), bias);
    auto const losses = softmax_cross_entropy<in>(h, classes_of<places>(x));
    auto const first  = mean(losses);
    auto const second = sum(square(rms_norm<in>(h, scale)));
    auto const loss   = first + second;
    see(loss);
    backward(loss);
    see(finish(gradient(scale)));
    see(finish(gradient(shift)));
    see(finish(gradient(bias)));
  }
};

bool same_bits(recorded_values const& a, recorded_values const& b) {
  auto const alike = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return std::equal(a.all.begin(), a.all.end(), b.all.begin(), b.all.end(),
                    [&](recorded_value const& x, recorded_value const& y) {
                      return x.known == y.known && std::equal(x.value.begin(), x.value.end(), y.value.begin(),
                                                              y.value.end(), alike);
                    });
}

/// The values of one process, at the promised price, and the same bits in a second run, which finds other
/// numbers in its memory.
template<class F>
void check_and_repeat(F const& f) {
  recorded_values const truth = run<alone>(f);
  under_each([&]<Layout L> {
    check_under<L>(f, truth, 1e-12);
    CHECK(same_bits(run<L>(f), run<L>(f)));
  });
}

}  // namespace

TEST_CASE("the gradients of a norm's scale and bias add the rows that a process holds") {
  check<shape<three, in>, shape<in>, shape<in>>([](auto const& x, auto const& scale, auto const& bias) {
    return std::tuple{layer_norm<in>(x, scale, bias), rms_norm<in>(x, scale)};
  });
  check<shape<in, three>, shape<in>, shape<in>>([](auto const& x, auto const& scale, auto const& bias) {
    return std::tuple{layer_norm<in>(x, scale, bias), rms_norm<in>(x, scale)};
  });
  // QK-norm
  check<shape<length, three, key>, shape<key>>(
      [](auto const& heads, auto const& scale) { return rms_norm<key>(heads, scale); });
}

TEST_CASE("the gradient of bias_gelu's bias adds the rows that a process holds") {
  check<shape<three, in>, shape<in>>([](auto const& x, auto const& bias) { return bias_gelu(x, bias); });
  check<shape<length, three, in>, shape<three, in>>(
      [](auto const& x, auto const& bias) { return bias_gelu(x, bias); });
}

TEST_CASE("the targets of a cross entropy are looked at where a process holds them") {
  check<shape<three, classes>>(
      [](auto const& x) { return softmax_cross_entropy<classes>(x, classes_of<three>(x)); });
  check<shape<classes, three>>(
      [](auto const& x) { return softmax_cross_entropy<classes>(x, classes_of<three>(x)); });
  check<shape<three, length, classes>>(
      [](auto const& x) { return softmax_cross_entropy<classes>(x, classes_of<three, length>(x)); });
}

TEST_CASE("three sequences train over four processes as in one, with the same bits in each run") {
  check_and_repeat(training<three, three>{});
}

TEST_CASE("so do six in two micro-batches of three", "[4]") {
  training<six, three> const f;
  recorded_values const truth = run<alone>(f);
  check_under<by_four>(f, truth, 1e-12);
  CHECK(same_bits(run<by_four>(f), run<by_four>(f)));
}

TEST_CASE("three heads over four processes, whose queries and keys are normalised") {
  check_and_repeat(normalised_heads{});
}

TEST_CASE("three places of four, which are counted at run time") { check_and_repeat(counting{}); }
