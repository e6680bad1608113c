// The weights of the parts of a model, in the file of their machine while these do not work.
#pragma once

#include <type_traits>
#include <utility>

#include <meshtf/core/exchange.hpp>
#include <meshtf/optim/spilled_state.hpp>
#include <meshtf/tensor/parameters.hpp>
#include <meshtf/tensor/tape.hpp>
#include <meshtf/tensor/values.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The weights of one part: what is used after it differs forward and backward.
struct spilled_part {
  struct turn : spilled_state {
    spilled_part* part;
  };
  void (*act)(spilled_part*, spilled_state::move);
  void (*destroy)(spilled_part*);
  void const* model;
  spilled_part* next_made = nullptr;
  turn forward{{&pass_on}, this};
  turn backward{{&pass_on}, this};

  static constexpr void pass_on(spilled_state* s, spilled_state::move m) {
    spilled_part* const part = static_cast<turn*>(s)->part;
    part->act(part, m);
  }
};

/// Short arrays stay. What has not changed since it was read is not written.
template<class Machine, class Model>
struct spilled_part_of : spilled_part {
  Machine* machine;
  Model* of;

  constexpr spilled_part_of(Machine* m, Model* called)
      : spilled_part{&act_on, &destroy_this, called}, machine(m), of(called) {}

  static constexpr void act_on(spilled_part* p, spilled_state::move m) {
    auto* const me = static_cast<spilled_part_of*>(p);
    parameters(*me->of).for_each([&]<class T, class L, class... D>(parameter<T, L, D...>& w) {
      auto& array = *w.handle();
      if (array.size() * extent{sizeof(T)} < me->machine->spilled().min_bytes) return;
      if (m != spilled_state::move::drop) array.act_if_changed(m, extent{sizeof(T)});
    });
  }
  static constexpr void destroy_this(spilled_part* p) {
    auto* const me = static_cast<spilled_part_of*>(p);
    me->machine->destroy(me);
  }
};

}  // namespace detail

/// Calls parts of a model, such as its blocks, whose weights are in the file of the machine otherwise.
///
///     meshtf::weights_in_file<meshtf::machine<L>> file{m};     // a member of the program, below the model
///     for (auto& block : net.blocks) file.send_away(block);    // in its constructor
///     auto y = file(net.blocks[i], x);                         // net.blocks[i](x)
///
/// Before a part works, forward or backward, its weights are waited for, and those of the part that followed
/// it the last time begin to be read; after it they are dropped. Those that `backward(loss, opt, list)` has
/// updated meanwhile are written instead. So a step reads them twice and writes them once, and the memory
/// holds those of two parts forward and of three backward. With `accumulate<M>(m, f, opt, list)` each
/// micro-batch reads them twice, and the last one writes them. Under a layout with stages, a part is in the
/// file of its own stage. Results have the bits of `model(x)`. Weights that something else reads or updates
/// come back by themselves, and leave when their part is called again. Arrays of less than 64 KiB stay
/// (`spill_from`). A dry run promises peak and `bytes_spilled()`; its first step does not know the order, so
/// it reads nothing ahead.
///
/// What the tape keeps stays in memory: `spill` that, or `recompute`, around the call. The state of the
/// optimizer leaves by `spill_state`. The parts must live, and not move, as long as this object.
/// Errors: those of `spill`.
/// Source: Li et al., Harmony: Overcoming the Hurdles of GPU Memory Capacity to Train Massive DNN Models on
/// Commodity Servers (2022).
template<class Machine>
class weights_in_file {
public:
  constexpr explicit weights_in_file(Machine& m) : machine_(m) {}
  weights_in_file(weights_in_file const&) = delete;
  void operator=(weights_in_file const&)  = delete;
  constexpr ~weights_in_file() {
    try {
      turn_to(forward_, backward_);
      turn_to(backward_, forward_);
    } catch (...) {  // of the file: nobody needs it any more
    }
    while (parts_ != nullptr) {
      detail::spilled_part* const p = detail::exchange(parts_, parts_->next_made);
      p->destroy(p);
    }
  }

  /// Begins to write the weights of a part, which is not working.
  template<class Model>
  constexpr void send_away(Model& model) {
    expect_layout();
    if (machine_.idles()) return;  // another stage has it
    forward_.send_away(part(model).forward);
  }

  /// model(x...)
  template<class Model, class... X>
  constexpr auto operator()(Model& model, X const&... x) {
    expect_layout();
    if (machine_.idles()) return std::as_const(model)(x...);
    bool const keeps        = machine_.records_gradients() && machine_.keeps_tape();
    bool const again        = keeps && machine_.recomputes();  // its backward pass follows at once
    detail::spilled_part& p = part(model);
    if (keeps) put_on_tape(p, marker::run_after);
    if (again) use_backward(p);
    else use_forward(p);
    auto z = std::as_const(model)(x...);
    if (!again) forward_.send_away(p.forward);
    if (keeps) put_on_tape(p, marker::run_before);
    return z;
  }

private:
  /// On the tape below and above the entries of a part.
  struct marker : tape_entry {
    weights_in_file* all;
    detail::spilled_part* part;

    static constexpr void run_before(tape_entry* e) {
      auto* const me = static_cast<marker*>(e);
      me->all->use_backward(*me->part);
    }
    static constexpr void run_after(tape_entry* e) {
      auto* const me = static_cast<marker*>(e);
      me->all->backward_.send_away(me->part->backward);
    }
    static constexpr void destroy_this(tape_entry* e) {
      auto* const me = static_cast<marker*>(e);
      me->all->machine_.destroy(me);
    }
  };

  static constexpr void expect_layout() {
    if constexpr (!detail::can_spill<Machine>)
      throw "meshtf: weights_in_file moves memory, which a record of all layouts can't: search without it";
  }
  constexpr void put_on_tape(detail::spilled_part& p, void (*run)(tape_entry*)) {
    machine_.begin_operation("weights_in_file");
    machine_.put_on_tape(machine_.template create<marker>(tape_entry{run, marker::destroy_this}, this, &p));
  }
  constexpr void use_forward(detail::spilled_part& p) {
    turn_to(backward_, forward_);
    forward_.use(p.forward);
  }
  constexpr void use_backward(detail::spilled_part& p) {
    turn_to(forward_, backward_);
    backward_.use(p.backward);
  }
  /// The order of the parts in one direction says nothing of the other.
  constexpr void turn_to(detail::spilled_states& before, detail::spilled_states& now) {
    if (now_ == &now) return;
    before.start_over();
    now_ = &now;
  }
  template<class Model>
  constexpr detail::spilled_part& part(Model& model) {
    using made = detail::spilled_part_of<Machine, Model>;
    for (detail::spilled_part* p = parts_; p != nullptr; p = p->next_made)
      if (p->model == &model && p->act == &made::act_on) return *p;  // a part may begin with a part
    auto* const p = machine_.template create<made>(&machine_, &model);
    p->next_made  = detail::exchange(parts_, p);
    return *p;
  }

  Machine& machine_;
  detail::spilled_part* parts_ = nullptr;
  detail::spilled_states forward_{};
  detail::spilled_states backward_{};
  detail::spilled_states* now_ = &forward_;
};

}  // namespace v0
}  // namespace meshtf
