// Attention in one process: every shape, order of dimensions and mask against a plain triple loop, gradients
// against its formula and finite differences.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <type_traits>
#include <vector>

#include <meshtf/kernel/attention.hpp>

#include "catch.hpp"

using namespace meshtf;

namespace {

enum dims : int { batch, heads, length, memory, depth, share, width, distance };
using sizes = std::array<extent, 8>;
using order = std::vector<int>;

/// An attention as its plan sees it. The memory's operands have the query's order, with `memory` in the place
/// of `length`, unless they are given. Sizes that are not given: one head has keys of its own, values have
/// the width `depth`, and there is no bias.
struct problem {
  problem(sizes const& n, bool hides_later, double s = 0) : size{n}, causal{hides_later}, scale{s} {
    if (size[share] == 0) size[share] = 1;
    if (size[width] > 0) {
      v.back() = width;
      z.back() = width;
    }
  }

  sizes size;
  bool causal;
  double scale;
  extent first   = 0;
  extent reach   = 0;
  double dropped = 0;
  bool biased    = false;  // the bias has an element for each score
  int segments   = 0;      // of how many positions each
  order q{batch, length, heads, share, depth};
  order k{batch, memory, heads, depth};
  order v{batch, memory, heads, depth};
  order row{batch, length, heads, share};
  order z{q};
  order bias{batch, heads, share, distance};
  order of_queries{batch, length};
  order of_memory{memory, batch};

  attention_view view() const { return {causal, first, reach, dropped, {.seed = 7, .stream = 3}}; }
  /// What the weight of a query for a position is multiplied with: as `dropout` draws for element number
  /// `row * memories + position`.
  double kept(std::size_t in_row, extent position) const {
    if (dropped == 0) return 1;
    auto const number  = in_row * static_cast<std::size_t>(size[memory]) + static_cast<std::size_t>(position);
    auto const element = number % 64;
    auto const word    = philox{7, 3}(number / 64 * 16 + element % 16)[element / 16];
    return word < static_cast<std::uint64_t>(dropped * 0x1p32) ? 0 : 1 / (1 - dropped);
  }
  bool has_bias() const { return biased || size[distance] > 0; }
  /// The ids alternate, so that two segments that are not neighbours see each other.
  std::int32_t segment(extent position) const {
    return segments > 0 ? static_cast<std::int32_t>(position / segments % 3) : 0;
  }
  bool sees(extent query, extent j) const {
    extent const from = first + query - j;
    if (causal && from < 0) return false;
    if (reach > 0 && std::abs(from) >= reach) return false;
    return segment(first + query) == segment(j);
  }

