// If it compiles, it passes.
#include <meshtf/plan/contraction.hpp>

#include <string_view>

namespace {

using namespace meshtf;

/// A letter is a loop, numbered as it appears in `sizes`: "b=8 l=16" are loops 0 and 1.
struct loops_of {
  std::array<char, max_rank> letter{};
  std::array<extent, max_rank> size{};
  std::size_t count = 0;

  consteval loops_of(char const* sizes) {
    for (char const* p = sizes; *p; ++p) {
      if (*p == ' ') continue;
      letter[count] = *p++;
      for (++p; *p >= '0' && *p <= '9'; ++p) size[count] = size[count] * 10 + (*p - '0');
      --p;
      ++count;
    }
  }

  consteval dim_list dims(std::string_view letters) const {
    dim_list list;
    for (char c : letters)
      for (std::size_t i = 0; i < count; ++i)
        if (letter[i] == c) list.push_back(static_cast<int>(i));
    return list;
  }
};

consteval contraction_steps plan(loops_of loops, std::string_view x, std::string_view y, std::string_view z) {
  return plan_contraction({loops.size.data(), loops.count}, loops.dims(x), loops.dims(y), loops.dims(z));
}

consteval bool is_product(contraction_steps const& s, extent batches, extent m, extent n, extent k) {
  return s.by_gemm && s.batch.iterations == batches && s.m == m && s.n == n && s.k == k;
}

consteval bool lies(contraction_steps const& s, bool transpose_a, extent lda, bool transpose_b, extent ldb,
                    extent ldc) {
  return s.transpose_a == transpose_a && s.lda == lda && s.transpose_b == transpose_b && s.ldb == ldb &&
         s.ldc == ldc;
}

// x w: one product, nothing copied
constexpr auto forward = plan("b=256 i=512 h=2048", "bi", "ih", "bh");
static_assert(is_product(forward, 1, 256, 2048, 512) && lies(forward, false, 512, false, 2048, 2048));
static_assert(forward.scratch == 0 && !forward.swapped && forward.flops == 2 * 256 * 512 * 2048L);

// backward: dx = dz w^T and dw = x^T dz are the same matrices transposed
constexpr auto to_x = plan("b=256 i=512 h=2048", "bh", "ih", "bi");
static_assert(is_product(to_x, 1, 256, 512, 2048) && lies(to_x, false, 2048, true, 2048, 512) &&
              to_x.scratch == 0);
constexpr auto to_w = plan("b=256 i=512 h=2048", "bi", "bh", "ih");
static_assert(is_product(to_w, 1, 512, 2048, 256) && lies(to_w, true, 512, false, 2048, 2048) &&
              to_w.scratch == 0);

// who is named first is the same to the product: if z asks for it, the operands change places
constexpr auto weights_first = plan("b=256 i=512 h=2048", "ih", "bi", "bh");
static_assert(weights_first.swapped && is_product(weights_first, 1, 256, 2048, 512) &&
              weights_first.scratch == 0);
constexpr auto transposed_result = plan("b=256 i=512 h=2048", "bi", "ih", "hb");
static_assert(transposed_result.swapped && is_product(transposed_result, 1, 2048, 256, 512) &&
              lies(transposed_result, true, 2048, true, 512, 256));
static_assert(transposed_result.scratch == 0);

// neighbouring dimensions are one: [b,l] rows, [h,k] columns
constexpr auto projection = plan("b=8 l=256 d=384 h=6 k=64", "bld", "dhk", "blhk");
static_assert(is_product(projection, 1, 2048, 384, 384) && projection.scratch == 0);
constexpr auto back_projection = plan("b=8 l=256 d=384 h=6 k=64", "blhk", "hkd", "bld");
static_assert(is_product(back_projection, 1, 2048, 384, 384) && back_projection.scratch == 0);
constexpr auto three_dims = plan("a=2 b=3 c=5 d=7 e=11 f=13 g=17 h=19 i=23", "abcdef", "defghi", "abcghi");
static_assert(is_product(three_dims, 1, 2 * 3 * 5, 17 * 19 * 23, 7 * 11 * 13) && three_dims.scratch == 0);

// attention: batch and heads anywhere, each product finds its matrices by strides
constexpr auto logits = plan("b=8 l=256 h=6 k=64 m=256", "blhk", "bmhk", "bhlm");
static_assert(is_product(logits, 48, 256, 256, 64) && lies(logits, false, 384, true, 384, 256) &&
              logits.scratch == 0);
static_assert(logits.batch.rank == 2 && logits.batch.stride[0][0] == 256 * 384 &&
              logits.batch.stride[0][1] == 64);
static_assert(logits.batch.stride[2][0] == 6 * 256 * 256 && logits.batch.stride[2][1] == 256 * 256);
// their use on values; the gradients of logits and queries are products of the same forms
constexpr auto use = plan("b=8 l=256 h=6 k=64 m=256", "bhlm", "bmhk", "blhk");
static_assert(is_product(use, 48, 256, 64, 256) && lies(use, false, 256, false, 384, 384) &&
              use.scratch == 0);
// the gradients of keys and values sum over queries
constexpr auto to_keys = plan("b=8 l=256 h=6 k=64 m=256", "bhlm", "blhk", "bmhk");
static_assert(is_product(to_keys, 48, 256, 64, 256) && lies(to_keys, true, 256, false, 384, 384) &&
              to_keys.scratch == 0);

// batch dimensions that follow each other everywhere are one loop
constexpr auto experts = plan("e=4 g=3 c=64 d=128 h=256", "egcd", "egdh", "egch");
static_assert(is_product(experts, 12, 64, 256, 128) && experts.batch.rank == 1 && experts.scratch == 0);

// rows that z has in another order are multiplied part by part, not copied
constexpr auto heads_first = plan("b=8 l=256 d=384 h=6 k=64", "bld", "dhk", "bhlk");
static_assert(is_product(heads_first, 48, 256, 64, 384) && heads_first.scratch == 0);
// unless the parts would be small: then z is computed in a buffer
constexpr auto small_parts = plan("b=8 l=16 d=384 h=6 k=4", "bld", "dhk", "bhlk");
static_assert(is_product(small_parts, 1, 8 * 16, 6 * 4, 384) && small_parts.z.needed &&
              !small_parts.x.needed && !small_parts.y.needed);
static_assert(small_parts.scratch == 8 * 16 * 6 * 4 && small_parts.z.walk.results == small_parts.scratch);

// what is summed over in different orders is copied once, and of the two the smaller
constexpr auto other_order = plan("m=100 h=6 k=64 n=50", "mhk", "khn", "mn");
static_assert(is_product(other_order, 1, 100, 50, 384) && other_order.y.needed && !other_order.x.needed &&
              other_order.scratch == 384 * 50);
static_assert(plan("m=50 h=6 k=64 n=100", "mhk", "khn", "mn").x.needed);
// no row or column of x is contiguous
constexpr auto batch_innermost = plan("b=3 m=20 k=30 n=40", "mkb", "bkn", "bmn");
static_assert(is_product(batch_innermost, 3, 20, 40, 30) && batch_innermost.x.needed &&
              batch_innermost.scratch == 3 * 20 * 30);
constexpr auto all_innermost = plan("b=3 m=20 k=30 n=40", "mkb", "knb", "mnb");
static_assert(all_innermost.x.needed && all_innermost.y.needed && all_innermost.z.needed);
static_assert(all_innermost.scratch == 3 * (20 * 30 + 30 * 40 + 20 * 40) &&
              all_innermost.z.offset == 3 * (20 * 30 + 30 * 40));

// what only one operand has is summed while it is packed
constexpr auto one_sided = plan("a=5 m=20 k=30 n=40", "amk", "kn", "mn");
static_assert(is_product(one_sided, 1, 20, 40, 30) && one_sided.x.needed && one_sided.x.walk.reduces &&
              one_sided.scratch == 20 * 30);
static_assert(one_sided.flops == 2 * 5 * 20 * 30 * 40);
constexpr auto both_sided = plan("a=5 c=7 m=20 k=30 n=40", "mak", "knc", "mn");
static_assert(both_sided.x.needed && both_sided.y.needed && both_sided.scratch == 20 * 30 + 30 * 40);

// matrix and vector: rows or columns of one, whatever lies between their elements
static_assert(is_product(plan("m=100 k=50", "mk", "k", "m"), 1, 100, 1, 50) &&
              is_product(plan("n=100 k=50", "k", "kn", "n"), 1, 1, 100, 50));
constexpr auto across = plan("b=4 m=100 k=50", "mkb", "bk", "bm");
static_assert(across.by_gemm && across.x.needed && across.scratch == 4 * 100 * 50);
constexpr auto apart = plan("b=4 m=100 k=50", "bmk", "kb", "bm");
static_assert(is_product(apart, 4, 100, 1, 50) && apart.scratch == 0);
constexpr auto one_number = plan("k=500", "k", "k", "");
static_assert(is_product(one_number, 1, 1, 1, 500));

// dimensions of one element are nowhere in the way
constexpr auto ones = plan("a=1 b=256 c=1 i=512 h=2048 e=1", "bcia", "aihe", "ebha");
static_assert(is_product(ones, 1, 256, 2048, 512) && ones.scratch == 0 &&
              lies(ones, false, 512, false, 2048, 2048));

// where nothing is used twice or products are tiny, a loop nest does it
static_assert(!plan("m=100 n=200", "m", "n", "mn").by_gemm && !plan("b=1000", "b", "b", "b").by_gemm);
static_assert(!plan("b=1000 m=2 k=4 n=2", "bmk", "bkn", "bmn").by_gemm &&
              plan("b=1000 m=4 k=4 n=4", "bmk", "bkn", "bmn").by_gemm);
static_assert(!plan("a=100 b=50", "ab", "b", "b").by_gemm && plan("a=100 b=50", "ab", "b", "b").scratch == 0);
// it is there for every element type, and needs no buffer
static_assert(forward.nest.iterations == 256 * 512 * 2048L && forward.nest.operands == 3 &&
              forward.nest.reduces);
static_assert(all_innermost.nest.results == 3 * 20 * 40);

}  // namespace
