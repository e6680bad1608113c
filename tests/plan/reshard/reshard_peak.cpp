// The memory that a plan of moves says it takes is what the compiler's ledger counts.
#include <meshtf/planning.hpp>

using namespace meshtf;

struct batch : dim<512> {};
struct hidden : dim<4096> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct whole : layout<grid> {};
struct by_hidden : layout<grid, split<hidden, cols>> {};
struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct swapped : layout<grid, split<batch, cols>, split<hidden, rows>> {};
struct turned : layout<grid, split<hidden, cols, rows>> {};
struct deep : layout<grid, split<hidden, rows, cols>> {};

/// A tensor of floats, and the same under another layout.
template<class From, class To>
constexpr bool peak_is_counted = [] {
  constexpr auto cost = dry_run<From>([]<Layout L>(machine<L>& m) {
    tensor<float, L, batch, hidden> const x{m};
    auto const z = reshard<To>(x);
  });
  using plan          = reshard_plan<From, To, shape<batch, hidden>>;
  return cost.peak_bytes() == plan::steps.peak_bytes(4) && cost.bytes_sent() == plan::steps.sent_bytes(4) &&
         cost.calls() == plan::steps.calls();
}();
static_assert(peak_is_counted<whole, mixed> && peak_is_counted<mixed, whole> &&
              peak_is_counted<by_hidden, mixed>);
static_assert(peak_is_counted<mixed, swapped> && peak_is_counted<turned, deep> &&
              peak_is_counted<mixed, deep> && peak_is_counted<deep, by_hidden>);

/// The same of a partial sum over all processes; its all-reduce is long enough to be made in parts.
template<class To>
constexpr bool peak_of_sum_is_counted = [] {
  constexpr auto cost     = dry_run<whole>([]<Layout L>(machine<L>& m) {
    tensor<float, L, batch, hidden> const x{m};
    auto const open = as_partial<rows, cols>(x);
    auto const z    = reshard<To>(open);
  });
  using plan              = reshard_plan<whole, To, shape<batch, hidden>, 3>;
  extent const local_term = 4 * 512 * 4096;  // x itself lives on in addition to its local terms
  return cost.peak_bytes() == plan::steps.peak_bytes(4) + local_term &&
         cost.bytes_sent() == plan::steps.sent_bytes(4);
}();
static_assert(peak_of_sum_is_counted<whole> && peak_of_sum_is_counted<mixed> &&
              peak_of_sum_is_counted<by_hidden>);

// As a program bounds it.
static_assert(reshard_plan<mixed, swapped, shape<batch, hidden>>::steps.peak_bytes(4) <= 6 * MiB);
