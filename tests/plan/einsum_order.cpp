// In which order the operands of an einsum are multiplied: by flops, then by bytes sent, and never so that an
// axis splits two dimensions.
#include <meshtf/planning.hpp>

using namespace meshtf;

struct a : dim<2> {};
struct b : dim<64> {};
struct c : dim<8> {};
struct d : dim<32> {};
struct e : dim<4> {};
struct f : dim<16> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};
struct whole : layout<grid> {};
struct middle : layout<grid, split<b, cols>> {};
struct wide : layout<grid, split<c, cols>> {};
struct clash : layout<grid, split<a, rows>, split<d, rows>> {};
struct uneven : layout<grid, padded<d, cols>> {};
using open = undecided_layout<b, c>;

template<class L, class Out, class... S>
constexpr einsum_order of = einsum_order_under<L, float, Out, factor_of<S>...>;

// ---- a chain of matrices: (x y) z is 2 (2 64 8 + 2 8 32), x (y z) is 2 (64 8 32 + 2 64 32)

using x             = shape<a, b>;
using y             = shape<b, c>;
using z             = shape<c, d>;
using u             = shape<d, e>;
constexpr auto left = of<whole, shape<a, d>, x, y, z>;
static_assert(left.one == 0 && left.other == 1 && left.legal && left.flops == 2 * (2 * 64 * 8 + 2 * 8 * 32) &&
              left.sent == 0);
// The other way round for the transposed chain: numbers are those of the operands.
constexpr auto right = of<whole, shape<d, a>, z, y, x>;
static_assert(right.one == 1 && right.other == 2 && right.flops == left.flops);

// A process has a fourth of b, so the first product costs it a fourth; that sum is finished at the size of
// the intermediate, 2 8 floats.
constexpr auto split_sum = of<middle, shape<a, d>, x, y, z>;
static_assert(split_sum.flops == 2 * (2 * 16 * 8 + 2 * 8 * 32) && split_sum.sent == 2 * 2 * 8 * 4 * 3 / 4);
static_assert(of<uneven, shape<a, d>, x, y, z>.flops == 2 * (2 * 64 * 8 + 2 * 8 * 8));

// Narrow elements are added as float.
static_assert(
    einsum_order_under<middle, bfloat16, shape<a, d>, factor_of<x>, factor_of<y>, factor_of<z>>.sent ==
    split_sum.sent);

// ---- equal flops: fewer bytes. Both orders take 12 flops of a process, and finish the sum over c at the
// size of [one, two] or of [one, last].

struct one : dim<1> {};
struct two : dim<2> {};
struct last : dim<1> {};
constexpr auto tied = of<wide, shape<one, last>, shape<one, c>, shape<c, two>, shape<two, last>>;
static_assert(tied.flops == 12 && tied.one == 1 && tied.other == 2 && tied.sent == 2 * 1 * 4 * 3 / 4);

// The order of the fewest flops in all is not that of the fewest flops of a process.
struct n : dim<8> {};
struct m : dim<8> {};
struct g : dim<8> {};
struct h : dim<8> {};
struct by_m : layout<grid, split<m, cols>> {};
constexpr auto divided = of<by_m, shape<g, h>, shape<g, n>, shape<n, m>, shape<m, h>>;
// (s t) v: both products are divided by four, s (t v) only one
static_assert(divided.flops == 2 * (8 * 8 * 2 + 8 * 2 * 8) && divided.one == 0);
static_assert(of<by_m, shape<h, g>, shape<h, m>, shape<m, n>, shape<n, g>>.one == 1);

// ---- an axis must not split two dimensions of a pair: a and d don't meet, though that pair would cost a
// fourth

constexpr auto careful = of<clash, shape<a, e>, x, shape<b, d>, u>;
static_assert(careful.legal && careful.one == 1 && careful.other == 2);
static_assert(!of<clash, shape<a, d>, x, shape<b, c>, z>.legal);

// Dimensions that are summed before the operands meet count, too: x times [b, d] would have a and d, though
// neither is needed later.
constexpr auto summed_first = of<clash, shape<e>, x, shape<b, d>, u>;
static_assert(summed_first.legal && summed_first.one == 1 && summed_first.other == 2);

