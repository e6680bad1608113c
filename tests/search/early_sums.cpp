// If it compiles, it passes: a step with early sums is recorded without a layout. A search ranks layouts by
// the same step with its sums at the end, which sends and computes as much.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "perceptron.hpp"
#include "same_price.hpp"

namespace {

using namespace meshtf;
using namespace meshtf::tests::perceptron;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};
struct data : layout<grid, split<batch, rows>> {};
struct both : layout<grid, split<batch, rows>, split<hidden, cols>> {};

template<Layout L>
struct early_training : training<L> {
  using training<L>::training;
  constexpr auto step() {
    early_sums const early{parameters(this->w1, this->w2)};
    return training<L>::step();
  }
};

constexpr auto step     = record<training, batch, in, hidden, out>();
constexpr auto recorded = record<early_training, batch, in, hidden, out>();

template<Layout L>
constexpr bool priced_as_without() {
  constexpr auto early  = dry_run<early_training, L>();
  constexpr auto priced = price<L>(recorded);
  return priced == price<L>(step) && early.template bytes_sent<>() == priced.template bytes_sent<>() &&
         early.template payload<>() == priced.template payload<>() && early.flops() == priced.flops() &&
         early.time().hidden > 0 && priced.time().hidden == 0 && early.peak_bytes() >= priced.peak_bytes();
}
static_assert(priced_as_without<data>() && priced_as_without<both>());

constexpr bool ranked_as_without() {
  constexpr auto early = rank_layouts<grid, candidates<batch, hidden, out>>(recorded);
  constexpr auto end   = rank_layouts<grid, candidates<batch, hidden, out>>(step);
  bool same            = early.size() == end.size();
  for (std::size_t i = 0; same && i < end.size(); ++i)
    same = early[i].number == end[i].number && early[i].seconds == end[i].seconds;
  return same;
}
static_assert(ranked_as_without());

}  // namespace
