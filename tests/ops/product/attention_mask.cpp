// attention with a mask of the memory: the same numbers as segments, under every layout.
// test: program attention
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct moment : dim<6> {};  // whole everywhere, as attention wants its positions
struct past : dim<6> {};

using many = shape<moment, heads, key>;
using seen = shape<past, heads, key>;

void expect_same(double far) { CHECK(far <= 1e-14); }  // BLAS adds up in another order on some CPUs

}  // namespace

TEST_CASE("attention of literal numbers to the memory that a mask leaves") {
  if (!on_one_process()) return;
  auto const q = literal<duo, key>({{0, 0}, {1, 0}});
  auto const k =
      literal<trio, key>({{0, 0}, {0, 0}, {std::log(2.0), 0}});  // weights 1/2, 0, 1/2; 1/3, 0, 2/3
  auto const v = literal<trio, key>({{3, 0}, {0, 6}, {6, 3}});
  auto const z = attention<duo, trio, key>(q, k, v, with_mask(integers<trio>({1, 0, 1})), {.scale = 1});
  CHECK(rounded(numbers_of(z)) == list{4.5, 1.5, 5, 2});
}

TEST_CASE("a mask of the memory, by itself and with segment ids and a bias") {
  check_operation<shape<batch, moment, heads, key>, shape<batch, past, heads, key>,
                  shape<batch, past, heads, key>>([]<class X>(X const& q, auto const& k, auto const& v) {
    using L            = typename X::layout_type;
    auto const lengths = iota<int, L, batch>(q.machine());  // the first sequence has no positions
    auto const visible = greater(broadcast<batch, past>(lengths), iota<int, L, past>(q.machine()));
    return attention<moment, past, key>(q, k, v, with_mask(visible));
  });
  check_operation<many, seen, seen, shape<moment, past>>([]<class X>(X const& q, auto const& k, auto const& v,
                                                                     auto const& b) {
    using L            = typename X::layout_type;
    auto const here    = floor_divide(iota<int, L, moment>(q.machine()), 3);
    auto const there   = floor_divide(iota<int, L, past>(q.machine()), 2);
    auto const visible = less(iota<double, L, past>(q.machine()), 5.0);  // elements of any type
    return attention<moment, past, key>(q, k, v, with_bias(b).and_mask(visible).and_segments(here, there));
  });
}

TEST_CASE("a mask hides as segment ids do, and NaN in what it hides") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const q       = random_normal<double, L, batch, moment, heads, key>(m, {.seed = 1});
    auto const k       = random_normal<double, L, batch, past, heads, key>(m, {.seed = 2});
    auto const visible = less(iota<int, L, past>(m), 4);
    auto const ones    = tensor<int, L, moment>{m} + 1;
    auto const bad     = log(iota<double, L, past>(m) - 100.0);
    auto const spoiled =
        where(broadcast<batch, past, heads, key>(visible), k, broadcast<batch, past, heads, key>(bad));
    auto const masked = attention<moment, past, key>(q, spoiled, spoiled, with_mask(visible));
    auto const same   = attention<moment, past, key>(q, k, k, with_segments(ones, visible));
    see(masked);
    see(same);
    auto const far = max(abs(masked - same));
    if constexpr (!is_dry<L>) expect_same(far.value());
  });
}
