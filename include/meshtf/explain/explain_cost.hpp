// explain: what a step costs and why, as a table, and what each rule of its layout saves and costs.
#pragma once

#include <meshtf/explain/explain_layout.hpp>
#include <meshtf/explain/explain_reason.hpp>
#include <meshtf/price/cost_difference.hpp>
#include <meshtf/price/cost_text.hpp>
#include <meshtf/price/dry_run.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Calls that one line makes for one reason.
struct call_group {
  collective_call first{};
  extent calls    = 0;
  extent elements = 0;
  extent sent     = 0;

  constexpr bool takes(collective_call const& c) const {
    return first.kind == c.kind && first.over == c.over && first.type == c.type && first.op == c.op &&
           first.why == c.why && first.site == c.site;
  }
};

struct call_groups {
  static constexpr std::size_t max_groups = 64;
  std::array<call_group, max_groups> group{};
  std::size_t count = 0;
  extent left_out   = 0;  // calls of further lines

  constexpr void add(collective_call const& c, extent times) {
    std::size_t i = 0;
    while (i < count && !group[i].takes(c)) ++i;
    if (i == max_groups) {
      left_out += times;
      return;
    }
    if (i == count) group[count++].first = c;
    group[i].calls += times;
    group[i].elements += times * c.count;
    group[i].sent += times * c.sent;
  }
};

constexpr bool adds_up(collective kind) {
  return kind == collective::all_reduce || kind == collective::reduce_scatter;
}

constexpr transfer_kind transfer_of(collective kind) {
  switch (kind) {
    case collective::reduce_scatter: return transfer_kind::reduce_scatter;
    case collective::all_gather: return transfer_kind::all_gather;
    case collective::all_to_all: return transfer_kind::all_to_all;
    case collective::permute: return transfer_kind::permute;
    default: return transfer_kind::all_reduce;
  }
}

/// The reason if an operation gave none: what the kind of the call implies. `ruled` are the dimensions that
/// the layout splits, if it is known.
template<class Text>
constexpr void append_reason_of_kind(Text& out, collective_call const& c, named_mesh const& m,
                                     named_dims const& ruled) {
  if (!adds_up(c.kind)) {
    switch (c.kind) {
      case collective::all_gather: out += "each process along "; break;
      case collective::neighbours: out += "elements cross over to the next part along "; break;
      case collective::scan: out += "each part is added to what comes before it along "; break;
      default: out += "parts change their places along ";
    }
    append_axes(out, m, c.over);
    if (c.kind == collective::all_gather) out += " has a part of what all of them need";
    return;
  }
  int split = 0;
  int said  = 0;
  for (int d = 0; d < ruled.count; ++d) split += m.joining(ruled[d].over.set() & c.over) != 0 ? 1 : 0;
  out += c.op == reduction::sum ? "sums over " : "maxima over ";
  for (int d = 0; d < ruled.count; ++d) {
    if (m.joining(ruled[d].over.set() & c.over) == 0) continue;
    ++said;
    if (said > 1) out += said == split ? " or " : ", ";
    out += ruled.name(d);
  }
  if (split > 0) out += ", split over ";
  append_axes(out, m, c.over);
  out += split > 0 ? ", are due" : " are due";
}

template<class Text>
constexpr void append_calls(Text& out, call_groups const& groups, named_mesh const& m,
                            named_dims const& ruled) {
  if (groups.count == 0) {
    out += "\n  nothing is sent\n";
    return;
  }
  std::size_t kinds = 10;
  std::size_t along = 4;
  for (std::size_t i = 0; i < groups.count; ++i) {
    kinds = std::max(kinds, to_string(groups.group[i].first.kind).size());
    short_text over;
    append_axes(over, m, groups.group[i].first.over);
    along = std::max(along, over.size());
  }
  append(out, "\n      sent  calls    elements  ");
  append_padded(out, "collective", kinds + 2);
  append_padded(out, "over", along + 2);
  out += "for what, and why\n";
  for (std::size_t i = 0; i < groups.count; ++i) {
    call_group const& g = groups.group[i];
    append_aligned_right(out, bytes_text(g.sent), 10);
    append_aligned_right(out, number_text(g.calls), 7);
    append_aligned_right(out, thousands_text(g.elements), 12);
    out += "  ";
    append_padded(out, to_string(g.first.kind), kinds + 2);
    short_text over;
    append_axes(over, m, g.first.over);
    append_padded(out, over, along + 2);
    if (g.first.site.operation[0] == '\0') out += "outside of operations";
    else out += site_text(g.first.site);
    out += ": ";
    if (g.first.why != nullptr)
      append_reason(out, *g.first.why, m, g.first.over, g.first.op, transfer_of(g.first.kind));
    else append_reason_of_kind(out, g.first, m, ruled);
    out += '\n';
  }
  if (groups.left_out > 0)
    append(out, "  and ", thousands_text(groups.left_out), " calls of further lines\n");
}

