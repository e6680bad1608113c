// What tests of pipelines share: meshes of some of the processes, the bits of arrays, and what the compiler
// promises each stage.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../layout_fixture.hpp"

namespace pipelines {

using namespace meshtf;
using boost::mpi::communicator;

/// The processes of `world` as a mesh that lives until the end: MPI is down when static objects die. Of one
/// mesh `world` is the same in each call.
template<Mesh M>
process_mesh<M>& processes(communicator const& world = {}) {
  static auto* const made = new process_mesh<M>{world};
  return *made;
}

/// This process alone.
inline communicator alone() { return {MPI_COMM_SELF, boost::mpi::comm_attach}; }

/// The local elements of arrays of this process, by name.
using shards = std::map<std::string, std::vector<float>>;

template<class X>
std::vector<float> elements(X const& x) {
  auto const all = x.local();
  return {all.begin(), all.end()};
}
/// Of the parameters that this process has.
template<class List>
shards elements_of(List const& list) {
  shards found;
  list.for_each_named([&](std::string const& name, auto& w) {
    if (!w.handle()->is_absent()) found[name] = elements(w);
  });
  return found;
}

/// Have they the bits of those of the same names in `all`?
inline void expect_part_of(shards const& own, shards const& all) {
  CHECK(!own.empty());
  for (auto const& [name, x] : own) {
    INFO(name);
    auto const& truth = all.at(name);
    REQUIRE(x.size() == truth.size());
    CHECK(std::memcmp(x.data(), truth.data(), x.size() * sizeof(float)) == 0);
  }
}

/// What the compiler promises each stage of `f.operator()<L>(machine)`.
template<class L, class F, int Threads = 1>
constexpr auto promised = [] {
  auto const all = dry_run<L>(F{}, threads{Threads});
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return std::array{fixture::cost_summary{all.stage(int{K})}...};
  }(std::make_index_sequence<std::size_t{stage_count<L>}>{});
}();

/// Is it what this process counts?
template<class L, class F, int Threads = 1>
void expect_price(process_mesh<typename L::mesh_type>& m) {
  auto const stage = static_cast<std::size_t>(m.template coordinate<stage_axis<L>>());
  fixture::compare(
      promised<L, F, Threads>[stage], fixture::cost_summary { recorded<L>(m, F{}) }, "the layout of stages");
}

}  // namespace pipelines
