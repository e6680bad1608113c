// Every placement of up to four dimensions on meshes of 2, 3 and 2 x 2 processes, as types and as values.
//
// Types say what a rule does (`plan/`): its loops, its arrays, the axes it is finished over. Sizes are set
// in the values afterwards, so that one type serves all of them.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <meshtf/core/placement.hpp>
#include <meshtf/plan/task.hpp>

namespace verified {

using meshtf::axis_set;
using meshtf::dim_list;
using meshtf::extent;
using meshtf::place_in_mesh;
using meshtf::placed;
using meshtf::task_loops;

// The letters of the tests. Their sizes are set at run time; as types they have the largest.
inline constexpr extent max_size = 5;
struct a : meshtf::dim<max_size> {};
struct b : meshtf::dim<max_size> {};
struct c : meshtf::dim<max_size> {};
struct d : meshtf::dim<max_size> {};
struct e : meshtf::dim<max_size> {};
struct f : meshtf::dim<max_size> {};
struct g : meshtf::dim<max_size> {};
struct h : meshtf::dim<max_size> {};
struct i : meshtf::dim<max_size> {};
struct j : meshtf::dim<max_size> {};
using alphabet                 = meshtf::shape<a, b, c, d, e, f, g, h, i, j>;
inline constexpr int max_named = alphabet::rank;

struct pair : meshtf::axis<2> {};
struct triple : meshtf::axis<3> {};
struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct two : meshtf::mesh<pair> {};
struct three : meshtf::mesh<triple> {};
struct square : meshtf::mesh<rows, cols> {};

/// A mesh, and the dimensions of the tests as a layout places them.
struct setting {
  std::vector<extent> axes;
  std::array<placed, max_named> dim{};

  std::size_t processes() const {
    return static_cast<std::size_t>(meshtf::processes_along(axes, ~axis_set{0}));
  }
  /// The coordinates of process `p`: ranks are row-major.
  std::vector<extent> coordinates(std::size_t p) const {
    std::vector<extent> found(axes.size());
    for (std::size_t i = axes.size(); i-- > 0;) {
      found[i] = static_cast<extent>(p) % axes[i];
      p /= static_cast<std::size_t>(axes[i]);
    }
    return found;
  }
  extent size(int letter) const { return dim[static_cast<std::size_t>(letter)].size; }
  std::string words() const {
    std::string text = "on";
    for (extent n : axes) text += " " + std::to_string(n);
    for (std::size_t i = 0; i < dim.size(); ++i) {
      if (dim[i].size == 1 && dim[i].over.count == 0) continue;
      text += std::string("; ") + static_cast<char>('a' + i) + "=" + std::to_string(dim[i].size);
      for (int axis : dim[i].over) text += " over " + std::to_string(axis);
    }
    return text;
  }
};

/// The dimensions as the layout `L` places them.
template<class L>
setting setting_under() {
  setting s;
  for (std::size_t i = 0; i < std::size_t{L::mesh_type::all_axes::count}; ++i)
    s.axes.push_back(meshtf::axis_sizes<typename L::mesh_type>[i]);
  s.dim = []<class... D>(meshtf::shape<D...>) {
    return std::array<placed, max_named>{meshtf::placed_under<L, D>...};
  }(alphabet{});
  return s;
}

/// What a plan says of one task under one layout: its loops as the types make them, the letter of each loop,
/// the letters of each array, and the axes over which the result is joined.
struct rule {
  task_loops loops{};
  dim_list letter{};
  std::array<dim_list, meshtf::max_arrays> array{};
  axis_set finished_over = 0;

