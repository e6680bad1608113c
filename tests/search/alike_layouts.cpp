// If it compiles, it passes: a ranking holds each layout that can be placed once, in order, also where some
// axes are alike, others are not, and some join nodes.
// test: long
#include <tuple>

#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "perceptron.hpp"

namespace {

using namespace meshtf;

using namespace tests::perceptron;

constexpr auto step = record<training, batch, in, hidden, out>();

struct nodes : axis<2, link::between_nodes> {};
struct rows : axis<2> {};
struct single : axis<1> {};
struct cols : axis<2> {};
struct depth : axis<4> {};

/// The layouts of `M` that can be placed, each tried.
template<Mesh M>
constexpr int tried() {
  layout_numbers l    = detail::numbers_of_mesh<M>();
  constexpr int dims  = 4;
  int const all       = 1 << M::all_axes::count;
  int found           = 0;
  axis_set over[dims] = {};
  while (true) {
    bool real = true;
    for (int d = 0; d < dims; ++d) {
      real = real && (over[d] & ~l.joining) == 0;
      l.put(d, over[d]);
    }
    if (real && detail::can_be_placed(step, l)) ++found;
    int d = 0;
    while (d < dims && ++over[d] == static_cast<axis_set>(all)) over[d++] = 0;
    if (d == dims) return found;
  }
}

template<Mesh M>
constexpr bool complete_and_in_order() {
  auto const ranked = rank_layouts<M, candidates<batch, in, hidden, out>, 512>(step);
  if (static_cast<int>(ranked.size()) != tried<M>() || ranked.looked_at() - ranked.illegal() != tried<M>())
    return false;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (i % 20 == 0) {  // prices are those of layouts alone
      auto const alone     = price<M>(step, ranked.numbers(i));
      double const seconds = alone.time().total();
      if (ranked[i].peak != alone.peak_bytes() || ranked[i].seconds < seconds * (1 - 1e-9) ||
          ranked[i].seconds > seconds * (1 + 1e-9))
        return false;
    }
    if (i + 1 == ranked.size()) break;
    auto const& a    = ranked[i];
    auto const& b    = ranked[i + 1];
    bool const rises = std::tie(a.seconds, a.peak, a.over) < std::tie(b.seconds, b.peak, b.over);
    if (!rises) return false;
  }
  return true;
}
static_assert(complete_and_in_order<mesh<rows, single, cols>>());
static_assert(complete_and_in_order<mesh<nodes, rows, cols>>());
static_assert(complete_and_in_order<mesh<nodes, depth>>());

// too little memory: what does not fit is counted, and what fits is ranked
struct cube : mesh<nodes, rows, cols> {};
constexpr auto ranked = rank_layouts<cube, candidates<batch, in, hidden, out>>(step);
constexpr min_time small{.memory = (ranked[0].peak + ranked[ranked.size() - 1].peak) / 2};
constexpr auto fitting = rank_layouts<cube, candidates<batch, in, hidden, out>>(step, small);
constexpr bool fits_by_count() {
  std::size_t fit = 0;
  for (auto const& l : ranked.layouts()) fit += l.peak <= small.memory ? 1U : 0U;
  return fit == fitting.size() && fit + static_cast<std::size_t>(fitting.too_large()) == ranked.size() &&
         fit > 0 && fit < ranked.size();
}
static_assert(fits_by_count());

}  // namespace