  extent count(order const& of) const {
    extent n = 1;
    for (int d : of) n *= size[static_cast<std::size_t>(d)];
    return n;
  }
  /// Where an element lies.
  std::size_t at(order const& of, sizes const& index) const {
    extent i = 0;
    for (int d : of) i = i * size[static_cast<std::size_t>(d)] + index[static_cast<std::size_t>(d)];
    return static_cast<std::size_t>(i);
  }
  /// From an element to the next of each dimension: 0 for one that is not there.
  sizes strides(order const& of) const {
    sizes s{};
    extent n = 1;
    for (auto d = of.rbegin(); d != of.rend(); ++d) {
      s[static_cast<std::size_t>(*d)] = n;
      n *= size[static_cast<std::size_t>(*d)];
    }
    return s;
  }
  attention_steps steps() const {
    auto const list = [](order const& of) {
      dim_list l;
      for (int d : of) l.push_back(d);
      return l;
    };
    task_loops loops;
    for (extent n : size) loops.add_dim({.size = n});
    for (order const& of : {q, k, v, z, row}) loops.add_array(list(of));
    if (has_bias() || segments > 0) {
      loops.add_array(list(has_bias() ? bias : order{}));
      for (order const& of : {of_queries, of_memory}) loops.add_array(list(segments > 0 ? of : order{}));
    }
    loops.along = {length, memory, depth, size[width] > 0 ? width : depth,
                   size[distance] > 0 ? int{distance} : -1};
    return attention_steps::plan(loops, full_extents(loops));
  }
};

/// The first `n` of a seed's normal numbers, which are drawn once for all problems.
std::vector<double> const& normals(extent n, unsigned seed) {
  struct sequence {
    std::mt19937 bits;
    std::normal_distribution<double> normal;
    std::vector<double> values;
  };
  static std::map<unsigned, sequence> all;
  sequence& s = all.try_emplace(seed, sequence{std::mt19937{seed}, {}, {}}).first->second;
  while (std::ssize(s.values) < n) s.values.push_back(s.normal(s.bits));
  return s.values;
}
template<class T>
std::vector<T> drawn(extent n, unsigned seed, double spread = 1) {
  std::vector<T> v(static_cast<std::size_t>(n));
  double const* x = normals(n, seed).data();
  for (T& e : v) e = static_cast<T>(spread * *x++);
  return v;
}

template<class T>
constexpr double tolerance = NarrowElement<T>           ? 0x1p-6
                             : std::is_same_v<T, float> ? 1e-5
                                                        : 1e-12;  // gradients begin with a rounded result

template<class T>
void near(char const* what, std::vector<T> const& found, std::vector<double> const& expected,
          double within = tolerance<T>) {
  INFO(what);
  REQUIRE(found.size() == expected.size());
  double worst   = 0;
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    double const error = std::abs(static_cast<double>(found[i]) - expected[i]);
    worst              = error <= worst ? worst : error;  // NaN stays
    largest            = std::max(largest, std::abs(expected[i]));
  }
  INFO("largest " << largest);
  // some true gradients are 0: differences of what is about 1
  CHECK(worst <= within * std::max(largest, 1.0));
}

/// The truth, in double.
struct by_loops {
  std::vector<double> z;
  std::vector<double> log_total;
  std::vector<double> dq;
  std::vector<double> dk;
  std::vector<double> dv;
  std::vector<double> dbias;

