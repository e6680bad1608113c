// Windows under every placement, against their definition in integers: halos, windows along one dimension and
// two, and convolutions with both gradients.
#include "processes.hpp"

#include <array>
#include <optional>
#include <stdexcept>

#include <meshtf/plan/conv_plan.hpp>

namespace {

using namespace verified;
using meshtf::convolution_steps;
using meshtf::displace_steps;
using meshtf::shape;
using meshtf::window_halo;
using meshtf::window_rule;
using meshtf::window_steps;
namespace task = meshtf::task;

constexpr double beyond = 9;  // where a dimension has no elements

// ---- halos

/// The lines along a dimension, and along the one with its halo; and the backward pass.
struct halo_lines {
  int along = 0;
  int wide  = 0;
  rule out{};
  rule back{};
};
template<class L, class X, class Along, class Wide>
halo_lines lines_with_halo() {
  using wide = meshtf::replaced<X, Along, shape<Wide>>;
  return {letters_of<shape<Along>>[0], letters_of<shape<Wide>>[0],
          rule_of<L, displace_steps, meshtf::united<X, shape<Wide>>, Along, Wide>(
              meshtf::arrays_of<X, wide>{}, 0),
          rule_of<L, displace_steps, meshtf::united<wide, shape<Along>>, Wide, Along>(
              meshtf::arrays_of<wide, X>{}, 0)};
}

placed& dim_of(setting& s, int letter) { return s.dim[static_cast<std::size_t>(letter)]; }
placed const& dim_of(setting const& s, int letter) { return s.dim[static_cast<std::size_t>(letter)]; }

/// The size of all parts of a dimension with their halos.
extent wide_size(placed const& by, window_halo const& halo) {
  return by.parts * (by.allocated_extent() + halo.before + halo.after);
}

/// Halos as `tensor/haloed.hpp` asks for them.
class exchange_of_halos {
public:
  exchange_of_halos(setting const& s, halo_lines const& r, window_halo const& halo)
      : s_{s}, r_{r}, by_{dim_of(s, r.along)}, halo_{halo} {}

  std::vector<shard> widened(std::vector<shard> const& x, double outside) {
    auto z = unwritten_shards(s_, r_.out.array[1]);
    if (by_.parts == 1) {
      run(r_.out, task::displace<double>{{.offset = -halo_.before}, outside}, x, z);
      return z;
    }
    extent const part = by_.allocated_extent();
    run(r_.out, rows{.count = part, .to = halo_.before, .beyond = outside}, x, z);
    auto const receive = [&](extent n, extent from, extent to, extent distance) {
      if (n == 0) return;
      auto leaving = edge(n);
      run(r_.out, rows{.count = n, .from = from, .to_edge = true, .beyond = outside}, x, leaving);
      run(r_.out, rows{.count = n, .to = to, .from_edge = true},
          arrived(s_, leaving, by_.over, distance, false, outside), z);
    };
    receive(halo_.before, part - halo_.before, 0, 1);
    receive(halo_.after, 0, halo_.before + part, -1);
    return z;
  }
  /// What other parts' elements got is added there.
  std::vector<shard> narrowed(std::vector<shard> const& z) {
    auto x = unwritten_shards(s_, r_.out.array[0]);
    if (by_.parts == 1) {
      run(r_.back, task::displace<double>{{.offset = halo_.before}, 0}, z, x);
      return x;
    }
    extent const part = by_.allocated_extent();
    run(r_.back, rows{.count = part, .from = halo_.before}, z, x);
    auto const give_back = [&](extent n, extent from, extent to, extent distance) {
      if (n == 0) return;
      auto leaving = edge(n);
      run(r_.back, rows{.count = n, .from = from, .to_edge = true}, z, leaving);
      run(r_.back, task::add_rows<double>{.count = n, .to = to},
          arrived(s_, leaving, by_.over, distance, false, 0), x);
    };
    give_back(halo_.before, 0, part - halo_.before, -1);
    give_back(halo_.after, halo_.before + part, 0, 1);
    return x;
  }

private:
  using rows = task::copy_rows<double>;

  template<class Task>
  void run(rule const& r, Task const& task, std::vector<shard> const& from, std::vector<shard>& to) {
    for_each_plan<displace_steps>(s_, r, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
      task.compute(steps, here, from[p].data(), to[p].data());
    });
  }
  std::vector<shard> edge(extent n) const {
    auto const row = static_cast<extent>(allocated(s_, r_.out.array[0])) / by_.allocated_extent();
    return std::vector<shard>(s_.processes(), shard(static_cast<std::size_t>(n * row), unwritten));
  }

