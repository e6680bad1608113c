// Verdicts and prices of norms, bias_gelu and dropout.
#include <meshtf/planning.hpp>

using namespace meshtf;

struct batch : dim<8> {};
struct in : dim<6> {};
struct hidden : dim<16> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};
struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct data : layout<grid, split<batch, rows>> {};
struct clash : layout<grid, split<batch, rows>, split<hidden, rows>> {};

using h = shape<batch, hidden>;
using v = shape<hidden>;

static_assert(is_legal<norm_verdict<mixed, h, hidden, v, v>>);
static_assert(is_legal<norm_verdict<mixed, h, batch, shape<batch>>>);
static_assert(std::same_as<norm_verdict<mixed, h, in, v, v>, dim_is_not_in_tensor<in>>);
static_assert(
    std::same_as<norm_verdict<mixed, h, hidden, v, shape<batch>>, scale_has_other_dims<v, shape<batch>>>);
static_assert(std::same_as<norm_verdict<mixed, h, hidden, h>, scale_has_other_dims<v, h>>);
static_assert(std::same_as<norm_verdict<clash, h, hidden, v>, one_axis_splits_two_dims<rows, batch, hidden>>);
static_assert(!is_legal<addend_has_other_dims<h, v>>);

static_assert(is_legal<bias_verdict<mixed, h, v>> && is_legal<bias_verdict<mixed, h, shape<>>> &&
              is_legal<bias_verdict<mixed, h, h>>);
static_assert(std::same_as<bias_verdict<mixed, h, shape<in>>, dim_is_not_in_tensor<in>>);
static_assert(std::same_as<bias_verdict<clash, h, v>, one_axis_splits_two_dims<rows, batch, hidden>>);

// batch_norm names the channels, group_norm what it works along; scales have dimensions of x
using image = shape<batch, in, hidden>;
static_assert(is_legal<batch_norm_verdict<mixed, image, v, v, v>> &&
              is_legal<batch_norm_verdict<mixed, image, h, h, h, h, h>>);
static_assert(std::same_as<batch_norm_verdict<mixed, image, v, v, h>, scale_has_other_dims<v, h>>);
static_assert(
    std::same_as<batch_norm_verdict<mixed, h, shape<in>, shape<in>, shape<in>>, dim_is_not_in_tensor<in>>);
static_assert(
    std::same_as<batch_norm_verdict<clash, image, v, v, v>, one_axis_splits_two_dims<rows, batch, hidden>>);
static_assert(is_legal<group_norm_verdict<mixed, image, v, v, in>> &&
              is_legal<group_norm_verdict<mixed, image, v, v, in, hidden>>);
static_assert(std::same_as<group_norm_verdict<mixed, image, v, h, in>, scale_has_other_dims<v, h>>);
static_assert(std::same_as<group_norm_verdict<mixed, h, v, v, in>, dim_is_not_in_tensor<in>>);
static_assert(
    std::same_as<group_norm_verdict<mixed, h, shape<in>, shape<in>, batch>, dim_is_not_in_tensor<in>>);

// ---- what they send

template<class L>
inline constexpr auto norm_cost = dry_run<L>([]<Layout D>(machine<D>& m) {
  parameter<float, D, batch, hidden> x{m, normal{1}};
  parameter<float, D, hidden> scale{m, constant{1}};
  parameter<float, D, hidden> bias{m, zeros{}};
  auto const loss = sum(layer_norm<hidden>(x, scale, bias));
  backward(loss);
});
// Nothing but the loss where rows are whole.
static_assert(norm_cost<data>.template calls<collective::all_reduce>() == 1);
static_assert(norm_cost<data>.template payload<cols>() == 0);
// Where they are split: of each of four rows two doubles in the forward pass, two floats in the backward
// pass, and the loss.
static_assert(norm_cost<mixed>.template calls<collective::all_reduce>() == 3);
static_assert(norm_cost<mixed>.template payload<cols>() == 4 * 2 * 8 + 4 * 2 * 4 + 4);

template<class L>
inline constexpr auto rms_cost = dry_run<L>([]<Layout D>(machine<D>& m) {
  parameter<float, D, batch, hidden> x{m, normal{1}};
  parameter<float, D, hidden> scale{m, constant{1}};
  auto const loss = sum(rms_norm<hidden>(x, scale));
  backward(loss);
});
static_assert(rms_cost<mixed>.template payload<cols>() == 4 * 8 + 4 * 4 + 4);

template<class L, bool ToInput = true>
inline constexpr auto batch_norm_cost = dry_run<L>([]<Layout D>(machine<D>& m) {
  parameter<float, D, batch, in, hidden> w{m, normal{1}};
  tensor<float, D, batch, in, hidden> const data{m};
  parameter<float, D, hidden> scale{m, constant{1}};
  parameter<float, D, hidden> bias{m, zeros{}};
  auto const& x   = static_cast<tensor<float, D, batch, in, hidden> const&>(ToInput ? w : data);
  auto const loss = sum(batch_norm<hidden>(x, scale, bias).norm);
  backward(loss);
  auto const g = finish(gradient(scale));
});
// Mean and variance, and two sums in one message in the backward pass, of the 8 channels that a process has;
// the gradient of scale is one of these. And the loss.
static_assert(batch_norm_cost<mixed>.template calls<collective::all_reduce>() == 4 &&
              batch_norm_cost<mixed>.template payload<rows>() == 4 * 8 * 4 + 4);
static_assert(batch_norm_cost<mixed>.template payload<cols>() == 4);
// Where the gradient of x is not wanted, that of scale is sent when somebody asks for it.
static_assert(batch_norm_cost<mixed, false>.template payload<rows>() == 3 * 8 * 4 + 4);

// The same of 4 groups, which lie in 2 processes each.
inline constexpr auto group_norm_cost = dry_run<mixed>([]<Layout D>(machine<D>& m) {
  parameter<float, D, batch, in, hidden> x{m, normal{1}};
  parameter<float, D, hidden> scale{m, constant{1}};
  parameter<float, D, hidden> bias{m, zeros{}};
  auto const loss = sum(group_norm<in, hidden>(x, scale, bias));
  backward(loss);
});
static_assert(group_norm_cost.calls<collective::all_reduce>() == 4 &&
              group_norm_cost.payload<cols>() == 4 * 4 * 4 + 4);

// The gradients of scale and bias are sums over the rows of each process.
static_assert(norm_plan<mixed, h, hidden>::scale_unreduced == axis_set_of<grid, axes<rows>>);
static_assert(norm_plan<mixed, h, batch>::scale_unreduced == axis_set_of<grid, axes<cols>>);

// Dropout keeps nothing for its gradient: the result, the gradient that arrives and its own.
inline constexpr auto dropped = dry_run<data>([]<Layout D>(machine<D>& m) {
  parameter<float, D, batch, hidden> x{m, normal{1}};
  auto const loss = sum(dropout(x, 0.5, {.seed = 1}));
  backward(loss);
});
static_assert(dropped.peak_bytes() <= 3 * 4 * 16 * 4 + 16);
static_assert(dropped.payload<cols>() == 0 && dropped.payload<rows>() == 4);
