// Parts of a dimension, and elements that move along one, under every placement, against their definition in
// integers: slice, concat, stack, write, pad, flip, shift and roll.
#include "processes.hpp"

#include <type_traits>

#include <meshtf/plan/concat_plan.hpp>
#include <meshtf/plan/shift_plan.hpp>
#include <meshtf/plan/stack_plan.hpp>
#include <meshtf/plan/write_plan.hpp>

namespace {

using namespace verified;
using meshtf::displace_steps;
using meshtf::displacement;
using meshtf::part_steps;
using meshtf::shape;
using meshtf::write_steps;
namespace task = meshtf::task;

constexpr double beyond = 9;  // what pad and shift put where x has nothing

extent element(position const& at, int letter) { return at[static_cast<std::size_t>(letter)]; }
position moved(position at, int to, extent index) {
  at[static_cast<std::size_t>(to)] = index;
  return at;
}

constexpr int along = 1;  // b, along which parts lie and elements move
constexpr int own   = 2;  // c, a part's own dimension

/// A part of whole `b` is copied out to its own dimension, and back to its place: nothing else is touched.
void check_part(counter& count, setting const& s, rule const& r, bool stacked) {
  whole const x    = integers(s, r.array[0], 1);
  whole const part = integers(s, r.array[1], 2);
  extent const n   = stacked ? 1 : s.size(own);
  for (extent first = 0; first + n <= s.size(along); ++first) {
    whole taken = zeros(s, r.array[1]);
    whole put   = x;
    for_each_index(s, r.array[1], [&](position const& at) {
      position const there = moved(moved(at, along, first + (stacked ? 0 : element(at, own))), own, 0);
      taken(s, at)         = x(s, there);
      put(s, there)        = part(s, at);
    });
    auto const xs    = shards_of(s, x);
    auto const parts = shards_of(s, part);
    auto out         = unwritten_shards(s, r.array[1]);
    auto in          = xs;
    for_each_plan<part_steps>(s, r, [&](std::size_t p, place_in_mesh const& here, part_steps const& steps) {
      task::take_part<double>{first}.compute(steps, here, xs[p].data(), out[p].data());
      task::put_part<double>{first}.compute(steps, here, in[p].data(), parts[p].data());
    });
    count.expect(equal(s, out, taken), "part", s);
    count.expect(equal(s, in, put), "place of a part", s);
  }
}

template<class X, class Result>
void check_parts(counter& count) {
  constexpr bool stacked = X::rank != Result::rank;
  using dims             = meshtf::united<X, Result>;
  for_each_layout<dims>([&]<class L>(setting const& placed) {
    if constexpr (meshtf::split_over<L, shape<b, c>> == 0) {
      auto const none = axis_set{0};
      rule const r    = [&] {
        if constexpr (stacked) return rule_of<L, part_steps, X, b>(meshtf::arrays_of<X, Result>{}, none);
        else
          return rule_of<L, part_steps, meshtf::united<X, shape<c>>, b, c>(meshtf::arrays_of<X, Result>{},
                                                                              none);
      }();
      ++count.placements;
      for_each_size(placed, letters_of<dims>, [&](setting const& s) {
        if (stacked || s.size(own) <= s.size(along)) check_part(count, s, r, stacked);
      });
    }
  });
}

/// A part is written along `b`, which may be split; dx has zeros there, and the part gets what dz has there.
void check_write(counter& count, setting const& s, rule const& r) {
  whole const x    = integers(s, r.array[0], 1);
  whole const part = integers(s, r.array[1], 2);
  whole const dz   = integers(s, r.array[0], 3);
  for (extent first = 0; first + s.size(own) <= s.size(along); ++first) {
    whole z     = x;
    whole dx    = dz;
    whole dpart = zeros(s, r.array[1]);
    for_each_index(s, r.array[1], [&](position const& at) {
      position const there = moved(moved(at, along, first + element(at, own)), own, 0);
      z(s, there)          = part(s, at);
      dx(s, there)         = 0;
      dpart(s, at)         = dz(s, there);
    });
    auto const parts = shards_of(s, part);
    auto found       = shards_of(s, x);
    auto rest        = shards_of(s, dz);
    auto taken       = filled(s, r.array[1], 0);
    for_each_plan<write_steps>(s, r, [&](std::size_t p, place_in_mesh const& here, write_steps const& steps) {
      task::write_part<double>{first}.compute(steps, here, found[p].data(), parts[p].data());
      task::move_part_out<double>{first}.compute(steps, here, rest[p].data(), taken[p].data());
    });
    count.expect(equal(s, found, z), "value", s);
    count.expect(equal(s, rest, dx), "dx", s);
    count.expect(equal(s, joined(s, taken, r.finished_over), dpart), "gradient of the part", s);
  }
}

template<class X, class Part>
void check_writes(counter& count) {
  using dims = meshtf::united<X, Part>;
  for_each_layout<dims>([&]<class L>(setting const& placed) {
    using plan = meshtf::write_plan<L, X, b, Part>;
    if constexpr (meshtf::accepted<typename plan::verdict>) {
      rule const r = rule_of<L, write_steps, typename plan::loops, typename plan::own>(
          meshtf::arrays_of<X, Part>{}, plan::finished_over);
      ++count.placements;
      for_each_size(placed, letters_of<dims>, [&](setting const& s) {
        if (s.size(own) <= s.size(along)) check_write(count, s, r);
      });
    }
  });
}

/// z[i] = x[i + offset], or x[offset - i]; around the end, or `beyond`.
whole displaced(setting const& s, whole const& x, dim_list const& out, int from, int to,
                displacement const& way, double where_none) {
  whole z        = zeros(s, out);
  extent const n = s.size(from);
  for_each_index(s, out, [&](position const& at) {
    extent const i = element(at, to);
    extent k       = way.reversed ? way.offset - i : i + way.offset;
    if (way.wraps) k = (k % n + n) % n;
    position const there = from == to ? moved(at, from, k) : moved(moved(at, to, 0), from, k);
    z(s, at)             = k < 0 || k >= n ? where_none : x(s, there);
  });
  return z;
}

/// Elements move along a whole `b`: all offsets, both orders, around the end or not. To `c` for pad.
void check_displaced(counter& count, setting const& s, rule const& r, int to) {
  whole const x = integers(s, r.array[0], 1);
  auto const xs = shards_of(s, x);
  for (extent offset = -s.size(along) - 1; offset <= s.size(along) + 1; ++offset)
    for (bool reversed : {false, true})
      for (bool wraps : {false, true}) {
        if (wraps && to != along) continue;
        displacement const way{offset, reversed, wraps};
        auto z = unwritten_shards(s, r.array[1]);
        for_each_plan<displace_steps>(s, r, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
          task::displace<double>{way, beyond}.compute(steps, here, xs[p].data(), z[p].data());
        });
        count.expect(equal(s, z, displaced(s, x, r.array[1], along, to, way, beyond)), "displacement", s);
      }
}

