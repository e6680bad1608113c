// The search for a plan: each layout with the least of the monotone coordinates that meets a budget, from
// records that are made when they are asked for.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <meshtf/search/plan_space.hpp>
#include <meshtf/search/record_step.hpp>
#include <meshtf/search/recorder.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A position among the values of each coordinate.
using plan_position = std::array<int, max_coordinates>;

/// What a search knows of one position: the record of the program that is made with its values, and what
/// prices it.
template<Mesh M, class Record>
struct plan_prices {
  Record record;
  dim_set searched;
  // by the number of the layout; those that are not known yet are negative
  growing<double> seconds{};
  growing<extent> peaks{};
  // where the monotone coordinates are the first: all layouts, and their numbers, fastest first
  growing<found_layouts> layouts{};
  growing<int> order{};

  constexpr plan_prices(Record const& r, dim_set base, machine_model const& m)
      : record(r), searched(with_followers(r, base)), machine(m) {}
  plan_prices(plan_prices const&)    = delete;
  void operator=(plan_prices const&) = delete;
  constexpr ~plan_prices() {
    delete all_seconds;
    delete all_peaks;
  }

  // of most positions a search asks for one of the two only
  constexpr double seconds_of(layout_numbers const& l) {
    if (all_seconds == nullptr)
      all_seconds = new layout_seconds<M, Record>(record, searched | record.followers(), machine);
    return (*all_seconds)(l);
  }
  constexpr extent peak_of(layout_numbers const& l) {
    if (all_peaks == nullptr) all_peaks = new layout_peak<M, Record>(record, searched | record.followers());
    return (*all_peaks)(l);
  }

  /// Finds all layouts, whose dimensions in `pads` may be cut into unequal parts.
  constexpr void find_layouts(dim_set pads) {
    if (layouts.size() > 0) return;
    alike_layouts<M, Record>{record, searched, pads}.for_each(
        [this](layout_numbers const& l, packed_layout p, extent members) {
          layouts.push_back({p, members, 0, seconds_of(l)});
        });
    if (layouts.size() > 0) sort_by_seconds(layouts.data(), layouts.size(), order.more(layouts.size()));
  }
  constexpr void make_room(int n) {
    for (int i = peaks.size(); i < n; ++i) {
      peaks.push_back(-1);
      seconds.push_back(-1);
    }
  }
  constexpr layout_numbers numbers(packed_layout p) const {
    layout_numbers l = numbers_from<M>(p, Record::sizes);
    record.complete(l);
    return l;
  }

private:
  machine_model const& machine;
  layout_seconds<M, Record>* all_seconds = nullptr;
  layout_peak<M, Record>* all_peaks      = nullptr;

  /// The dimensions that are searched, and those that the program splits as it splits these.
  static constexpr dim_set with_followers(Record const& r, dim_set base) {
    dim_set all = base;
    for (int d = 0; d < Record::dims; ++d)
      if ((r.alike[d] & base) != 0) all |= dim_set{1} << d;
    return all;
  }
};

/// The dimensions of a record for a space.
template<class Candidates, class... C>
struct plan_dims;
template<class... Wanted, class... C>
struct plan_dims<candidates<Wanted...>, C...>
    : std::type_identity<decltype((shape<typename candidate<Wanted>::dimension...>{} + ... +
                                   typename C::dims{}))> {
  static constexpr dim_set searched = (dim_set{1} << sizeof...(Wanted)) - 1;
  static constexpr dim_set pads     = [] {
    dim_set set = 0;
    int d       = 0;
    ((set |= dim_set{candidate<Wanted>::pads} << d++), ...);
    return set;
  }();
};

/// A program as a type, since g++ 12 takes no template with a concept as the argument of a class: functions
/// that record it, and that price it under a layout.
template<template<Layout> class Program>
inline constexpr auto records_program = []<class... D, class... A>(shape<D...>, A... numbers) consteval {
  return detail::record_of<Program, D...>(true, numbers...);
};
template<template<Layout> class Program>
inline constexpr auto prices_program =
    []<class L, class... A>(std::type_identity<L>, A... numbers) consteval {
      return dry_run<Program, L>(numbers...);
    };
