// If it compiles, it passes. What an explanation says of halos.
#include <meshtf/explain/explain.hpp>
#include <meshtf/ops/window/conv.hpp>
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct height : dim<12> {};
struct width : dim<6> {};
struct channels : dim<4> {};
struct made : dim<16> {};
struct k_h : dim<3> {};
struct k_w : dim<3> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};
struct by_space : layout<grid, split<batch, rows>, split<height, cols>> {};
struct by_batch : layout<grid, split<batch, rows>> {};

template<class L>
constexpr auto cost = dry_run<L>([]<Layout D>(machine<D>& m) {
  parameter<float, D, batch, height, width, channels> const x{m, normal{1}};
  parameter<float, D, k_h, k_w, channels, made> const filter{m, normal{2}};
  auto const loss = sum(conv<window<height, k_h>, window<width, k_w>, channels, made>(x, filter));
  backward(loss);
});

constexpr bool says(std::string_view text, std::string_view words) { return text.find(words) != text.npos; }

constexpr auto text = explain(cost<by_space>);
// A row to each side, there and back, of 4 images of 6 pixels of 4 channels, and the loss; the reason is that
// of the kind.
static_assert(says(text, "neighbours  cols") && says(text, "conv") &&
              says(text, "elements cross over to the next part along cols"));
static_assert(cost<by_space>.template calls<collective::neighbours>() == 4);
static_assert(cost<by_space>.template payload<cols>() == 4 * 4 * (4 * 6 * 4) + 4);
// A variable, not an argument: g++ 12 takes a temporary page of one check for no constant on some processors'
// builds.
constexpr auto text_by_batch = explain(cost<by_batch>);
static_assert(!says(text_by_batch, "neighbours") &&
              cost<by_batch>.template calls<collective::neighbours>() == 0);

}  // namespace
