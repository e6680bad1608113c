// Resharding: no sequence of moves is cheaper than the plan. Every pair of placements on small meshes,
// against a search that knows nothing of the plan's.
#include "../../catch.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "simulated.hpp"

namespace {

using namespace simulated;

// Where axes stand: the list of each dimension, and the axes unreduced.
struct place {
  std::vector<std::vector<int>> lists;
  std::set<int> unreduced;
  friend auto operator<=>(place const&, place const&) = default;
};

// Every place that there is on this mesh, for dimensions of these sizes.
std::vector<place> all_places(vec const& mesh, vec const& sizes) {
  std::set<place> found{{std::vector<std::vector<int>>(sizes.size()), {}}};
  for (bool grew = true; grew;) {
    grew = false;
    for (place const& p : std::set<place>(found))
      for (int a = 0; a < static_cast<int>(mesh.size()); ++a) {
        bool used = p.unreduced.count(a) > 0;
        for (auto const& l : p.lists) used = used || std::count(l.begin(), l.end(), a) > 0;
        if (used || mesh[at(a)] == 1) continue;
        place q = p;
        q.unreduced.insert(a);
        grew = found.insert(q).second || grew;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
          extent parts = mesh[at(a)];
          for (int b : p.lists[d]) parts *= mesh[at(b)];
          if (sizes[d] % parts != 0) continue;
          q = p;
          q.lists[d].push_back(a);
          grew = found.insert(q).second || grew;
        }
      }
  }
  return {found.begin(), found.end()};
}

struct rules {
  vec mesh;
  vec sizes;

  extent parts(place const& p) const {
    extent n = 1;
    for (auto const& l : p.lists)
      for (int a : l) n *= mesh[at(a)];
    return n;
  }
  extent parts(std::vector<int> const& l) const {
    extent n = 1;
    for (int a : l) n *= mesh[at(a)];
    return n;
  }
  extent shard(place const& p) const { return product(sizes) / parts(p); }

  static bool begins(std::vector<int> const& longer, std::vector<int> const& l) {
    return longer.size() >= l.size() && std::equal(l.begin(), l.end(), longer.begin());
  }
  static std::set<int> used(place const& p) {
    std::set<int> s;
    for (auto const& l : p.lists) s.insert(l.begin(), l.end());
    return s;
  }

  // The one move that leads from p to q, how many processes it joins, and the bytes of elements of `wide`
  // bytes that it sends; false if there is none.
  bool move(place const& p, place const& q, transfer_kind& what, extent& bytes, extent& n,
            extent wide) const {
    if (p == q) return false;
    bool grows          = true;
    bool shrinks        = true;
    bool same           = true;
    bool gives_or_takes = true;
    bool as_many        = true;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      bool const more = begins(q.lists[d], p.lists[d]);
      bool const less = begins(p.lists[d], q.lists[d]);
      grows           = grows && more;
      shrinks         = shrinks && less;
      same            = same && more && less;
      gives_or_takes  = gives_or_takes && (more || less);
      as_many         = as_many && parts(p.lists[d]) == parts(q.lists[d]);
    }
    extent const b = shard(p) * wide;
    if (p.unreduced == q.unreduced) {
      n = 1;
      if (grows) return what = transfer_kind::slice, bytes = 0, true;
      if (shrinks)
        return what = transfer_kind::all_gather, n = parts(p) / parts(q), bytes = b * (n - 1), true;
      if (gives_or_takes && used(p) == used(q)) {  // n: along the axes that change their dimension
        for (std::size_t d = 0; d < sizes.size(); ++d)
          if (q.lists[d].size() > p.lists[d].size()) n *= parts(q.lists[d]) / parts(p.lists[d]);
        return what = transfer_kind::all_to_all, bytes = b * (n - 1) / n, true;
      }
      if (as_many) return what = transfer_kind::permute, bytes = b, true;
      return false;
    }
    if (!std::includes(p.unreduced.begin(), p.unreduced.end(), q.unreduced.begin(), q.unreduced.end()))
      return false;
    std::set<int> summed;
    std::set<int> came = used(q);
    std::set_difference(p.unreduced.begin(), p.unreduced.end(), q.unreduced.begin(), q.unreduced.end(),
                        std::inserter(summed, summed.end()));
    for (int a : used(p)) came.erase(a);
    n = 1;
    for (int a : summed) n *= mesh[at(a)];
    if (same) return what = transfer_kind::all_reduce, bytes = 2 * b * (n - 1) / n, true;
    if (grows && came == summed) return what = transfer_kind::reduce_scatter, bytes = b * (n - 1) / n, true;
    return false;
  }

  // bytes, calls, messages, elements held at once, moves
  using price = std::tuple<extent, int, extent, extent, int>;

  static price after(price const& p, transfer_kind what, extent bytes, extent along, extent source,
                     extent held, extent result) {
    auto const [sent, calls, messages, peak, moves] = p;
    extent const lives =
        source + (moves == 0 ? 0 : held) + (what == transfer_kind::all_reduce && moves > 0 ? 0 : result);
    extent waits = along - 1;
    if (what == transfer_kind::slice) waits = 0;
    if (what == transfer_kind::permute) waits = 1;
    if (what == transfer_kind::all_reduce) waits = 2 * (along - 1);
    return {sent + bytes, calls + (what != transfer_kind::slice), messages + waits, std::max(peak, lives),
            moves + 1};
  }

  // Bellman and Ford: prices from one place to all, until none falls any more.
  std::vector<price> prices(std::vector<place> const& places, std::size_t from, extent wide) const {
    price const never{std::numeric_limits<extent>::max(), 0, 0, 0, 0};
    std::vector<price> best(places.size(), never);
    best[from] = {};
    for (bool fell = true; fell;) {
      fell = false;
      for (std::size_t p = 0; p < places.size(); ++p)
        for (std::size_t q = 0; q < places.size() && best[p] != never; ++q) {
          transfer_kind what{};
          extent bytes = 0;
          extent along = 1;
          if (!move(places[p], places[q], what, bytes, along, wide)) continue;
          price const there =
              after(best[p], what, bytes, along, shard(places[from]), shard(places[p]), shard(places[q]));
          if (there < best[q]) {
            best[q] = there;
            fell    = true;
          }
        }
    }
    return best;
  }

  placements placed_as(place const& p) const {
    placements dims;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      placed one{.size = sizes[d], .parts = parts(p.lists[d])};
      for (int a : p.lists[d]) one.over.push_back(a);
      dims.push_back(one);
    }
    return dims;
  }

  axis_set unreduced_at(place const& p) const {
    axis_set set = 0;
    for (int a : p.unreduced) set |= axis_set{1} << a;
    return set;
  }

  // What the plan costs, told by its moves.
  static price price_of(reshard_steps const& steps, extent wide) {
    price p{};
    for (reshard_move const& m : steps)
      p = after(p, m.kind, sent_by_one(m, wide), m.processes, steps.shard, m.send, m.result);
    return p;
  }
};