  setting const& s_;
  halo_lines const& r_;
  placed const& by_;
  window_halo halo_;
};

/// Each part with `halo` elements of the parts next to it, and the gradient.
void check_halo(counter& count, setting const& s, halo_lines const& r, window_halo const& halo) {
  auto const& by   = dim_of(s, r.along);
  auto const along = static_cast<std::size_t>(r.along);
  auto const wide  = static_cast<std::size_t>(r.wide);
  whole const x    = integers(s, r.out.array[0], 1);
  whole const dz   = integers(s, r.out.array[1], 2);
  whole z          = zeros(s, r.out.array[1]);
  whole dx         = zeros(s, r.out.array[0]);
  extent const n   = by.allocated_extent() + halo.before + halo.after;
  for_each_index(s, z.letters, [&](position at) {
    at[along]         = at[wide] / n * by.allocated_extent() + at[wide] % n - halo.before;
    bool const inside = at[along] >= 0 && at[along] < by.size;
    z(s, at)          = inside ? x(s, at) : beyond;
    if (inside) dx(s, at) += dz(s, at);
  });
  exchange_of_halos halos{s, r, halo};
  count.expect(equal(s, halos.widened(shards_of(s, x), beyond), z), "halo", s);
  auto sums = shards_of(s, dz);
  count.expect(equal(s, halos.narrowed(sums), dx), "gradient", s);
}

void check_halos(counter& count, setting const& placed, halo_lines const& r) {
  ++count.placements;
  for_each_size(placed, r.out.array[0], [&](setting s) {
    auto const& by = dim_of(s, r.along);
    extent const n = by.parts == 1 ? 3 : by.allocated_extent();  // `halo_is_wider_than_part`
    for (window_halo halo; halo.before <= n; ++halo.before)
      for (halo.after = 0; halo.after <= n; ++halo.after) {
        dim_of(s, r.wide).size = wide_size(by, halo);
        check_halo(count, s, r, halo);
      }
  });
}

template<class X>
void check_all_halos(counter& count) {
  for_each_layout<X>([&]<class Given>(setting const&) {
    using L = placed_alike<Given, b, i>;
    check_halos(count, setting_under<L>(), lines_with_halo<L, X, b, i>());
  });
}

