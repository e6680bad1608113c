// The search for a plan: each layout with the least of a monotone coordinate that meets a budget, from
// records that are made when they are asked for.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <meshtf/search/plan_space.hpp>
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
  layout_seconds<M, Record> seconds_of;
  layout_peak<M, Record> peak_of;
  // by the number of the layout; those that are not known yet are negative
  growing<double> seconds{};
  growing<extent> peaks{};
  // where the monotone coordinate is the first: all layouts, and their numbers, fastest first
  growing<found_layouts> layouts{};
  growing<int> order{};

  constexpr plan_prices(Record const& r, dim_set base, machine_model const& machine)
      : record(r),
        searched(with_followers(r, base)),
        seconds_of(record, searched | record.followers(), machine),
        peak_of(record, searched | record.followers()) {}

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
  return meshtf::record<Program, D...>(numbers...);
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
  /// The first monotone coordinate, or the one past the last.
  static constexpr std::size_t monotone = [] {
    std::size_t i    = 0;
    bool const yes[] = {C::is_monotone..., true};
    while (!yes[i]) ++i;
    return i;
  }();
  static constexpr int steps = counts[monotone];

public:
  consteval explicit plan_search(machine_model const& machine) : machine_(machine) {
    for (auto& p : prices_) p = nullptr;
  }
  plan_search(plan_search const&)    = delete;
  void operator=(plan_search const&) = delete;
  constexpr ~plan_search() {
    for (prices* p : prices_) delete p;
  }

  /// The fastest plans whose peak is at most `budget` bytes, one for each layout and each position of the
  /// coordinates that are not monotone.
  consteval found_plans best(extent budget) {
    found_plans found;
    plan_position at{};
    do rank(at, budget, found);
    while (next(at));
    return found;
  }

private:
  /// The next position whose monotone coordinate is the first.
  static constexpr bool next(plan_position& at) {
    for (std::size_t i = 0; i < coordinates; ++i) {
      if (i == monotone) continue;
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

  consteval prices& priced(plan_position const& at) {
    std::size_t number = 0;
    for (std::size_t i = 0; i < coordinates; ++i)
      number = number * static_cast<std::size_t>(counts[i]) + static_cast<std::size_t>(at[i]);
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
  /// The prices of a step of the monotone coordinate.
  consteval prices& stepped(plan_position at, int step, prices const& first) {
    if (coordinates > monotone) at[monotone] = step;
    prices& here = priced(at);
    here.make_room(first.layouts.size());
    return here;
  }
  consteval extent peak_at(plan_position const& at, int step, prices const& first, int number) {
    prices& here = stepped(at, step, first);
    if (here.peaks[number] < 0) here.peaks[number] = here.peak_of(here.numbers(first.layouts[number].first));
    return here.peaks[number];
  }
  consteval double seconds_at(plan_position const& at, int step, prices const& first, int number) {
    prices& here = stepped(at, step, first);
    if (here.seconds[number] < 0)
      here.seconds[number] = here.seconds_of(here.numbers(first.layouts[number].first));
    return here.seconds[number];
  }

  /// Ranks the layouts of one position, the fastest first as long as they may be among the best.
  consteval void rank(plan_position const& at, extent budget, found_plans& found) {
    prices& first = priced(at);
    first.find_layouts(of_dims::pads);
    for (int i = 0; i < first.layouts.size(); ++i) {
      int const number = first.order[i];
      if (found.excludes(first.layouts[number].seconds)) return;
      meet(at, first, number, budget, found);
    }
  }
  /// Notes the plan of this layout with the least step that meets the budget.
  consteval void meet(plan_position at, prices const& first, int number, extent budget, found_plans& found) {
    packed_layout const p = first.layouts[number].first;
    extent const peak     = peak_at(at, 0, first, number);
    found_plan plan       = plan_of(p, at, first.layouts[number].seconds, peak);
    if (peak > budget && steps > 1) {
      found.note_nearest(plan);
      extent const least = peak_at(at, steps - 1, first, number);
      // what does not fit even so is the nearest plan at most
      int const step     = least <= budget ? first_with(at, first, number, budget) : steps - 1;
      double const takes = seconds_at(at, step, first, number);
      extent const needs = peak_at(at, step, first, number);
      if (coordinates > monotone) at[monotone] = step;
      plan = plan_of(p, at, takes, needs);
    }
    found.note_nearest(plan);
    if (plan.peak <= budget) found.note(plan);
  }
  /// The least step from 1 on whose peak is at most `bytes`, where that of the last is.
  consteval int first_with(plan_position const& at, prices const& first, int number, extent bytes) {
    int low  = 1;
    int high = steps - 1;
    while (low < high) {
      int const middle = low + (high - low) / 2;
      if (peak_at(at, middle, first, number) <= bytes) high = middle;
      else low = middle + 1;
    }
    return high;
  }

  machine_model machine_;
  std::array<prices*, std::size_t{positions}> prices_{};
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