  by_loops(problem const& p, std::vector<double> const& q, std::vector<double> const& k,
           std::vector<double> const& v, std::vector<double> const& dz, std::vector<double> const& bias)
      : z(dz.size()),
        log_total(static_cast<std::size_t>(p.count(p.row))),
        dq(q.size()),
        dk(k.size()),
        dv(v.size()),
        dbias(bias.size()) {
    double const scale = p.scale != 0 ? p.scale : 1 / std::sqrt(static_cast<double>(p.size[depth]));
    std::vector<double> weight(static_cast<std::size_t>(p.size[memory]));
    std::vector<double> dweight(weight);
    std::vector<double> kept(weight);
    // Steps from element to element of the arrays: looking for each element's place took most of the time.
    int const along_value = p.size[width] > 0 ? width : depth;
    extent const depths   = p.size[depth];
    extent const widths   = p.size[static_cast<std::size_t>(along_value)];
    sizes const of_q      = p.strides(p.q);
    sizes const of_k      = p.strides(p.k);
    sizes const of_v      = p.strides(p.v);
    sizes const of_z      = p.strides(p.z);
    sizes const of_bias   = p.strides(p.bias);
    extent const q_depth  = of_q[depth];
    extent const k_depth  = of_k[depth];
    extent const v_width  = of_v[static_cast<std::size_t>(along_value)];
    extent const z_width  = of_z[static_cast<std::size_t>(along_value)];
    auto const one_row    = [&](sizes const& i) {
      auto const first_of = [&](sizes const& s) {
        return i[batch] * s[batch] + i[heads] * s[heads] + i[share] * s[share] + i[length] * s[length];
      };
      std::size_t const in_row = p.at(p.row, i);
      double const* const qs   = q.data() + first_of(of_q);
      double const* const dzs  = dz.data() + first_of(of_z);
      double* const dqs        = dq.data() + first_of(of_q);
      double* const zs         = z.data() + first_of(of_z);
      extent const first_k     = first_of(of_k);
      extent const first_v     = first_of(of_v);
      auto const sweep         = [&](auto const& f) {
        for (extent j = 0; j < p.size[memory]; ++j)
          if (p.sees(i[length], j))
            f(j, weight[static_cast<std::size_t>(j)], dweight[static_cast<std::size_t>(j)]);
      };
      auto const in_bias = [&](extent j) {
        extent const far = p.biased ? 0 : p.first + i[length] - j + p.size[memory] - 1;
        return static_cast<std::size_t>(first_of(of_bias) + j * of_bias[memory] + far * of_bias[distance]);
      };
      double most  = -std::numeric_limits<double>::infinity();
      double total = 0;
      double mean  = 0;
      sweep([&](extent j, double& w, double& dw) {
        double const* const ks = k.data() + first_k + j * of_k[memory];
        double const* const vs = v.data() + first_v + j * of_v[memory];
        double const factor = kept[static_cast<std::size_t>(j)] = p.kept(in_row, j);
        w = dw = 0;
        for (extent e = 0; e < depths; ++e) w += scale * qs[e * q_depth] * ks[e * k_depth];
        for (extent e = 0; e < widths; ++e) dw += factor * dzs[e * z_width] * vs[e * v_width];
        if (!bias.empty()) w += bias[in_bias(j)];
        most = std::max(most, w);
      });
      sweep([&](extent, double& w, double&) { total += w = std::exp(w - most); });
      log_total[in_row] = total > 0 ? most + std::log(total) : std::numeric_limits<double>::infinity();
      sweep([&](extent, double& w, double& dw) {
        w /= total;
        mean += w * dw;
      });
      sweep([&](extent j, double& w, double& dw) {
        extent const in_k = first_k + j * of_k[memory];
        extent const in_v = first_v + j * of_v[memory];
        double const ds   = w * (dw - mean);
        if (!bias.empty()) dbias[in_bias(j)] += ds;
        double const* const ks = k.data() + in_k;
        double* const dks      = dk.data() + in_k;
        for (extent e = 0; e < depths; ++e) {
          dqs[e * q_depth] += ds * scale * ks[e * k_depth];
          dks[e * k_depth] += ds * scale * qs[e * q_depth];
        }
        double const used      = w * kept[static_cast<std::size_t>(j)];
        double const* const vs = v.data() + in_v;
        double* const dvs      = dv.data() + in_v;
        for (extent e = 0; e < widths; ++e) {
          zs[e * z_width] += used * vs[e * v_width];
          dvs[e * v_width] += used * dzs[e * z_width];
        }
      });
    };
    sizes i{};
    for (i[batch] = 0; i[batch] < p.size[batch]; ++i[batch])
      for (i[heads] = 0; i[heads] < p.size[heads]; ++i[heads])
        for (i[share] = 0; i[share] < p.size[share]; ++i[share])
          for (i[length] = 0; i[length] < p.size[length]; ++i[length]) one_row(i);
  }
};

/// Memory that says where somebody wrote too far, and where nobody wrote: what is not written stays NaN.
template<class T>
struct guarded {
  static constexpr std::size_t margin = 64;
  std::vector<T> all;

  explicit guarded(extent n)
      : all(static_cast<std::size_t>(n) + 2 * margin, std::numeric_limits<T>::quiet_NaN()) {
    std::fill_n(all.begin(), margin, T(7));
    std::fill_n(all.end() - margin, margin, T(7));
  }
  T* data() { return all.data() + margin; }
  std::vector<T> values() const { return {all.begin() + margin, all.end() - margin}; }
  bool whole() const {
    auto const is_seven = [](T x) { return x == T(7); };
    return std::all_of(all.begin(), all.begin() + margin, is_seven) &&
           std::all_of(all.end() - margin, all.end(), is_seven);
  }
};

template<class T>
struct inputs {
  std::vector<T> q;
  std::vector<T> k;
  std::vector<T> v;
  std::vector<T> dz;
  std::vector<T> bias;

  explicit inputs(problem const& p, double spread = 1)
      : q(drawn<T>(p.count(p.q), 1, spread)),
        k(drawn<T>(p.count(p.k), 2)),
        v(drawn<T>(p.count(p.v), 3)),
        dz(drawn<T>(p.count(p.z), 4)),
        bias(drawn<T>(p.has_bias() ? p.count(p.bias) : 0, 5)) {}

