// The work of one record under many layouts, as a sum of few products.
#pragma once

#include <cstddef>

#include <meshtf/core/growing.hpp>
#include <meshtf/search/layout_keys.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

struct work_sum {
  extent flops  = 0;
  extent passes = 0;  // bytes

  friend constexpr bool operator==(work_sum const&, work_sum const&) = default;
};

/// Flops and bytes touched are sums of products of local sizes. So calls of the record are priced at a few
/// points, which give the factors of the sum.
///
/// Only dimensions in `searched` may be split. The object holds a reference and lives in one evaluation.
template<Mesh M, class Record>
class work_terms {
public:
  constexpr work_terms(Record const& record, dim_set searched) : record_(record), searched_(searched) {}

  /// Adds the terms of the call `first` and those that follow it in the list, which depend on the dimensions
  /// `size`; all have the condition of the first, if they are `conditional`. Whether their work has that
  /// form: their prices with each dimension whole, or in as many parts as it has elements, give a linear
  /// system for the factors, which one more point confirms.
  constexpr bool add(int first, int const* next_of_call, listed_dims const& size, bool conditional) {
    auto* const factors = new work_sum[std::size_t{1} << size.count];
    calls const c{first, next_of_call};
    bool const holds = solve(c, size, factors) && confirm(c, size, factors);
    if (holds) add_factors(size, conditional ? record_.calls[first].if_ : undecided_condition{}, factors);
    delete[] factors;
    return holds;
  }

  /// What one process does under a layout.
  constexpr work_sum under(layout_numbers const& l) const {
    axis_set const* const over    = l.over.data();
    extent const* const allocated = l.room.data();
    term const* const terms       = terms_.data();
    int const term_count          = terms_.size();
    work_sum sum;
    for (int i = 0; i < term_count; ++i) {
      term const& t = terms[i];
      if (t.decide.count > 0) {
        axis_set joined = 0;
        for (int k = 0; k < t.decide.count; ++k) joined |= over[t.decide.dim[k]];
        if ((joined != 0) != t.if_.joined) continue;
      }
      extent parts = 1;
      for (int k = 0; k < t.divisors.count; ++k) parts *= allocated[t.divisors.dim[k]];
      sum.flops += t.flops * parts;
      sum.passes += t.passes * parts;
    }
    return sum;
  }

private:
  /// (flops, bytes) * (elements of these dimensions in one process), under a condition.
  struct term {
    dim_set dims = 0;
    undecided_condition if_{};
    listed_dims divisors{};
    listed_dims decide{};
    extent flops  = 0;
    extent passes = 0;
  };
  struct calls {
    int first;
    int const* next;
  };

  /// What these calls do when each dimension has this number of parts; if `by_plan`, as their plans say.
  constexpr work_sum done_by(calls const& list, layout_numbers const& l, bool by_plan) const {
    work_sum sum;
    for (int c = list.first; c >= 0; c = list.next[c]) {
      recorded_call const& call = record_.calls[c];
      if (call.is_product && !by_plan) {
        sum.flops += call.flops_of_contraction(l) * call.times;
        continue;
      }
      work const w = call.price(call, l).does;
      sum.flops += w.flops * call.times;
      if (w.flops == 0) sum.passes += w.bytes * call.times;
    }
    return sum;
  }
  /// The factor of each set of these dimensions: bit k of its number is the k-th of them. False if one is no
  /// whole number.
  constexpr bool solve(calls const& list, listed_dims const& size, work_sum* factors) const {
    int const points = 1 << size.count;
    layout_numbers l = numbers_of_mesh<M>();
    l.know(Record::sizes);
    for (int p = 0; p < points; ++p) {
      for (int k = 0; k < size.count; ++k)
        l.cut(size.dim[k], (p >> k & 1) != 0 ? Record::size_of(size.dim[k]) : 1);
      factors[p] = done_by(list, l, false);
    }
    for (int k = 0; k < size.count; ++k) {
      extent const n = Record::size_of(size.dim[k]);
      for (int p = 0; p < points && n > 1; ++p) {
        if ((p >> k & 1) != 0) continue;
        // become what does not depend on this dimension, and the factor of what does
        work_sum& whole = factors[p];
        work_sum& split = factors[p | 1 << k];
        if ((whole.flops - split.flops) % (n - 1) != 0 || (whole.passes - split.passes) % (n - 1) != 0)
          return false;
        split = {(whole.flops - split.flops) / (n - 1), (whole.passes - split.passes) / (n - 1)};
        whole = {whole.flops - split.flops * n, whole.passes - split.passes * n};
      }
    }
    return true;
  }
  /// Whether the sum is what plans say where each dimension has a few parts.
  constexpr bool confirm(calls const& list, listed_dims const& size, work_sum const* factors) const {
    layout_numbers l = numbers_of_mesh<M>();
    l.know(Record::sizes);
    for (int k = 0; k < size.count; ++k) {
      extent const n = Record::size_of(size.dim[k]);
      extent divisor = 2;
      while (divisor < n && n % divisor != 0) ++divisor;
      extent const cut = divisor < n ? divisor : 2;
      l.cut(size.dim[k], n == 1 ? 1 : cut);
    }
    work_sum sum;
    for (int p = 0; p < 1 << size.count; ++p) {
      extent parts = 1;
      for (int k = 0; k < size.count; ++k)
        if ((p >> k & 1) != 0) parts *= l.room[size.dim[k]];
      sum.flops += factors[p].flops * parts;
      sum.passes += factors[p].passes * parts;
    }
    return sum == done_by(list, l, true);
  }
  constexpr void add_factors(listed_dims const& size, undecided_condition const& when,
                             work_sum const* factors) {
    for (int p = 0; p < 1 << size.count; ++p) {
      if (factors[p] == work_sum{}) continue;
      dim_set dims = 0;
      for (int k = 0; k < size.count; ++k)
        if ((p >> k & 1) != 0) dims |= dim_set{1} << size.dim[k];
      int t = 0;
      while (t < terms_.size() && (terms_[t].dims != dims || !(terms_[t].if_ == when))) ++t;
      if (t == terms_.size())
        terms_.push_back({.dims     = dims,
                          .if_      = when,
                          .divisors = listed_dims{dims},
                          .decide   = listed_dims{when.dims & searched_}});
      terms_[t].flops += factors[p].flops;
      terms_[t].passes += factors[p].passes;
    }
  }

  Record const& record_;
  dim_set searched_;
  growing<term> terms_{};
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
