// Attention of one process and one thread: peers/attention.py asks for a time, and asks PyTorch for the same
// in between.
//
// It reads lines "batch heads length depth causal gradient" and answers each with the seconds of the
// processor that one call takes.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <vector>

#include <meshtf/kernel/attention.hpp>

namespace {

using meshtf::extent;

/// Operands of [batch, heads, length, depth], as PyTorch has them.
struct problem {
  meshtf::attention_steps steps;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> z;
  std::vector<float> log_total;
  std::vector<float> dz;
  std::vector<float> dq;
  std::vector<float> dk;
  std::vector<float> dv;
  std::vector<float> scratch;

  problem(extent batch, extent heads, extent length, extent depth) {
    meshtf::task_loops loops;
    for (extent const n : {batch, heads, length, length, depth}) loops.add_dim({.size = n});
    auto const list = [](std::initializer_list<int> dims) {
      meshtf::dim_list l;
      for (int d : dims) l.push_back(d);
      return l;
    };
    for (auto const& dims :
         {list({0, 1, 2, 4}), list({0, 1, 3, 4}), list({0, 1, 3, 4}), list({0, 1, 2, 4}), list({0, 1, 2})})
      loops.add_array(dims);
    loops.along   = {2, 3, 4, 4, -1};
    steps         = meshtf::attention_steps::plan(loops, full_extents(loops));
    auto const n  = static_cast<std::size_t>(batch * heads * length);
    auto const of = n * static_cast<std::size_t>(depth);
    for (auto* x : {&q, &k, &v, &dz}) {
      x->resize(of);
      for (std::size_t i = 0; i < of; ++i)
        (*x)[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(x - &q) * 5) % 23) * 0.05F - 0.5F;
    }
    for (auto* x : {&z, &dq, &dk, &dv}) x->resize(of);
    log_total.resize(n);
    scratch.resize(
        static_cast<std::size_t>(std::max(attention_scratch(steps), attention_gradient_scratch(steps))));
  }

  void run(bool causal, bool gradient) {
    meshtf::kernel::attend<meshtf::kernel::default_arch, float>(
        steps, {causal}, 0,
        {q.data(), k.data(), v.data(), z.data(), log_total.data(), nullptr, nullptr, nullptr},
        scratch.data());
    if (gradient)
      meshtf::kernel::attention_gradient<meshtf::kernel::default_arch, float>(
          steps, {causal}, 0,
          {q.data(), k.data(), v.data(), z.data(), log_total.data(), dz.data(), dq.data(), dk.data(),
           dv.data()},
          scratch.data());
  }
};

}  // namespace

int main() {
  long batch   = 0;
  long heads   = 0;
  long length  = 0;
  long depth   = 0;
  int causal   = 0;
  int gradient = 0;
  while (std::scanf("%ld %ld %ld %ld %d %d", &batch, &heads, &length, &depth, &causal, &gradient) == 6) {
    problem p{batch, heads, length, depth};
    p.run(causal != 0, gradient != 0);
    std::clock_t const start = std::clock();
    p.run(causal != 0, gradient != 0);
    std::printf("%.9f\n", static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    std::fflush(stdout);
  }
}