  static std::vector<double> in_double(std::vector<T> const& x) {
    std::vector<double> wide;
    for (T const& element : x) wide.push_back(static_cast<double>(element));
    return wide;
  }
  by_loops truth(problem const& p) const {
    return {p, in_double(q), in_double(k), in_double(v), in_double(dz), in_double(bias)};
  }
};

template<class T>
struct by_kernel {
  std::vector<T> z;
  std::vector<T> dq;
  std::vector<T> dk;
  std::vector<T> dv;
  std::vector<T> dbias;
  std::vector<computed<T>> log_total;

  /// `wants`: bit 0 the query's, 1 the key's, 2 the value's, 3 the bias's gradient.
  by_kernel(problem const& p, std::vector<T> const& q, std::vector<T> const& k, std::vector<T> const& v,
            std::vector<T> const& dz, int wants = 7, std::vector<T> const& bias = {}) {
    auto const s = p.steps();
    guarded<T> result(p.count(p.z));
    guarded<T> dquery(p.count(p.q));
    guarded<T> dkey(p.count(p.k));
    guarded<T> dvalue(p.count(p.v));
    guarded<T> dbiases(static_cast<extent>(bias.size()));
    guarded<computed<T>> rows(p.count(p.row));
    guarded<computed<T>> scratch(attention_scratch(s));
    guarded<computed<T>> gradient_scratch(attention_gradient_scratch(s));
    std::vector<std::int32_t> of_queries(static_cast<std::size_t>(p.count(p.of_queries)));
    std::vector<std::int32_t> of_memory(static_cast<std::size_t>(p.count(p.of_memory)));
    sizes i{};
    for (i[batch] = 0; i[batch] < p.size[batch]; ++i[batch]) {
      for (i[length] = 0; i[length] < p.size[length]; ++i[length])
        of_queries[p.at(p.of_queries, i)] = p.segment(p.first + i[length]);
      for (i[memory] = 0; i[memory] < p.size[memory]; ++i[memory])
        of_memory[p.at(p.of_memory, i)] = p.segment(i[memory]);
    }
    attention_arrays<T> const forward{q.data(),    k.data(),    v.data(),          result.data(),
                                      rows.data(), bias.data(), of_queries.data(), of_memory.data()};
    kernel::attend(s, p.view(), p.scale, forward, scratch.data());
    attention_gradient_arrays<T> const arrays{q.data(),
                                              k.data(),
                                              v.data(),
                                              result.data(),
                                              rows.data(),
                                              dz.data(),
                                              wants & 1 ? dquery.data() : nullptr,
                                              wants & 2 ? dkey.data() : nullptr,
                                              wants & 4 ? dvalue.data() : nullptr,
                                              bias.data(),
                                              wants & 8 ? dbiases.data() : nullptr,
                                              of_queries.data(),
                                              of_memory.data()};
    kernel::attention_gradient(s, p.view(), p.scale, arrays, gradient_scratch.data());
    CHECK((result.whole() && rows.whole() && scratch.whole()));
    CHECK((dquery.whole() && dkey.whole() && dvalue.whole() && dbiases.whole() && gradient_scratch.whole()));
    z         = result.values();
    log_total = rows.values();
    dq        = dquery.values();
    dk        = dkey.values();
    dv        = dvalue.values();
    dbias     = dbiases.values();
  }
};

