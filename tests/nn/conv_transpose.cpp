// nn::conv_transpose: results, gradients and names, under every layout.
// test: processes 1 2 3 4 6 8 10
#include "../layout_fixture.hpp"

#include <meshtf/nn/conv.hpp>

using namespace fixture;

namespace {

struct k_h : dim<3> {};
struct k_w : dim<2> {};
struct half_in : dim<3> {};
struct few : dim<2> {};
struct fewer : dim<3> {};

}  // namespace

TEST_CASE("transposed convolutions: to more rows, from and to split channels, and in groups") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    nn::conv_transpose<double, L, hidden, few, window<batch, k_h>, window<in, k_w, half_in, stride<2>>>
        larger{m, normal{1}};
    nn::conv_transpose<double, L, few, hidden, window<in, k_w>> wider{m, normal{2}};
    nn::conv_transpose<double, L, few, shape<member, fewer>, window<in, k_w>> apart{m, normal{3}};
    parameter<double, L, batch, half_in, length, hidden> x{m, normal{4}};
    parameter<double, L, batch, in, member, few> of_groups{m, normal{5}};
    auto const y = larger(x);
    auto const z = wider(y);
    auto const g = apart(of_groups);
    see(y);
    see(z);
    see(g);
    auto const loss  = sum(square(z));
    auto const other = sum(square(g));
    backward(loss + other);
    see(finish(gradient(x)));
    see(finish(gradient(of_groups)));
    meshtf::parameters(larger, wider, apart).for_each([&](auto const& w) { see(finish(gradient(w))); });
  });
}

TEST_CASE("its filter is that of the convolution back", "[1]") {
  auto& m = processes<single>();
  nn::conv_transpose<double, alone, hidden, few, window<in, k_h, half_in, stride<2>>> larger{m, normal{1}};
  nn::conv<double, alone, few, hidden, window<in, k_h, half_in, stride<2>>> back{m, normal{1}};
  parameter<double, alone, batch, in, few> x{m, normal{2}};
  auto const z = random_normal<double, alone, batch, half_in, hidden>(m, {.seed = 3});
  backward(sum(z * back(x)));
  CHECK(max(abs(larger(z) - finish(gradient(x)))).value() < 1e-12);
  std::vector<std::string> names;
  larger.parameters().for_each_named([&](std::string const& name, auto const&) { names.push_back(name); });
  CHECK(names == std::vector<std::string>{"filter", "bias"});
}
