// staged_cost: what a pipeline costs the processes of each of its stages.
#pragma once

#include <array>
#include <cstddef>

#include <meshtf/price/cost.hpp>

namespace meshtf {
inline namespace v0 {

/// The cost of each of `K` stages, which `dry_run` predicts under a layout with stages. All processes of a
/// stage cost the same. Its own figures are each the largest of any stage, so a budget that the pipeline
/// keeps is kept by every process.
///
///     constexpr auto cost = meshtf::dry_run<training, piped>();
///     static_assert(meshtf::fits<2 * meshtf::GiB>(cost));
///     static_assert(cost.stage(0).peak_bytes() >= cost.stage(3).peak_bytes());
template<Mesh M, int K>
class staged_cost {
public:
  using mesh_type             = M;
  static constexpr int stages = K;

  /// The cost of a process of stage number `k`.
  constexpr cost<M> const& stage(int k) const { return stages_[static_cast<std::size_t>(k)]; }
  constexpr cost<M>& stage(int k) { return stages_[static_cast<std::size_t>(k)]; }

  // ---- of each figure, the largest
  template<MeshAxis... A>
  constexpr extent bytes_sent() const {
    return largest([](cost<M> const& c) { return c.template bytes_sent<A...>(); });
  }
  template<MeshAxis... A>
  constexpr extent payload() const {
    return largest([](cost<M> const& c) { return c.template payload<A...>(); });
  }
  template<collective... Kind>
  constexpr extent calls() const {
    return largest([](cost<M> const& c) { return c.template calls<Kind...>(); });
  }
  constexpr extent flops() const {
    return largest([](cost<M> const& c) { return c.flops(); });
  }
  constexpr extent elementwise_flops() const {
    return largest([](cost<M> const& c) { return c.elementwise_flops(); });
  }
  constexpr extent bytes_touched() const {
    return largest([](cost<M> const& c) { return c.bytes_touched(); });
  }
  constexpr extent operations() const {
    return largest([](cost<M> const& c) { return c.operations(); });
  }
  constexpr extent parameter_bytes() const {
    return largest([](cost<M> const& c) { return c.parameter_bytes(); });
  }
  constexpr extent optimizer_bytes() const {
    return largest([](cost<M> const& c) { return c.optimizer_bytes(); });
  }
  constexpr extent peak_bytes() const {
    return largest([](cost<M> const& c) { return c.peak_bytes(); });
  }
  constexpr extent live_bytes() const {
    return largest([](cost<M> const& c) { return c.live_bytes(); });
  }

  friend constexpr bool operator==(staged_cost const&, staged_cost const&) = default;

private:
  template<class F>
  constexpr extent largest(F const& f) const {
    extent found = 0;
    for (cost<M> const& c : stages_)
      if (extent const n = f(c); n > found) found = n;
    return found;
  }

  std::array<cost<M>, std::size_t{K}> stages_{};
};

}  // namespace v0
}  // namespace meshtf
