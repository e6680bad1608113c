// The sums of gradients over processes: their terms travel as they are, or rounded to bfloat16.
#pragma once

#include <string>
#include <type_traits>

#include <meshtf/core/element.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/function.hpp>
#include <meshtf/plan/all_reduce_plan.hpp>
#include <meshtf/plan/nest.hpp>
#include <meshtf/tensor/conversion.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/shared.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The calls that add up an array of a part for each process: a reduce-scatter and an all-gather, first
/// within each node where that takes less time, as in `plan_all_reduce`. One all-reduce would add in the
/// type that travels, and round at each hop.
template<Mesh M>
constexpr all_reduce_steps plan_sum_in_parts(extent n, element type, axis_set over) {
  all_reduce_steps steps;
  sum_by_link sum;
  if constexpr (axes_between_nodes<M> != 0) sum = by_link<M>(over);
  bool const by_nodes = sum.between != 0 && reduces_by_nodes(n, bytes_of(type), sum.processes, sum.nodes);
  extent const within = n / sum.processes;
  extent const part   = n / processes_along(axis_sizes<M>, over);
  if (by_nodes) steps.push_back({collective::reduce_scatter, within, sum.within, type});
  axis_set const rest = by_nodes ? sum.between : over;
  steps.push_back({collective::reduce_scatter, part, rest, type});
  steps.push_back({collective::all_gather, part, rest, type});
  if (by_nodes) steps.push_back({collective::all_gather, within, sum.within, type});
  return steps;
}

/// How gradients are added up over processes.
class gradient_sums {
public:
  constexpr gradient_sums() = default;
  /// Errors: `software_error` unless the terms travel as float or bfloat16, and where `early_sums` has sent
  /// them before.
  template<class Machine>
  constexpr gradient_sums(Machine& m, element travel_as) : rounds_(travel_as == element::bfloat16) {
    if (travel_as != element::float32 && !rounds_)
      throw software_error(
          "expected sums_travel_as = element::float32 or element::bfloat16, got another type: gradients are "
          "floating-point numbers, and those of double parameters travel as they are");
    if (rounds_ && m.early_sums() != nullptr)
      throw software_error(
          "expected no early_sums with sums_travel_as = element::bfloat16, got one that lives: it sends "
          "gradients as they are, so leave one of the two out");
  }

  /// Whether the terms of such gradients are rounded before they travel.
  template<class T>
  constexpr bool rounds() const {
    return rounds_ && std::is_same_v<T, float>;
  }

  /// `sum` gets the n terms of all processes along `over`, added up, with the same bits on each; `terms` may
  /// be `sum`. The terms are rounded; each process adds up its part in float and rounds the sum.
  template<class Machine>
  static constexpr void all_reduce_rounded(Machine& m, float const* terms, extent n, float* sum,
                                           axis_set over) {
    using mesh_type    = typename Machine::mesh_type;
    extent const parts = processes_along(axis_sizes<mesh_type>, over);
    extent const whole = (n + parts - 1) / parts * parts;
    auto const sent    = rounded(m, terms, n, whole);
    carry_out(plan_sum_in_parts<mesh_type>(whole, element::bfloat16, over), m, reduction::sum, sent->data());
    convert(m, n, static_cast<bfloat16 const*>(sent->data()), sum);
  }

  /// Along `over` there is a part of `part` elements for each process. `sum` gets this process's own part,
  /// added up.
  template<class T, class Machine>
  constexpr void reduce_scatter(Machine& m, T const* parts, extent part, T* sum, axis_set over) const {
    if constexpr (std::is_same_v<T, float>)
      if (rounds_) {
        extent const n      = part * processes_along(axis_sizes<typename Machine::mesh_type>, over);
        auto const sent     = rounded(m, parts, n, n);
        bfloat16* const own = array_at<Machine>(sent->data(), m.rank_along(over) * part);
        m.reduce_scatter(reduction::sum, static_cast<bfloat16 const*>(sent->data()), part, own, over);
        return convert(m, part, static_cast<bfloat16 const*>(own), sum);
      }
    m.reduce_scatter(reduction::sum, parts, part, sum, over);
  }

private:
  template<class Machine>
  using rounded_handle = shared<storage<bfloat16, Machine>, Machine>;

  /// The n elements at `x`, rounded, and zeros up to `whole`.
  template<class Machine>
  static constexpr rounded_handle<Machine> rounded(Machine& m, float const* x, extent n, extent whole) {
    auto sent = rounded_handle<Machine>::make(m, m, whole);
    convert(m, n, x, sent->data());
    if (whole > n) m.fill(whole - n, bfloat16{}, array_at<Machine>(sent->data(), n));
    return sent;
  }
  template<class Machine, class To, class From>
  static constexpr void convert(Machine& m, extent n, From const* from, To* to) {
    nest_steps line{.rank = 1, .operands = 2};
    line.size[0]      = n;
    line.stride[0][0] = line.stride[1][0] = 1;
    run_map(m, collapsed(line), conversion<To, From>{}, to, from);
  }

  bool rounds_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