template<class Records, class Prices>
struct program_of {
  using records = Records;
  using prices  = Prices;
};

template<class Program, Mesh M, class Space, class Open>
class plan_search;

/// All of a search is evaluated by the compiler: a record exists only there.
template<class Program, Mesh M, class Candidates, class... C, Dimension... D>
class plan_search<Program, M, plan_space<Candidates, C...>, shape<D...>> {
  static_assert(sizeof...(C) <= max_coordinates,
                "meshtf: a plan has at most 4 coordinates besides its layout");
  static_assert(sizeof...(D) <= max_axes,
                "meshtf: a space of plans has at most 8 dimensions, those of micro-batches included");

  using record_type = step_record<D...>;
  using prices      = plan_prices<M, record_type>;
  using of_dims     = plan_dims<Candidates, C...>;

  static constexpr std::size_t coordinates = sizeof...(C);
  static constexpr std::array<int, coordinates + 1> counts{static_cast<int>(C::values.size())..., 1};
  static constexpr int positions = (static_cast<int>(C::values.size()) * ... * 1);
  /// The last monotone coordinate, and the first one if it is another; else the one past the last.
  static constexpr std::size_t inner = [] {
    std::size_t last = coordinates;
    bool const yes[] = {C::is_monotone..., true};
    for (std::size_t i = 0; i < coordinates; ++i)
      if (yes[i]) last = i;
    return last;
  }();
  static constexpr std::size_t outer = [] {
    std::size_t first = 0;
    bool const yes[]  = {C::is_monotone..., true};
    while (!yes[first]) ++first;
    return first == inner ? coordinates : first;
  }();
  static_assert(((C::is_monotone ? 1 : 0) + ... + 0) <= 2,
                "meshtf: at most two coordinates of a space of plans are monotone");
  static constexpr int last_inner = counts[inner] - 1;
  static constexpr int last_outer = counts[outer] - 1;

public:
  consteval explicit plan_search(machine_model const& machine) : machine_(machine) {
    for (auto& p : prices_) p = nullptr;
  }
  plan_search(plan_search const&)    = delete;
  void operator=(plan_search const&) = delete;
  constexpr ~plan_search() {
    for (prices* p : prices_) delete p;
  }

  /// The `wanted` fastest plans whose peak is at most `budget` bytes; if there are none, the plan with the
  /// least peak. The first is the fastest of all. The others are one for each layout and each position of the
  /// coordinates that are not monotone, and what was met on the way. The fewer are wanted, the fewer prices
  /// the search takes.
  consteval found_plans best(extent budget, std::size_t wanted = found_plans::max_plans) {
    found_plans found{.wanted = wanted};
    plan_position at{};
    do look_along_inner_lines(at, budget, found);
    while (next(at));
    if (outer < coordinates) {
      do look_along_outer_lines(at, budget, found);
      while (next(at));
    }
    if (found.count != 0) return found;
    do look_for_nearest(at, found);
    while (next(at));
    if (found.has_nearest && found.nearest.peak <= budget) found.note(found.nearest);
    return found;
  }

private:
  /// The next position whose monotone coordinates are the first; after the last, the first again.
  static constexpr bool next(plan_position& at) {
    for (std::size_t i = 0; i < coordinates; ++i) {
      if (i == inner || i == outer) continue;
      if (++at[i] < counts[i]) return true;
      at[i] = 0;
    }
    return false;
  }
  static constexpr std::array<int, max_coordinates> values(plan_position const& at) {
    std::array<int, max_coordinates> chosen{};
    std::size_t i = 0;
    ((chosen[i] = C::values[static_cast<std::size_t>(at[i])], ++i), ...);
    return chosen;
  }

