// Layout search: the cheapest layouts of a recorded step, found by pricing all of them.
#pragma once

#include <algorithm>
#include <limits>
#include <tuple>

#include <meshtf/core/named_mesh.hpp>
#include <meshtf/core/text.hpp>
#include <meshtf/search/alike_layouts.hpp>
#include <meshtf/search/layout_peak.hpp>
#include <meshtf/search/record_step.hpp>
#include <meshtf/search/recorder.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

// Not a concept: g++ 12 takes it for satisfied where it first meets it within a template.
template<class T, class = void>
struct is_layout : std::false_type {};
template<class T>
struct is_layout<T, std::void_t<typename T::mesh_type, typename T::rules_verdict>> : std::true_type {};

}  // namespace detail

/// Which layouts a search looks at. `candidates<batch, heads, hidden>`: each of these dimensions whole or
/// split over any axes of the mesh, in all combinations. `candidates<batch, padded<vocab>>`: so too, but
/// vocab may be cut into parts that do not divide it. `candidates<data_parallel, mixed>`: these layouts. The
/// order of the axes that split one dimension changes no price, so they are in the mesh's order.
template<class... What>
struct candidates {
  static constexpr bool are_layouts = sizeof...(What) > 0 && (detail::is_layout<What>::value && ...);
};

/// The objective of a search: the minimal modelled time among the layouts that need at most `memory` bytes at
/// the peak of the step.
struct min_time {
  machine_model machine{};
  extent memory = std::numeric_limits<extent>::max();
};

/// The minimal time, whatever memory it takes.
inline constexpr min_time min_time_unbounded{};

/// The former names of `min_time` and `min_time_unbounded`.
using least_time [[deprecated("use min_time")]] = min_time;
[[deprecated("use min_time_unbounded")]] inline constexpr min_time least_time_unbounded{};

/// A layout in a ranking.
struct ranked_layout {
  // the axes that split each dimension that the record leaves open, as an `axis_set`
  std::array<std::uint8_t, max_axes> over{};
  int number     = 0;  // in a list of layouts: its position there
  double seconds = 0;  // modelled, of one step
  extent peak    = 0;  // bytes
};

namespace detail {

/// Layouts of one price: `first`, or number `number` of a list, and those that differ from it only in the
/// names of alike axes.
struct found_layouts {
  packed_layout first = 0;
  extent members      = 1;
  int number          = 0;
  double seconds      = 0;
  extent peak         = 0;
};

}  // namespace detail

/// The layouts of a search, best first. `Open` are the dimensions that the record leaves open.
template<Mesh M, class Open, std::size_t Max>
class ranking;

template<Mesh M, Dimension... D, std::size_t Max>
class ranking<M, shape<D...>, Max> {
public:
  using mesh_type      = M;
  using undecided_dims = shape<D...>;

  constexpr std::span<ranked_layout const> layouts() const { return {layouts_.data(), count_}; }
  constexpr ranked_layout const& operator[](std::size_t i) const { return layouts_[i]; }
  constexpr std::size_t size() const { return count_; }
  /// How many layouts were looked at, how many were illegal (some operation can't be placed, or parts would
  /// not divide a dimension), and how many need too much memory and are faster than the last in the ranking.
  constexpr extent looked_at() const { return looked_at_; }
  constexpr extent illegal() const { return illegal_; }
  constexpr extent too_large() const { return too_large_; }

  /// The layout as numbers, for `price`.
  constexpr layout_numbers numbers(std::size_t i) const {
    return detail::numbers_from<M>(detail::packed(layouts_[i].over),
                                   std::array<extent, sizeof...(D)>{D::size...});
  }

