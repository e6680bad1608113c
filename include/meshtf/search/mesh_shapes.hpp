// The shape of the mesh: all ways to arrange a number of processes along the axes of a mesh, each with its
// best layout.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <meshtf/search/search.hpp>

namespace meshtf {
inline namespace v0 {

/// The axis `A` with another number of processes along it: `resized<rows, 4>` is called "rows" and runs over
/// the same links.
template<MeshAxis A, extent Processes>
struct resized : axis<Processes, A::over_link> {
  static constexpr std::string_view name = name_of<A>();
};

/// A shape of a mesh in a ranking, and its best layout.
struct ranked_mesh {
  std::array<extent, max_axes> sizes{};  // of the mesh's axes, in their order
  bool fits = false;                     // whether some candidate can be placed and fits into memory
  ranked_layout best{};                  // of the candidates, if one fits
  fixed_text<63> shape{};                // "rows 4, cols 4"
  fixed_text<255> layout{};              // as `ranking::text`
};

namespace detail {

using mesh_sizes = std::array<extent, max_axes>;

/// f(sizes) for each way to arrange `left` processes along the axes from number `axis` on, which run over
/// these links. Of shapes that differ only in which of two axes over the same links has which size, the one
/// whose earlier axes are larger stands for all: they have the same prices.
template<class F>
constexpr void for_each_shape(std::span<link const> links, extent left, std::size_t axis, mesh_sizes& chosen,
                              F const& f) {
  if (axis == links.size()) {
    if (left == 1) f(chosen);
    return;
  }
  extent most = left;
  for (std::size_t before = 0; before < axis; ++before)
    if (links[before] == links[axis] && chosen[before] < most) most = chosen[before];
  for (extent size = most; size > 0; --size) {
    if (left % size != 0) continue;
    chosen[axis] = size;
    for_each_shape(links, left / size, axis + 1, chosen, f);
  }
}

template<class Axes>
inline constexpr std::array<link, 0> links_of{};
template<MeshAxis... A>
inline constexpr std::array<link, sizeof...(A)> links_of<axes<A...>>{A::over_link...};

template<extent Processes, Mesh M>
inline constexpr std::size_t shape_count = [] {
  mesh_sizes chosen{};
  std::size_t n = 0;
  for_each_shape(links_of<typename M::all_axes>, Processes, 0, chosen, [&n](mesh_sizes const&) { ++n; });
  return n;
}();

/// The shapes of a mesh of `Processes`, each a list of sizes in the order of the axes of `M`.
template<extent Processes, Mesh M>
inline constexpr auto shapes_of_mesh = [] {
  std::array<mesh_sizes, shape_count<Processes, M>> shapes{};
  mesh_sizes chosen{};
  std::size_t n = 0;
  for_each_shape(links_of<typename M::all_axes>, Processes, 0, chosen,
                 [&](mesh_sizes const& s) { shapes[n++] = s; });
  return shapes;
}();

template<Mesh M, std::array<extent, max_axes> Sizes, class = typename M::all_axes,
         class = std::make_index_sequence<std::size_t{M::all_axes::count}>>
struct resized_mesh;
template<Mesh M, std::array<extent, max_axes> Sizes, class... A, std::size_t... I>
struct resized_mesh<M, Sizes, axes<A...>, std::index_sequence<I...>>
    : std::type_identity<mesh<resized<A, Sizes[I]>...>> {};

}  // namespace detail

/// The shapes of a mesh, the one with the fastest layout first; those under which no candidate fits are last.
template<extent Processes, Mesh M, class Open>
class mesh_ranking {
public:
  using mesh_type                    = M;
  using undecided_dims               = Open;
  static constexpr std::size_t count = detail::shape_count<Processes, M>;

  constexpr std::size_t size() const { return count; }
  constexpr ranked_mesh const& operator[](std::size_t i) const { return meshes[i]; }

  std::array<ranked_mesh, count> meshes{};
};

namespace detail {

template<Mesh Shape, class Candidates, Dimension... D>
constexpr ranked_mesh rank_shape(step_record<D...> const& record, min_time const& objective) {
  ranked_mesh mesh;
  constexpr auto const& names = axis_names<typename Shape::all_axes>;
  for (std::size_t a = 0; a < names.size(); ++a) {
    mesh.sizes[a] = axis_sizes<Shape>[a];
    if (a > 0) mesh.shape += ", ";
    mesh.shape += names[a];
    mesh.shape += ' ';
    mesh.shape += number_text(mesh.sizes[a]);
  }
  auto const first = rank_layouts<Shape, Candidates, 1>(record, objective);
  mesh.fits        = first.size() > 0;
  if (mesh.fits) {
    mesh.best   = first[0];
    mesh.layout = first.text(0);
  }
  return mesh;
}

}  // namespace detail

/// Ranks all meshes of `Processes` processes with the axes of `M`, whose own sizes do not count: each shape
/// by the modelled time of its best layout among `candidates<batch, heads, hidden>`, as `rank_layouts` finds
/// it. An axis may have one process. Of equals, the one that needs less memory comes first.
///
///     constexpr auto shapes = meshtf::rank_meshes<16, grid, meshtf::candidates<batch, hidden>>(step);
///     using mesh = meshtf::mesh_at<shapes, 0>;                // mesh<resized<rows, 8>, resized<cols, 2>>
///     using best = meshtf::layout_on_mesh<shapes, 0>;
///
/// It works in the compiler and at run time.
template<extent Processes, Mesh M, class Candidates, Dimension... D>
constexpr mesh_ranking<Processes, M, shape<D...>> rank_meshes(step_record<D...> const& record,
                                                              min_time const& objective = {}) {
  static_assert(Processes > 0 && M::all_axes::count > 0,
                "meshtf: rank_meshes arranges at least one process along at least one axis");
  static_assert(
      !Candidates::are_layouts,
      "meshtf: a layout names its mesh, so rank_meshes takes dimensions: candidates<batch, hidden>");
  mesh_ranking<Processes, M, shape<D...>> result;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((result.meshes[I] =
          detail::rank_shape<typename detail::resized_mesh<M, detail::shapes_of_mesh<Processes, M>[I]>::type,
                             Candidates>(record, objective)),
     ...);
  }(std::make_index_sequence<detail::shape_count<Processes, M>>{});
  std::sort(result.meshes.begin(), result.meshes.end(), [](ranked_mesh const& a, ranked_mesh const& b) {
    if (a.fits != b.fits) return a.fits;
    if (a.best.seconds != b.best.seconds) return a.best.seconds < b.best.seconds;
    if (a.best.peak != b.best.peak) return a.best.peak < b.best.peak;
    return a.sizes > b.sizes;
  });
  return result;
}

/// The mesh at position `I` of a ranking of meshes as a type. The ranking is a constexpr object of static
/// storage.
template<auto const& Ranking, std::size_t I>
using mesh_at = typename detail::resized_mesh<typename std::remove_cvref_t<decltype(Ranking)>::mesh_type,
                                              Ranking[I].sizes>::type;

/// The best layout on that mesh as a type.
template<auto const& Ranking, std::size_t I>
using layout_on_mesh =
    typename detail::layout_from<mesh_at<Ranking, I>,
                                 typename std::remove_cvref_t<decltype(Ranking)>::undecided_dims,
                                 Ranking[I].best.over>::type;

}  // namespace v0
}  // namespace meshtf