template<class T>
void check_attention(problem const& p, double spread = 1, double within = tolerance<T>) {
  INFO("batch " << p.size[batch] << ", heads " << p.size[heads] << ", queries " << p.size[length]
                << ", memories " << p.size[memory] << ", depth " << p.size[depth]
                << (p.causal ? ", causal" : "") << ", scale " << p.scale << ", spread " << spread);
  INFO(p.size[share] << " heads share keys, width " << p.size[width] << ", first " << p.first << ", window "
                     << p.reach << ", distances " << p.size[distance] << ", segments of " << p.segments
                     << ", dropped " << p.dropped);
  inputs<T> const x(p, spread);
  by_loops const expected = x.truth(p);
  by_kernel<T> const found(p, x.q, x.k, x.v, x.dz, x.bias.empty() ? 7 : 15, x.bias);
  near("result", found.z, expected.z, within);
  std::vector<double> logs = expected.log_total;
  for (std::size_t i = 0; i < logs.size(); ++i)
    if (std::isinf(logs[i])) {  // a query that sees nothing
      CHECK(static_cast<double>(found.log_total[i]) == logs[i]);
      logs[i] = 0;
    }
  std::vector<computed<T>> finite = found.log_total;
  for (auto& e : finite)
    if (std::isinf(e)) e = 0;
  near("log of the total", finite, logs, within);
  near("gradient of the query", found.dq, expected.dq, within);
  near("gradient of the key", found.dk, expected.dk, within);
  near("gradient of the value", found.dv, expected.dv, within);
  near("gradient of the bias", found.dbias, expected.dbias, within);
}

}  // namespace

TEMPLATE_TEST_CASE("attention of every length and depth", "", float, double, bfloat16) {
  for (extent const n : {1, 3, 5, 16, 31, 64, 65, 100, 130, 197})
    for (extent const d : {1, 2, 5, 8, 16, 24, 64, 70})
      for (bool const causal : {false, true}) check_attention<TestType>({{1, 2, n, n, d}, causal});
}

TEMPLATE_TEST_CASE("attention to a memory of another length", "", float, double, bfloat16) {
  for (auto const& [queries, memories] : {std::array<extent, 2>{1, 3},
                                          {1, 200},
                                          {3, 1},
                                          {70, 3},
                                          {65, 130},
                                          {130, 65},
                                          {200, 64},
                                          {64, 96},
                                          {2, 1000},
                                          {330, 290}})
    for (extent const d : {2, 5, 32})
      for (bool const causal : {false, true})
        check_attention<TestType>({{2, 1, queries, memories, d}, causal});
}

TEMPLATE_TEST_CASE("attention of tensors in every order of dimensions", "", float, double, bfloat16) {
  std::array<order, 5> const queries{order{batch, heads, length, depth}, order{heads, length, batch, depth},
                                     order{batch, length, depth, heads}, order{depth, length, heads, batch},
                                     order{length, batch, heads, depth}};
  auto const memories = [](order of) {
    std::replace(of.begin(), of.end(), int{length}, int{memory});
    return of;
  };
  for (auto const& q : queries)
    for (auto const& k : queries)
      for (bool const causal : {false, true}) {
        problem p{{2, 3, 37, causal ? 37 : 21, 9}, causal};
        p.q = q;
        p.k = memories(k);
        p.v = memories(queries[2]);
        p.z = p.row = q;
        std::erase(p.row, int{depth});
        INFO("order of the query's " << q[0] << q[1] << q[2] << q[3] << ", of the key's " << k[0] << k[1]
                                     << k[2] << k[3]);
        check_attention<TestType>(p);
      }
}

TEMPLATE_TEST_CASE("attention with a scale of its own, and with weights that are nearly all on one position",
                   "", float, double) {
  // the scores are large, and so are their rounding errors
  double const loose = std::is_same_v<TestType, float> ? 2e-4 : 1e-11;
  for (bool const causal : {false, true}) {
    check_attention<TestType>({{2, 2, 70, 70, 16}, causal, 0.7});
    check_attention<TestType>({{2, 2, 70, 70, 16}, causal, -0.3});
    check_attention<TestType>({{1, 2, 70, 70, 16}, causal}, 100, loose);
  }
}

TEMPLATE_TEST_CASE("gradients that nobody wants are left alone, the others have the same bits", "", float,
                   double) {
  for (bool const causal : {false, true}) {
    problem const p{{2, 2, 67, 67, 12}, causal};
    inputs<TestType> const x(p);
    by_kernel<TestType> const all(p, x.q, x.k, x.v, x.dz);
    for (int wants = 0; wants < 8; ++wants) {
      INFO("wants " << wants);
      by_kernel<TestType> const some(p, x.q, x.k, x.v, x.dz, wants);
      auto const untouched = [](auto const& y) {
        return std::all_of(y.begin(), y.end(), [](TestType e) { return std::isnan(e); });
      };
      CHECK((wants & 1 ? some.dq == all.dq : untouched(some.dq)));
      CHECK((wants & 2 ? some.dk == all.dk : untouched(some.dk)));
      CHECK((wants & 4 ? some.dv == all.dv : untouched(some.dv)));
    }
  }
}