template<class X, class To>
void check_displacements(counter& count) {
  using result = meshtf::replaced<X, b, shape<To>>;
  using dims   = meshtf::united<X, result>;
  for_each_layout<dims>([&]<class L>(setting const& placed) {
    if constexpr (meshtf::split_over<L, shape<b, To>> == 0) {
      rule const r =
          rule_of<L, displace_steps, meshtf::united<X, shape<To>>, b, To>(meshtf::arrays_of<X, result>{}, 0);
      ++count.placements;
      for_each_size(placed, letters_of<dims>,
                    [&](setting const& s) { check_displaced(count, s, r, letters_of<shape<To>>[0]); });
    }
  });
}

/// The rows that processes send along a split `b`, as `tensor/shifted.hpp: move_rows` asks for them.
class moved_rows {
public:
  moved_rows(setting const& s, rule const& r, bool wraps) : s_{s}, r_{r}, by_{s.dim[along]}, wraps_{wraps} {}

  std::vector<shard> operator()(std::vector<shard> const& x, extent offset) {
    auto z          = unwritten_shards(s_, r_.array[1]);
    auto const rows = meshtf::shifted_rows::plan(offset, by_.allocated_extent());
    if (rows.stay_by != 0) send(x, z, rows.stay, rows.from, rows.to, rows.stay_by);
    else if (rows.stay > 0)
      run(x, z, {.count = rows.stay, .from = rows.from, .to = rows.to, .beyond = beyond});
    send(x, z, rows.further, rows.leave, rows.arrive, rows.leave_by);
    return z;
  }

private:
  void run(std::vector<shard> const& x, std::vector<shard>& z, task::copy_rows<double> const& rows) {
    for_each_plan<displace_steps>(s_, r_, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
      rows.compute(steps, here, x[p].data(), z[p].data());
    });
  }
  void send(std::vector<shard> const& x, std::vector<shard>& z, extent n, extent leave, extent arrive,
            extent distance) {
    if (n == 0) return;
    auto const row = static_cast<extent>(allocated(s_, r_.array[0])) / by_.allocated_extent();
    std::vector<shard> leaving(x.size(), shard(static_cast<std::size_t>(n * row), unwritten));
    run(x, leaving, {.count = n, .from = leave, .to_edge = true, .beyond = beyond});
    auto const arriving = arrived(s_, leaving, by_.over, distance, wraps_, beyond);
    run(arriving, z, {.count = n, .to = arrive, .from_edge = true});
  }

  setting const& s_;
  rule const& r_;
  placed const& by_;
  bool wraps_;
};

