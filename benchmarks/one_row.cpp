// Products of one row, as a language model makes for each token that it writes: the share of the machine's
// read rate at which they read the matrix.
//
// Beside each product a plain loop reads the same matrices. Several in turn are together larger than the
// cache, as those of a model's layers are.
//
// Run:    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 build/release/benchmarks/one_row
// Prints: for each product its times and its read rate
#include "program.hpp"
#include "setting.hpp"
#include "timing.hpp"

#include <meshtf/meshtf.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#if defined(MESHTF_WITH_ONEDNN) && MESHTF_WITH_ONEDNN
#include <dnnl.h>
#endif

namespace {

struct solo : meshtf::axis<1> {};
struct line : meshtf::mesh<solo> {};
struct whole : meshtf::layout<line> {};
struct one : meshtf::dim<1> {};
struct model : meshtf::dim<512> {};
struct vocab : meshtf::dim<8192> {};

/// Reads `n` elements and does as little as can be with them.
template<class T>
T read_all(meshtf::extent n, T const* from) {
  using lanes                     = meshtf::kernel::lanes<T, meshtf::kernel::default_arch>;
  constexpr meshtf::extent width  = lanes::width;
  constexpr meshtf::extent stride = 8 * width;
  std::array<typename lanes::batch, 8> sum{};
  for (auto& s : sum) s = typename lanes::batch(T{});
  for (meshtf::extent i = 0; i + stride <= n; i += stride)
    meshtf::kernel::detail::unrolled<8>(
        [&](auto c) { sum[c] = sum[c] + lanes::load(from + i + static_cast<meshtf::extent>(c()) * width); });
  for (std::size_t c = 1; c < sum.size(); ++c) sum[0] = sum[0] + sum[c];
  return lanes::sum(sum[0]);
}

/// What the libraries do with such a product.
template<class T>
void by_blas(bool transposed, T const* x, T const* w, T* z) {
  meshtf::kernel::detail::blas_gemv(
      !transposed, transposed ? vocab::size : model::size, transposed ? model::size : vocab::size, w,
      transposed ? model::size : vocab::size, x, meshtf::extent{1}, T{0}, z, meshtf::extent{1});
}

#if defined(MESHTF_WITH_ONEDNN) && MESHTF_WITH_ONEDNN
void by_onednn(bool transposed, float const* x, float const* w, float* z) {
  dnnl_sgemm('N', transposed ? 'T' : 'N', 1, vocab::size, model::size, 1, x, model::size, w,
             transposed ? model::size : vocab::size, 0, z, vocab::size);
}
#endif

/// The product with matrices [D...], `many` of them in turn.
template<class T, class... D>
void measure(meshtf::process_mesh<line>& m, bench::options const& o, bench::report& table,
             std::string const& what, int many) {
  constexpr bool transposed = std::is_same_v<meshtf::shape<D...>, meshtf::shape<vocab, model>>;
  using matrix              = meshtf::tensor<T, whole, D...>;
  auto const x              = meshtf::random_normal<T, whole, one, model>(m, {.seed = 1});
  std::vector<matrix> w;
  for (int i = 0; i < many; ++i)
    w.push_back(
        meshtf::random_normal<T, whole, D...>(m, {.seed = 2, .stream = static_cast<std::uint64_t>(i)}));
  meshtf::tensor<T, whole, one, vocab> z{m};
  std::size_t turn  = 0;
  auto const next   = [&]() -> matrix const& { return w[turn++ % w.size()]; };
  T volatile result = 0;
  std::vector<bench::variant> variants{
      {"a plain loop reads the matrix", [&] { result = read_all(matrix::size, next().data()); }, true},
      {"einsum", [&] { z = einsum<one, vocab>(x, next()); }},
      {"BLAS, gemv", [&] { by_blas(transposed, x.data(), next().data(), z.data()); }}};
#if defined(MESHTF_WITH_ONEDNN) && MESHTF_WITH_ONEDNN
  if constexpr (std::is_same_v<T, float>)
    variants.push_back({"oneDNN, sgemm", [&] { by_onednn(transposed, x.data(), next().data(), z.data()); }});
#endif
  double const gigabytes = 1e-9 * static_cast<double>(matrix::size) * sizeof(T);
  auto const timings     = bench::interleave(MPI_COMM_WORLD, variants, 5 * o.rounds, 1);
  table.add(what, timings, [&](bench::timing const& t) {
    return bench::report::extras{{"GB/s", gigabytes / bench::median(t)},
                                 {"of the read rate", bench::median(timings[0]) / bench::median(t)}};
  });
}

void run(bench::options const& o) {
  bench::settle();
  meshtf::process_mesh<line> m{MPI_COMM_WORLD};
  meshtf::no_gradient const guard{m};
  bench::report table{MPI_COMM_WORLD};
  measure<float, model, vocab>(m, o, table, "512 x 8192 floats, 12 in turn", 12);
  measure<float, vocab, model>(m, o, table, "8192 x 512 floats, 12 in turn", 12);
  measure<float, model, vocab>(m, o, table, "512 x 8192 floats, one in the cache", 1);
  measure<float, vocab, model>(m, o, table, "8192 x 512 floats, one in the cache", 1);
  measure<double, model, vocab>(m, o, table, "512 x 8192 doubles, 6 in turn", 6);
  measure<double, vocab, model>(m, o, table, "8192 x 512 doubles, 6 in turn", 6);
  table.write(o.json);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, [&] { run(bench::read(argc, argv)); });
}