  static constexpr std::size_t number_of(plan_position const& at) {
    std::size_t number = 0;
    for (std::size_t i = 0; i < coordinates; ++i)
      number = number * static_cast<std::size_t>(counts[i]) + static_cast<std::size_t>(at[i]);
    return number;
  }
  consteval prices& priced(plan_position const& at) {
    std::size_t const number = number_of(at);
    if (prices_[number] == nullptr)
      prices_[number] = made(values(at), std::make_index_sequence<coordinates>{});
    return *prices_[number];
  }
  template<std::size_t... I>
  consteval prices* made(std::array<int, max_coordinates> const& v, std::index_sequence<I...>) {
    return new prices(typename Program::records{}(shape<D...>{}, v[I]...), of_dims::searched, machine_);
  }

  static constexpr found_plan plan_of(packed_layout p, plan_position const& at, double seconds, extent peak) {
    found_plan plan{.values = values(at), .seconds = seconds, .peak = peak};
    for (std::size_t d = 0; d < sizeof...(D); ++d)
      plan.over[d] = static_cast<std::uint8_t>(over_in(p, static_cast<int>(d)));
    return plan;
  }
  /// A layout of a list, at a position of the coordinates that are not monotone.
  struct place {
    plan_position at;
    prices* first;  // the list's
    int number;

    constexpr plan_position with(int of_outer, int of_inner) const {
      plan_position there = at;
      if (outer < coordinates) there[outer] = of_outer;
      if (inner < coordinates) there[inner] = of_inner;
      return there;
    }
    constexpr packed_layout layout() const { return first->layouts[number].first; }
    constexpr double min_seconds() const { return first->layouts[number].seconds; }
  };
  consteval prices& prices_at(place const& p, int of_outer, int of_inner) {
    prices& here = priced(p.with(of_outer, of_inner));
    here.make_room(p.first->layouts.size());
    return here;
  }
  consteval extent peak(place const& p, int of_outer, int of_inner) {
    prices& here = prices_at(p, of_outer, of_inner);
    if (here.peaks[p.number] < 0) here.peaks[p.number] = here.peak_of(here.numbers(p.layout()));
    return here.peaks[p.number];
  }
  consteval double seconds(place const& p, int of_outer, int of_inner) {
    if (of_outer == 0 && of_inner == 0) return p.min_seconds();
    prices& here = prices_at(p, of_outer, of_inner);
    if (here.seconds[p.number] < 0) here.seconds[p.number] = here.seconds_of(here.numbers(p.layout()));
    return here.seconds[p.number];
  }
  consteval found_plan plan_at(place const& p, int of_outer, int of_inner) {
    return plan_of(p.layout(), p.with(of_outer, of_inner), seconds(p, of_outer, of_inner),
                   peak(p, of_outer, of_inner));
  }
  consteval bool is_made(place const& p, int of_outer, int of_inner) const {
    return prices_[number_of(p.with(of_outer, of_inner))] != nullptr;
  }

  // g++ 12 takes no lambda that calls immediate functions, so these are loops
  consteval prices& listed(plan_position const& at) {
    prices& first = priced(at);
    first.find_layouts(of_dims::pads);
    return first;
  }