/// Bytes that a process sends in collectives whose axes include `axis`.
template<class Cost>
constexpr extent sent_along(Cost const& c, int axis) {
  extent sum = 0;
  c.for_each_collective([&](collective_call const& call, extent times) {
    if (among(call.over, axis)) sum += times * call.sent;
  });
  return sum;
}

template<class Text, class Cost>
constexpr void append_cost(Text& out, Cost const& c, named_mesh const& m, named_dims const& ruled,
                           machine_model const& machine) {
  append(out, "  computes    ", count_text(c.flops()), " flops of products, ",
         count_text(c.elementwise_flops()), " of everything else\n");
  append(out, "  touches     ", bytes_text(c.bytes_touched()), " of memory\n");
  append(out, "  holds       ", bytes_text(c.peak_bytes()), " at the peak");
  int said = 0;
  for (std::size_t h = 0; h < kinds_of_holding; ++h)
    if (held_for const purpose{static_cast<std::uint8_t>(h)}; c.at_peak()[purpose] > 0)
      append(out, said++ == 0 ? ": " : ", ", to_string(purpose), " ", bytes_text(c.at_peak()[purpose]));
  if (said == 0) append(out, ", ", bytes_text(c.parameter_bytes()), " of it parameters");
  out += '\n';
  if (c.bytes_spilled() > 0)
    append(out, "  spills      ", bytes_text(c.bytes_spilled()), " to its file and back\n");
  append(out, "  sends       ", bytes_text(c.bytes_sent()), " in ", thousands_text(c.calls()),
         c.calls() == 1 ? " call" : " calls");
  said = 0;
  for (int a = 0; a < m.count(); ++a)
    if (extent const bytes = sent_along(c, a); bytes > 0)
      append(out, said++ == 0 ? ": " : ", ", bytes_text(bytes), " along ", m.axis(a));
  out += '\n';
  modelled_time const t = c.time(machine);
  append(out, "  takes       ", seconds_text(t.total()), " by the model: products ", seconds_text(t.products),
         ", passes over memory ", seconds_text(t.passes), ", messages ", seconds_text(t.messages()));
  if (t.file > 0) append(out, ", the file ", seconds_text(t.copies + t.waited()));
  if (t.hidden > 0) append(out, "; ", seconds_text(t.overlapped()), " if early sums go on meanwhile");
  out += '\n';
  call_groups groups;
  c.for_each_collective([&](collective_call const& call, extent times) { groups.add(call, times); });
  append_calls(out, groups, m, ruled);
}

// ---- rules

template<class L, class Without, class Rules>
struct layout_without;

template<class L, class Without, class... R>
struct layout_without<L, Without, std::tuple<R...>> {
  template<class... Kept>
  static layout<typename L::mesh_type, Kept...> of(std::tuple<Kept...>);
  using type = decltype(of(
      std::tuple_cat(std::conditional_t<std::is_same_v<R, Without>, std::tuple<>, std::tuple<R>>{}...)));
};

/// `L` without the rule number `I` of those that split a dimension.
template<class L, std::size_t I>
using without_rule =
    typename layout_without<actual<L>, std::tuple_element_t<I, rule_list<L>>, every_rule<L>>::type;

/// "12.5 KiB at the peak (25 %)", for each figure that is less (`sign` 1) or more (-1) than in `without`.
template<class Text, class M>
constexpr void append_changes(Text& out, std::string_view verb, extent sign,
                              cost_difference<M> const& difference, cost<M> const& without) {
  int said        = 0;
  auto const item = [&](extent change, extent whole, auto const& words, std::string_view subject,
                        std::string_view axis = {}) {
    extent const n = -sign * change;
    if (n <= 0) return;
    if (said++ == 0) append(out, "    ", verb, " ");
    else out += ", ";
    append(out, words(n), subject, axis);
    if (sign < 0) return;
    double const percent = 100 * static_cast<double>(n) / static_cast<double>(whole);
    append(out, " (", decimal_text(percent, percent < 1 ? 1 : 0), " %)");
  };
  item(difference.peak_bytes(), without.peak_bytes(), bytes_text, " at the peak");
  item(difference.parameter_bytes(), without.parameter_bytes(), bytes_text, " of parameters");
  item(difference.optimizer_bytes(), without.optimizer_bytes(), bytes_text, " of optimizer state");
  item(difference.flops(), without.flops(), count_text, " flops");
  [&]<class... A>(axes<A...>) {
    (item(difference.template bytes_sent<A>(), without.template bytes_sent<A>(), bytes_text, " sent along ",
          name<A>),
     ...);
  }(typename M::all_axes{});
  if (said > 0) out += '\n';
}

