// explain: a layout, or the placement of a tensor, as text: who holds what.
#pragma once

#include <meshtf/core/element.hpp>
#include <meshtf/core/kept.hpp>
#include <meshtf/explain/picture.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class... R, class M>
consteval auto list_of_rules(layout<M, R...> const*) {
  return std::type_identity<std::tuple<R...>>{};
}

/// All rules of `L`, in the order in which it lists them.
template<class L>
using every_rule = typename decltype(list_of_rules(static_cast<actual<L> const*>(nullptr)))::type;

template<class Rules>
struct rules_of_dims;
template<class... R>
struct rules_of_dims<std::tuple<R...>> : split_rules<std::tuple<>, R...> {};
/// Those that split a dimension: `staged` and `kept_over` place nothing that could be shown.
template<class L>
using rule_list = typename rules_of_dims<every_rule<L>>::type;

template<class Rules>
struct ruled_dims;

template<class... R>
struct ruled_dims<std::tuple<R...>> : std::type_identity<shape<typename R::dimension...>> {};

/// "3 of 63 and one of 62": how many elements the parts of `d` hold, which differ.
template<class Text>
constexpr void append_uneven_parts(Text& out, placed const& d) {
  extent const full  = d.size / d.allocated_extent();
  extent const rest  = d.size % d.allocated_extent();
  extent const empty = d.parts - full - (rest > 0 ? 1 : 0);
  int const kinds    = 1 + (rest > 0 ? 1 : 0) + (empty > 0 ? 1 : 0);
  int said           = 0;
  auto const parts   = [&](extent n, std::string_view subject) {
    if (n > 0)
      append(out, between(said++, kinds), n == 1 ? short_text{"one"} : short_text{number_text(n)}, " of ",
               subject);
  };
  parts(full, number_text(d.allocated_extent()));
  parts(rest > 0 ? 1 : 0, number_text(rest));
  parts(empty, "none");
}

/// "batch   512 in 2 parts of 256 over rows", "vocab   251 in 4 parts, 3 of 63 and one of 62, over cols".
template<class Text>
constexpr void append_split(Text& out, named_mesh const& m, named_dims const& dims, int d,
                            std::size_t name_width) {
  out += "  ";
  append_padded(out, dims.name(d), name_width);
  append(out, "  ", number_text(dims[d].size));
  int joining = 0;
  for (int axis : dims[d].over) joining += m.size(axis) > 1 ? 1 : 0;
  if (joining == 0) {
    out += ", whole";
    for (int i = 0; i < dims[d].over.count; ++i)
      append(out, i == 0 ? " (" : " and ", m.axis(dims[d].over[i]));
    if (dims[d].over.count > 0) out += dims[d].over.count == 1 ? " has one process)" : " have one process)";
  } else {
    append(out, " in ", number_text(dims[d].parts));
    if (dims[d].uneven()) {
      out += " parts, ";
      append_uneven_parts(out, dims[d]);
      out += ", over ";
    } else {
      append(out, " parts of ", number_text(dims[d].allocated_extent()), " over ");
    }
    int i = 0;
    for (int axis : dims[d].over)
      if (m.size(axis) > 1) append(out, i++ == 0 ? "" : ", then ", m.axis(axis));
  }
  out += '\n';
}

constexpr std::size_t longest_name(named_dims const& dims) {
  std::size_t width = 0;
  for (int d = 0; d < dims.count; ++d) width = width < dims.name(d).size() ? dims.name(d).size() : width;
  return width;
}

constexpr axis_set splitting_set(named_mesh const& m, named_dims const& dims) {
  axis_set over = 0;
  for (int d = 0; d < dims.count; ++d) over |= dims[d].over.set();
  return m.joining(over);
}

/// "8 processes: rows 2 x cols 4".
template<class Text>
constexpr void append_mesh(Text& out, named_mesh const& m) {
  append(out, m.name, ", ");
  append_count(out, m.processes(m.all()), "process", "processes");
  for (int a = 0; a < m.count(); ++a)
    append(out, a == 0 ? ": " : " x ", m.axis(a), " ", number_text(m.size(a)));
  out += '\n';
}

