// explain_einsum and its like: what each process does in an operation, what is sent and why, or why the
// operation is refused.
#pragma once

#include <meshtf/explain/explain_layout.hpp>
#include <meshtf/explain/explain_reason.hpp>
#include <meshtf/plan/attention_plan.hpp>
#include <meshtf/plan/einsum_plan.hpp>
#include <meshtf/plan/gather_plan.hpp>
#include <meshtf/plan/reshard/reshard_plan.hpp>
#include <meshtf/price/ledger.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// "  all_reduce z over cols, 16.0 KiB, sends 24.0 KiB: ", for each call that makes up an all-reduce.
template<class M, class T>
constexpr void append_all_reduce(page& out, std::string_view operand, reduction op, extent n, axis_set over,
                                 collective_reason const& why) {
  if (over == 0) return;
  ledger<M> machine;
  machine.template all_reduce<T>(op, nullptr, n, over);
  auto const noted  = machine.noted();
  extent const size = n * extent{sizeof(T)};
  append(out, "  all_reduce of ", operand, ", ", bytes_text(size), ", over ");
  append_axes(out, named_mesh_of<M>, over);
  append(out, ": sends ", bytes_text(noted.bytes_sent()));
  if (noted.collectives().size() > 1) {
    out += " (as";
    for (std::size_t i = 0; i < noted.collectives().size(); ++i)
      append(out, i == 0 ? " " : ", ", to_string(noted.collectives()[i].kind));
    out += ')';
  }
  out += "\n    because ";
  append_reason(out, why, named_mesh_of<M>, over, op);
  out += '\n';
}

/// The steps of a plan that the text is about: those of the fullest process.
template<class Steps>
constexpr Steps const& fullest_steps(Steps const& s) {
  return s;
}
template<class Steps>
constexpr Steps const& fullest_steps(uneven_steps<Steps> const& s) {
  return s.fullest;
}

/// The subject of sentences about an operation with these loops.
template<class L, class Loops>
inline constexpr std::string_view subject = is_uneven<L, Loops> ? "  the fullest process" : "  a process";

template<class Verdict>
constexpr void append_refusal(page& out) {
  out += "  is refused: ";
  verdict_words<Verdict>::append(out);
  out += '\n';
}

constexpr std::string_view nothing_is_sent = "  nothing is sent: every process has all that its part takes\n";

/// "  x's gradient  is unreduced over rows: ..."
template<class L, class Loops, class Operand>
constexpr void append_unreduced(page& out, std::string_view operand) {
  using mesh_type          = typename L::mesh_type;
  axis_set const unreduced = split_over<L, Loops> & ~split_over<L, Operand>;
  append(out, "  the gradient of ", operand);
  if (unreduced == 0) {
    out += " is whole: nothing to reduce\n";
    return;
  }
  out += " is unreduced over ";
  append_axes(out, named_mesh_of<mesh_type>, unreduced);
  out += ": ";
  append_reason(out, reason_to_sum<L, Loops>, named_mesh_of<mesh_type>, unreduced, reduction::sum);
  out += '\n';
}

template<class L, class S, class Gone, class T>
constexpr void append_reduction(page& out, std::string_view operand, std::string_view result) {
  using left  = without<S, Gone>;
  using plan  = nest_plan<L, left, S>;
  using loops = typename plan::loops;
  append(out, subject<L, loops>, " sums its ");
  append_extents(out, named_dims_of<L, S>);
  append(out, " of ", operand, " to ");
  append_extents(out, named_dims_of<L, left>);
  out += '\n';
  append_all_reduce<typename L::mesh_type, T>(out, result, reduction::sum, shard_size<L, left>,
                                              plan::finished_over, reason_to_sum<L, loops>);
}

template<class L, class Out, class X, class Y, class T>
struct page_of_einsum {
  using plan      = einsum_plan<L, Out, X, Y>;
  using mesh_type = typename L::mesh_type;
  using summed_x  = without<X, summed_only_in<X, Y, Out>>;
  using summed_y  = without<Y, summed_only_in<Y, X, Out>>;
  using product   = einsum_plan<L, Out, summed_x, summed_y>;

  static constexpr void append_product(page& out) {
    contraction_steps const& s = fullest_steps(product::local);
    out += subject<L, typename product::loops>;
    if (s.by_gemm) {
      out += " multiplies ";
      if (s.batch.iterations > 1) append(out, number_text(s.batch.iterations), " times ");
      append(out, number_text(s.swapped ? s.n : s.m), " x ", number_text(s.k), " by ", number_text(s.k),
             " x ", number_text(s.swapped ? s.m : s.n));
      if (s.x.needed || s.y.needed || s.z.needed) {
        out += ", through copies of ";
        int const n = int{s.x.needed} + int{s.y.needed} + int{s.z.needed};
        int i       = 0;
        if (s.x.needed) append(out, between(i++, n), "x");
        if (s.y.needed) append(out, between(i++, n), "y");
        if (s.z.needed) append(out, between(i++, n), "z");
      }
    } else {
      out += " multiplies and adds in one loop nest, ";
      append_extents(out, named_dims_of<L, typename product::loops>);
    }
    append(out, ": ", count_text(s.flops), " flops\n");
  }