  /// The loops for the sizes of a setting.
  task_loops sized(setting const& s) const {
    task_loops l = loops;
    for (int i = 0; i < l.rank; ++i) l.dim[i].size = s.size(letter[i]);
    return l;
  }
};

/// The letters of a shape.
template<class S>
inline constexpr dim_list letters_of = meshtf::dims_within<alphabet, S>;

/// The rule of a task over the dimensions `Loops`, whose steps ask for the loops over `Along...`.
template<class L, class Steps, class Loops, class... Along, class... S>
rule rule_of(meshtf::arrays_of<S...> arrays, axis_set finished_over) {
  (void)arrays;
  rule r{.loops         = meshtf::detail::kept_loops<L, Steps, Loops, meshtf::arrays_of<S...>, Along...>,
         .letter        = letters_of<Loops>,
         .finished_over = finished_over};
  std::size_t k = 0;
  ((r.array[k++] = letters_of<S>), ...);
  return r;
}

namespace detail {

template<class D, class Over>
struct cut;
template<class D, class... A>
struct cut<D, meshtf::axes<A...>> : std::type_identity<meshtf::padded<D, A...>> {};

template<bool First, bool Second, bool Reversed>
using axes_if =
    std::conditional_t<First && Second,
                       std::conditional_t<Reversed, meshtf::axes<cols, rows>, meshtf::axes<rows, cols>>,
                       std::conditional_t<First, meshtf::axes<rows>,
                                          std::conditional_t<Second, meshtf::axes<cols>, meshtf::axes<>>>>;

/// The layout on the mesh `M` of one axis `A` that splits dimension number `Split` of `D...`.
template<class M, class A, int Split, class S, class I>
struct on_one_axis;
template<class M, class A, int Split, class... D, std::size_t... I>
struct on_one_axis<M, A, Split, meshtf::shape<D...>, std::index_sequence<I...>>
    : std::type_identity<meshtf::layout<
          M,
          typename cut<D, std::conditional_t<int{I} == Split, meshtf::axes<A>, meshtf::axes<>>>::type...>> {};
/// The layout on the mesh of 2 x 2 whose axes split the dimensions number `Rows` and `Cols`.
template<int Rows, int Cols, bool Reversed, class S, class I>
struct on_two_axes;
template<int Rows, int Cols, bool Reversed, class... D, std::size_t... I>
struct on_two_axes<Rows, Cols, Reversed, meshtf::shape<D...>, std::index_sequence<I...>>
    : std::type_identity<meshtf::layout<
          square, typename cut<D, axes_if<int{I} == Rows, int{I} == Cols, Reversed>>::type...>> {};

/// The layout `L`, where `To` is split as `From` is, and so on.
template<class L, class... FromTo>
struct placed_alike : std::type_identity<L> {};
template<class M, class... C, class From, class To, class... More>
struct placed_alike<meshtf::layout<M, C...>, From, To, More...>
    : placed_alike<
          meshtf::layout<M, C..., typename cut<To, meshtf::axes_of<meshtf::layout<M, C...>, From>>::type>,
          More...> {};

}  // namespace detail

template<class L, class... FromTo>
using placed_alike = typename detail::placed_alike<L, FromTo...>::type;

/// f.operator()<L>(setting) for every layout of `D...`: an axis splits one of them or none, and on 2 x 2 both
/// axes may split one, in both orders.
template<class S, class F>
void for_each_layout(F const& f) {
  constexpr std::size_t n = std::size_t{S::rank};
  using dims              = std::make_index_sequence<n>;
  auto const under = [&]<class L>(std::type_identity<L>) { f.template operator()<L>(setting_under<L>()); };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (under(typename detail::on_one_axis<two, pair, int{I}, S, dims>::type_identity{}), ...);
    (under(typename detail::on_one_axis<three, triple, int{I}, S, dims>::type_identity{}), ...);
  }(std::make_index_sequence<n + 1>{});
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (under(typename detail::on_two_axes<int{I / (n + 1)}, int{I % (n + 1)}, false, S, dims>::type_identity{}),
     ...);
  }(std::make_index_sequence<(n + 1) * (n + 1)>{});
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (under(typename detail::on_two_axes<int{I}, int{I}, true, S, dims>::type_identity{}), ...);
  }(dims{});
}

}  // namespace verified
