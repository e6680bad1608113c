// If it compiles, it passes: windows, pooling and convolutions along dimensions that a layout may split are
// recorded without a layout, and priced as in dry runs.
#include <utility>

#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<8> {};
struct height : dim<16> {};
struct half_height : dim<8> {};
struct width : dim<8> {};
struct half_width : dim<4> {};
struct two : dim<2> {};
struct also_two : dim<2> {};
struct k_h : dim<3> {};
struct k_w : dim<5> {};
struct k_too : dim<3> {};
struct channels : dim<4> {};
struct hidden : dim<8> {};

struct nothing : layout<grid> {};
struct only_height : layout<grid, split<height, rows>> {};
struct by_height : layout<grid, split<height, rows>, split<half_height, rows>> {};
struct by_space : layout<grid, split<height, cols>, split<half_height, cols>, split<width, rows>,
                         split<half_width, rows>> {};
struct by_all_axes : layout<grid, split<height, rows, cols>, split<half_height, rows, cols>> {};

/// Compares `N` ranked layouts with dry runs.
template<auto const& Layouts, template<Layout> class Program, std::size_t... I>
constexpr bool are_dry_runs(std::index_sequence<I...>) {
  return ((Layouts[I].peak == dry_run<Program, layout_at<Layouts, I>>().peak_bytes()) && ...);
}

// ---- pooling
template<Layout L>
struct pooling {
  parameter<float, L, batch, height, width, channels> w;

  constexpr explicit pooling(machine<L>& m) : w{m, he_normal{1}} {}
  constexpr auto step() {
    auto const x =
        max_pool<window<height, two, half_height, stride<2>>, window<width, also_two, half_width, stride<2>>>(
            tanh(w));
    auto const y = avg_pool<window<half_height, k_h>, window<half_width, k_w>>(x);
    auto loss    = mean(square(y)) + mean(square(windows<window<half_height, k_h, dilation<2>>>(y)));
    backward(loss);
    return loss;
  }
};
constexpr auto pooled = record<pooling, batch, height, half_height, width, half_width>();
static_assert(tests::priced_as_dry_runs<pooled, pooling, nothing, by_height, by_space>);

constexpr auto pools = rank_layouts<grid, candidates<batch, height, half_height, width, half_width>>(pooled);
// the parts of half_height have 2 elements or more, and so do those of half_width
static_assert(pools.size() == 11);
static_assert(are_dry_runs<pools, pooling>(tests::some_of<11>{}));

// without a gradient, the most memory is taken while windows are made
template<Layout L>
struct looking {
  tensor<float, L, batch, height, width, channels> x;

  constexpr explicit looking(machine<L>& m) : x{m} {}
  constexpr auto step() {
    auto const near = windows<window<height, two, dilation<2>>, window<width, also_two>>(x);
    return near.size;
  }
};
constexpr auto looked = record<looking, batch, height, width>();
struct by_space_alone : layout<grid, split<height, cols>, split<width, rows>> {};
static_assert(tests::priced_as_dry_runs<looked, looking, nothing, only_height, by_space_alone>);

// ---- convolutions
template<Layout L>
struct convolving {
  parameter<float, L, batch, height, width, channels> image;
  parameter<float, L, k_h, k_w, channels, hidden> filter;
  parameter<float, L, k_h, k_too, hidden, channels> strided;
  parameter<float, L, k_h, k_too, channels> each;
  sgd opt{0.1};

  constexpr explicit convolving(machine<L>& m)
      : image{m, he_normal{1}}, filter{m, he_normal{2}}, strided{m, he_normal{3}}, each{m, normal{2}} {}
  constexpr auto step() {
    auto const x = conv<window<height, k_h>, window<width, k_w>, channels, hidden>(tanh(image), filter);
    auto const y = conv<window<height, k_h, half_height, stride<2>>,
                        window<width, k_too, half_width, stride<2>>, hidden, channels>(relu(x), strided);
    auto const z = conv<window<half_height, k_h>, window<half_width, k_too>>(relu(y), each);
    auto loss    = mean(square(z));
    backward(loss);
    opt.step(parameters(image, filter, strided, each));
    return loss;
  }
};
constexpr auto convolved =
    record<convolving, batch, height, half_height, width, half_width, channels, hidden>();
