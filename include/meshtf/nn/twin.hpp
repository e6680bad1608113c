// twin: a parameter of the first stage that the last stage uses too.
#pragma once

#include <utility>

#include <meshtf/core/exchange.hpp>
#include <meshtf/ops/function/pipeline.hpp>
#include <meshtf/tensor/parameter.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// What the last stage of a pipeline has of a parameter of the first, such as the table of a tied embedding:
/// its elements, sent once in each `accumulate` before the first micro-batch, and a gradient of its own,
/// which is sent back once after the last and added to the parameter's. So the parameter is one: in
/// optimizers, norms and checkpoints. The gradients are added in this order with one stage too, so their bits
/// do not depend on the number of stages.
///
/// Two messages of the size of the shard in each `accumulate`; the shard on the last stage. With one stage
/// it is the parameter, and nothing is sent.
template<FloatingElement T, Layout L, Dimension... D>
class twin {
  static_assert(is_staged<L>, "meshtf: a twin is for layouts with stages: use the parameter itself");
  using value        = tensor<T, L, D...>;
  using machine_type = machine<L>;

  static constexpr int last      = stage_count<L> - 1;
  static constexpr axis_set over = stage_axes<L>;

  struct entry : meshtf::detail::stage_copy {
    machine_type* m;
    value original;
    value copy;
    typename machine_type::request_type request{};

    constexpr bool is_at(int k) const { return m->template coordinate<stage_axis<L>>() == k; }

    static constexpr void send_this(meshtf::detail::stage_copy* e) {
      auto* const me = static_cast<entry*>(e);
      if constexpr (last > 0) {
        me->m->begin_operation("twin");
        if (me->is_at(0))
          me->m->begin_handing_on(std::as_const(me->original).data(), value::size, over, last, false,
                                  me->request);
        if (me->is_at(last)) {
          me->copy.handle()->written();
          me->m->receive_handed_on(me->copy.data(), value::size, over, 0, false);
        }
      }
    }
    static constexpr void give_back_this(meshtf::detail::stage_copy* e) {
      auto* const me = static_cast<entry*>(e);
      auto& m        = *me->m;
      m.begin_operation("twin");
      if constexpr (last == 0) {
        contribute(me->original, me->gradient(), replica_axes<L, shape<D...>>);
      } else {
        if (me->is_at(last)) {
          auto const g = me->gradient();
          typename machine_type::request_type back{};
          m.begin_handing_on(g.data(), value::size, over, 0, true, back);
          m.end_handing_on(back);
        }
        if (me->is_at(0)) {
          auto g = value::uninitialised(m);
          m.receive_handed_on(g.data(), value::size, over, last, true);
          contribute(me->original, g, replica_axes<L, shape<D...>>);
        }
      }
    }
    static constexpr void end_send_this(meshtf::detail::stage_copy* e) {
      auto* const me = static_cast<entry*>(e);
      if constexpr (last > 0)
        if (me->is_at(0)) me->m->end_handing_on(me->request);
    }

  private:
    /// The gradient of the copy as local terms over all replicas, which the first stage needs not be told;
    /// the slot is empty afterwards.
    constexpr value gradient() {
      auto& slot = copy.slot();
      if (!slot.sum) return value{*m};
      value g{*m, std::move(slot.sum)};
      axis_set const whole = replica_axes<L, shape<D...>> & ~slot.unreduced;
      slot.sum             = {};
      slot.unreduced       = 0;
      if (whole == 0) return g;
      auto z = value::uninitialised(*m);
      m->add_up(value::size, m->counts(whole), false, std::as_const(g).data(), std::as_const(g).data(),
                z.data());
      return z;
    }
  };

public:
  constexpr explicit twin(parameter<T, L, D...> const& of) : entry_(made(of)) {}
  constexpr twin(twin&& other) noexcept : entry_(meshtf::detail::exchange(other.entry_, nullptr)) {}
  constexpr twin& operator=(twin&& other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  constexpr ~twin() {
    if (entry_ == nullptr) return;
    meshtf::detail::stage_copy** link = &entry_->m->stage_copies();
    while (*link != entry_) link = &(*link)->next;
    *link = entry_->next;
    entry_->m->destroy(entry_);
  }

  /// What the last stage computes with.
  constexpr value const& operator*() const { return entry_->copy; }

private:
  static constexpr entry* made(parameter<T, L, D...> const& of) {
    auto& m                                  = of.machine();
    meshtf::detail::stage_copy*& first       = m.stage_copies();
    [[maybe_unused]] at_stage<L> const there = {m, last};
    value copy                               = copied_handle(of);
    copy.need_gradient(true);
    auto* const e = m.template create<entry>(
        meshtf::detail::stage_copy{&entry::send_this, &entry::end_send_this, &entry::give_back_this, first},
        &m, static_cast<value const&>(of), std::move(copy));
    first = e;
    return e;
  }
  static constexpr value copied_handle(parameter<T, L, D...> const& of) {
    if constexpr (last == 0) return of.without_slot();
    else return value::uninitialised(of.machine());
  }

  entry* entry_;
};

namespace detail {

/// A twin of a model's table, if it is tied under a layout with stages.
template<bool There, class T, class L, class... D>
struct twin_if {
  constexpr explicit twin_if(auto const&) {}
};
template<class T, class L, class... D>
struct twin_if<true, T, L, D...> : twin<T, kept_layout<T, L, shape<D...>>, D...> {
  using twin<T, kept_layout<T, L, shape<D...>>, D...>::twin;
};

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