  static constexpr void write(page& out) {
    append(out, "einsum of ");
    append_tensor(out, "x", dims_as_written<X>);
    append_tensor(out, " and y", dims_as_written<Y>);
    append_tensor(out, " to z", dims_as_written<Out>);
    append(out, " under ", name<L>, "\n");
    if constexpr (!accepted<typename plan::verdict>) {
      append_refusal<typename plan::verdict>(out);
    } else {
      if constexpr (!std::same_as<X, summed_x>)
        append_reduction<L, X, without<X, summed_x>, T>(out, "x", "that");
      if constexpr (!std::same_as<Y, summed_y>)
        append_reduction<L, Y, without<Y, summed_y>, T>(out, "y", "that");
      append_product(out);
      append_all_reduce<mesh_type, T>(out, "z", reduction::sum, shard_size<L, Out>, product::finished_over,
                                      reason_to_sum<L, typename product::loops>);
      if (plan::finished_over == 0) out += nothing_is_sent;
      append_unreduced<L, typename product::loops, summed_x>(out, "x");
      append_unreduced<L, typename product::loops, summed_y>(out, "y");
    }
  }
};

template<class L, class X, class Along, class T>
struct page_of_reduce;

template<class L, class X, class... Along, class T>
struct page_of_reduce<L, X, shape<Along...>, T> {
  static constexpr void write(page& out) {
    using plan = reduce_plan<L, X, Along...>;
    out += "sum along ";
    append_list<page, Along...>(out);
    append_tensor(out, " of x", dims_as_written<X>);
    append(out, " under ", name<L>, "\n");
    if constexpr (!accepted<typename plan::verdict>) {
      append_refusal<typename plan::verdict>(out);
    } else {
      append_reduction<L, X, shape<Along...>, T>(out, "x", "the sums");
      if (plan::finished_over == 0) out += nothing_is_sent;
      out += "  the gradient of x is that of the sum, on every element: nothing to reduce\n";
    }
  }
};

template<class L, class Query, class Memory, class Key, class Q, class K, class V>
struct page_of_attention {
  static constexpr void write(page& out) {
    using plan = attention_plan<L, Query, Memory, Key, Q, K, V>;
    append_tensor(out, "attention of q", dims_as_written<Q>);
    append_tensor(out, " to k", dims_as_written<K>);
    append_tensor(out, " and v", dims_as_written<V>);
    append(out, ", positions ", name<Query>, " to ", name<Memory>, ", compared along ", name<Key>, ", under ",
           name<L>, "\n");
    if constexpr (!accepted<typename plan::verdict>) {
      append_refusal<typename plan::verdict>(out);
    } else {
      constexpr attention_steps s = fullest_steps(plan::steps);
      append(out, subject<L, typename plan::loops>, " has ", thousands_text(s.pairs.iterations),
             s.pairs.iterations == 1 ? " pair" : " pairs", " of sequence and head; in each, ");
      if (s.shares.iterations > 1) append(out, number_text(s.shares.iterations), " times ");
      append(out, number_text(s.queries), " queries look at ", number_text(s.memories), " positions along ",
             number_text(s.depth), " elements: ");
      append(out, count_text(s.scores_flops() + s.mixture_flops()), " flops\n");
      out += nothing_is_sent;
      if constexpr (plan::memory_unreduced == 0) {
        out += "  the gradients of q, k and v are whole: nothing to reduce\n";
      } else {
        append_unreduced<L, typename plan::loops, K>(out, "k");
        append_unreduced<L, typename plan::loops, V>(out, "v");
      }
    }
  }
};

template<class L, class Table, class V, class Ids, class T>
struct page_of_gather {
  static constexpr void write(page& out) {
    using plan      = gather_plan<L, Table, V, Ids>;
    using mesh_type = typename L::mesh_type;
    append(out, "gather along ", name<V>, " from ");
    append_tensor(out, "table", dims_as_written<Table>);
    append_tensor(out, " by ids", dims_as_written<Ids>);
    append(out, " under ", name<L>, "\n");
    if constexpr (!accepted<typename plan::verdict>) {
      append_refusal<typename plan::verdict>(out);
    } else {
      constexpr placed along = placed_under<L, V>;
      extent const ids       = fullest_steps(plan::rows).ids;
      append(out, subject<L, typename plan::loops>, " looks ", thousands_text(ids),
             ids == 1 ? " id up in " : " ids up in ");
      if (split_over<L, shape<V>> != 0)
        append(out, "its ", thousands_text(along.allocated_extent()), " of the ", thousands_text(along.size),
               " rows\n");
      else append(out, "all ", thousands_text(along.size), " rows\n");
      using result = typename plan::result;
      append_all_reduce<mesh_type, T>(out, "the result", reduction::sum, shard_size<L, result>,
                                      plan::finished_over, reason_to_look_up<L, typename plan::loops>);
      if (plan::finished_over == 0) out += nothing_is_sent;
      append_unreduced<L, typename plan::loops, Table>(out, "table");
    }
  }
};

