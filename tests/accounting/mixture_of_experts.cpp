// What a mixture of experts sends: two all-to-alls in each pass, of what the groups of a process have for all
// experts, and nothing else. The compiler promises it and MPI sees it, and `explain` says why.
#include <string_view>

#include <meshtf/explain/explain.hpp>
#include <meshtf/nn/mixture_of_experts.hpp>

#include "compare.hpp"

#include "../catch.hpp"

namespace accounting {

namespace {

using namespace meshtf;

struct rows : axis<4> {};
struct line : mesh<rows> {};
struct left : axis<2> {};
struct right : axis<2> {};
struct square : mesh<left, right> {};

struct batch : dim<16> {};
struct length : dim<16> {};
struct width : dim<6> {};
struct inside : dim<10> {};
struct experts : dim<8> {};
struct groups : dim<8> {};

struct spread : layout<line, split<batch, rows>, split<groups, rows>, split<experts, rows>> {};
struct over_both
    : layout<square, split<batch, left, right>, split<groups, left, right>, split<experts, left, right>> {};
struct inside_too
    : layout<square, split<batch, left>, split<groups, left>, split<experts, left>, split<inside, right>> {};

struct passes {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    nn::streams seeds{1};
    nn::mixture_of_experts<float, L, width, inside, experts, groups> net{m, seeds, 0.8, 0.8};
    parameter<float, L, batch, length, width> x{m, normal{5}};
    auto const z    = net(x, {.seed = 3});
    auto const loss = sum(meshtf::square(z.value));  // one number is added up
    backward(loss);
  }
};

/// Its all-to-alls, each of the bytes that a process's groups have for the places of all experts.
template<class Cost>
constexpr bool exchanges(Cost const& cost, extent processes) {
  constexpr extent places = 5;  // floor(32 * 1.25 / 8)
  bool alike              = cost.template calls<collective::all_to_all>() == 4;
  for (auto const& c : cost.collectives())
    if (c.kind == collective::all_to_all)
      alike = alike && c.payload == groups::size / processes * experts::size * places * width::size *
                                        extent{sizeof(float)};
  return alike;
}

/// The lines of all-to-alls in an explanation that end with `why`.
constexpr int all_to_alls(std::string_view text, std::string_view why) {
  int found = 0;
  while (!text.empty()) {
    std::string_view const line = text.substr(0, text.find('\n'));
    found += line.find(" all_to_all ") != line.npos && line.ends_with(why) ? 1 : 0;
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
  }
  return found;
}
constexpr std::string_view there = ": rows goes from groups to experts";
constexpr std::string_view back  = ": rows goes from experts to groups";

template<class L>
void check() {
  static constexpr auto promised = dry_run<L>(passes{});
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  pmpi::start();
  auto const counted = recorded<L>(m, passes{});
  auto const made    = pmpi::stop();
  CHECK(difference_on_all(promised, made) == "");
  CHECK(difference(promised, counted) == "");
}

}  // namespace

TEST_CASE("a mixture of experts sends two all-to-alls in each pass and nothing else", "[4]") {
  static constexpr auto by_line = dry_run<spread>(passes{});
  static_assert(exchanges(by_line, 4));
  static_assert(by_line.calls() == 4 + 1 && by_line.calls<collective::all_reduce>() == 1);
  static_assert(all_to_alls(explain(by_line).view(), there) == 2 &&
                all_to_alls(explain(by_line).view(), back) == 2);
  static constexpr auto by_square = dry_run<over_both>(passes{});
  static_assert(exchanges(by_square, 4) && by_square.calls() == 4 + 1);
  check<spread>();
  check<over_both>();
}

TEST_CASE("where hidden units are split too, one all-reduce more in each pass", "[4]") {
  static constexpr auto cost = dry_run<inside_too>(passes{});
  static_assert(exchanges(cost, 2));
  static_assert(cost.calls() == 4 + 1 + 2 && cost.calls<collective::all_reduce>() == 1 + 2);
  check<inside_too>();
}

TEST_CASE("a process has an equal part of the parameters of experts", "[4]") {
  constexpr extent router = width::size * experts::size;
  constexpr extent each   = 2 * width::size * inside::size + inside::size + width::size;
  constexpr auto cost     = dry_run<spread>([]<Layout L>(machine<L>& m) {
    nn::streams seeds{1};
    nn::mixture_of_experts<float, L, width, inside, experts, groups> net{m, seeds, 0.8, 0.8};
  });
  static_assert(cost.parameter_bytes() == (router + experts::size * each / 4) * extent{sizeof(float)});
}

}  // namespace accounting