// rule halos: halo_plan.hpp
// checks: each part with up to as many elements of the parts next to it as it has, or of what is beyond the
// ends, and the gradient, which sends them back; three on each side where the dimension is whole
// sizes: 1 to 5
// operations: window/halo.hpp
TEST_CASE("halos are their definition under every placement", "[verified]") {
  counter count{"halos"};
  check_all_halos<shape<a, b>>(count);
  check_all_halos<shape<b, a>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

// ---- windows

/// Windows along `N` dimensions, by the letters of the dimensions that they walk along, of these with halos,
/// of those that they make, and of a window.
template<std::size_t N>
struct window_letters {
  std::array<int, N> along{};
  std::array<int, N> made{};
  std::array<int, N> taps{};
  std::array<halo_lines, N> halo{};
};
template<std::size_t N>
using window_rules = std::array<window_rule, N>;

/// What windows walk through under one setting, whose sizes they set; none, if a plan would refuse them.
template<std::size_t N>
struct windows_of_case {
  setting s;
  std::array<window_halo, N> halo{};
  meshtf::window_walk walk[N]{};
  meshtf::convolution_walk convolution[N]{};
};
template<std::size_t N>
std::optional<windows_of_case<N>> windows_in(setting const& s, window_letters<N> const& letters,
                                             window_rules<N> const& rules) {
  windows_of_case<N> found{.s = s};
  for (std::size_t k = 0; k < N; ++k) {
    window_rule const& w = rules[k];
    extent const taps    = s.size(letters.taps[k]);
    placed const& in     = dim_of(s, letters.along[k]);
    placed& made         = dim_of(found.s, letters.made[k]);
    made.size            = w.windows(in.size, taps);
    if (made.size < 1) return {};
    found.halo[k] = meshtf::halo_of(w, taps, in, made);
    if (in.parts > 1 && std::max(found.halo[k].before, found.halo[k].after) > in.allocated_extent())
      return {};
    dim_of(found.s, letters.halo[k].wide).size = wide_size(in, found.halo[k]);
    found.walk[k]        = meshtf::detail::window_walk_of(w, taps, in, made, found.halo[k]);
    found.convolution[k] = meshtf::detail::convolution_walk_of(w, taps, in, found.walk[k]);
  }
  return found;
}

/// Moves a position in the windows to the element of the array that is there; false if it has none.
template<std::size_t N>
bool move_to_element(setting const& s, window_letters<N> const& letters, window_rules<N> const& rules,
                     position& at) {
  bool inside = true;
  for (std::size_t k = 0; k < N; ++k) {
    auto const along     = static_cast<std::size_t>(letters.along[k]);
    auto const made      = static_cast<std::size_t>(letters.made[k]);
    auto const tap       = static_cast<std::size_t>(letters.taps[k]);
    window_rule const& w = rules[k];
    extent const size    = s.dim[along].size;
    at[along]            = at[made] * w.step + at[tap] * w.dilation - w.before(size, s.dim[tap].size);
    inside               = inside && at[along] >= 0 && at[along] < size;
  }
  return inside;
}

template<std::size_t N>
std::vector<shard> widened(windows_of_case<N> const& c, window_letters<N> const& letters,
                           std::vector<shard> x, double outside, bool only_split) {
  for (std::size_t k = 0; k < N; ++k)
    if (!only_split || dim_of(c.s, letters.along[k]).parts > 1)
      x = exchange_of_halos{c.s, letters.halo[k], c.halo[k]}.widened(x, outside);
  return x;
}
template<std::size_t N>
std::vector<shard> narrowed(windows_of_case<N> const& c, window_letters<N> const& letters,
                            std::vector<shard> x, bool only_split) {
  for (std::size_t k = N; k-- > 0;)
    if (!only_split || dim_of(c.s, letters.along[k]).parts > 1)
      x = exchange_of_halos{c.s, letters.halo[k], c.halo[k]}.narrowed(x);
  return x;
}

/// Arrays: the array with its halos, the windows.
template<std::size_t N>
void check_windows(counter& count, windows_of_case<N> const& c, window_letters<N> const& letters,
                   window_rules<N> const& rules, dim_list const& array, rule const& r) {
  setting const& s = c.s;
  whole const x    = integers(s, array, 1);
  whole const dz   = integers(s, r.array[1], 2);
  whole z          = zeros(s, r.array[1]);
  whole dx         = zeros(s, array);
  for_each_index(s, z.letters, [&](position at) {
    bool const inside = move_to_element(s, letters, rules, at);
    z(s, at)          = inside ? x(s, at) : beyond;
    if (inside) dx(s, at) += dz(s, at);
  });
  auto const from        = widened(c, letters, shards_of(s, x), beyond, false);
  auto const dzs         = shards_of(s, dz);
  auto taken             = unwritten_shards(s, r.array[1]);
  auto sums              = filled(s, r.array[0], 0);
  task_loops const loops = r.sized(s);
  for_each_process(s, [&](std::size_t p, place_in_mesh const& here) {
    auto const steps =
        meshtf::detail::windows_walking<window_steps>(c.walk, loops, meshtf::extents_at(loops, here, {}));
    task::windows_taken<double>{}.compute(steps, here, from[p].data(), taken[p].data());
    task::windows_added<double>{}.compute(steps, here, dzs[p].data(), sums[p].data());
  });
  count.expect(equal(s, taken, z), "window", s);
  count.expect(equal(s, narrowed(c, letters, sums, false), dx), "gradient", s);
}

/// The number of elements in each window, which `avg_pool` divides by.
void check_elements(counter& count, setting const& s, window_rule const& w, int along, int made, int taps) {
  extent const size = s.size(along);
  extent const n    = s.size(taps);
  bool same         = true;
  for (extent window = 0; window < s.size(made); ++window) {
    extent elements = 0;
    for (extent tap = 0; tap < n; ++tap) {
      extent const place = window * w.step + tap * w.dilation - w.before(size, n);
      if (place >= 0 && place < size) ++elements;
    }
    same = same && elements == w.elements(size, n, window);
  }
  count.expect(same, "number of elements", s);
}

/// Strides of 1, 2 and 3, dilations of 1 and 2; `same`, `valid` and with two numbers of zeros.
std::vector<window_rule> all_rules() {
  std::vector<window_rule> all;
  for (extent step : {1, 2, 3})
    for (extent dilation : {1, 2}) {
      all.push_back({.step = step, .dilation = dilation});
      all.push_back({.step = step, .dilation = dilation, .same = false});
      all.push_back({.step = step, .dilation = dilation, .same = false, .ahead = 1, .behind = 2});
      all.push_back({.step = step, .dilation = dilation, .same = false, .ahead = 2});
    }
  return all;
}
std::vector<window_rule> some_rules() {
  return {
      {}, {.step = 2}, {.same = false}, {.step = 2, .dilation = 2, .same = false, .ahead = 1, .behind = 2}};
}

/// Windows along `b` of `g` elements make `e`, and those along `c` of `h` elements make `f`. With their
/// halos, the dimensions are `i` and `j`.
using along_b = meshtf::window<b, g, e>;
using along_c = meshtf::window<c, h, f>;
template<class L>
using with_windows_along_b = placed_alike<L, b, e, b, i>;
template<class L>
using with_windows_along_both = placed_alike<L, b, e, c, f, b, i, c, j>;

template<class L, class X>
window_letters<1> letters_along_b() {
  return {{1}, {4}, {6}, {lines_with_halo<L, X, b, i>()}};
}
template<class L, class X, class Half>
window_letters<2> letters_along_both() {
  return {{1, 2}, {4, 5}, {6, 7}, {lines_with_halo<L, X, b, i>(), lines_with_halo<L, Half, c, j>()}};
}

/// Windows under one placement. Arrays: the array with its halos, the windows.
template<std::size_t N>
struct windows_placed {
  setting s;
  window_letters<N> letters{};
  rule steps{};
};

void check_windows_along_one(counter& count, dim_list const& x, windows_placed<1> const& r) {
  ++count.placements;
  auto const check = [&](setting const& s) {
    for (window_rule const& w : all_rules())
      if (auto const c = windows_in<1>(s, r.letters, {w})) {
        check_windows<1>(count, *c, r.letters, {w}, x, r.steps);
        check_elements(count, c->s, w, r.letters.along[0], r.letters.made[0], r.letters.taps[0]);
      }
  };
  for_each_size(r.s, united(x, letters_of<shape<g>>), check, {1, 3, 5});
}
template<class X>
void check_windows_along_one(counter& count) {
  using wide = meshtf::replaced<X, b, shape<i>>;
  for_each_layout<X>([&]<class Given>(setting const&) {
    using L       = with_windows_along_b<Given>;
    using windows = typename meshtf::window_plan<L, X, along_b>::windows;
    check_windows_along_one(count, letters_of<X>,
                            {setting_under<L>(), letters_along_b<L, X>(),
                             rule_of<L, window_steps, meshtf::united<windows, wide>, i, e, g>(
                                 meshtf::arrays_of<wide, windows>{}, 0)});
  });
}

void check_windows_along_two(counter& count, dim_list const& x, windows_placed<2> const& r) {
  ++count.placements;
  auto const check = [&](setting const& s) {
    for (window_rule const& first : some_rules())
      for (window_rule const& second : some_rules())
        if (auto const c = windows_in<2>(s, r.letters, {first, second}))
          check_windows<2>(count, *c, r.letters, {first, second}, x, r.steps);
  };
  for_each_size(r.s, united(x, letters_of<shape<g, h>>), check, {2, 5});
}
template<class X>
void check_windows_along_two(counter& count) {
  using half = meshtf::replaced<X, b, shape<i>>;
  using wide = meshtf::replaced<half, c, shape<j>>;
  for_each_layout<X>([&]<class Given>(setting const&) {
    using L       = with_windows_along_both<Given>;
    using windows = typename meshtf::window_plan<L, X, along_b, along_c>::windows;
    check_windows_along_two(count, letters_of<X>,
                            {setting_under<L>(), letters_along_both<L, X, half>(),
                             rule_of<L, window_steps, meshtf::united<windows, wide>, i, j, e, f, g, h>(
                                 meshtf::arrays_of<wide, windows>{}, 0)});
  });
}

// rule windows: window_plan.hpp pool_plan.hpp window.hpp
// checks: all windows along one dimension and two, with what is beyond the ends, and the gradient; strides of
// 1 to 3, dilations of 1 and 2, `same`, `valid` and numbers of zeros; how many elements each has. (The
// maximum and the mean of windows are nests) sizes: 1, 3 and 5; 2 and 5 along two dimensions operations:
// window/windows.hpp window/pool.hpp
TEST_CASE("windows are their definition under every placement", "[verified]") {
  counter count{"windows"};
  check_windows_along_one<shape<a, b>>(count);
  check_windows_along_one<shape<b, a>>(count);
  check_windows_along_two<shape<b, c>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

// ---- convolutions

/// A convolution and its gradients as one task. Arrays: what it sees of x, the filter, z.
template<std::size_t N>
struct convolution {
  window_letters<N> letters{};
  dim_list x{};
  rule steps{};
  axis_set x_finished_over      = 0;
  axis_set filter_finished_over = 0;

  dim_list const& filter() const { return steps.array[1]; }
  dim_list const& z() const { return steps.array[2]; }
};

/// f(steps, p, here, scratch) for each process; the scratch memory of the fullest must be enough. (A process
/// without elements takes none.)
template<std::size_t N, class F>
void for_each_convolution(windows_of_case<N> const& c, convolution<N> const& r, bool to_filter,
                          F const& compute) {
  task_loops const loops = r.steps.sized(c.s);
  auto const steps_at    = [&](meshtf::loop_extents const& extents) {
    return meshtf::detail::convolution_of<convolution_steps>(c.convolution, loops, extents);
  };
  auto const n = steps_at(meshtf::full_extents(loops)).scratch(to_filter);
  shard scratch(static_cast<std::size_t>(n));
  for_each_process(c.s, [&](std::size_t p, place_in_mesh const& here) {
    auto const own = steps_at(meshtf::extents_at(loops, here, {}));
    if (!own.is_empty() && own.scratch(to_filter) > n)
      throw std::logic_error("expected the scratch memory of the fullest process to be enough");
    std::fill(scratch.begin(), scratch.end(), unwritten);
    compute(own, p, here, scratch.data());
  });
}

template<std::size_t N>
void check_convolution(counter& count, windows_of_case<N> const& c, convolution<N> const& r,
                       window_rules<N> const& rules) {
  setting const& s   = c.s;
  whole const x      = integers(s, r.x, 1);
  whole const filter = integers(s, r.filter(), 2);
  whole const dz     = integers(s, r.z(), 3);
  whole z            = zeros(s, r.z());
  whole dx           = zeros(s, r.x);
  whole dfilter      = zeros(s, r.filter());
  dim_list made_and_others;
  for (int l : united(r.x, r.filter(), r.z()))
    if (std::find(r.letters.along.begin(), r.letters.along.end(), l) == r.letters.along.end())
      made_and_others.push_back(l);
  for_each_index(s, made_and_others, [&](position at) {
    if (!move_to_element(s, r.letters, rules, at)) return;
    z(s, at) += x(s, at) * filter(s, at);
    dx(s, at) += dz(s, at) * filter(s, at);
    dfilter(s, at) += dz(s, at) * x(s, at);
  });
  auto const seen    = widened(c, r.letters, shards_of(s, x), 0, true);
  auto const filters = shards_of(s, filter);
  auto const dzs     = shards_of(s, dz);
  auto found         = unwritten_shards(s, r.z());
  auto back          = unwritten_shards(s, r.steps.array[0]);
  auto sums          = unwritten_shards(s, r.filter());
  for_each_convolution(c, r, false, [&](auto const& steps, std::size_t p, auto const& here, double* scratch) {
    task::convolved<double>{}.compute(steps, here, seen[p].data(), filters[p].data(), found[p].data(),
                                      scratch);
    task::convolved_to_input<double>{}.compute(steps, here, dzs[p].data(), filters[p].data(), back[p].data(),
                                               scratch);
  });
  for_each_convolution(c, r, true, [&](auto const& steps, std::size_t p, auto const& here, double* scratch) {
    task::convolved_to_filter<double>{}.compute(steps, here, seen[p].data(), dzs[p].data(), sums[p].data(),
                                                scratch);
  });
  count.expect(equal(s, joined(s, found, r.steps.finished_over), z), "value", s);
  count.expect(equal(s, joined(s, narrowed(c, r.letters, back, true), r.x_finished_over), dx), "dx", s);
  count.expect(equal(s, joined(s, sums, r.filter_finished_over), dfilter), "gradient of the filter", s);
}

void check_convolutions(counter& count, setting const& placed, convolution<1> const& r) {
  ++count.placements;
  auto const check = [&](setting s) {
    for (extent taps : {1, 2, 3}) {
      dim_of(s, r.letters.taps[0]).size = taps;
      for (window_rule const& w : some_rules())
        if (auto const c = windows_in<1>(s, r.letters, {w})) check_convolution<1>(count, *c, r, {w});
    }
  };
  for_each_size(placed, united(r.x, letters_of<shape<d>>), check, {1, 5});
}
void check_convolutions(counter& count, setting const& placed, convolution<2> const& r) {
  ++count.placements;
  auto const all   = some_rules();
  auto const check = [&](setting s) {
    for (extent taps : {1, 2, 3})
      for (std::size_t w = 0; w < all.size(); ++w) {
        window_rules<2> const rules{all[w], all[(w + 1) % all.size()]};
        dim_of(s, r.letters.taps[0]).size = taps;
        dim_of(s, r.letters.taps[1]).size = 4 - taps;
        if (auto const c = windows_in<2>(s, r.letters, rules)) check_convolution<2>(count, *c, r, rules);
      }
  };
  for_each_size(placed, r.x, check, {2, 5});
}

template<class L, class S, class Along, class Wide>
using seen_along = std::conditional_t<(meshtf::placed_under<L, Along>.parts > 1),
                                      meshtf::replaced<S, Along, shape<Wide>>, S>;
template<class L, class Along, class Wide>
using dim_seen = std::conditional_t<(meshtf::placed_under<L, Along>.parts > 1), Wide, Along>;

/// What a plan says of a convolution; its task asks for `Asked...`.
template<class Plan, class L, class X, class Filter, class Seen, class... Asked, std::size_t N>
convolution<N> convolution_of(window_letters<N> const& letters) {
  static_assert(meshtf::accepted<typename Plan::verdict> && Plan::is_direct);
  using result  = typename Plan::result;
  using windows = typename Plan::windows;
  using loops   = meshtf::united<meshtf::united<Seen, result>, Filter>;
  return {letters, letters_of<X>,
          rule_of<L, convolution_steps, loops, Asked...>(
              meshtf::arrays_of<Seen, Filter, result>{},
              meshtf::einsum_plan<L, result, windows, Filter>::finished_over),
          meshtf::einsum_plan<L, windows, result, Filter>::finished_over,
          meshtf::einsum_plan<L, Filter, result, windows>::finished_over};
}

template<class X, class Filter, class... Channels>
void check_convolutions_along_one(counter& count) {
  for_each_layout<meshtf::without<meshtf::united<X, Filter>, shape<g>>>([&]<class Given>(setting const&) {
    using L    = with_windows_along_b<Given>;
    using plan = meshtf::conv_plan<L, X, Filter, meshtf::detail::window_list<along_b>, shape<Channels...>>;
    check_convolutions(count, setting_under<L>(),
                       convolution_of<plan, L, X, Filter, seen_along<L, X, b, i>, dim_seen<L, b, i>, e, g>(
                           letters_along_b<L, X>()));
  });
}
template<class X, class Filter, class... Channels>
void check_convolutions_along_two(counter& count) {
  for_each_layout<meshtf::without<meshtf::united<X, Filter>, shape<g, h>>>([&]<class Given>(setting const&) {
    using L = with_windows_along_both<Given>;
    using plan =
        meshtf::conv_plan<L, X, Filter, meshtf::detail::window_list<along_b, along_c>, shape<Channels...>>;
    using half = seen_along<L, X, b, i>;
    check_convolutions(count, setting_under<L>(),
                       convolution_of<plan, L, X, Filter, seen_along<L, half, c, j>, dim_seen<L, b, i>,
                                      dim_seen<L, c, j>, e, f, g, h>(letters_along_both<L, X, half>()));
  });
}

// rule convolutions: conv_plan.hpp convolution.hpp convolution_steps.hpp
// checks: z, dx, which is what conv_transpose gives, and the gradient of the filter; channels that are mixed
// along one dimension, and each by itself along two; four rules of windows of 1 to 3 elements sizes: 1 and 5;
// 2 and 5 along two dimensions operations: window/conv.hpp window/conv_transpose.hpp
TEST_CASE("convolutions are their definition under every placement", "[verified]") {
  counter count{"convolutions"};
  check_convolutions_along_one<shape<a, b, c>, shape<g, c, d>, c, d>(count);
  check_convolutions_along_two<shape<b, c, d>, shape<d, g, h>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
