// Layout search: the cheapest layouts of a recorded step, found by pricing all of them.
#pragma once

#include <algorithm>
#include <limits>
#include <tuple>

#include <meshtf/core/text.hpp>
#include <meshtf/plan/search/layout_pricer.hpp>
#include <meshtf/plan/search/recorder.hpp>

namespace meshtf::inline v0 {

namespace detail {

// Not by the concept: g++ 12 takes it for satisfied where it first meets it within a template.
template<class T, class = void>
struct is_layout : std::false_type {};
template<class T>
struct is_layout<T, std::void_t<typename T::mesh_type, typename T::rules_verdict>> : std::true_type {};

}  // namespace detail

/// Which layouts a search looks at. `candidates<batch, heads, hidden>`: each of these dimensions whole or split over any axes of the mesh, in all combinations.
/// `candidates<data_parallel, mixed>`: these layouts. The order of several axes of one dimension changes no price, so they stand in the mesh's order.
template<class... What>
struct candidates {
  static constexpr bool are_layouts = sizeof...(What) > 0 && (detail::is_layout<What>::value && ...);
};

/// The objective of a search: the least modelled time of those layouts that need at most `memory` bytes at the peak of the step.
struct least_time {
  machine_model machine{};
  extent memory = std::numeric_limits<extent>::max();
};

inline constexpr least_time least_time_unbounded{};

/// A layout in a ranking.
struct ranked_layout {
  std::array<std::uint8_t, max_axes> over{};  // the axes that split each dimension that the record leaves open, as an `axis_set`
  int number     = 0;  // of a list of layouts: its place there
  double seconds = 0;  // modelled, of one step
  extent peak    = 0;  // bytes
};

namespace detail {

template<Mesh M, std::size_t Dims>
constexpr layout_numbers numbers_from(std::array<std::uint8_t, max_axes> const& over) {
  layout_numbers n = numbers_of_mesh<M>();
  for (std::size_t d = 0; d < Dims; ++d)
    if (over[d] != 0) n.put(static_cast<int>(d), over[d]);
  return n;
}

}  // namespace detail

/// The layouts of a search, the best first. `Open` are the dimensions that the record leaves open.
template<Mesh M, class Open, std::size_t Most>
class ranking;

template<Mesh M, Dimension... D, std::size_t Most>
class ranking<M, shape<D...>, Most> {
public:
  using mesh_type      = M;
  using undecided_dims = shape<D...>;

  constexpr std::span<ranked_layout const> layouts() const { return {layouts_.data(), count_}; }
  constexpr ranked_layout const& operator[](std::size_t i) const { return layouts_[i]; }
  constexpr std::size_t size() const { return count_; }
  /// Layouts looked at; those that some operation can't place, or whose parts would not divide a dimension; those that need too much memory and are faster
  /// than the last in the ranking.
  constexpr extent looked_at() const { return looked_at_; }
  constexpr extent illegal() const { return illegal_; }
  constexpr extent too_large() const { return too_large_; }

  /// The layout as numbers, for `price`.
  constexpr layout_numbers numbers(std::size_t i) const { return detail::numbers_from<M, sizeof...(D)>(layouts_[i].over); }

  /// "batch: rows, hidden: cols".
  constexpr fixed_text<255> text(std::size_t i) const {
    constexpr std::array<std::string_view, sizeof...(D)> dims{name_of<D>()...};
    constexpr auto axis_names = []<class... A>(axes<A...>) {
      return std::array<std::string_view, sizeof...(A)>{name_of<A>()...};
    }(typename M::all_axes{});
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
    }
    if (text.empty()) text += "nothing is split";
    return text;
  }

  // What the search notes.
  constexpr void note(std::span<ranked_layout const> sorted, extent looked_at, extent illegal, extent too_large) {
    count_ = std::min(Most, sorted.size());
    for (std::size_t i = 0; i < count_; ++i) layouts_[i] = sorted[i];
    looked_at_ = looked_at;
    illegal_   = illegal;
    too_large_ = too_large;
  }

private:
  std::array<ranked_layout, Most> layouts_{};
  std::size_t count_ = 0;
  extent looked_at_ = 0, illegal_ = 0, too_large_ = 0;
};