// Each pair of places: the plan is the cheapest path and brings every element to its place. Every `sample`-th
// start only.
int all_pairs(vec const& mesh, vec const& sizes, std::size_t sample = 1) {
  rules const r{mesh, sizes};
  constexpr extent wide           = 16;  // bytes of an element: no price is rounded
  std::vector<place> const places = all_places(mesh, sizes);
  int pairs                       = 0;
  for (std::size_t from = 0; from < places.size(); from += sample) {
    auto const best = r.prices(places, from, wide);
    for (std::size_t to = 0; to < places.size(); ++to) {
      if (!places[to].unreduced.empty()) continue;
      placements const here     = r.placed_as(places[from]);
      placements const there    = r.placed_as(places[to]);
      axis_set const unreduced  = r.unreduced_at(places[from]);
      reshard_steps const steps = plan_reshard(here, there, unreduced, mesh);
      INFO("from " << Catch::Detail::stringify(places[from].lists) << " unreduced over " << unreduced
                   << " to " << Catch::Detail::stringify(places[to].lists));
      REQUIRE(steps.fault.reason == reshard_fault::none);
      auto const ours = rules::price_of(steps, wide);
      CHECK(std::get<0>(ours) == std::get<0>(best[to]));
      CHECK(std::get<1>(ours) == std::get<1>(best[to]));
      CHECK(std::get<2>(ours) == std::get<2>(best[to]));
      CHECK(std::get<3>(ours) == std::get<3>(best[to]));
      CHECK(std::get<4>(ours) == std::get<4>(best[to]));
      REQUIRE(right(here, there, unreduced, mesh, steps));
      ++pairs;
    }
  }
  return pairs;
}

}  // namespace

TEST_CASE("no way between two placements is cheaper than the plan, on 2x2 and 2x4") {
  CHECK(all_pairs({2, 2}, {8, 8}) == 18 * 11);
  CHECK(all_pairs({2, 4}, {8, 8}) == 18 * 11);
  CHECK(all_pairs({2, 2}, {8, 8, 8}) == 28 * 19);
  CHECK(all_pairs({2, 4}, {8, 8, 8}) == 28 * 19);
}

TEST_CASE("nor where sizes leave fewer ways, or on meshes of other sizes") {
  all_pairs({2, 4}, {4, 8, 2});
  all_pairs({3, 2}, {6, 12});
  all_pairs({2, 1, 2}, {4, 4});
  all_pairs({2, 2, 2}, {8, 8}, 7);
}