template<class X>
void check_shifts(counter& count) {
  for_each_layout<X>([&]<class L>(setting const& placed) {
    if constexpr (meshtf::shift_plan<L, X, b>::exchanges) {
      rule const r = rule_of<L, displace_steps, X, b, b>(meshtf::arrays_of<X, X>{}, 0);
      ++count.placements;
      for_each_size(placed, letters_of<X>, [&](setting const& s) {
        whole const x  = integers(s, r.array[0], 1);
        auto const xs  = shards_of(s, x);
        extent const n = s.size(along);
        for (extent offset = -n - 1; offset <= n + 1; ++offset)
          for (bool wraps : {false, true}) {
            if (wraps && !s.dim[along].divides()) continue;  // `rolled_parts_differ`
            extent const by = wraps ? meshtf::shortest_roll(offset, n) : offset;
            whole const z   = displaced(s, x, r.array[1], along, along, {-offset, false, wraps}, beyond);
            count.expect(equal(s, moved_rows{s, r, wraps}(xs, by), z), wraps ? "roll" : "shift", s);
          }
      });
    }
  });
}

// rule parts: slice_plan.hpp concat_plan.hpp split_into_plan.hpp stack_plan.hpp write_plan.hpp
// checks: each part of a whole dimension taken out and put in, which is what slice, concat, split_into, stack
// and unstack and their gradients do; a part written into a dimension that may be split, with both gradients.
// (A part whose own dimension is split is then moved: see moves.) sizes: 1 to 5 operations: shape/concat.hpp
// shape/slice.hpp shape/split_into.hpp shape/stack.hpp shape/unstack.hpp shape/write.hpp shape/tile.hpp
TEST_CASE("parts of a dimension are their definition under every placement", "[verified]") {
  counter count{"parts"};
  check_parts<shape<a, b>, shape<a, c>>(count);
  check_parts<shape<b, a>, shape<c, a>>(count);
  check_parts<shape<a, b, d>, shape<a, d>>(count);
  check_writes<shape<a, b>, shape<a, c>>(count);
  check_writes<shape<b, a>, shape<c, a>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

// rule displacements: displace_plan.hpp shift_plan.hpp
// checks: elements that move along a whole dimension by every offset, in both orders, around the end or not,
// to a dimension of another size; the rows that processes send for every shift and roll along a split one.
// The gradients are displacements too. Not the exchange of a flip along a split dimension sizes: 1 to 5
// operations: shape/pad.hpp shape/flip.hpp shape/shift.hpp
TEST_CASE("elements that move are where their definition has them under every placement", "[verified]") {
  counter count{"displacements"};
  check_displacements<shape<a, b>, b>(count);
  check_displacements<shape<b, a>, c>(count);
  check_shifts<shape<a, b>>(count);
  check_shifts<shape<b, a>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