  /// Notes the plans of the layouts with the least step of the inner coordinate that meets the budget.
  consteval void look_along_inner_lines(plan_position const& at, extent budget, found_plans& found) {
    prices& first = listed(at);
    for (int i = 0; i < first.layouts.size(); ++i) {
      place const p{at, &first, first.order[i]};
      if (found.excludes(p.min_seconds())) return;
      if (peak(p, 0, 0) <= budget) found.note(plan_at(p, 0, 0));
      else look_along_inner(p, 0, budget, found);
    }
  }
  consteval void look_along_inner(place const& p, int of_outer, extent budget, found_plans& found) {
    if (last_inner > 0 && peak(p, of_outer, last_inner) <= budget)
      found.note(plan_at(p, of_outer, min_step(p, {of_outer, 0, last_inner, false}, budget)));
  }
  /// Notes plans that take steps of the outer coordinate, or of both, if they may be the fastest. Where all
  /// of neither coordinate meets the budget, no steps of both do.
  consteval void look_along_outer_lines(plan_position const& at, extent budget, found_plans& found) {
    prices& first = listed(at);
    for (int i = 0; i < first.layouts.size(); ++i) {
      place const p{at, &first, first.order[i]};
      if (!found.may_be_first(p.min_seconds())) return;
      if (peak(p, 0, 0) <= budget) continue;
      if (last_outer == 0) continue;
      // first what excludes most, then what makes another record
      bool const inner_fits = peak(p, 0, last_inner) <= budget;
      if (inner_fits && !found.may_be_first(seconds(p, 1, 0))) continue;
      bool const outer_fits = peak(p, last_outer, 0) <= budget;
      if (!outer_fits && !inner_fits) continue;
      if (!inner_fits && !found.may_be_first(seconds(p, 1, 0))) continue;
      int const step = outer_fits ? min_step(p, {0, 0, last_outer, true}, budget) : last_outer + 1;
      if (step <= last_outer) found.note(plan_at(p, step, 0));
      for (int k = 1; k < step && k <= last_outer && found.may_be_first(seconds(p, k, 0)); ++k)
        look_along_inner(p, k, budget, found);
    }
  }
  /// Notes the fastest of the plans with the least peak of these layouts.
  consteval void look_for_nearest(plan_position const& at, found_plans& found) {
    prices& first = listed(at);
    for (int i = 0; i < first.layouts.size(); ++i) {
      place const p{at, &first, first.order[i]};
      for (int k = 0; k <= last_outer; ++k) {
        extent const least = peak(p, k, last_inner);
        if (found.has_nearest && least > found.nearest.peak) continue;
        int const step = peak(p, k, 0) <= least ? 0 : min_step(p, {k, 0, last_inner, false}, least);
        found.note_nearest(plan_at(p, k, step));
      }
    }
  }

  /// Steps `first` + 1 to `last` of one coordinate, where the other is at `other`.
  struct line {
    int other;
    int first;
    int last;
    bool is_outer;

    constexpr int of_outer(int k) const { return is_outer ? k : other; }
    constexpr int of_inner(int k) const { return is_outer ? other : k; }
  };
  /// The least step whose peak is at most `bytes`, where that of the last is. Records that there are say
  /// first where it can be. In equal blocks peaks fall along a line, so the first step that is looked at is
  /// the one where this line meets the budget, and the next is the one before it.
  consteval int min_step(place const& p, line const& of, extent bytes) {
    int low  = of.first + 1;
    int high = of.last;
    for (int k = low; k < high; ++k)
      if (is_made(p, of.of_outer(k), of.of_inner(k))) {
        if (peak(p, of.of_outer(k), of.of_inner(k)) <= bytes) high = k;
        else low = k + 1;
      }
    int guess = low < high ? step_on_line(p, of, bytes) : high;
    while (low < high) {
      int const middle = low <= guess && guess < high ? guess : low + (high - low) / 2;
      if (peak(p, of.of_outer(middle), of.of_inner(middle)) <= bytes) high = middle;
      else low = middle + 1;
      guess = middle == guess ? guess - 1 : of.first;
    }
    return high;
  }
  /// The least step that would meet `bytes` if peaks fell along a line from the first to the last.
  consteval int step_on_line(place const& p, line const& of, extent bytes) {
    extent const first = peak(p, of.of_outer(of.first), of.of_inner(of.first));
    extent const last  = peak(p, of.of_outer(of.last), of.of_inner(of.last));
    if (first <= last) return of.first;
    return of.last - static_cast<int>((bytes - last) * (of.last - of.first) / (first - last));
  }

  machine_model machine_;
  std::array<prices*, std::size_t{positions}> prices_{};
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
