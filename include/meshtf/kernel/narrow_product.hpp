// Products of bfloat16 matrices: by the processor's own instructions where it has them, otherwise by widening
// pieces. Sums are kept in float and rounded once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

#include <meshtf/kernel/gemm.hpp>
#include <meshtf/kernel/narrow.hpp>
#include <meshtf/kernel/onednn.hpp>
#include <meshtf/plan/narrow_product.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// A matrix product as BLAS describes it: row-major, `ld` elements from row to row; `transpose` says that A
/// is stored k by m, or B n by k.
struct product_shape {
  bool transpose_a = false;
  bool transpose_b = false;
  extent m         = 1;
  extent n         = 1;
  extent k         = 1;
  extent lda       = 1;
  extent ldb       = 1;
  extent ldc       = 1;

  friend constexpr auto operator<=>(product_shape const&, product_shape const&) = default;
};

/// Instruction sets for products of bfloat16 that oneDNN uses.
struct narrow_instructions {
  bool of_intel = false;
  bool bf16     = false;
  bool amx      = false;
};

/// Whether these are faster than float's. Without any, widening is. Intel's have half the rate of float's,
/// unless the processor has AMX as well: 109 against 205 GF/s on an Emerald Rapids whose virtual machine
/// hides AMX. AMD's have twice that rate.
constexpr bool narrow_is_faster(narrow_instructions const& has) { return has.of_intel ? has.amx : has.bf16; }

#if MESHTF_HAS_ONEDNN_PRIMITIVES

namespace detail {

/// What oneDNN has prepared for products of one shape. Preparing takes a hundred times as long as a small
/// product.
class prepared_product {
public:
  explicit prepared_product(product_shape const& s) {
    matrix const a{s.m, s.k, s.lda, s.transpose_a};
    matrix const b{s.k, s.n, s.ldb, s.transpose_b};
    matrix const c{s.m, s.n, s.ldc, false};
    dnnl_matmul_desc_t about{};
    onednn::expect_done(dnnl_matmul_desc_init(&about, &a.about, &b.about, nullptr, &c.about));
    dnnl_primitive_desc_t plan = nullptr;
    onednn::expect_done(dnnl_primitive_desc_create(&plan, &about, nullptr, onednn::engine(), nullptr));
    auto const made = dnnl_primitive_create(&product_, plan);
    dnnl_primitive_desc_destroy(plan);
    onednn::expect_done(made);
    onednn::expect_done(dnnl_memory_create(&a_, &a.about, onednn::engine(), DNNL_MEMORY_NONE));
    onednn::expect_done(dnnl_memory_create(&b_, &b.about, onednn::engine(), DNNL_MEMORY_NONE));
    onednn::expect_done(dnnl_memory_create(&c_, &c.about, onednn::engine(), DNNL_MEMORY_NONE));
  }
  prepared_product(prepared_product const&) = delete;
  void operator=(prepared_product const&)   = delete;
  ~prepared_product() {
    dnnl_memory_destroy(a_);
    dnnl_memory_destroy(b_);
    dnnl_memory_destroy(c_);
    dnnl_primitive_destroy(product_);
  }

  void multiply(bfloat16 const* a, bfloat16 const* b, bfloat16* c) const {
    onednn::expect_done(dnnl_memory_set_data_handle(a_, const_cast<bfloat16*>(a)));
    onednn::expect_done(dnnl_memory_set_data_handle(b_, const_cast<bfloat16*>(b)));
    onednn::expect_done(dnnl_memory_set_data_handle(c_, c));
    std::array<dnnl_exec_arg_t, 3> const arrays{
        {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}}};
    onednn::expect_done(dnnl_primitive_execute(product_, onednn::stream(), 3, arrays.data()));
    onednn::expect_done(dnnl_stream_wait(onednn::stream()));
  }

private:
  struct matrix {
    dnnl_memory_desc_t about{};
    matrix(extent rows, extent columns, extent leading, bool transposed) {
      dnnl_dims_t const sizes{rows, columns};
      dnnl_dims_t const strides{transposed ? 1 : leading, transposed ? leading : 1};
      onednn::expect_done(dnnl_memory_desc_init_by_strides(&about, 2, sizes, dnnl_bf16, strides));
    }
  };

