// The steps of the examples, recorded without a layout: under the layouts that they train with, a record
// costs what their dry runs say. That the steps then cost the same is compared by the examples themselves
// when they start (examples/promise.hpp), and for one of them here.
// test: program compiled
//
// An example is included, in a namespace, and its `main` is a template that nobody calls. Two that take a
// compiler longer are in recorded_large_examples.cpp, and the others a record refuses: stages, weights kept
// in parts, or an optimizer with `shard_state`.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <xtensor/xview.hpp>

#include "../../examples/options.hpp"
#include "../../examples/promise.hpp"
#include "record_of.hpp"

#include <meshtf/meshtf.hpp>

#include "../catch.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // what an example's `main` alone uses
#pragma GCC diagnostic ignored "-Wreturn-type"      // which returns nothing
#define main(number, words) run_example(number, words, auto const&...)
namespace getting_started {
#include "../../examples/getting_started.cpp"
}
namespace any_processes {
#include "../../examples/any_processes.cpp"
}
namespace control_flow {
#include "../../examples/control_flow.cpp"
}
#undef main
#pragma GCC diagnostic pop

namespace {

using meshtf::tests::record_of;

static_assert(
    record_of<getting_started::training, getting_started::batch, getting_started::hidden>::agrees_under<
        getting_started::alone, getting_started::data_parallel, getting_started::mixed>());

namespace any = any_processes;
static_assert(
    record_of<any::training, any::batch, any::hidden>::agrees_under<
        any::chosen<any::one>, any::chosen<any::two>, any::chosen<any::three>, any::chosen<any::four>>());

namespace flow = control_flow;
static_assert(record_of<flow::halting, flow::batch,
                        flow::units>::agrees_under<flow::whole, flow::halves, flow::quarters, flow::mixed>());

}  // namespace

TEST_CASE("the step of getting_started costs what its record says", "[1]") {
  using L = getting_started::alone;
  static constexpr auto promised =
      meshtf::price<L>(meshtf::record<getting_started::training, getting_started::batch>());
  meshtf::process_mesh<L::mesh_type> m{MPI_COMM_WORLD};
  getting_started::training<L> program{m};
  auto const counted = meshtf::recorded<L>(m, [&]<class>(auto&) { program.step(); });
  CHECK(counted.calls() == promised.calls());
  CHECK(counted.flops() == promised.flops());
  CHECK(counted.bytes_touched() == promised.bytes_touched());
  CHECK(counted.peak_bytes() == promised.peak_bytes());
}
