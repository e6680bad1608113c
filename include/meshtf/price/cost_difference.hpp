// What one cost has more or less than another.
#pragma once

#include <array>

#include <meshtf/core/name.hpp>
#include <meshtf/core/text.hpp>
#include <meshtf/price/cost.hpp>

namespace meshtf {
inline namespace v0 {

/// `b - a` of two costs on one mesh: every figure is that of b minus that of a, so savings are negative.
template<Mesh M>
class cost_difference {
public:
  template<std::size_t Capacity>
  constexpr cost_difference(cost<M, Capacity> const& b, cost<M, Capacity> const& a)
      : flops_(b.flops() - a.flops()),
        elementwise_flops_(b.elementwise_flops() - a.elementwise_flops()),
        bytes_touched_(b.bytes_touched() - a.bytes_touched()),
        parameter_bytes_(b.parameter_bytes() - a.parameter_bytes()),
        optimizer_bytes_(b.optimizer_bytes() - a.optimizer_bytes()),
        peak_bytes_(b.peak_bytes() - a.peak_bytes()),
        bytes_spilled_(b.bytes_spilled() - a.bytes_spilled()) {
    add(b, 1);
    add(a, -1);
  }

  // each of the following is the figure of the same name in `cost`, in its units
  template<MeshAxis... A>
  constexpr extent bytes_sent() const {
    return of<A...>(&figures::sent);
  }
  template<MeshAxis... A>
  constexpr extent payload() const {
    return of<A...>(&figures::payload);
  }
  template<collective... Kind>
  constexpr extent calls() const {
    if constexpr (sizeof...(Kind) == 0) return all_.calls;
    else return (by_kind_[static_cast<std::size_t>(Kind)] + ...);
  }
  constexpr extent flops() const { return flops_; }
  constexpr extent elementwise_flops() const { return elementwise_flops_; }
  constexpr extent bytes_touched() const { return bytes_touched_; }
  constexpr extent parameter_bytes() const { return parameter_bytes_; }
  constexpr extent optimizer_bytes() const { return optimizer_bytes_; }
  constexpr extent peak_bytes() const { return peak_bytes_; }
  constexpr extent bytes_spilled() const { return bytes_spilled_; }

  /// A line for each figure that differs.
  constexpr fixed_text<1023> text() const {
    fixed_text<1023> out;
    auto const line = [&out](std::string_view name, extent factor, short_text const& amount) {
      if (factor == 0) return;
      out += left_column(name, 24);
      out += factor > 0 ? '+' : ' ';
      out += amount;
      out += '\n';
    };
    line("calls", all_.calls, thousands_text(all_.calls));
    line("bytes sent", all_.sent, bytes_text(all_.sent));
    [&]<class... A>(axes<A...>) {
      std::size_t i   = 0;
      auto const axis = [&](std::string_view name) {
        fixed_text<127> label{"  along "};
        label += name;
        line(label, by_axis_[i].sent, bytes_text(by_axis_[i].sent));
        ++i;
      };
      (axis(name_of<A>()), ...);
    }(typename M::all_axes{});
    line("flops", flops_, count_text(flops_));
    line("elementwise flops", elementwise_flops_, count_text(elementwise_flops_));
    line("bytes touched", bytes_touched_, bytes_text(bytes_touched_));
    line("parameters", parameter_bytes_, bytes_text(parameter_bytes_));
    line("optimizer state", optimizer_bytes_, bytes_text(optimizer_bytes_));
    line("peak", peak_bytes_, bytes_text(peak_bytes_));
    line("bytes spilled", bytes_spilled_, bytes_text(bytes_spilled_));
    return out;
  }

private:
  struct figures {
    extent calls   = 0;
    extent sent    = 0;
    extent payload = 0;
  };

  constexpr void add(auto const& c, extent sign) {
    c.for_each_collective([&](collective_call const& call, extent times) {
      extent const n  = sign * times;
      auto const into = [&](figures& f) {
        f.calls += n;
        f.sent += n * call.sent;
        f.payload += n * call.payload;
      };
      into(all_);
      by_kind_[static_cast<std::size_t>(call.kind)] += n;
      for (std::size_t a = 0; a < by_axis_.size(); ++a)
        if ((call.over >> a & 1) != 0) into(by_axis_[a]);
    });
  }

  template<class... A>
  constexpr extent of(extent figures::* figure) const {
    static_assert(sizeof...(A) <= 1,
                  "meshtf: a figure of cost is asked for one axis, or without brackets for all calls");
    static_assert((M::all_axes::template has<A> && ...), "meshtf: the mesh of this cost has no such axis");
    if constexpr (sizeof...(A) == 0) {
      return all_.*figure;
    } else {
      constexpr axis_set wanted = axis_set_of<M, axes<A...>>;
      std::size_t a             = 0;
      while ((wanted >> a & 1) == 0) ++a;
      return by_axis_[a].*figure;
    }
  }

  figures all_{};
  std::array<figures, max_axes> by_axis_{};
  std::array<extent, static_cast<std::size_t>(collective::hand_on) + 1> by_kind_{};
  extent flops_;
  extent elementwise_flops_;
  extent bytes_touched_;
  extent parameter_bytes_;
  extent optimizer_bytes_;
  extent peak_bytes_;
  extent bytes_spilled_ = 0;
};

/// What `b` costs more than `a`.
template<Mesh M, std::size_t Capacity>
constexpr cost_difference<M> operator-(cost<M, Capacity> const& b, cost<M, Capacity> const& a) {
  return {b, a};
}

}  // namespace v0
}  // namespace meshtf
