// If it compiles, it passes.
#include <meshtf/plan/conv_plan.hpp>
#include <meshtf/plan/pool_plan.hpp>
#include <meshtf/plan/reshard/reshape_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<4> {};
struct height : dim<12> {};
struct width : dim<7> {};
struct small_height : dim<10> {};
struct half_height : dim<6> {};
struct half_width : dim<4> {};
struct third_width : dim<3> {};
struct k_h : dim<3> {};
struct k_w : dim<2> {};
struct nine : dim<9> {};
struct in : dim<4> {};
struct out : dim<6> {};
struct group : dim<2> {};
struct another_group : dim<3> {};
struct all_in : dim<8> {};
struct some : up_to<12> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct by_space : layout<grid, split<batch, rows>, split<height, cols>> {};
struct by_channels : layout<grid, split<in, cols>, split<out, rows>> {};
struct by_both : layout<grid, split<height, rows>, split<half_height, rows>, split<width, cols>> {};
struct by_pieces : layout<grid, padded<height, cols>, padded<half_height, cols>, padded<width, rows>,
                          padded<small_height, cols>> {};
struct one_side : layout<grid, split<height, cols>, padded<half_height, rows>> {};
struct kernels : layout<grid, split<k_w, rows>> {};

using x = shape<batch, height, width, in>;
using f = shape<k_h, k_w, in, out>;

// sizes as TensorFlow has them, and the zeros in front
constexpr window_rule same;
constexpr window_rule halves{.step = 2};
constexpr window_rule thin{.dilation = 3};
constexpr window_rule whole_windows{.step = 2, .same = false};
constexpr window_rule by_hand{.same = false, .ahead = 2, .behind = 1};
static_assert(same.windows(5, 3) == 5 && same.before(5, 3) == 1 && same.before(5, 2) == 0 &&
              same.before(5, 4) == 1);
static_assert(halves.windows(5, 3) == 3 && halves.before(5, 3) == 1 && halves.windows(6, 3) == 3 &&
              halves.before(6, 3) == 0);
static_assert(whole_windows.windows(7, 2) == 3 && whole_windows.windows(5, 3) == 2 &&
              whole_windows.before(7, 2) == 0 && whole_windows.windows(1, 2) == 0);
static_assert(thin.reach(3) == 7 && thin.windows(4, 3) == 4 && thin.before(4, 3) == 3);
static_assert(by_hand.windows(5, 3) == 6 && by_hand.before(5, 3) == 2);

static_assert(same.elements(5, 3, 0) == 2 && same.elements(5, 3, 1) == 3 && same.elements(5, 3, 4) == 2 &&
              same.min_elements(5, 3) == 2);
static_assert(thin.elements(4, 3, 0) == 2 && thin.elements(4, 3, 3) == 2 && thin.elements(2, 3, 1) == 1 &&
              thin.min_elements(2, 3) == 1);
static_assert(by_hand.elements(5, 2, 0) == 0 && by_hand.elements(5, 2, 1) == 1 &&
              by_hand.min_elements(5, 2) == 0 && whole_windows.min_elements(7, 2) == 2);

// the first and the last of these windows lie in what was added
struct nowhere : layout<grid> {};
struct sixteen : dim<16> {};
static_assert(std::same_as<pool_verdict<nowhere, x, window<height, k_h, sixteen, padding<3, 3>>>,
                           window_has_no_element<k_h, height>>);
static_assert(is_legal<pool_verdict<nowhere, x, window<height, k_h, height>>>);

// what parts need of each other
using by_rows = detail::window_under<by_space, window<height, k_h>>;
static_assert(by_rows::reach.before == 1 && by_rows::reach.after == 1 && by_rows::walk.start == 0 &&
              by_rows::walk.shift == 0);
using in_steps = detail::window_under<by_both, window<height, k_h, half_height, stride<2>>>;
static_assert(in_steps::reach.before == 0 && in_steps::reach.after == 1);
// 12 in 4 parts of 3, of which there are 6 in parts of 2, 2, 2 and 0: the windows of part 2 begin at 8, where
// part 2 begins at 6
using uneven = detail::window_under<by_pieces, window<height, k_h, half_height, stride<2>>>;
static_assert(uneven::reach.before == 0 && uneven::reach.after == 4 && uneven::walk.shift == 1);
static_assert(std::same_as<uneven::verdict, halo_is_wider_than_part<height, 4, 3>>);
// 10 windows in parts of 3, 3, 3 and 1
using all_there = detail::window_under<by_pieces, window<height, k_h, small_height, valid>>;
static_assert(all_there::reach.before == 0 && all_there::reach.after == 2 && all_there::walk.shift == 0 &&
              is_legal<all_there::verdict>);