TEST_CASE("gradients of attention are what finite differences say") {
  for (bool const causal : {false, true}) {
    problem const p{{1, 2, 7, 7, 3}, causal, 0.9};
    inputs<double> const x(p);
    by_kernel<double> const found(p, x.q, x.k, x.v, x.dz);
    auto const value = [&](std::vector<double> const& q, std::vector<double> const& k,
                           std::vector<double> const& v) {
      auto const z = by_kernel<double>(p, q, k, v, x.dz, 0).z;
      double total = 0;
      for (std::size_t i = 0; i < z.size(); ++i) total += z[i] * x.dz[i];
      return total;
    };
    auto const differences = [&](std::vector<double> const& of, auto const& f) {
      double const h = 1e-5;
      std::vector<double> slope;
      for (std::size_t i = 0; i < of.size(); ++i) {
        auto up   = of;
        auto down = of;
        up[i] += h;
        down[i] -= h;
        slope.push_back((f(up) - f(down)) / (2 * h));
      }
      return slope;
    };
    near("query", found.dq, differences(x.q, [&](auto const& q) { return value(q, x.k, x.v); }), 1e-8);
    near("key", found.dk, differences(x.k, [&](auto const& k) { return value(x.q, k, x.v); }), 1e-8);
    near("value", found.dv, differences(x.v, [&](auto const& v) { return value(x.q, x.k, v); }), 1e-8);
  }
}

TEMPLATE_TEST_CASE("scores that are huge, infinitely small or no numbers", "", float, double) {
  using T = TestType;
  for (bool const causal : {false, true})
    for (extent const n : {5, 70}) {
      INFO("length " << n << (causal ? ", causal" : ""));
      problem const p{{1, 1, n, n, 4}, causal};
      inputs<T> x(p);
      auto const element = [](std::vector<T>& of, extent position, extent e) -> T& {
        return of[static_cast<std::size_t>(4 * position + e)];
      };
      auto const finite = [](std::vector<T> const& y) {
        return std::all_of(y.begin(), y.end(), [](T e) { return std::isfinite(e); });
      };

      // scores from -1e8 to 1e8
      auto large = x;
      for (T& e : large.q) e *= T(1e4);
      for (T& e : large.k) e *= T(1e4);
      by_kernel<T> const of_large(p, large.q, large.k, large.v, large.dz);
      CHECK((finite(of_large.z) && finite(of_large.log_total) && finite(of_large.dq) && finite(of_large.dk) &&
             finite(of_large.dv)));

      // a score of -inf weighs nothing: nobody looks at position 2 then but itself
      auto hidden = x;
      for (extent i = 0; i < n; ++i) element(hidden.q, i, 0) = 1;
      element(hidden.k, 2, 0) = -std::numeric_limits<T>::infinity();
      by_kernel<T> const of_hidden(p, hidden.q, hidden.k, hidden.v, hidden.dz, 4);
      CHECK(finite(of_hidden.z));
      for (extent e = 0; e < 4; ++e) CHECK(of_hidden.dv[static_cast<std::size_t>(8 + e)] == 0);

      // what is not a number in a query is none in its row, and only there
      auto strange             = x;
      element(strange.q, 3, 1) = std::numeric_limits<T>::quiet_NaN();
      by_kernel<T> const of_strange(p, strange.q, strange.k, strange.v, strange.dz);
      by_kernel<T> const of_all(p, x.q, x.k, x.v, x.dz);
      for (extent i = 0; i < n; ++i)
        for (extent e = 0; e < 4; ++e) {
          auto const at = static_cast<std::size_t>(4 * i + e);
          CHECK((i == 3 ? std::isnan(of_strange.z[at]) && std::isnan(of_strange.dq[at])
                        : of_strange.z[at] == of_all.z[at]));
          if (!causal || i <= 3) CHECK((std::isnan(of_strange.dk[at]) && std::isnan(of_strange.dv[at])));
        }
      CHECK(std::isnan(of_strange.log_total[3]));

      // in a key or a value: in all that look at it
      for (bool const in_key : {true, false}) {
        auto broken = x;
        element(in_key ? broken.k : broken.v, 1, 2) = std::numeric_limits<T>::quiet_NaN();
        by_kernel<T> const of_broken(p, broken.q, broken.k, broken.v, broken.dz);
        for (extent i = 1; i < n; ++i) CHECK(std::isnan(of_broken.z[static_cast<std::size_t>(4 * i + 2)]));
      }
    }
}

