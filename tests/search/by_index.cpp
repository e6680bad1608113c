// If it compiles, it passes: operations by index are recorded without a layout, and priced as in dry runs.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<8> {};
struct length : dim<6> {};
struct vocab : dim<32> {};
struct slot : dim<16> {};
struct model : dim<12> {};

template<Layout L>
struct training {
  parameter<float, L, vocab, model> table;
  parameter<float, L, batch, slot, model> memory;
  tensor<int, L, batch, length> ids;
  tensor<int, L, batch, length> places;

  constexpr explicit training(machine<L>& m) : table{m}, memory{m}, ids{m}, places{m} {}
  constexpr auto step() {
    auto const x    = gather<vocab>(table, ids);
    auto const kept = scatter<slot>(memory, places, x);
    auto const more = write<slot>(scatter_add<slot>(kept, places, x), x, 3);
    auto const read = gather<slot>(more, places);
    auto const back = scatter_add<vocab>(table, ids, read);
    auto loss       = mean(square(back)) + mean(square(read));
    backward(loss);
    return loss;
  }
};

constexpr auto step = record<training, batch, vocab, slot, model>();

struct nothing : layout<grid> {};
struct by_batch : layout<grid, split<batch, rows, cols>> {};
struct by_vocab : layout<grid, split<batch, rows>, split<vocab, cols>> {};
struct by_slot : layout<grid, split<slot, cols>, split<batch, rows>> {};
struct by_all : layout<grid, split<slot, rows>, split<model, cols>> {};
struct uneven : layout<grid, padded<batch, cols>, padded<model, rows>> {};

static_assert(
    tests::priced_as_dry_runs<step, training, nothing, by_batch, by_vocab, by_slot, by_all, uneven>);

// Of several updates of a row the last counts, so a dimension that only the ids have stays whole, though it
// is left open.
constexpr auto open = record<training, batch, length, slot>();

struct by_place : layout<grid, split<length, rows>, split<slot, cols>> {};

static_assert(tests::same_price(price<by_slot>(open), dry_run<training, by_slot>()));
static_assert(tests::same_price(price<by_batch>(open), dry_run<training, by_batch>()));

template<class L>
concept has_price = requires { std::bool_constant<(price<L>(open), true)>{}; };
static_assert(!has_price<by_place> && has_price<nothing>);

}  // namespace