namespace detail {

/// Can all operations of the record be placed under this layout?
template<class Record>
constexpr bool can_be_placed(Record const& record, layout_numbers const& l) {
  for (std::size_t d = 0; d < static_cast<std::size_t>(Record::dims); ++d) {
    if (l.over[d] == 0) continue;
    if ((record.whole >> d & 1) != 0 || Record::sizes[d] % l.parts[d] != 0) return false;
    if ((l.split(record.apart[d]) & l.over[d]) != 0) return false;
  }
  return true;
}

/// f(l, number) for each layout that splits the dimensions `which` over any axes, and can be placed; the others are not tried one by one. `l` has no split in them.
template<class Record, class F>
constexpr void for_each_layout(Record const& record, layout_numbers& l, axis_set which, F const& f) {
  if (which == 0) return f(l);
  int const dim            = std::countr_zero(which);
  auto const d             = static_cast<std::size_t>(dim);
  axis_set const rest      = which & (which - 1);
  axis_set const forbidden = (record.whole >> d & 1) != 0 ? l.joining : l.split(record.apart[d]);
  axis_set const free      = l.joining & ~forbidden;
  for (axis_set axes = 0;; axes = (axes - free) & free) {  // all subsets
    l.put(dim, axes);
    if (Record::sizes[d] % l.parts[d] == 0) for_each_layout(record, l, rest, f);
    if (axes == free) break;
  }
  l.put(dim, 0);
}

/// A search over all layouts that split some dimensions.
template<class Open, class C, bool AreLayouts = C::are_layouts>
struct search_over;

template<class... D, class... Wanted>
struct search_over<shape<D...>, candidates<Wanted...>, false> {
  using objection =
      first_objection<std::conditional_t<shape<D...>::template has<Wanted>, legal, dim_is_not_undecided_in_record<Wanted, shape<D...>>>...>;

  static constexpr axis_set searched = ((axis_set{1} << position_of<Wanted, D...>()) | ... | axis_set{0});

  template<Mesh M>
    requires(static_cast<int>(sizeof...(Wanted)) * std::popcount(joining_axes<M>) < 31)  // more nobody prices
  static constexpr extent count = extent{1} << (static_cast<int>(sizeof...(Wanted)) * std::popcount(joining_axes<M>));

  /// f(l, number) for each layout that can be placed.
  template<Mesh M, class Record, class F>
  static constexpr void for_each(Record const& record, F const& f) {
    layout_numbers l = numbers_of_mesh<M>();
    int number       = 0;
    for_each_layout(record, l, searched, [&](layout_numbers const& found) { f(found, number++); });
  }
};

/// A search in a list.
template<class... D, class... L>
struct search_over<shape<D...>, candidates<L...>, true> {
  using objection = first_objection<record_verdict<step_record<D...>, L>...>;

  static constexpr axis_set searched = [] {
    axis_set set = 0;
    for (layout_numbers const& l : {numbers_under<wet<L>, shape<D...>>::value...})
      for (std::size_t d = 0; d < max_axes; ++d)
        if (l.over[d] != 0) set |= axis_set{1} << d;
    return set;
  }();

  template<Mesh>
  static constexpr extent count = extent{sizeof...(L)};

  template<Mesh M, class Record, class F>
  static constexpr void for_each(Record const& record, F const& f) {
    static_assert((std::same_as<typename L::mesh_type, M> && ...), "meshtf: these layouts are for another mesh");
    int number = 0;
    for (layout_numbers const& l : {numbers_under<wet<L>, shape<D...>>::value...}) {
      if (can_be_placed(record, l)) f(l, number);
      ++number;
    }
  }
};

}  // namespace detail

