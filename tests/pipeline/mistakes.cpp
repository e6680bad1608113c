// What is wrong with a program of stages is said, on one stage too.
// test: program pipeline
#include <string>

#include "../layout_fixture.hpp"

namespace {

using namespace meshtf;
using boost::mpi::communicator;

struct width : dim<4> {};
struct first : dim<2> {};
struct stages : axis<1> {};
struct row : mesh<stages> {};
struct piped : layout<row, staged<stages>> {};

process_mesh<row>& machine_here() {
  static auto* const made = new process_mesh<row>{MPI_COMM_SELF};
  return *made;
}

/// What `f(w)` says, as the step of a pipeline.
template<class F>
std::string said_in_step(F const& f) {
  auto& m = machine_here();
  parameter<double, piped, width> w{m, normal{1}};
  try {
    auto const loss = accumulate<2>(m, [&](extent) {
      f(w);
      return sum(w * w);
    });
  } catch (software_error const& e) {
    return e.what();
  }
  // the machine is as before: what comes next works
  return "nothing";
}

}  // namespace

TEST_CASE("a step of a pipeline that does what only the whole program can", "[1]") {
  if (communicator{}.size() != 1) return;
  auto& m = machine_here();
  CHECK(said_in_step([](auto& w) {
          (void)sum(w).value();
        }).starts_with("value() shows the elements of one stage"));
  CHECK(
      said_in_step([](auto& w) { (void)w.local(); }).starts_with("local() shows the elements of one stage"));
  CHECK(said_in_step([](auto& w) { backward(sum(w)); }).starts_with("backward in a stage of a pipeline"));
  CHECK(said_in_step([](auto& w) {
          sgd{}.step(parameters(w));
        }).starts_with("an optimizer steps while a stage works"));
  CHECK(said_in_step([&m](auto& w) {
          (void)accumulate<1>(m, [&](extent) { return sum(w); });
        }).starts_with("accumulate in a stage of a pipeline"));
  CHECK(said_in_step([](auto& w) { (void)hand_on(w, 1); }).find("expected a later stage than 0, got 1") !=
        std::string::npos);
  CHECK(said_in_step([&m](auto&) { at_stage<piped> const there{m, 3}; }) ==
        "expected a stage from 0 to 0, got 3");
  CHECK(said_in_step([](auto&) {}) == "nothing");
  CHECK(m.tape_is_empty());
  CHECK(m.stage() == -1);
}

TEST_CASE("hand_on where no stage works", "[1]") {
  if (communicator{}.size() != 1) return;
  auto& m = machine_here();
  tensor<double, piped, width> const x{m};
  std::string said;
  try {
    auto const y = hand_on(x, 0);
  } catch (software_error const& e) {
    said = e.what();
  }
  CHECK(said.find("outside of accumulate") != std::string::npos);
}
