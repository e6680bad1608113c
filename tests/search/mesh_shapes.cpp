// If it compiles, it passes: all shapes of a mesh of some processes, ranked by their best layouts.
#include <meshtf/search/mesh_shapes.hpp>

#include "two_weights.hpp"

namespace {

using namespace meshtf;
using namespace meshtf::tests;

// each shape once, whatever axis has which size
constexpr auto const& of_twelve = detail::shapes_of_mesh<12, grid>;
static_assert(of_twelve.size() == 3 && of_twelve[0][0] == 12 && of_twelve[0][1] == 1 &&
              of_twelve[1][0] == 6 && of_twelve[2][0] == 4 && of_twelve[2][1] == 3);
struct planes : axis<2> {};
struct cube : mesh<rows, cols, planes> {};
static_assert(detail::shape_count<16, cube> == 4);  // 16; 8 2; 4 4; 4 2 2

// an axis between nodes is like no other one
struct nodes : axis<2, link::between_nodes> {};
struct cluster : mesh<nodes, cols> {};
static_assert(detail::shape_count<12, cluster> == 6);

// axes keep their names and links
using renamed = resized<nodes, 3>;
static_assert(name_of<renamed>() == "nodes" && renamed::size == 3 &&
              renamed::over_link == link::between_nodes);

template<Layout L>
struct training : two_weights<L> {
  using two_weights<L>::two_weights;

  constexpr auto step() {
    auto const h = relu(einsum<batch, hidden>(this->x, this->up));
    auto loss    = mean(square(einsum<batch, model>(h, this->down)));
    backward(loss);
    this->opt.step(parameters(this->up, this->down));
    return loss;
  }
};

constexpr auto step = record<training, batch, model, hidden>();
using space         = candidates<batch, model, hidden>;

constexpr auto shapes = rank_meshes<16, cluster, space>(step);
static_assert(shapes.size() == 5);  // 16 1; 8 2; 4 4; 2 8; 1 16

// the fastest first, each as if it were ranked alone
constexpr bool in_order = [] {
  for (std::size_t i = 1; i < shapes.size(); ++i)
    if (shapes[i - 1].fits < shapes[i].fits || shapes[i - 1].best.seconds > shapes[i].best.seconds)
      return false;
  return true;
}();
static_assert(in_order);
using fastest = mesh_at<shapes, 0>;
using slowest = mesh_at<shapes, shapes.size() - 1>;
static_assert(fastest::size == 16 && slowest::size == 16);
constexpr auto alone = rank_layouts<fastest, space>(step);
static_assert(alone[0].seconds == shapes[0].best.seconds && alone[0].peak == shapes[0].best.peak);

// as types: a dry run promises what the ranking says
constexpr auto first = dry_run<training, layout_on_mesh<shapes, 0>>();
static_assert(first.peak_bytes() == shapes[0].best.peak);
static_assert(first.time(machine_model{}).total() == shapes[0].best.seconds);

// nothing is split over the slow links
constexpr bool splits_over_nodes = [] {
  for (auto over : shapes[0].best.over)
    if ((over & 1) != 0) return true;
  return false;
}();
static_assert(!splits_over_nodes);

// if no layout fits, no shape does
constexpr auto none = rank_meshes<4, grid, space>(step, min_time{.memory = 1});
static_assert(none.size() == 2 && !none[0].fits && !none[1].fits && none[0].shape == "rows 4, cols 1");

}  // namespace