/// All candidates for mesh `M` that every operation of the recorded step can be placed under and that fit into memory, by modelled time; of equals, the one that
/// needs less memory stands first. Exact: every layout's time and peak are those of its dry run. The ranking holds the best `Most`.
///
///     constexpr auto step = meshtf::record<training, batch, heads, hidden, vocab>();
///     constexpr auto best = meshtf::rank_layouts<grid, meshtf::candidates<batch, heads, hidden, vocab>>(step, meshtf::least_time{});
///
/// In the compiler and at run time. A large search in the compiler needs -fconstexpr-ops-limit (g++) or -fconstexpr-steps (clang): docs/layout_search.md.
/// Source of the idea: Jia, Zaharia, Aiken, Beyond Data and Model Parallelism for Deep Neural Networks (2018); there is no sampling here.
template<Mesh M, class Candidates, std::size_t Most = 256, Dimension... D>
constexpr ranking<M, shape<D...>, Most> rank_layouts(step_record<D...> const& record, least_time const& objective = {}) {
  using search = detail::search_over<shape<D...>, Candidates>;
  ranking<M, shape<D...>, Most> result;
  static_assert(accepted<typename search::objection>, "meshtf: this record does not tell what these layouts cost");
  if constexpr (accepted<typename search::objection>) {
    extent placed = 0, kept = 0, seen = 0;
    search::template for_each<M>(record, [&](layout_numbers const&, int) { ++placed; });
    auto* const all = new ranked_layout[static_cast<std::size_t>(placed) + 1];
    {
      detail::layout_pricer<M, step_record<D...>> figures_of(record, search::searched, objective.machine);
      extent i = 0;
      search::template for_each<M>(record, [&](layout_numbers const& l, int number) {
        layout_figures const found = figures_of.seconds(l);
        ranked_layout& r           = all[i++];
        r                          = {.number = number, .seconds = found.seconds, .peak = found.peak};
        for (std::size_t d = 0; d < sizeof...(D); ++d) r.over[d] = static_cast<std::uint8_t>(l.over[d]);
      });
      figures_of.know_scratch();
      // the peak is the dearer figure: it is looked at from the fastest on, until the ranking is full
      std::sort(all, all + placed,
                [](ranked_layout const& a, ranked_layout const& b) { return a.seconds != b.seconds ? a.seconds < b.seconds : a.number < b.number; });
      for (; seen < placed && (kept < extent{Most} || all[seen].seconds == all[kept - 1].seconds); ++seen) {
        ranked_layout r = all[seen];
        r.peak          = std::max(r.peak, figures_of.peak(detail::numbers_from<M, sizeof...(D)>(r.over)));
        if (r.peak <= objective.memory) all[kept++] = r;
      }
    }
    std::sort(all, all + kept, [](ranked_layout const& a, ranked_layout const& b) {
      if (a.seconds != b.seconds) return a.seconds < b.seconds;
      return a.peak != b.peak ? a.peak < b.peak : a.number < b.number;
    });
    result.note({all, static_cast<std::size_t>(kept)}, search::template count<M>, search::template count<M> - placed, seen - kept);
    delete[] all;
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
  using rule = std::conditional_t<sizeof...(A) == 0, found_rules<>, found_rules<split<D, A...>>>;
};
template<class... A, class... B>
axes_list<A..., B...> operator+(axes_list<A...>, axes_list<B...>);

/// The rule that splits `D` over a set of axes; none if that is empty.
template<class D, axis_set Set, class Axes>
struct rule_of;
template<class D, axis_set Set, class... A>
struct rule_of<D, Set, axes<A...>>
    : std::type_identity<typename decltype((
          axes_list<>{} + ... + std::conditional_t<(Set >> position_of<A, A...>() & 1) != 0, axes_list<A>, axes_list<>>{}))::template rule<D>> {};

/// The layout of mesh `M` that splits the i-th of the dimensions `Open` over the set `Over[i]` of axes.
template<class M, class Open, std::array<std::uint8_t, max_axes> Over, class = std::make_index_sequence<std::size_t{Open::rank}>>
struct layout_from;
template<class M, class... D, std::array<std::uint8_t, max_axes> Over, std::size_t... I>
struct layout_from<M, shape<D...>, Over, std::index_sequence<I...>> {
  using type =
      typename decltype((found_rules<>{} + ... + typename rule_of<D, axis_set{Over[I]}, typename M::all_axes>::type{}))::template layout_on<M>;
};

template<class M, class Open, ranked_layout const& Found, class Candidates, bool = Candidates::are_layouts>
struct found_layout : layout_from<M, Open, Found.over> {};
template<class M, class Open, ranked_layout const& Found, class... L>
struct found_layout<M, Open, Found, candidates<L...>, true> : std::tuple_element<static_cast<std::size_t>(Found.number), std::tuple<L...>> {};

template<auto const& Record, Mesh M, class Candidates, auto const& Objective>
struct best_of {
  static constexpr ranked_layout found = [] {
    auto const first = rank_layouts<M, Candidates, 1>(Record, Objective);
    if (first.size() == 0) throw "meshtf: none of these layouts can be placed and fits into memory";
    return first[0];
  }();
  using type = typename found_layout<M, typename std::remove_cvref_t<decltype(Record)>::undecided_dims, found, Candidates>::type;
};

}  // namespace detail

/// The first of `rank_layouts` as a type: `layout<M, split<batch, rows>, split<hidden, cols>>`, or the layout of the list. `Record` and `Objective` are constexpr
/// objects of static storage.
template<auto const& Record, Mesh M, class Candidates, auto const& Objective = least_time_unbounded>
using best_layout = typename detail::best_of<Record, M, Candidates, Objective>::type;

/// The layout at place `I` of a ranking, a constexpr object of static storage, as a type.
template<auto const& Ranking, std::size_t I>
using layout_at = typename detail::layout_from<typename std::remove_cvref_t<decltype(Ranking)>::mesh_type,
                                               typename std::remove_cvref_t<decltype(Ranking)>::undecided_dims, Ranking[I].over>::type;

}  // namespace meshtf::inline v0