  /// "batch: rows, hidden: cols, vocab: rows (padded)".
  constexpr fixed_text<255> text(std::size_t i) const {
    constexpr std::array<std::string_view, sizeof...(D)> dims{name_of<D>()...};
    constexpr auto const& axis_names = detail::axis_names<typename M::all_axes>;
    layout_numbers const l           = numbers(i);
    fixed_text<255> text;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (layouts_[i].over[d] == 0) continue;
      if (!text.empty()) text += ", ";
      text += dims[d];
      text += ':';
      for (std::size_t a = 0; a < axis_names.size(); ++a)
        if (layouts_[i].over[d] >> a & 1) {
          text += ' ';
          text += axis_names[a];
        }
      if (l.is_uneven(static_cast<int>(d))) text += " (padded)";
    }
    if (text.empty()) text += "nothing is split";
    return text;
  }

  // For the search.
  constexpr void note(std::span<detail::found_layouts const> sorted, extent looked_at, extent illegal,
                      extent too_large) {
    count_ = std::min(Max, sorted.size());
    for (std::size_t i = 0; i < count_; ++i) {
      ranked_layout& r = layouts_[i];
      r                = {.number = sorted[i].number, .seconds = sorted[i].seconds, .peak = sorted[i].peak};
      for (std::size_t d = 0; d < sizeof...(D); ++d)
        r.over[d] = static_cast<std::uint8_t>(detail::over_in(sorted[i].first, static_cast<int>(d)));
    }
    looked_at_ = looked_at;
    illegal_   = illegal;
    too_large_ = too_large;
  }

private:
  std::array<ranked_layout, Max> layouts_{};
  std::size_t count_ = 0;
  extent looked_at_  = 0;
  extent illegal_    = 0;
  extent too_large_  = 0;
};

namespace detail {

/// What a search may do with a dimension that `candidates` names.
template<class D>
struct candidate {
  using dimension            = D;
  static constexpr bool pads = false;
};
template<class D>
struct candidate<meshtf::padded<D>> {
  using dimension            = D;
  static constexpr bool pads = true;
};

/// A search over all layouts that split some dimensions.
template<class Open, class C, bool AreLayouts = C::are_layouts>
struct search_over;

template<class... D, class... Wanted>
struct search_over<shape<D...>, candidates<Wanted...>, false> {
  using objection = first_objection<std::conditional_t<
      shape<D...>::template has<typename candidate<Wanted>::dimension>, legal,
      dim_is_not_undecided_in_record<typename candidate<Wanted>::dimension, shape<D...>>>...>;

  static constexpr dim_set searched =
      ((dim_set{1} << position_of<typename candidate<Wanted>::dimension, D...>()) | ... | dim_set{0});
  static constexpr dim_set pads =
      ((dim_set{candidate<Wanted>::pads} << position_of<typename candidate<Wanted>::dimension, D...>()) |
       ... | dim_set{0});

  template<Mesh M>
  // more can't be priced
    requires(static_cast<int>(sizeof...(Wanted)) * std::popcount(joining_axes<M>) < 31)
  static constexpr extent count =
      extent{1} << (static_cast<int>(sizeof...(Wanted)) * std::popcount(joining_axes<M>));

  /// f(layout, the same packed, how many layouts it stands for, its number in a list) for layouts that
  /// together stand for all that can be placed.
  template<Mesh M, class Record, class F>
  static constexpr void for_each(Record const& record, F const& f) {
    alike_layouts<M, Record>{record, searched, pads}.for_each(
        [&f](layout_numbers const& l, packed_layout p, extent members) { f(l, p, members, 0); });
  }
  /// f(packed layout) for all layouts that `p` stands for.
  template<Mesh M, class Record, class F>
  static constexpr void for_each_like(Record const& record, packed_layout p, F const& f) {
    alike_layouts<M, Record>{record, searched, pads}.for_each_like(p, f);
  }
};

/// A search in a list of layouts.
template<class... D, class... L>
struct search_over<shape<D...>, candidates<L...>, true> {
  using objection = first_objection<record_verdict<step_record<D...>, L>...>;

  static constexpr dim_set searched = [] {
    dim_set set = 0;
    for (layout_numbers const& l : {numbers_under<actual<L>, shape<D...>>::value...})
      for (std::size_t d = 0; d < max_axes; ++d)
        if (l.over[d] != 0) set |= dim_set{1} << d;
    return set;
  }();

  template<Mesh>
  static constexpr extent count = extent{sizeof...(L)};