  dnnl_primitive_t product_ = nullptr;
  dnnl_memory_t a_          = nullptr;
  dnnl_memory_t b_          = nullptr;
  dnnl_memory_t c_          = nullptr;
};

inline void multiply_prepared(product_shape const& s, bfloat16 const* a, bfloat16 const* b, bfloat16* c) {
  constexpr std::size_t max_shapes = 4096;  // shapes that a program may have at once
  static thread_local std::map<product_shape, prepared_product> prepared;
  auto found = prepared.find(s);
  if (found == prepared.end()) {
    if (prepared.size() == max_shapes) prepared.clear();
    found = prepared.try_emplace(s, s).first;
  }
  found->second.multiply(a, b, c);
}

}  // namespace detail

/// Whether products of bfloat16 are left to oneDNN, known by the processor, so all processes of a job on
/// equal machines decide alike. Tests change the answer.
inline bool& multiplies_narrow() {
  static bool yes = [] {
    auto const has = [](dnnl_cpu_isa_t isa) { return (dnnl_get_effective_cpu_isa() & isa) == isa; };
    narrow_instructions about{.bf16 = has(dnnl_cpu_isa_avx512_core_bf16),
                              .amx  = has(dnnl_cpu_isa_avx512_core_amx)};
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    about.of_intel = __builtin_cpu_is("intel");
#endif
    return narrow_is_faster(about);
  }();
  return yes;
}

#else

inline bool& multiplies_narrow() {
  static bool no = false;
  return no;
}

#endif

[[gnu::cold, gnu::noinline]] inline void tell_of_widened_product() {
  if (tell_of_widened_products.exchange(false))
    std::fputs(  // not std::cerr: <iostream> would run code for this architecture at start
        "meshtf: products of bfloat16 are done in float, since this processor, or this build, has nothing "
        "faster for them (docs/tutorial.md): "
        "half the memory is saved, no time\n",
        stderr);
}

/// C = A B in pieces that are widened; `wide` has space for the elements of a piece.
inline void multiply_widened(product_shape const& s, product_piece const& piece, bfloat16 const* a,
                             bfloat16 const* b, bfloat16* c, float* wide) {
  float* const wide_a = wide;
  float* const wide_b = wide_a + piece.m * piece.k;
  float* const wide_c = wide_b + piece.k * piece.n;
  auto const fetch    = [](bfloat16 const* from, extent leading, bool transposed, extent row, extent column,
                        extent rows, extent columns, float* to) {
    if (transposed) {
      std::swap(row, column);
      std::swap(rows, columns);
    }
    for (extent r = 0; r < rows; ++r) widen(columns, from + (row + r) * leading + column, to + r * columns);
  };
  for (extent i = 0; i < s.m; i += piece.m)
    for (extent j = 0; j < s.n; j += piece.n) {
      extent const m = std::min(piece.m, s.m - i);
      extent const n = std::min(piece.n, s.n - j);
      for (extent p = 0; p < s.k; p += piece.k) {
        extent const k = std::min(piece.k, s.k - p);
        fetch(a, s.lda, s.transpose_a, i, p, m, k, wide_a);
        fetch(b, s.ldb, s.transpose_b, p, j, k, n, wide_b);
        gemm(s.transpose_a, s.transpose_b, m, n, k, static_cast<float const*>(wide_a), s.transpose_a ? m : k,
             static_cast<float const*>(wide_b), s.transpose_b ? k : n, p == 0 ? 0.0F : 1.0F, wide_c, n);
      }
      for (extent r = 0; r < m; ++r) narrow(n, wide_c + r * n, c + (i + r) * s.ldc + j);
    }
}

/// C = A B.
inline void multiply(product_shape const& s, product_piece const& piece, bfloat16 const* a, bfloat16 const* b,
                     bfloat16* c, float* wide) {
#if MESHTF_HAS_ONEDNN_PRIMITIVES
  if (multiplies_narrow()) {
    extent const strips = strips_of(s.m, s.n, s.k);
    return parallel_parts(strips, [&](extent part, int) {
      auto const [begin, end] = range_of_part(s.m, extent{16}, strips, part);
      auto strip              = s;
      strip.m                 = end - begin;
      detail::multiply_prepared(strip, a + begin * (s.transpose_a ? 1 : s.lda), b, c + begin * s.ldc);
    });
  }
#endif
  tell_of_widened_product();
  multiply_widened(s, piece, a, b, c, wide);
}

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
