// A long sum over nodes: within each node first, so that what goes between nodes is a part.
#include "../catch.hpp"
#include "compare.hpp"

namespace accounting {

namespace {

struct pods : meshtf::axis<2, meshtf::link::between_nodes> {};
struct cores : meshtf::axis<2> {};
struct nodes_first : meshtf::mesh<pods, cores> {};
struct nodes_last : meshtf::mesh<cores, pods> {};

struct flat_pods : meshtf::axis<2> {};
struct flat : meshtf::mesh<flat_pods, cores> {};

template<meshtf::Mesh M>
struct whole : meshtf::layout<M> {};

struct longer : meshtf::dim<32 * 1024> {};
struct shorter : meshtf::dim<1024> {};
struct uneven : meshtf::dim<32 * 1024 + 1> {};

template<meshtf::MeshAxis Pods, meshtf::Dimension D>
struct summed {
  template<meshtf::Layout L, class Machine>
  constexpr auto operator()(Machine& m) const {
    meshtf::tensor<double, L, D> x{m};
    if constexpr (!meshtf::is_dry<L>)
      for (meshtf::extent i = 0; i < x.size; ++i)
        x.data()[i] = static_cast<double>((i % 1000 + 1) * (m.rank() + 1));
    auto const open = meshtf::partial<meshtf::tensor<double, L, D>, meshtf::axes<Pods, cores>>{x, 3};
    return finish(open);
  }
};

template<meshtf::Mesh M, meshtf::MeshAxis Pods, meshtf::Dimension D>
constexpr auto promised = meshtf::dry_run<whole<M>>(summed<Pods, D>{});

using meshtf::collective;

// three calls, each over its own axes: the slow link carries a part
constexpr meshtf::extent bytes = 8 * longer::size;
constexpr auto by_nodes        = promised<nodes_first, pods, longer>;
static_assert(by_nodes.calls() == 3 && by_nodes.calls<collective::reduce_scatter>() == 1 &&
              by_nodes.calls<collective::all_reduce>() == 1 && by_nodes.calls<collective::all_gather>() == 1);
static_assert(by_nodes.collectives()[0].over == 2 && by_nodes.collectives()[1].over == 1 &&
              by_nodes.collectives()[2].over == 2);
static_assert(by_nodes.bytes_sent<pods>() == bytes / 2 && by_nodes.bytes_sent<cores>() == bytes);

// in one call all of it goes over both, as where no link is slow
constexpr auto flatly = promised<flat, flat_pods, longer>;
static_assert(flatly.calls() == 1 && flatly.bytes_sent<flat_pods>() == 2 * bytes * 3 / 4);
static_assert(promised<nodes_first, pods, shorter>.calls() == 1 &&
              promised<nodes_first, pods, uneven>.calls() == 1);

template<meshtf::Mesh M, meshtf::MeshAxis Pods, meshtf::Dimension D>
void check() {
  static constexpr auto price = promised<M, Pods, D>;
  meshtf::process_mesh<M> m{MPI_COMM_WORLD};
  std::vector<double> sum;
  pmpi::start();
  auto const counted = meshtf::recorded<whole<M>>(m, [&]<class L>(auto& machine) {
    auto const z = summed<Pods, D>{}.template operator()<L>(machine);
    sum.assign(z.data(), z.data() + z.size);
  });
  auto const made    = pmpi::stop();
  INFO(meshtf::name_of<M>() << ", " << meshtf::name_of<D>());
  CHECK(difference(price, counted) == "");
  CHECK(price == counted);
  CHECK(difference(price, made) == "");
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) wrong += sum[i] != 10. * static_cast<double>(i % 1000 + 1);
  CHECK(sum.size() == static_cast<std::size_t>(D::size));
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a long sum over nodes goes within each node first", "[4]") {
  check<nodes_first, pods, longer>();
  check<nodes_last, pods, longer>();
  check<flat, flat_pods, longer>();
}

TEST_CASE("a short one, and one without equal parts, goes in one call", "[4]") {
  check<nodes_first, pods, shorter>();
  check<nodes_last, pods, uneven>();
}

}  // namespace accounting
