// An LSTM and a GRU as loops of C++, compared with PyTorch: 0, 1, 7 and 500 turns, and a loop that ends when
// the state no longer changes. See tests/golden/README.md.
// test: processes 1 4
#include "../golden.hpp"

#include <meshtf/meshtf.hpp>

#include "../catch.hpp"

#if MESHTF_WITH_JANSSON

using namespace meshtf;

namespace {

struct batch : dim<4> {};
struct in : dim<3> {};
struct hidden : dim<6> {};
// the state that a turn reads, which is multiplied with every hidden unit's weights
struct state_before : dim<6> {};
struct time : dim<20> {};  // later turns read the last input again
struct one : dim<1> {};

struct solo : axis<1> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct alone : mesh<solo> {};
struct square_grid : mesh<rows, cols> {};

struct whole : layout<alone> {};
struct mixed : layout<square_grid, split<batch, rows>, split<hidden, cols>> {};

golden_arrays const& golden() {
  static golden_arrays const file{"recurrent"};
  return file;
}

/// The weights of a cell with so many gates.
template<class L, class Gates>
struct weights {
  parameter<double, L, in, Gates, hidden> from_input;
  parameter<double, L, state_before, Gates, hidden> from_state;
  parameter<double, L, Gates, hidden> input_bias;
  parameter<double, L, Gates, hidden> state_bias;

  weights(machine<L>& m, std::string const& name)
      : from_input{m, zeros{}}, from_state{m, zeros{}}, input_bias{m, zeros{}}, state_bias{m, zeros{}} {
    from_input = golden().tensor<double, L, in, Gates, hidden>(m, name + ".weight_ih");
    from_state = golden().tensor<double, L, state_before, Gates, hidden>(m, name + ".weight_hh");
    input_bias = golden().tensor<double, L, Gates, hidden>(m, name + ".bias_ih");
    state_bias = golden().tensor<double, L, Gates, hidden>(m, name + ".bias_hh");
  }

  /// What each gate gets from the input, and from the state.
  auto seen(tensor<double, L, batch, in> const& x) const {
    return unstack<Gates>(einsum<batch, Gates, hidden>(x, from_input) + input_bias);
  }
  auto kept(tensor<double, L, batch, hidden> const& h) const {
    return unstack<Gates>(einsum<batch, Gates, hidden>(rename<hidden, state_before>(h), from_state) +
                          state_bias);
  }
};

template<class L>
struct lstm {
  static constexpr char const* name = "lstm";
  struct gates : dim<4> {};
  weights<L, gates> w;
  tensor<double, L, batch, hidden> cell;  // the state that only the cell itself sees

  explicit lstm(machine<L>& m) : w{m, name}, cell{m} {}

  auto turn(tensor<double, L, batch, in> const& x, tensor<double, L, batch, hidden> const& h) {
    auto const s     = w.seen(x);
    auto const k     = w.kept(h);
    auto const taken = sigmoid(s[0] + k[0]);
    auto const left  = sigmoid(s[1] + k[1]);
    auto const shown = sigmoid(s[3] + k[3]);
    cell             = left * cell + taken * tanh(s[2] + k[2]);
    return shown * tanh(cell);
  }
};

template<class L>
struct gru {
  static constexpr char const* name = "gru";
  struct gates : dim<3> {};
  weights<L, gates> w;

  explicit gru(machine<L>& m) : w{m, name} {}

  auto turn(tensor<double, L, batch, in> const& x, tensor<double, L, batch, hidden> const& h) {
    auto const s       = w.seen(x);
    auto const k       = w.kept(h);
    auto const reset   = sigmoid(s[0] + k[0]);
    auto const stays   = sigmoid(s[1] + k[1]);
    auto const offered = tanh(s[2] + reset * k[2]);
    return (1 - stays) * offered + stays * h;
  }
};

struct loop {
  std::string name;
  int turns;
  double min_change = 0;  // the loop ends when no element of the state has changed by so much
};

template<class L, template<class> class Cell>
void compare(process_mesh<typename L::mesh_type>& m, loop const& how) {
  std::string const name = std::string{Cell<L>::name} + "." + how.name;
  CAPTURE(name);
  Cell<L> net{m};
  parameter<double, L, batch, hidden> first{m, zeros{}};
  parameter<double, L, time, batch, in> inputs{m, zeros{}};
  first  = golden().tensor<double, L, batch, hidden>(m, "first");
  inputs = golden().tensor<double, L, time, batch, in>(m, "inputs");

  tensor<double, L, batch, hidden> h = copy(first);
  int taken                          = 0;
  while (taken < how.turns) {
    auto const x      = sum<one>(slice<time, one>(inputs, std::min<extent>(taken, time::size - 1)));
    auto const before = h;
    h                 = net.turn(x, before);
    ++taken;
    if (how.min_change > 0) {
      auto const change = max(abs(stop_gradient(h) - stop_gradient(before)));
      if (same_on_all(change, 1.) < how.min_change) break;
    }
  }
  CHECK(taken == golden().file().read<int>(name + ".taken").at(0));
  CHECK(golden().distance(h, name + ".state") < 1e-12);
  backward(sum(h * golden().tensor<double, L, batch, hidden>(m, "probe")));
  CHECK(golden().distance(finish(gradient(first)), name + ".gradient.first") < 1e-12);
  CHECK(golden().distance(finish(gradient(inputs)), name + ".gradient.inputs") < 1e-12);
  CHECK(golden().distance(finish(gradient(net.w.from_input)), name + ".gradient.weight_ih") < 1e-11);
  CHECK(golden().distance(finish(gradient(net.w.from_state)), name + ".gradient.weight_hh") < 1e-11);
  CHECK(golden().distance(finish(gradient(net.w.input_bias)), name + ".gradient.bias_ih") < 1e-11);
  CHECK(golden().distance(finish(gradient(net.w.state_bias)), name + ".gradient.bias_hh") < 1e-11);
}

template<class L>
void compare_all() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  for (loop const& how :
       {loop{"0", 0}, loop{"1", 1}, loop{"7", 7}, loop{"500", 500}, loop{"stops", 500, 1e-3}}) {
    compare<L, lstm>(m, how);
    compare<L, gru>(m, how);
  }
}

}  // namespace

TEST_CASE("loops of C++ compute what PyTorch's recurrent cells do, and their gradients") {
  if (boost::mpi::communicator{}.size() == 1) compare_all<whole>();
  else compare_all<mixed>();
}

#endif
