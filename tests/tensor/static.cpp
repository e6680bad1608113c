// If it compiles, it passes: what tensors, parameters, partial sums and gradients are.
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct in : dim<4> {};
struct hidden : dim<16> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct deep : axis<2> {};
struct grid : mesh<rows, cols, deep> {};

struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct joint : layout<grid, split<batch, rows>, split<hidden, deep, cols>> {};

// the compiler's machine stands in for the processes; both have a place in the types
static_assert(std::same_as<machine<mixed>, process_mesh<grid>> &&
              std::same_as<machine<dry<mixed>>, ledger<grid>>);

using L = dry<mixed>;
using x = tensor<float, L, batch, hidden>;
using w = parameter<float, L, in, hidden>;

// ---- a tensor is its elements, layout and dimensions, in order, and as large as one process's part

static_assert(std::same_as<x::element_type, float> && std::same_as<x::layout_type, L> &&
              std::same_as<x::shape_type, shape<batch, hidden>>);
static_assert(x::size == (8 / 2) * (16 / 2) && tensor<int, dry<joint>, hidden>::size == 16 / 4 &&
              tensor<double, L>::size == 1);
static_assert(!std::same_as<x, tensor<float, L, hidden, batch>> &&
              !std::same_as<x, tensor<float, dry<joint>, batch, hidden>>);
static_assert(std::same_as<tensor_of<float, L, shape<batch, hidden>>, x>);

// it is a handle: copies share the shard, and there is none without a machine
static_assert(std::copyable<x> && std::is_nothrow_move_constructible_v<x>);
static_assert(std::constructible_from<x, machine<L>&> && !std::convertible_to<machine<L>&, x> &&
              !std::default_initializable<x>);
static_assert(!std::constructible_from<x, tensor<float, L, hidden, batch>> &&
              !std::assignable_from<x&, tensor<double, L, batch, hidden>>);

// ---- a parameter is a tensor for whoever takes one; it moves and does not copy

static_assert(std::derived_from<w, tensor<float, L, in, hidden>> && Tensor<w> && Tensor<x> && !Tensor<float>);
static_assert(std::movable<w> && !std::is_copy_constructible_v<w> && !std::is_copy_assignable_v<w>);
static_assert(std::is_nothrow_move_constructible_v<w> && std::is_nothrow_move_assignable_v<w>);

// a tensor of the same type can be assigned: its values are copied in; a parameter's are by way of copy(w)
static_assert(std::is_assignable_v<w&, tensor<float, L, in, hidden> const&> &&
              !std::is_assignable_v<w&, x const&>);
static_assert(!std::is_assignable_v<w&, w const&> &&
              std::is_assignable_v<w&, decltype(copy(std::declval<w const&>()))>);

// it starts as zeros or by an initialiser, and integers are not trained
static_assert(std::constructible_from<w, machine<L>&> && std::constructible_from<w, machine<L>&, he_normal>);
static_assert(!std::convertible_to<machine<L>&, w> && !std::default_initializable<w>);
template<class T>
concept Trainable = requires { typename parameter<T, L, in>; };
static_assert(Trainable<double> && !Trainable<int>);

// ---- a state is a tensor that is not trained: it moves and does not copy, may have any elements, and a
// tensor's values are copied in

using s = state<float, L, in, hidden>;
static_assert(std::derived_from<s, tensor<float, L, in, hidden>> && Tensor<s> && !std::derived_from<s, w>);
static_assert(std::movable<s> && !std::is_copy_constructible_v<s> && !std::is_copy_assignable_v<s>);
static_assert(std::is_assignable_v<s&, tensor<float, L, in, hidden> const&> &&
              std::is_assignable_v<s&, w const&>);
static_assert(!std::is_assignable_v<s&, x const&> &&
              !std::is_assignable_v<s&, partial<tensor<float, L, in, hidden>, axes<rows>>>);
static_assert(std::constructible_from<state<bool, L>, machine<L>&> &&
              std::constructible_from<state<int, L, in>, machine<L>&, constant>);

// ---- the gradient of a parameter is unreduced over the axes that do not split it, in the mesh's order

template<class P>
using gradient_of = decltype(gradient(std::declval<P const&>()));
static_assert(std::same_as<gradient_of<w>, partial<tensor<float, L, in, hidden>, axes<rows, deep>>>);
static_assert(std::same_as<gradient_of<parameter<double, L, in>>,
                           partial<tensor<double, L, in>, axes<rows, cols, deep>>>);
static_assert(std::same_as<gradient_of<parameter<float, L, batch, hidden>>,
                           partial<tensor<float, L, batch, hidden>, axes<deep>>>);
static_assert(std::same_as<gradient_of<parameter<float, dry<joint>, hidden, batch>>,
                           partial<tensor<float, dry<joint>, hidden, batch>, axes<>>>);

// finished it is a tensor; a tensor is finished
static_assert(std::same_as<decltype(finish(std::declval<gradient_of<w>>())), tensor<float, L, in, hidden>>);
static_assert(std::same_as<decltype(finish(std::declval<x>())), x> &&
              std::same_as<decltype(finish(std::declval<w const&>())), tensor<float, L, in, hidden>>);

// a partial sum is no tensor, and no tensor comes out of it by itself
static_assert(!Tensor<gradient_of<w>> && !std::convertible_to<gradient_of<w>, tensor<float, L, in, hidden>>);
static_assert(std::same_as<gradient_of<w>::tensor_type, tensor<float, L, in, hidden>>);

// ---- lists of parameters refer to them

struct model {
  w first;
  parameter<float, L, hidden> second;
  constexpr auto parameters() { return meshtf::parameters(first, second); }
};
static_assert(std::same_as<decltype(std::declval<model&>().parameters()),
                           parameter_list<w, parameter<float, L, hidden>>>);
static_assert(
    std::same_as<decltype(parameters(std::declval<w&>(), std::declval<model&>())), parameter_list<w, model>>);

// each parameter in order, a model's and a range's in their place
template<class F>
constexpr extent visited(F const& list) {
  ledger<grid> m;
  return list(m);
}
static_assert(visited([](auto& m) {
                model a{w{m}, parameter<float, L, hidden>{m}};
                std::array<w, 2> several{w{m}, w{m}};
                w last{m};
                extent sizes = 0;
                parameters(a, several, last).for_each([&](auto& p) { sizes = 100 * sizes + p.size; });
                return sizes;
              }) == 32'08'32'32'32);

// ---- a parameter that was moved counts once: at most two live here at a time

static_assert(visited([](auto& m) {
                w a{m};
                w b = std::move(a);
                w c{m};
                c = std::move(b);
                w d{m};
                return m.parameter_bytes();
              }) == 2 * 4 * 32);

// ---- what needs a gradient has a place for it

static_assert(visited([](auto& m) {
                w weight{m};
                x data{m};
                auto y           = einsum<batch, hidden>(tensor<float, L, batch, in>{m}, weight);
                bool const right = weight.needs_gradient() && !data.needs_gradient() && y.needs_gradient() &&
                                   copy(weight).needs_gradient() && !stop_gradient(y).needs_gradient() &&
                                   (data + y).needs_gradient() && !(data + data).needs_gradient();
                return extent{right};
              }) == 1);

}  // namespace
