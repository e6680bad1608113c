// error: pipeline_needs_machine<stages>
#include <meshtf/planning.hpp>

struct width : meshtf::dim<4> {};

struct stages : meshtf::axis<2> {};
struct line : meshtf::mesh<stages> {};
struct piped : meshtf::layout<line, meshtf::staged<stages>> {};
using dry_piped = meshtf::dry<piped>;

constexpr void step([[maybe_unused]] meshtf::machine<dry_piped>& m,
                    meshtf::parameter<float, dry_piped, width> const& w) {
  auto const loss = [&](meshtf::extent) { return sum(hand_on(w * w, 1)); };
#ifdef FIXED
  [[maybe_unused]] auto const all = meshtf::accumulate<2>(m, loss);
#else
  [[maybe_unused]] auto const all = meshtf::accumulate<2>(loss);
#endif
}