// shapes
using plan = conv_plan<by_space, x, f,
                       detail::window_list<window<height, k_h>, window<width, k_w, half_width, stride<2>>>,
                       shape<in, out>>;
static_assert(is_legal<plan::verdict> && std::same_as<plan::result, shape<batch, height, half_width, out>>);
static_assert(std::same_as<plan::windows, shape<batch, height, half_width, k_h, k_w, in>>);
static_assert(std::same_as<plan::wide, shape<batch, haloed<height, 1, 1, 4>, haloed<width, 0, 1, 1>, in>> &&
              plan::exchanges);
using channels_first = conv_plan<by_space, shape<batch, in, width>, shape<out, in, k_w>,
                                 detail::window_list<window<width, k_w>>, shape<in, out>>;
static_assert(std::same_as<channels_first::windows, shape<batch, in, k_w, width>> &&
              !channels_first::exchanges);

// verdicts
template<class L, class X, class F, class... A>
using v = conv_verdict<L, X, F, A...>;

static_assert(is_legal<v<by_channels, x, f, window<height, k_h>, window<width, k_w>, in, out>>);
static_assert(is_legal<v<by_both, x, f, window<height, k_h, half_height, stride<2>>,
                         window<width, k_w, half_width, stride<2>>, in, out>> ==
              false);  // width is split, and half_width is not
// each channel by itself
static_assert(is_legal<v<by_space, shape<batch, height, in>, shape<k_h, in>, window<height, k_h>>>);
static_assert(is_legal<v<by_space, shape<batch, height, group, in>, shape<group, k_h, in, out>,
                         window<height, k_h>, in, out>>);
// groups are a dimension that both operands have, and their channels are all: a number that does not divide
// these makes no such dimensions
static_assert(std::same_as<v<by_space, shape<batch, height, group, in>, shape<another_group, k_h, in, out>,
                             window<height, k_h>, in, out>,
                           filter_has_another_dim<another_group>>);
static_assert(std::same_as<v<by_space, shape<batch, height, all_in>, shape<group, k_h, in, out>,
                             window<height, k_h>, in, out>,
                           dim_is_not_in_tensor<in>>);
static_assert(
    is_legal<reshape_plan<by_space, shape<batch, height, group, in>, all_in, shape<group, in>>::verdict>);
static_assert(std::same_as<reshape_plan<by_space, shape<batch, height, another_group, in>, all_in,
                                        shape<another_group, in>>::verdict,
                           parts_do_not_multiply_to_dim<all_in, shape<another_group, in>>>);
static_assert(std::same_as<v<by_space, x, f, in, out>, conv_names_windows_and_channels>);
static_assert(std::same_as<v<by_space, x, f, window<height, k_h>, in>, conv_names_windows_and_channels>);
static_assert(std::same_as<v<by_space, shape<batch, in>, f, window<height, k_h>, in, out>,
                           dim_is_not_in_tensor<height>>);
static_assert(
    std::same_as<v<by_space, x, shape<k_h, in, out>, window<height, k_h>, window<width, k_w>, in, out>,
                 dim_is_not_in_tensor<k_w>>);
static_assert(std::same_as<v<by_space, x, f, window<height, k_h>, in, out>, filter_has_another_dim<k_w>>);
static_assert(std::same_as<v<by_space, x, f, window<height, nine>, window<width, k_w>, in, out>,
                           halo_is_wider_than_part<height, 4, 3>>);
static_assert(std::same_as<v<by_space, x, f, window<height, k_h, valid>, window<width, k_w>, in, out>,
                           windows_make_another_size<height, 10>>);
static_assert(
    std::same_as<v<by_space, x, f, window<height, k_h>, window<width, nine, third_width, valid>, in, out>,
                 window_is_larger_than_dim<nine, 9, width, 7>>);
static_assert(std::same_as<v<by_space, x, f, window<height, k_h, stride<0>>, window<width, k_w>, in, out>,
                           window_number_is_too_small<window<height, k_h, stride<0>>>>);
static_assert(std::same_as<v<by_space, x, f, window<height, k_h>, window<width, k_w, dilation<0>>, in, out>,
                           window_number_is_too_small<window<width, k_w, dilation<0>>>>);
static_assert(
    std::same_as<v<one_side, x, f, window<height, k_h, half_height, stride<2>>, window<width, k_w>, in, out>,
                 windows_are_split_differently<height, axes<cols>, half_height, axes<rows>>>);
static_assert(std::same_as<v<kernels, x, f, window<height, k_h>, window<width, k_w>, in, out>,
                           kernel_dim_is_split<k_w, axes<rows>>>);
static_assert(
    std::same_as<v<by_space, shape<batch, some, in>, shape<k_h, in, out>, window<some, k_h>, in, out>,
                 haloed_dim_is_counted<some>>);

}  // namespace
