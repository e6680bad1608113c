// What is found out at run time, in words.
#include <string>
#include <vector>

#include "../catch.hpp"
#include "mlp.hpp"

namespace accounting {

namespace {

/// The message of the `Error` that f() throws.
template<class Error, class F>
std::string thrown_by(F f) {
  try {
    f();
  } catch (Error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

namespace of_four {
struct grid : meshtf::mesh<rows, cols> {};
}  // namespace of_four

template<meshtf::Layout L>
void labels_out_of_range() {
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  meshtf::parameter<double, L, batch, classes> logits{m, meshtf::normal{1}};
  meshtf::tensor<int, L, batch> labels{m};
  auto const loss = [&] { return mean(meshtf::softmax_cross_entropy<classes>(logits, labels)); };
  INFO(meshtf::name_of<L>());
  auto const expected = loss().value();
  m.unwind_tape(false);
  auto const live = m.live_bytes();
  for (int wrong : {24, -1}) {
    labels.local()(1) = wrong;
    CHECK(thrown_by<meshtf::data_error>(loss) == "target number 1 of this process is " +
                                                     std::to_string(wrong) +
                                                     ", expected a class from 0 to 23: check the labels");
    labels.local()(1) = 0;
    auto const l      = loss();  // the machine goes on
    CHECK(l.value() == expected);
    CHECK_NOTHROW(backward(l));
    logits.zero_gradient();
  }
  CHECK(m.tape_is_empty());
  CHECK(m.live_bytes() == live);
}

}  // namespace

TEST_CASE("a label that is no class is named", "[1]") { labels_out_of_range<replicated>(); }
TEST_CASE("a label that is no class is named, where batch is split or classes", "[2]") {
  labels_out_of_range<data>();
  labels_out_of_range<model>();
}

TEST_CASE("an array of another shape is refused", "[2]") {
  meshtf::process_mesh<line> m{MPI_COMM_WORLD};
  auto const from = [&](std::vector<std::size_t> const& shape) {
    return thrown_by<meshtf::usage_error>(
        [&] { meshtf::from_global<double, data, batch, in>(m, xt::xarray<double>::from_shape(shape)); });
  };
  CHECK(from({16, 12}) == "nothing was thrown");
  CHECK(from({12, 16}) == "from_global of [batch, in] expects an array of 16 x 12, got one of 12 x 16");
  // not the shard either
  CHECK(from({8, 12}) == "from_global of [batch, in] expects an array of 16 x 12, got one of 8 x 12");
  CHECK(from({192}) == "from_global of [batch, in] expects an array of 16 x 12, got one of 192");
  CHECK(from({}) == "from_global of [batch, in] expects an array of 16 x 12, got one of a number");
}

TEST_CASE("a mesh of the wrong size is refused", "[2]") {
  CHECK(thrown_by<meshtf::usage_error>([] { meshtf::process_mesh<of_four::grid> const m{MPI_COMM_WORLD}; }) ==
        "compiled for grid rows=2 x cols=2 = 4 processes, started with 2: mpirun -n 4 ...");
  CHECK_NOTHROW(meshtf::process_mesh<line>{MPI_COMM_WORLD});  // the communicator is as it was
}

}  // namespace accounting