template<class Text>
constexpr void append_layout(Text& out, std::string_view name, named_mesh const& m, named_dims const& ruled,
                             axis_set stages = 0, axis_set kept = 0) {
  append(out, name, " on ");
  append_mesh(out, m);
  for (int d = 0; d < ruled.count; ++d) append_split(out, m, ruled, d, longest_name(ruled));
  append(out, ruled.count == 0 ? "  every dimension" : "  every other dimension",
         " is whole on every process\n");
  if (stages != 0) {
    out += "  the program is a pipeline, whose stages lie along ";
    append_axes(out, m, stages);
    out += ": each holds its own part of the network\n";
  }
  if (kept != 0) {
    out += "  parameters of layers are kept in parts over ";
    append_axes(out, m, kept);
    out += ", and gathered where they are used\n";
  }
  axis_set const idle = m.joining(m.all()) & ~splitting_set(m, ruled) & ~stages;
  if (idle != 0) {
    out += "  nothing is split over ";
    append_axes(out, m, idle);
    out += ": processes that differ there alone hold the same\n";
  }
  out += '\n';
  drawing{m, ruled, m.joining(m.all()), true}.append(out);
}

template<class Text>
constexpr void append_holding(Text& out, named_mesh const& m, named_dims const& dims, extent element_bytes) {
  for (int d = 0; d < dims.count; ++d) append_split(out, m, dims, d, longest_name(dims));
  extent mine = 1;
  extent all  = 1;
  for (int d = 0; d < dims.count; ++d) {
    mine *= dims[d].allocated_extent();
    all *= dims[d].size;
  }
  axis_set const over  = splitting_set(m, dims);
  axis_set const equal = m.joining(m.all()) & ~over;
  bool uneven          = false;
  for (int d = 0; d < dims.count; ++d) uneven = uneven || dims[d].uneven();
  out += uneven ? "  every process has room for " : "  a process holds ";
  append_extents(out, dims);
  append(out, mine == 1 ? " element, " : " elements, ", bytes_text(mine * element_bytes));
  if (over != 0) append(out, " of ", bytes_text(all * element_bytes));
  if (equal != 0) {
    out += "; equal on ";
    append_axes(out, m, equal);
    append(out, over == 0 ? ": each of " : ": each part is on ", thousands_text(m.processes(equal)),
           over == 0 ? " processes holds all of it" : " processes");
  } else {
    out += over == 0 ? "; there is one process" : "; no two processes hold the same";
  }
  out += '\n';
  if (over == 0) return;
  out += '\n';
  drawing{m, dims, over, false}.append(out);
}

template<class L>
struct page_of_layout {
  static constexpr void write(page& out) {
    using mesh_type = typename L::mesh_type;
    if constexpr (accepted<typename L::rules_verdict>) {
      using ruled = typename ruled_dims<rule_list<L>>::type;
      append_layout(out, name<L>, named_mesh_of<mesh_type>, named_dims_of<L, ruled>, stage_axes<L>,
                    axis_set_of<mesh_type, kept_axes<L>>);
    } else {
      append(out, name<L>, " on ", name<mesh_type>, " is refused: ");
      verdict_words<typename L::rules_verdict>::append(out);
      out += '\n';
    }
  }
};

template<class T, class L, class S>
struct page_of_placement;

template<class T, class L, class... D>
struct page_of_placement<T, L, shape<D...>> {
  static constexpr void write(page& out) {
    using verdict = placement_verdict<L, D...>;
    append(out, "tensor<", to_string(element_of<T>), ", ", name<L>);
    ((out += ", ", out += name<D>), ...);
    if constexpr (accepted<verdict>) {
      out += ">\n";
      append_holding(out, named_mesh_of<typename L::mesh_type>, named_dims_of<L, shape<D...>>,
                     extent{sizeof(T)});
    } else {
      out += "> is refused: ";
      verdict_words<verdict>::append(out);
      out += '\n';
    }
  }
};

}  // namespace detail

/// A type of tensors: it has an element type, a layout and a shape.
template<class X>
concept TensorType = requires {
  typename X::element_type;
  typename X::layout_type;
  typename X::shape_type;
};

/// The rules of `L` in words, and the mesh as a picture: the rank of each process and the parts that it
/// holds. A constant.
///
///     std::puts(meshtf::explain<mixed>().c_str());
template<Layout L>
  requires(!TensorType<L>)  // g++ 12 takes any type for a Layout in some translation units, after a dry run
constexpr auto const& explain() {
  return detail::kept_text<detail::page_of_layout<actual<L>>>;
}

/// Where a tensor of shape `D...` is under `L`, or why it can't be placed: parts, bytes, and a picture of the
/// processes that hold different parts. A constant.
template<Layout L, Dimension... D>
constexpr auto const& explain_placement() {
  return detail::kept_text<detail::page_of_placement<float, actual<L>, shape<D...>>>;
}

/// The same for a tensor type: `explain<tensor<float, mixed, batch, hidden>>()`.
template<TensorType X>
constexpr auto const& explain() {
  return detail::kept_text<detail::page_of_placement<
      typename X::element_type, actual<typename X::layout_type>, typename X::shape_type>>;
}

}  // namespace v0
}  // namespace meshtf