template<class Text, class M>
constexpr void append_rule(Text& out, named_dims const& ruled, int rule, cost<M> const& with,
                           cost<M> const& without) {
  append(out, ruled[rule].pads ? "  padded<" : "  split<", ruled.name(rule));
  for (int axis : ruled[rule].over) append(out, ", ", named_mesh_of<M>.axis(axis));
  append(out, ">: ", seconds_text(with.time().total()), " a step by the model, ",
         seconds_text(without.time().total()), " without this rule\n");
  cost_difference<M> const difference = with - without;
  std::size_t const before            = out.size();
  append_changes(out, "saves", 1, difference, without);
  append_changes(out, "costs", -1, difference, without);
  if (out.size() == before) out += "    changes nothing here\n";
}

/// Whose figures the text of a step has: if processes hold unequally much, those of the one that holds the
/// most.
template<class L>
inline constexpr std::string_view whose =
    is_uneven<L, typename ruled_dims<rule_list<L>>::type> ? "the fullest process" : "one process";

template<class L>
constexpr void append_head_of_step(page& out) {
  append(out, "a step under ", name<L>, ", ", whose<L>, " of ");
  append_mesh(out, named_mesh_of<typename L::mesh_type>);
}

template<class L>
constexpr void append_head_of_rules(page& out) {
  append(out, "the rules of ", name<L>, ", for ", whose<L>, " of ");
  append_mesh(out, named_mesh_of<typename L::mesh_type>);
  if (std::tuple_size_v<rule_list<L>> == 0) out += "  there are none: every process does the whole step\n";
}

}  // namespace detail

/// A cost as a table: flops, bytes, peak, modelled time, and the collectives by the line that calls them,
/// each with its reason.
///
///     constexpr auto text = explain(dry_run<training, mixed>());
template<Mesh M, std::size_t Capacity>
constexpr page explain(cost<M, Capacity> const& c, machine_model const& machine = {}) {
  page out;
  out += "one process of ";
  detail::append_mesh(out, named_mesh_of<M>);
  detail::append_cost(out, c, named_mesh_of<M>, {}, machine);
  return out;
}

/// The same for the first step of `Program<L>`. A constant.
template<template<Layout> class Program, Layout L>
constexpr auto const& explain() {
  static_assert(!is_staged<L>,
                "meshtf: a pipeline has a cost for each stage: explain(dry_run<Program, L>().stage(k))");
  struct page_of_step {
    static constexpr void write(page& out) {
      using ruled = typename detail::ruled_dims<detail::rule_list<L>>::type;
      detail::append_head_of_step<actual<L>>(out);
      detail::append_cost(out, dry_run<Program, L>(), named_mesh_of<typename L::mesh_type>,
                          named_dims_of<L, ruled>, {});
    }
  };
  return detail::kept_text<page_of_step>;
}

/// What each rule of `L` saves and costs in the first step of `Program<L>`, compared with the same step under
/// `L` without that rule. A constant.
template<template<Layout> class Program, Layout L>
constexpr auto const& explain_rules() {
  static_assert(!is_staged<L>, "meshtf: explain_rules compares steps of one stage: leave out staged<...>");
  struct page_of_rules {
    static constexpr void write(page& out) {
      using ruled         = typename detail::ruled_dims<detail::rule_list<L>>::type;
      constexpr auto with = dry_run<Program, L>();
      detail::append_head_of_rules<actual<L>>(out);
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (detail::append_rule(out, named_dims_of<L, ruled>, int{I}, with,
                             dry_run<Program, detail::without_rule<L, I>>()),
         ...);
      }(std::make_index_sequence<static_cast<std::size_t>(ruled::rank)>{});
    }
  };
  return detail::kept_text<page_of_rules>;
}

}  // namespace v0
}  // namespace meshtf