struct by_all : layout<grid, split<height, cols>, split<half_height, cols>, split<batch, rows>> {};
struct by_width : layout<grid, split<width, rows>, split<half_width, rows>, split<hidden, cols>> {};
static_assert(tests::priced_as_dry_runs<convolved, convolving, nothing, by_height, by_all, by_width>);

constexpr auto convs =
    rank_layouts<grid, candidates<batch, height, half_height, width, half_width>>(convolved);
static_assert(convs.size() == 13);  // height or width is split, never both
static_assert(are_dry_runs<convs, convolving>(tests::some_of<13>{}));

// ---- the backward pass of a convolution
template<Layout L>
struct transposing {
  parameter<float, L, batch, half_height, width, hidden> image;
  parameter<float, L, k_h, k_w, channels, hidden> filter;

  constexpr explicit transposing(machine<L>& m) : image{m, he_normal{1}}, filter{m, he_normal{2}} {}
  constexpr auto step() {
    auto loss = mean(square(
        conv_transpose<window<height, k_h, half_height, stride<2>>, window<width, k_w>, channels, hidden>(
            tanh(image), filter)));
    backward(loss);
    return loss;
  }
};
constexpr auto transposed = record<transposing, batch, height, half_height, width, half_width, hidden>();
static_assert(tests::priced_as_dry_runs<transposed, transposing, nothing, by_height, by_all, by_width>);

// ---- parts that are not equal
struct seven : dim<7> {};
struct seven_by_rows : layout<grid, padded<seven, rows>> {};
struct seven_by_cols : layout<grid, padded<seven, cols>> {};

template<Layout L>
struct unequal {
  parameter<float, L, batch, seven, channels> w;
  parameter<float, L, k_h, channels, hidden> filter;

  constexpr explicit unequal(machine<L>& m) : w{m, he_normal{1}}, filter{m, he_normal{2}} {}
  constexpr auto step() {
    auto loss = mean(
        square(conv<window<seven, k_h>, channels, hidden>(max_pool<window<seven, k_too>>(tanh(w)), filter)));
    backward(loss);
    return loss;
  }
};
constexpr auto uneven = record<unequal, seven>();
static_assert(tests::priced_as_dry_runs<uneven, unequal, nothing, seven_by_rows, seven_by_cols>);

// ---- of an operand of two convolutions that send different halos, the gradient of one keeps it, and the
// other leaves its dimension whole
struct one : dim<1> {};
struct only_width : layout<grid, split<width, rows>> {};

template<Layout L>
struct crossing {
  parameter<float, L, height, width, channels> w;
  parameter<float, L, k_h, one, channels, hidden> down;
  parameter<float, L, one, k_h, channels, hidden> across;

  constexpr explicit crossing(machine<L>& m)
      : w{m, he_normal{1}}, down{m, he_normal{2}}, across{m, he_normal{3}} {}
  constexpr auto step() {
    auto const x = tanh(w);
    auto loss    = mean(square(conv<window<height, k_h>, window<width, one>, channels, hidden>(x, down))) +
                mean(square(conv<window<height, one>, window<width, k_h>, channels, hidden>(x, across)));
    backward(loss);
    return loss;
  }
};
constexpr auto crossed = record<crossing, height, width>();
static_assert(tests::priced_as_dry_runs<crossed, crossing, nothing, only_height>);
template<auto const& Step, class L>
concept has_price = requires { std::bool_constant<(price<L>(Step), true)>{}; };
static_assert(has_price<crossed, only_height> && !has_price<crossed, only_width>);

// ---- windows that walk otherwise through each part, and a convolution that is no single task, leave their
// dimension whole
struct fewer : dim<14> {};

template<Layout L>
struct staying {
  tensor<float, L, height, channels> x;
  tensor<bfloat16, L, width, channels> y;
  tensor<bfloat16, L, k_h, channels, hidden> filter;

  constexpr explicit staying(machine<L>& m) : x{m}, y{m}, filter{m} {}
  constexpr auto step() {
    auto const z = conv<window<width, k_h>, channels, hidden>(y, filter);
    (void)z;
    return sum(max_pool<window<height, k_h, fewer, valid>>(x));
  }
};
constexpr auto stayed = record<staying, height, fewer, width, channels>();
static_assert(rank_layouts<grid, candidates<height, fewer, width>>(stayed).size() == 1);

}  // namespace
