// Images of which a batch has some: convolutions, pooling and norms give what images of exactly that number
// give, in bfloat16 nearly.
// test: processes 1 3 4
#include <cmath>

#include "../../layout_fixture.hpp"

#include <meshtf/nn/batch_norm.hpp>
#include <meshtf/ops/normalise/group_norm.hpp>
#include <meshtf/ops/window/conv.hpp>
#include <meshtf/ops/window/pool.hpp>

using namespace meshtf;

namespace {

struct images : up_to<8> {};
struct height : dim<6> {};
struct half_height : dim<3> {};
struct width : dim<4> {};
struct in : dim<3> {};
struct made : dim<5> {};
struct k_h : dim<3> {};
struct k_w : dim<2> {};
struct two : dim<2> {};
template<extent N>
struct exactly : dim<N> {};

struct by_image : layout<fixture::by_three, padded<images, fixture::third>> {};
struct by_both : layout<fixture::two_by_two, split<images, fixture::rows>, split<height, fixture::cols>,
                        padded<half_height, fixture::cols>> {};

template<class T, class L, class Images>
std::vector<xt::xarray<double>> run(machine<L>& m, extent n) {
  xt::xarray<double> pattern =
      xt::zeros<double>({static_cast<std::size_t>(n), std::size_t{6}, std::size_t{4}, std::size_t{3}});
  for (std::size_t i = 0; i < pattern.size(); ++i)
    pattern.flat(i) = std::sin(1.3 * static_cast<double>(i + 1)) + 0.5;
  parameter<T, L, k_h, k_w, in, made> filter{m, normal{1}};
  nn::batch_norm<computed<T>, L, made> norm{m};
  tensor<computed<T>, L, width> const scale = random_normal<computed<T>, L, width>(m, {.seed = 3});
  auto const x      = cast<T>(from_global<double, L, Images, height, width, in>(m, pattern));
  auto const z      = norm(conv<window<height, k_h>, window<width, k_w>, in, made>(x, filter));
  auto const pooled = max_pool<window<height, two, half_height, stride<2>>>(z) +
                      avg_pool<window<height, two, half_height, stride<2>>>(z);
  auto const y = group_norm<half_height, made>(pooled, scale, scale);
  backward(mean(square(cast<double>(y) + 0.3)));
  std::vector<xt::xarray<double>> shown;
  auto const show = [&](auto const& v) { shown.push_back(to_global(cast<double>(v))); };
  show(z);
  show(y);
  show(finish(gradient(filter)));
  show(finish(gradient(norm.scale)));
  show(norm.running_mean);
  show(norm.running_variance);
  return shown;
}

void compare(std::vector<xt::xarray<double>> const& found, std::vector<xt::xarray<double>> const& truth,
             double tolerance) {
  REQUIRE(found.size() == truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    INFO("value number " << i);
    REQUIRE(found[i].shape() == truth[i].shape());
    double worst = 0;
    for (std::size_t e = 0; e < truth[i].size(); ++e)
      if (double const d = std::abs(found[i].flat(e) - truth[i].flat(e)); !(d <= worst))
        worst = std::isfinite(d) ? d : 1e300;
    CHECK(worst <= tolerance);
  }
}

template<class L, extent N>
void check() {
  auto& m = fixture::processes<typename L::mesh_type>();
  INFO(N << " images under " << name_of<L>());
  auto const truth = run<double, fixture::alone, exactly<N>>(fixture::processes<fixture::single>(), N);
  counted<images> const guard{m, N};
  compare(run<double, L, images>(m, N), truth, 1e-12);
  if constexpr (N == 5) compare(run<bfloat16, L, images>(m, N), truth, 0.1);
}

template<class L>
void check_all() {
  check<L, 8>(), check<L, 5>(), check<L, 1>(), check<L, 5>();
}

}  // namespace

TEST_CASE("some images of a batch", "[1]") { check_all<fixture::alone>(); }
TEST_CASE("some images of a batch, over three processes", "[3]") { check_all<by_image>(); }
TEST_CASE("some images of a batch, and rows of them", "[4]") { check_all<by_both>(); }
