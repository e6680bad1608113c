// What is said of a layout with rules that split no dimension: stages of a pipeline, weights kept in parts.
#include <string_view>

#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct in : dim<32> {};
struct hidden : dim<64> {};
struct rows : axis<4> {};
struct stages : axis<2> {};
struct grid : mesh<stages, rows> {};
struct piped : layout<grid, staged<stages>, split<batch, rows>, kept_over<rows>> {};
struct in_parts : layout<grid, kept_over<rows>, split<batch, rows>> {};

constexpr bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

static_assert(has(explain<piped>().view(), "a pipeline, whose stages lie along stages: each holds"));
static_assert(has(explain<piped>().view(), "parameters of layers are kept in parts over rows, and gathered"));
static_assert(!has(explain<piped>().view(), "nothing is split over stages"));
static_assert(has(explain<in_parts>().view(), "nothing is split over stages"));
static_assert(has(explain<in_parts>().view(), "batch  8 in 4 parts of 2 over rows"));

template<Layout L>
struct training {
  kept_parameter<float, L, in, hidden> w;
  tensor<float, L, batch, in> x;
  sgd opt{};
  constexpr explicit training(machine<L>& m) : w{m}, x{m} {}
  constexpr auto step() {
    auto const loss = mean(einsum<batch, hidden>(x, w));
    backward(loss);
    opt.step(parameters(w));
    return loss;
  }
};
static_assert(has(explain<training, in_parts>().view(), "all_gather"));
static_assert(has(explain<training, in_parts>().view(), "reduce_scatter"));
// without the split of batch, the weights are still kept in parts
static_assert(has(explain_rules<training, in_parts>().view(), "split<batch, rows>"));

}  // namespace
