// spill: a function whose intermediate values leave memory for a file, and come back for the backward pass.
#pragma once

#include <type_traits>

#include <meshtf/core/exchange.hpp>
#include <meshtf/ops/function/at_stage.hpp>
#include <meshtf/tensor/parameters.hpp>
#include <meshtf/tensor/values.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// On the tape above the entries of a function: the backward pass meets it first, waits for what the function
/// kept, and begins to read what the functions before it kept.
template<class Machine>
struct spilled_function : tape_entry {
  Machine* m;
  spilled_scope scope;

  static constexpr void run_backward(tape_entry* e) {
    spilled_scope const& scope = static_cast<spilled_function*>(e)->scope;
    scope.come_back();
    scope.read_ahead();
  }
  static constexpr void destroy_this(tape_entry* e) {
    auto* const me = static_cast<spilled_function*>(e);
    me->m->spilled().forget(me->scope);
    me->scope.drop();
    me->m->destroy(me);
  }
};

/// While it lives, what the tape keeps is noted in a scope. An exception drops the scope.
template<class Machine>
class open_scope {
public:
  using entry_type = spilled_function<Machine>;

  constexpr explicit open_scope(Machine& m)
      : machine_(m),
        entry_(m.template create<entry_type>(tape_entry{entry_type::run_backward, entry_type::destroy_this},
                                             &m, spilled_scope{})),
        outer_(detail::exchange(m.spilled().open, &entry_->scope)) {}
  open_scope(open_scope const&)     = delete;
  void operator=(open_scope const&) = delete;
  constexpr ~open_scope() {
    machine_.spilled().open = outer_;
    if (entry_ != nullptr) entry_type::destroy_this(entry_);
  }

  constexpr spilled_scope& scope() { return entry_->scope; }
  /// The function has returned.
  constexpr void close() {
    machine_.spilled().close(entry_->scope);
    if (entry_->scope.has_any()) machine_.put_on_tape(detail::exchange(entry_, nullptr));
  }

private:
  Machine& machine_;
  entry_type* entry_;
  spilled_scope* outer_;
};

}  // namespace detail

//= || with saved_tensors_hooks(save, load): f(x) || jax.checkpoint(f, policy=offloading)(x) || spill(f, x)
/// f(x...), whose intermediate values leave memory for a file once f has returned, and come back ahead of
/// their use in the backward pass. `x` and the results are tensors or partial sums; several results are a
/// tuple, or a struct with `values()` such as `nn::residual`.
///
///     auto h = spill([&block](auto const& x, auto const& mask) { return block(x, mask); }, x, mask);
///
/// What leaves is what the tape keeps of f: arrays of at least 64 KiB (`machine::spill_from`) that were
/// computed from parameters, the arguments among them. Parameters, their linear images and data stay. The
/// results of f leave with the values of the next such function, which reads them. The values of one function
/// and of the next are in memory at a time, forward and backward: those of f are gone when the next such
/// function returns. Functions may contain such functions, be recomputed, or recompute. Results and gradients
/// have the same bits as those of `f(x...)`; nothing is computed or sent again. A dry run promises the peak
/// and `bytes_spilled()`.
///
/// Whatever is read while it is away comes back first, so reading it costs time and no more. A view
/// (`local()`) of a value that leaves afterwards must not be used any more.
///
/// Each process has a file of its own without a name, in the folder MESHTF_SPILL, or else
/// `process_mesh::spill_to(folder)`, or else /tmp (docs/beyond_memory.md).
/// Errors: `unavailable` on all processes where that folder can't be written or has no room.
/// Source: Li et al., Harmony: Overcoming the Hurdles of GPU Memory Capacity to Train Massive DNN Models on
/// Commodity Servers (2022).
template<class F, class... X>
  requires(!detail::Operand<F> && sizeof...(X) > 0 && !detail::AnyRejected<X...>)
constexpr auto spill(F&& f, X const&... x) {
  auto& m       = detail::machine_of_first(x...);
  using machine = std::remove_reference_t<decltype(m)>;
  if constexpr (!detail::can_spill<machine>) {
    throw "meshtf: spill moves memory, which this machine can't";
    return f(detail::argument(x)...);
  } else {
    bool const keeps = m.records_gradients() && m.keeps_tape();
    if (!keeps) return f(detail::argument(x)...);
    int const stage = m.stage();
    detail::open_scope<machine> open{m};
    auto z = f(detail::argument(x)...);
    if (m.stage() != stage) detail::throw_stage_ends_in_function("spill");
    if constexpr (!detail::AnyRejected<decltype(z)>) {
      m.begin_operation("spill");
      detail::for_each_value(
          [&](auto const& value) { m.spilled().set_aside(open.scope(), &*value.handle()); }, z);
      open.close();
    }
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(spill)

}  // namespace v0
}  // namespace meshtf