// An axis of size 1 splits a tensor once, as any other, but nothing is left to reduce along it.
struct sole : axis<1> {};
struct thin : layout<mesh<sole>, split<a, sole>, split<d, sole>> {};
static_assert(of<thin, shape<a, e>, x, shape<b, d>, u>.legal &&
              of<thin, shape<a, e>, x, shape<b, d>, u>.one == 1);
static_assert(!of<thin, shape<a, d>, x, shape<b, c>, z>.legal);
using unreduced_alone = factor_of<shape<a, b>, true, axes<sole>>;
static_assert(
    einsum_order_under<thin, float, shape<a>, unreduced_alone, factor_of<y>, factor_of<shape<c>>>.legal);

// ---- what one operand alone has is summed first, and costs no product

static_assert(of<whole, shape<a>, shape<a, b>, shape<a, c>, shape<a, e>>.flops == 2 * (2 + 2));

// ---- sizes whose product no extent can hold

struct k1 : dim<8192> {};
struct k2 : dim<8192> {};
struct k3 : dim<8192> {};
struct k4 : dim<8192> {};
struct k5 : dim<8192> {};
constexpr auto vast = of<whole, shape<k1, k5>, shape<k1, k2>, shape<k2, k3>, shape<k3, k4>, shape<k4, k5>>;
static_assert(vast.legal && vast.one == 0 && vast.other == 1 && vast.flops == 3 * 2 * (extent{1} << 39));

// ---- partial sums: one is contracted as it is, and sends nothing; two don't meet

using unreduced_over = factor_of<x, true, axes<rows>>;
constexpr auto of_open =
    einsum_order_under<middle, float, shape<a, d>, unreduced_over, factor_of<y>, factor_of<z>>;
static_assert(of_open.legal && of_open.sent == 0);
using unreduced_y = factor_of<shape<b, c>, true, axes<rows>>;
static_assert(
    !einsum_order_under<clash, float, shape<a, d>, unreduced_y, factor_of<z>, factor_of<shape<b>>>.legal);
using unreduced_z = factor_of<z, true, axes<cols>>;
static_assert(
    !einsum_order_under<whole, float, shape<a, d>, unreduced_over, factor_of<y>, unreduced_z>.legal);

// ---- no layout yet: flops of all processes together

static_assert(of<open, shape<a, d>, x, y, z>.flops == left.flops && of<open, shape<a, d>, x, y, z>.one == 0);

// ---- four operands: the cheapest of all 18 orders; seven: pair by pair, which is as good on a chain of
// falling sizes

static_assert(of<whole, shape<a, e>, x, y, z, u>.flops == 2 * (2 * 64 * 8 + 2 * 8 * 32 + 2 * 32 * 4));
static_assert(of<whole, shape<a>, x, y, z, u, shape<e, f>, shape<f>, shape<a, f>>.legal);

// ---- matmul and outer_product

static_assert(is_legal<detail::common_objection<shape<>, x, z>::type>);
static_assert(std::same_as<detail::common_objection<shape<b>, x, y>::type, dim_is_in_both<b, x, y>>);

inline constexpr auto spelled = dry_run<middle>([]<Layout L>(machine<L>& on) {
  tensor<float, L, a, b> const first{on};
  tensor<float, L, b, c> const second{on};
  tensor<float, L, c, d> const third{on};
  static_assert(std::same_as<typename decltype(matmul<b>(first, second))::shape_type, shape<a, c>>);
  static_assert(std::same_as<typename decltype(outer_product(first, third))::shape_type, shape<a, b, c, d>>);
  static_assert(std::same_as<typename decltype(einsum<d, a>(first, second, third))::shape_type, shape<d, a>>);
  static_assert(std::same_as<typename decltype(einsum<b>(first))::shape_type, shape<b>>);
  (void)einsum<a, d>(first, second, third);
});
static_assert(spelled.flops() == split_sum.flops && spelled.bytes_sent() == split_sum.sent);
