// Machines: what operations ask of them.
#pragma once

#include <concepts>
#include <source_location>
#include <type_traits>

#include <meshtf/core/function.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/plan/placement_needs.hpp>
#include <meshtf/price/machine_base.hpp>

namespace meshtf {
inline namespace v0 {

/// Processes joined by MPI; <meshtf/runtime/process_mesh.hpp> defines it.
template<Mesh M>
class process_mesh;

/// Processes that exist only in constant evaluation; <meshtf/price/ledger.hpp> defines it.
template<Mesh M>
class ledger;

struct held_array;

namespace detail {

template<class L>
struct machine_for : std::type_identity<process_mesh<typename L::mesh_type>> {};
template<class L>
struct machine_for<dry<L>> : std::type_identity<ledger<typename L::mesh_type>> {};

/// How a machine counts elements: in numbers, unless it has no layout yet.
template<class Machine>
struct sizes_on : std::type_identity<extent> {};

/// What an array keeps to find its entry in its machine's books: nothing, unless the machine keeps a list of
/// held arrays.
struct no_ticket {};
template<class Machine>
struct ticket_on : std::type_identity<no_ticket> {};
template<Mesh M>
struct ticket_on<ledger<M>> : std::type_identity<held_array*> {};

}  // namespace detail

/// The machine that runs operations on tensors under `L`: processes, or under a dry layout the compiler's
/// ledger, which notes their price.
template<Layout L>
using machine = typename detail::machine_for<L>::type;

/// What operations ask of a machine: processes that do the work, the ledger that notes its price, or the
/// recorder that keeps it until a layout is named. Sizes are numbers, or `undecided_size`s on the recorder.
/// All of them also have `exclusive_scan`. Processes and the ledger have `exchange_with_neighbours`.
template<class M>
concept Machine = requires(M& m, typename detail::sizes_on<M>::type n, float* x, float const* y,
                           axis_set over, bool yes, collective_reason const* why) {
  typename M::mesh_type;
  { M::computes } -> std::convertible_to<bool>;  // arrays have elements
  // which operation asks, and why
  m.begin_operation("operation", std::source_location{});
  m.because(why);
  // what it computes: a task, or a pass over whole arrays
  m.run(task::reduce<reduction::sum, function::identity, float, float>{}, all_into_one(n), x, y);
  m.transform(n, function::identity{}, x, y);
  m.add_up(n, yes, yes, y, y, x);
  m.fill(n, float{}, x);
  m.copy(n, y, x);
  // what it sends
  m.all_reduce(reduction::sum, x, n, over);
  m.broadcast(x);
  { m.counts(over) } -> std::same_as<bool>;
  m.if_joined(over, [] {}, [] {});
  m.must_know(over);
  m.constrain(unsplit{over});
  // where values, handles and the tape live
  { m.template create<int>(1) } -> std::same_as<int*>;
  m.destroy(static_cast<int*>(nullptr));
  m.put_on_tape(static_cast<tape_entry*>(nullptr));
  m.unwind_tape(yes);
  { m.records_gradients() } -> std::same_as<bool>;
  m.count_parameter(n);
};

}  // namespace v0
}  // namespace meshtf
