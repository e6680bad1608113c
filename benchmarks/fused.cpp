// Chains of pointwise operations, written as operations and as one `fused`: the value alone, and the value
// with its gradients.
//
// The arrays are larger than the caches, so what is saved are passes over memory. The gradient of the result
// is given, so that nothing but the chain is timed.
//
// Run:    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 build/release/benchmarks/fused
// Prints: for each chain the times of both, and whether the values have the same bits
#include "program.hpp"
#include "setting.hpp"
#include "timing.hpp"

#include <meshtf/meshtf.hpp>

#include <cstring>
#include <string>
#include <string_view>

namespace {

struct solo : meshtf::axis<1> {};
struct line : meshtf::mesh<solo> {};
struct whole : meshtf::layout<line> {};
struct tokens : meshtf::dim<2048> {};
struct hidden : meshtf::dim<1536> {};

using machine = meshtf::process_mesh<line>;
using array   = meshtf::parameter<float, whole, tokens, hidden>;
using row     = meshtf::parameter<float, whole, hidden>;

bool same_bits(auto const& a, auto const& b) {
  return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size) * sizeof(*a.data())) == 0;
}

/// The gradients of `z`, if `dz` is that of z.
void pull(auto const& z, auto const& dz) {
  meshtf::detail::contribute(z, dz);
  z.machine().unwind_tape(true);
}

/// `parts` is the chain as operations, `joined` the same as one, and w... are the parameters in it.
template<class P, class J, class DZ, class... W>
void measure(machine& m, bench::options const& o, bench::report& table, std::string const& name,
             P const& parts, J const& joined, DZ const& dz, W&... w) {
  if (!o.wants(name)) return;
  auto const value = [&](auto const& f) {
    meshtf::no_gradient const guard{m};
    auto const z = f();
  };
  auto const both = [&](auto const& f) {
    pull(f(), dz);
    meshtf::zero_gradients(meshtf::parameters(w...));
  };
  {
    meshtf::no_gradient const guard{m};
    bool const same = same_bits(parts(), joined());
    table.say("\n" + name + (same ? ": the same bits" : ": other bits"));
  }
  table.add(name + ", value", bench::interleave(MPI_COMM_WORLD,
                                                {{"operations", [&] { value(parts); }, true},
                                                 {"fused", [&] { value(joined); }}},
                                                o.rounds, 1));
  table.add(name + ", value and gradients",
            bench::interleave(MPI_COMM_WORLD,
                              {{"operations", [&] { both(parts); }, true}, {"fused", [&] { both(joined); }}},
                              o.rounds, 1));
}

void run(bench::options const& o) {
  bench::settle();
  machine m{MPI_COMM_WORLD};
  bench::report table{MPI_COMM_WORLD};
  array x{m, meshtf::normal{1}};
  array y{m, meshtf::normal{2}};
  array v{m, meshtf::normal{3}};
  row b{m, meshtf::normal{4}};
  auto const dz   = meshtf::random_normal<float, whole, tokens, hidden>(m, {.seed = 5});
  auto const mask = meshtf::random_normal<float, whole, tokens, hidden>(m, {.seed = 6});
  measure(
      m, o, table, "silu(x) * y", [&] { return silu(x) * y; },
      [&] { return meshtf::fused([](auto p, auto q) { return silu(p) * q; }, x, y); }, dz, x, y);
  measure(
      m, o, table, "50 * tanh(x / 50)", [&] { return 50 * tanh(x / 50); },
      [&] { return meshtf::fused([](auto p) { return 50 * tanh(p / 50); }, x); }, dz, x);
  measure(
      m, o, table, "x + sigmoid(v) * (y - x)", [&] { return x + sigmoid(v) * (y - x); },
      [&] { return meshtf::fused([](auto p, auto q, auto r) { return p + sigmoid(r) * (q - p); }, x, y, v); },
      dz, x, y, v);
  measure(
      m, o, table, "gelu(x + b) * mask", [&] { return gelu(x + b) * mask; },
      [&] { return meshtf::fused([](auto p, auto q, auto k) { return gelu(p + q) * k; }, x, b, mask); }, dz,
      x, b);
  measure(
      m, o, table, "bias_gelu(x, b)", [&] { return bias_gelu(x, b); },
      [&] { return meshtf::fused([](auto p, auto q) { return gelu(p + q); }, x, b); }, dz, x, b);
  auto const one = meshtf::detail::copied(sum(b));
  measure(
      m, o, table, "sum of square(x - y)", [&] { return sum(square(x - y)); },
      [&] { return meshtf::fused_sum<>([](auto p, auto q) { return square(p - q); }, x, y); }, one, x, y);
  table.write(o.json);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, [&] { run(bench::read(argc, argv)); });
}