constexpr std::string_view name_of_transfer(reshard_move const& move) {
  return move.kind == transfer_kind::slice ? std::string_view{"slice"} : to_string(collective_of(move));
}

template<class From, class To, class S, class T, axis_set Unreduced>
struct page_of_reshard {
  static constexpr void write(page& out) {
    using plan      = reshard_plan<From, To, S, Unreduced>;
    using mesh_type = typename From::mesh_type;
    append_tensor(out, "reshard of x", dims_as_written<S>);
    append(out, " from ", name<From>, " to ", name<To>);
    if constexpr (Unreduced != 0) {
      out += ", while it is a sum over ";
      append_axes(out, named_mesh_of<mesh_type>, Unreduced);
    }
    out += '\n';
    if constexpr (!accepted<typename plan::verdict>) {
      append_refusal<typename plan::verdict>(out);
    } else {
      reshard_steps const& steps = plan::steps;
      if (steps.count == 0) out += "  every process has its part already: it is free\n";
      extent sent = 0;
      for (auto const& move : steps) {
        if (move.over == 0) {
          append(out, "  copy, ", bytes_text(move.send * extent{sizeof(T)}), " to ",
                 bytes_text(move.result * extent{sizeof(T)}), ": free\n");
          append(out, "    because ", move.send < move.result ? "padding is added" : "padding is removed",
                 "\n");
          continue;
        }
        append(out, "  ", name_of_transfer(move), " over ");
        append_axes(out, named_mesh_of<mesh_type>, move.over);
        append(out, ", ", bytes_text(move.send * extent{sizeof(T)}), " to ",
               bytes_text(move.result * extent{sizeof(T)}));
        if (extent const bytes = sent_by_one(move, extent{sizeof(T)}); bytes > 0)
          append(out, ": sends ", bytes_text(bytes));
        else out += ": free";
        sent += sent_by_one(move, extent{sizeof(T)});
        out += "\n    because ";
        append_reason(out, reason_to_move<From, S, To, S>, named_mesh_of<mesh_type>, move.over,
                      reduction::sum, move.kind);
        out += '\n';
      }
      if (steps.count > 1) append(out, "  in all it sends ", bytes_text(sent), "\n");
    }
  }
};

}  // namespace detail

/// `einsum<Out...>(x, y)` of tensors of shapes `X` and `Y` under `L`: what each process multiplies, each
/// collective with its reason, and over which axes the gradients are unreduced; or, where it does not
/// compile, why. A constant.
///
///     explain_einsum<mixed, shape<batch, out>, shape<batch, hidden>, shape<hidden, out>>()
template<Layout L, class Out, class X, class Y, Element T = float>
constexpr auto const& explain_einsum() {
  return detail::kept_text<detail::page_of_einsum<actual<L>, Out, X, Y, T>>;
}

/// The same for `sum<Along...>(x)`, where `Along` is a shape.
template<Layout L, class X, class Along, Element T = float>
constexpr auto const& explain_reduce() {
  return detail::kept_text<detail::page_of_reduce<actual<L>, X, Along, T>>;
}

/// The same for `attention<Query, Memory, Key>` of queries, keys and values of shapes `Q`, `K` and `V`.
template<Layout L, class Query, class Memory, class Key, class Q, class K, class V>
constexpr auto const& explain_attention() {
  return detail::kept_text<detail::page_of_attention<actual<L>, Query, Memory, Key, Q, K, V>>;
}

/// The same for `gather<V>(table, ids)`.
template<Layout L, class Table, class V, class Ids, Element T = float>
constexpr auto const& explain_gather() {
  return detail::kept_text<detail::page_of_gather<actual<L>, Table, V, Ids, T>>;
}

/// The moves by which a tensor of shape `S` gets from one layout to another, with their bytes; `Unreduced`
/// are the axes over which it is still a sum.
template<Layout From, Layout To, class S, Element T = float, class Unreduced = axes<>>
constexpr auto const& explain_reshard() {
  return detail::kept_text<detail::page_of_reshard<actual<From>, actual<To>, S, T,
                                                   axis_set_of<typename From::mesh_type, Unreduced>>>;
}

}  // namespace v0
}  // namespace meshtf