TEMPLATE_TEST_CASE("what the mask hides is not seen, a number or not", "", float, double) {
  using T     = TestType;
  T const nan = std::numeric_limits<T>::quiet_NaN();
  for (extent const n : {5, 40, 150})
    for (extent const at : {extent{3}, n / 2, n - 1}) {
      INFO("length " << n << ", position " << at);
      problem const p{{1, 1, n, n, 4}, true};
      inputs<T> const x(p);
      by_kernel<T> const clean(p, x.q, x.k, x.v, x.dz);
      auto const spoilt = [&](std::vector<T> of) {
        for (extent e = 0; e < 4; ++e) of[static_cast<std::size_t>(4 * at + e)] = nan;
        return of;
      };
      auto const part = [](auto const& y, extent begin, extent end) {
        return std::vector(y.begin() + static_cast<std::ptrdiff_t>(4 * begin),
                           y.begin() + static_cast<std::ptrdiff_t>(4 * end));
      };
      auto const same = [&](char const* what, std::vector<T> const& found, std::vector<T> const& expected,
                            extent begin, extent end) {
        std::vector<double> truth;
        for (T e : part(expected, begin, end)) truth.push_back(static_cast<double>(e));
        near(what, part(found, begin, end), truth);
        CHECK(std::any_of(found.begin(), found.end(), [](T e) { return std::isnan(e); }));
      };
      by_kernel<T> const key(p, x.q, spoilt(x.k), x.v, x.dz);
      by_kernel<T> const value(p, x.q, x.k, spoilt(x.v), x.dz);
      for (auto const* found : {&key, &value}) {
        same("result", found->z, clean.z, 0, at);
        same("dq", found->dq, clean.dq, 0, at);
      }
      by_kernel<T> const query(p, spoilt(x.q), x.k, x.v, x.dz);
      by_kernel<T> const gradient(p, x.q, x.k, x.v, spoilt(x.dz));
      for (auto const* found : {&query, &gradient}) {
        same("dk", found->dk, clean.dk, at + 1, n);
        same("dv", found->dv, clean.dv, at + 1, n);
      }
    }
}

TEMPLATE_TEST_CASE("heads share keys, and values have a width of their own", "", float, double, bfloat16) {
  for (extent const heads_of_a_key : {2, 3})
    for (extent const w : {0, 3, 20, 40})
      for (auto const& [queries, memories] : {std::array<extent, 2>{5, 5}, {70, 70}, {33, 90}, {130, 70}})
        for (bool const causal : {false, true})
          check_attention<TestType>({{2, 2, queries, memories, 18, heads_of_a_key, w}, causal});
}

TEMPLATE_TEST_CASE("a window, and queries that stand further on", "", float, double, bfloat16) {
  for (bool const causal : {false, true})
    for (extent const n : {1, 20, 70, 300})
      for (extent const window : {1, 2, 17, 64, 65, 1000}) {
        problem p{{1, 2, n, n, 8, 2, 5}, causal};
        p.reach = window;
        check_attention<TestType>(p);
      }
  for (bool const causal : {false, true})
    for (extent const first : {1, 30, 64, 300})
      for (extent const n : {1, 3, 70})
        for (extent const window : {0, 40}) {
          problem p{{1, 1, n, first + n + (first == 30 ? 11 : 0), 8}, causal};
          p.first = first;
          p.reach = window;
          check_attention<TestType>(p);
        }
}

