// What operations that move elements along split dimensions send: as the compiler promises it and as MPI sees
// it, of each call the busiest process exactly so much, and no other more. Of all calls together the busiest
// process sends that too if the row has a part with neighbours on both sides: of two parts, each hands over
// in one of a halo's two calls.
#include "compare.hpp"

#include "../catch.hpp"

namespace accounting {

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<4> {};
struct length : dim<12> {};
struct shorter : dim<11> {};
struct groups : dim<8> {};
struct all_groups : dim<8> {};
struct experts : dim<6> {};
struct all_experts : dim<6> {};
struct width : dim<5> {};
struct taps : dim<3> {};
struct channels : dim<2> {};

/// A row of two parts, one of four, and names that change places along one axis.
struct mixed : layout<grid, split<batch, rows>, split<length, cols>, padded<shorter, cols>,
                      split<groups, rows>, split<experts, rows>> {};
struct in_a_row : layout<grid, split<length, cols, rows>, padded<shorter, cols, rows>> {};

struct sends {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    parameter<float, L, batch, length, width> w{m};
    parameter<float, L, length, width> v{m};
    auto const x    = tanh(shift<length>(w, 2));
    auto const y    = roll<length>(x, -1);
    auto const z    = shift<length>(v, -3, 1);
    auto const one  = sum(square(y));
    auto const two  = sum(square(z));
    auto const loss = one + two;
    backward(loss);
  }
};

struct sends_halos {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    parameter<float, L, batch, length, width> w{m};
    parameter<float, L, taps, width, channels> filter{m};
    auto const x    = halo<length, 2, 1>(w);
    auto const y    = conv<window<length, taps>, width, channels>(w, filter);
    auto const one  = sum(square(x));
    auto const two  = sum(square(y));
    auto const loss = one + two;
    backward(loss);
  }
};

struct exchanges_parts {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    parameter<float, L, batch, length, width> w{m};
    parameter<float, L, length, width> v{m};
    auto const x    = tanh(flip<length>(w));
    auto const y    = tanh(pad<shorter, length>(tanh(slice<length, shorter>(x, 1)), 1));
    auto const z    = shift<length>(v, 4);
    auto const one  = sum(square(y));
    auto const two  = sum(square(z));
    auto const loss = one + two;
    backward(loss);
  }
};

struct exchanges_names {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    parameter<float, L, groups, all_experts, width> x{m};
    auto const loss = sum(square(rename<groups, all_groups, all_experts, experts>(x)));
    backward(loss);
  }
};

/// Returns the bytes that the busiest process has handed over in all.
template<class L, class F>
std::int64_t check(F const& f) {
  static constexpr auto promised = dry_run<L>(F{});
  process_mesh<grid> m{MPI_COMM_WORLD};
  pmpi::start();
  auto const counted = recorded<L>(m, f);
  auto const made    = pmpi::stop();
  CHECK(difference_on_all(promised, made) == "");
  CHECK(difference(promised, counted) == "");
  return busiest_of_all(made);
}

}  // namespace

TEST_CASE("shift and roll send what is promised", "[4]") {
  static constexpr auto promised = dry_run<in_a_row>(sends{});
  static_assert(promised.calls<collective::neighbours>() == 6);
  extent bytes = 0;
  for (auto const& c : promised.collectives())
    if (c.kind == collective::neighbours) bytes += c.payload;
  CHECK(bytes == 2 * 4 * (4 * 5 * (2 + 1) + 5 * 3));  // there and back, rows of 4 x 5 and of 5 floats
  check<mixed>(sends{});
  check<in_a_row>(sends{});
}

TEST_CASE("a halo sends an edge to each side, and so does a convolution, which sends it once", "[4]") {
  static constexpr auto promised = dry_run<in_a_row>(sends_halos{});
  static_assert(promised.calls<collective::neighbours>() == 8);
  extent bytes = 0;
  for (auto const& c : promised.collectives())
    if (c.kind == collective::neighbours) bytes += c.payload;
  CHECK(bytes == 2 * 4 * 4 * 5 * (2 + 1 + 1 + 1));  // there and back, rows of 4 x 5 floats
  CHECK(check<in_a_row>(sends_halos{}) == promised.payload());
  constexpr auto of_two_parts = dry_run<mixed>(sends_halos{});
  extent halos                = 0;
  for (auto const& c : of_two_parts.collectives())
    if (c.kind == collective::neighbours) halos += c.payload;
  // one of two calls in the forward pass, the other in the backward pass
  CHECK(check<mixed>(sends_halos{}) == of_two_parts.payload() - halos / 2);
}

TEST_CASE("flip, slice, pad and a far shift send what is promised", "[4]") {
  static constexpr auto promised = dry_run<in_a_row>(exchanges_parts{});
  static_assert(promised.calls<collective::permute>() == 2 &&
                promised.calls<collective::neighbours>() == 4 + 4);
  check<mixed>(exchanges_parts{});
  check<in_a_row>(exchanges_parts{});
}

TEST_CASE("names that change places along one axis are one all-to-all", "[4]") {
  constexpr auto promised = dry_run<mixed>(exchanges_names{});
  static_assert(promised.calls<collective::all_to_all>() == 2 &&
                promised.calls<collective::all_gather>() == 0);
  check<mixed>(exchanges_names{});
}

}  // namespace accounting