  template<Mesh M, class Record, class F>
  static constexpr void for_each(Record const& record, F const& f) {
    static_assert((std::same_as<typename L::mesh_type, M> && ...),
                  "meshtf: these layouts are for another mesh");
    int number = 0;
    for (layout_numbers l : {numbers_under<actual<L>, shape<D...>>::value...}) {
      record.complete(l);
      if (can_be_placed(record, l)) f(l, packed(l.over), 1, number);
      ++number;
    }
  }
  template<Mesh, class Record, class F>
  static constexpr void for_each_like(Record const&, packed_layout p, F const& f) {
    f(p);
  }
};

/// The positions of `found`, fastest first. Written by hand, since constant evaluation pays for each call.
constexpr void sort_by_seconds(found_layouts const* found, int n, int* order) {
  int* const buffer = new int[static_cast<std::size_t>(n) + 1];
  int* from         = order;
  int* to           = buffer;
  for (int i = 0; i < n; ++i) from[i] = i;
  for (int width = 1; width < n; width *= 2) {
    for (int low = 0; low < n; low += 2 * width) {
      int const middle = low + width < n ? low + width : n;
      int const high   = low + 2 * width < n ? low + 2 * width : n;
      for (int i = low, j = middle, k = low; k < high; ++k) {
        bool const first = j == high || (i < middle && !(found[from[j]].seconds < found[from[i]].seconds));
        to[k]            = first ? from[i++] : from[j++];
      }
    }
    std::swap(from, to);
  }
  for (int i = 0; from != order && i < n; ++i) order[i] = from[i];
  delete[] buffer;
}

}  // namespace detail

/// Ranks by modelled time all candidates for mesh `M` that fit into memory and under which every operation of
/// the recorded step can be placed. Of equals, the one that needs less memory comes first. The search is
/// exact: every layout's time and peak are those of its dry run. The ranking holds the best `Max`.
///
///     constexpr auto step = meshtf::record<training, batch, heads, hidden, vocab>();
///     using candidates    = meshtf::candidates<batch, heads, hidden, vocab>;
///     constexpr auto best = meshtf::rank_layouts<grid, candidates>(step, meshtf::min_time{});
///
/// It works in the compiler and at run time. A large search in the compiler needs -fconstexpr-ops-limit (g++)
/// or -fconstexpr-steps (clang): docs/layout_search.md.
/// Source of the idea: Jia, Zaharia, Aiken, Beyond Data and Model Parallelism for Deep Neural Networks
/// (2018); there is no sampling here.
template<Mesh M, class Candidates, std::size_t Max = 256, Dimension... D>
constexpr ranking<M, shape<D...>, Max> rank_layouts(step_record<D...> const& record,
                                                    min_time const& objective = {}) {
  using search = detail::search_over<shape<D...>, Candidates>;
  ranking<M, shape<D...>, Max> result;
  static_assert(accepted<typename search::objection>,
                "meshtf: this record can't price these layouts: see accepted");
  if constexpr (accepted<typename search::objection>) {
    detail::growing<detail::found_layouts> found;
    detail::growing<detail::found_layouts> kept;
    extent placed       = 0;
    extent too_large    = 0;
    dim_set const split = search::searched | record.followers();
    {
      detail::layout_seconds<M, step_record<D...>> seconds_of(record, split, objective.machine);
      search::template for_each<M>(
          record, [&](layout_numbers const& l, detail::packed_layout p, extent members, int number) {
            placed += members;
            found.push_back({p, members, number, seconds_of(l)});
          });
    }
    {
      detail::layout_peak<M, step_record<D...>> peak_of(record, split);
      auto* const order = new int[static_cast<std::size_t>(found.size()) + 1];
      detail::sort_by_seconds(found.data(), found.size(), order);
      // the peak is computed from the fastest on, until the ranking is full
      for (int i = 0; i < found.size(); ++i) {
        detail::found_layouts f = found[order[i]];
        if (kept.size() >= int{Max} && f.seconds != kept[kept.size() - 1].seconds) break;
        layout_numbers l = detail::numbers_from<M>(f.first, record.sizes);
        record.complete(l);
        f.peak = peak_of(l);
        if (f.peak > objective.memory) too_large += f.members;
        else
          search::template for_each_like<M>(record, f.first, [&](detail::packed_layout p) {
            f.first = p;
            kept.push_back(f);
          });
      }
      delete[] order;
    }
    std::sort(kept.data(), kept.data() + kept.size(),
              [](detail::found_layouts const& a, detail::found_layouts const& b) {
                if (a.seconds != b.seconds) return a.seconds < b.seconds;
                if (a.peak != b.peak) return a.peak < b.peak;
                return a.number != b.number ? a.number < b.number : a.first < b.first;
              });
    result.note({kept.data(), static_cast<std::size_t>(kept.size())}, search::template count<M>,
                search::template count<M> - placed, too_large);
  }
  return result;
}