TEMPLATE_TEST_CASE("segments, also where a query sees nothing", "", float, double, bfloat16) {
  for (bool const causal : {false, true})
    for (extent const n : {1, 20, 70, 300})
      for (int const segments : {1, 7, 64, 90}) {
        problem p{{2, 2, n, n, 8, 1, 5}, causal};
        p.segments = segments;
        check_attention<TestType>(p);
        problem lost{{2, 1, n, 5, 8, 1, 5}, causal};  // nobody of the memory is in the third segment
        lost.segments = segments;
        lost.reach    = n > 20 ? 10 : 0;
        check_attention<TestType>(lost);
      }
}

TEMPLATE_TEST_CASE("a bias by distance", "", float, double, bfloat16) {
  for (bool const causal : {false, true})
    for (auto const& [queries, memories] :
         {std::array<extent, 2>{1, 1}, {5, 5}, {70, 70}, {33, 90}, {130, 70}, {200, 330}})
      for (extent const first : {0, 9})
        for (extent const window : {0, 30}) {
          problem p{{2, 2, queries, memories, 8, 2, 0, queries + memories - 1 + first}, causal};
          p.first = causal && queries + first > memories ? 0 : first;
          p.reach = window;
          if (window > 0) {
            p.segments = 20;
            p.bias     = {distance, share, batch, heads};
          }
          check_attention<TestType>(p);
        }
}

TEMPLATE_TEST_CASE("a bias for each score", "", float, double, bfloat16) {
  for (bool const causal : {false, true})
    for (auto const& [queries, memories] :
         {std::array<extent, 2>{1, 1}, {5, 5}, {70, 70}, {33, 90}, {130, 70}, {200, 330}})
      for (extent const window : {0, 30}) {
        problem p{{2, 2, queries, memories, 8, 2}, causal};
        p.biased = true;
        p.reach  = window;
        p.bias   = window > 0 ? order{memory, share, batch, length, heads}
                              : order{batch, heads, share, length, memory};
        check_attention<TestType>(p);
      }
}

TEMPLATE_TEST_CASE("dropped weights are those that dropout drops, in every order of dimensions", "", float,
                   double, bfloat16) {
  for (bool const causal : {false, true})
    for (auto const& [queries, memories] :
         {std::array<extent, 2>{1, 1}, {5, 5}, {70, 70}, {33, 90}, {130, 70}, {70, 330}, {300, 300}})
      for (double const rate : {0.1, 0.75}) {
        problem p{{2, 2, queries, memories, 8, 2, 5}, causal};
        p.dropped = rate;
        check_attention<TestType>(p);
        p.row   = {length, share, batch, heads};
        p.reach = 40;
        check_attention<TestType>(p);
      }
}

TEMPLATE_TEST_CASE("a memory without positions gives zeros", "", float, double) {
  for (bool const causal : {false, true})
    for (extent const window : {0, 3}) {
      problem p{{1, 2, 5, 0, 8, 2, 3}, causal};
      p.reach = window;
      check_attention<TestType>(p);
    }
}

TEMPLATE_TEST_CASE("what a window or a segment hides may be no number", "", float, double) {
  using T = TestType;
  for (extent const n : {20, 150}) {
    problem p{{1, 1, n, n, 4}, true};
    p.reach = 6;
    inputs<T> x(p);
    by_kernel<T> const clean(p, x.q, x.k, x.v, x.dz);
    for (extent e = 0; e < 4; ++e)
      x.v[static_cast<std::size_t>(4 * (n / 2) + e)] = x.k[static_cast<std::size_t>(4 * (n / 2) + e)] =
          std::numeric_limits<T>::quiet_NaN();
    by_kernel<T> const found(p, x.q, x.k, x.v, x.dz);
    for (extent i = 0; i < n; ++i) {
      bool const sees = p.sees(i, n / 2);
      auto const at   = static_cast<std::size_t>(4 * i);
      CHECK((sees ? std::isnan(found.z[at]) : std::abs(found.z[at] - clean.z[at]) < T(1e-4)));
      CHECK((sees ? std::isnan(found.dq[at]) : std::abs(found.dq[at] - clean.dq[at]) < T(1e-4)));
    }
  }
}