namespace detail {

template<class... R>
struct found_rules {
  template<Mesh M>
  using layout_on = layout<M, R...>;
};
template<class... A, class... B>
found_rules<A..., B...> operator+(found_rules<A...>, found_rules<B...>);

template<class... A>
struct axes_list {
  template<class D>
  using ruled = std::conditional_t<D::size % axes<A...>::size == 0, split<D, A...>, meshtf::padded<D, A...>>;
  template<class D>
  using rule = std::conditional_t<sizeof...(A) == 0, found_rules<>, found_rules<ruled<D>>>;
};
template<class... A, class... B>
axes_list<A..., B...> operator+(axes_list<A...>, axes_list<B...>);

/// The rule that splits `D` over a set of axes, or pads it if they do not divide it; none if the set is
/// empty.
template<class D, axis_set Set, class Axes>
struct rule_of;
template<class D, axis_set Set, class... A>
struct rule_of<D, Set, axes<A...>>
    : std::type_identity<typename decltype((
          axes_list<>{} + ... +
          std::conditional_t<(Set >> position_of<A, A...>() & 1) != 0, axes_list<A>,
                             axes_list<>>{}))::template rule<D>> {};

/// The layout of mesh `M` that splits the i-th dimension of `Open` over the set `Over[i]` of axes.
template<class M, class Open, std::array<std::uint8_t, max_axes> Over,
         class = std::make_index_sequence<std::size_t{Open::rank}>>
struct layout_from;
template<class M, class... D, std::array<std::uint8_t, max_axes> Over, std::size_t... I>
struct layout_from<M, shape<D...>, Over, std::index_sequence<I...>> {
  using type = typename decltype((
      found_rules<>{} + ... +
      typename rule_of<D, axis_set{Over[I]}, typename M::all_axes>::type{}))::template layout_on<M>;
};

template<class M, class Open, ranked_layout const& Found, class Candidates, bool = Candidates::are_layouts>
struct found_layout : layout_from<M, Open, Found.over> {};
template<class M, class Open, ranked_layout const& Found, class... L>
struct found_layout<M, Open, Found, candidates<L...>, true>
    : std::tuple_element<static_cast<std::size_t>(Found.number), std::tuple<L...>> {};

template<auto const& Record, Mesh M, class Candidates, auto const& Objective>
struct best_of {
  static constexpr ranked_layout found = [] {
    auto const first = rank_layouts<M, Candidates, 1>(Record, Objective);
    if (first.size() == 0)
      throw "meshtf: no candidate is legal and fits into memory: name more candidates, or more memory";
    return first[0];
  }();
  using type = typename found_layout<M, typename std::remove_cvref_t<decltype(Record)>::undecided_dims, found,
                                     Candidates>::type;
};

}  // namespace detail

/// The first of `rank_layouts` as a type: `layout<M, split<batch, rows>, split<hidden, cols>>`, or the layout
/// of the list. `Record` and `Objective` are constexpr objects of static storage.
template<auto const& Record, Mesh M, class Candidates, auto const& Objective = min_time_unbounded>
using best_layout = typename detail::best_of<Record, M, Candidates, Objective>::type;

/// The layout at position `I` of a ranking as a type. The ranking is a constexpr object of static storage.
template<auto const& Ranking, std::size_t I>
using layout_at =
    typename detail::layout_from<typename std::remove_cvref_t<decltype(Ranking)>::mesh_type,
                                 typename std::remove_cvref_t<decltype(Ranking)>::undecided_dims,
                                 Ranking[I].over>::type;

}  // namespace v0
}  // namespace meshtf
