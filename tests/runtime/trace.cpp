// The trace of a program: its collectives are the ledger's, one by one, and what it says besides fits
// together.
// test: processes 1 2 4
#if MESHTF_WITH_JANSSON
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <jansson.h>
#include <unistd.h>

#include <meshtf/core/json_text.hpp>
#include <meshtf/core/mesh.hpp>
#include <meshtf/ops/function/accumulate.hpp>
#include <meshtf/ops/pointwise/relu.hpp>
#include <meshtf/ops/pointwise/square.hpp>
#include <meshtf/ops/product/einsum.hpp>
#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/optim/early_sums.hpp>
#include <meshtf/optim/sgd.hpp>
#include <meshtf/price/cost_text.hpp>
#include <meshtf/price/dry_run.hpp>
#include <meshtf/price/ledger.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/tensor/initialiser.hpp>
#include <meshtf/tensor/parameter.hpp>
#include <meshtf/tensor/parameters.hpp>
#include <meshtf/tensor/tape.hpp>

#include "../catch.hpp"

namespace {

using meshtf::extent;

// clang-format off
struct batch   : meshtf::dim<8>  {};
struct inputs  : meshtf::dim<16> {};
struct hidden  : meshtf::dim<12> {};
struct outputs : meshtf::dim<4>  {};
// clang-format on

template<int R, int C>
struct on {
  struct rows : meshtf::axis<R> {};
  struct cols : meshtf::axis<C> {};
  struct grid : meshtf::mesh<rows, cols> {};
  struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
};

template<meshtf::Layout L>
struct training {
  meshtf::parameter<float, L, inputs, hidden> up;
  meshtf::parameter<float, L, hidden, outputs> down;
  meshtf::tensor<float, L, batch, inputs> x;
  meshtf::sgd opt{0.1};

  constexpr explicit training(meshtf::machine<L>& m)
      : up{m, meshtf::normal{1, 0.1}}, down{m, meshtf::normal{1, 0.1}}, x{m} {}
  constexpr auto step() {
    auto loss =
        mean(square(meshtf::einsum<batch, outputs>(relu(meshtf::einsum<batch, hidden>(x, up)), down)));
    backward(loss);
    opt.step(meshtf::parameters(up, down));
    return loss;
  }
};

template<meshtf::Layout L>
struct summed_early : training<L> {
  using training<L>::training;
  auto step() {
    meshtf::early_sums const early{meshtf::parameters(this->up, this->down)};
    return training<L>::step();
  }
};

struct slice {
  long process;
  long track;
  double begin;
  double end;
  std::string name;
  std::string category;
  std::map<std::string, std::string> words;
  std::map<std::string, extent> numbers;

  bool contains(slice const& other) const {
    return process == other.process && begin <= other.begin && other.end <= end + 1e-4;
  }
};
struct arrow {
  long process;
  double at;
};

struct contents {
  std::vector<slice> slices;
  std::map<long, std::map<char, std::vector<arrow>>> arrows;               // by number and role
  std::map<long, std::vector<extent>> memory;                              // by process
  std::map<long, std::string> processes;                                   // their names
  std::map<std::pair<long, std::string>, std::map<char, double>> flights;  // by process and name

  std::vector<slice> of(long process, std::string_view category) const {
    std::vector<slice> some;
    for (auto const& s : slices)
      if (s.process == process && s.category == category) some.push_back(s);
    return some;
  }
};

/// What Jansson, which takes nothing but JSON, reads in the file.
contents parsed(std::string const& path) {
  json_error_t error;
  json_t* const root = json_load_file(path.c_str(), 0, &error);
  INFO(error.text << ", line " << error.line);
  REQUIRE(root != nullptr);
  contents found;
  std::size_t i;
  json_t* e;
  json_array_foreach(json_object_get(root, "traceEvents"), i, e) {
    auto const text = [e](char const* name) -> std::string {
      return json_string_value(json_object_get(e, name));
    };
    auto const number = [e](char const* name) { return json_number_value(json_object_get(e, name)); };
    auto const whole  = [e](char const* name) {
      return static_cast<long>(json_integer_value(json_object_get(e, name)));
    };
    json_t* const arguments = json_object_get(e, "args");
    char const phase        = text("ph")[0];
    if (phase == 'X') {
      slice s{whole("pid"), whole("tid"), number("ts"), number("ts") + number("dur"),
              text("name"), text("cat"),  {},           {}};
      char const* name;
      json_t* value;
      json_object_foreach(arguments, name, value) {
        if (json_is_string(value)) s.words[name] = json_string_value(value);
        else s.numbers[name] = json_integer_value(value);
      }
      found.slices.push_back(s);
    } else if (phase == 'C') {
      found.memory[whole("pid")].push_back(json_integer_value(json_object_get(arguments, "bytes")));
    } else if (phase == 'M') {
      if (text("name") == "process_name")
        found.processes[whole("pid")] = json_string_value(json_object_get(arguments, "name"));
    } else if (phase == 'b' || phase == 'e') {
      found.flights[{whole("pid"), text("name")}][phase] = number("ts");
    } else {
      found.arrows[whole("id")][phase].push_back({whole("pid"), number("ts")});
    }
  }
  json_decref(root);
  return found;
}

std::string path_for_all() {
  long number = getpid();
  MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return "/tmp/meshtf-trace-" + std::to_string(number) + ".json";
}

/// What the trace says of the second of three steps.
template<class On, template<meshtf::Layout> class Program = training>
contents second_step(long sleeper = -1) {
  using layout    = typename On::mixed;
  auto const path = path_for_all();
  {
    auto const log = meshtf::detail::trace_log::if_wanted(MPI_COMM_WORLD, {path, 2, 2});
    REQUIRE(log != nullptr);
    meshtf::process_mesh<typename On::grid> m{MPI_COMM_WORLD};
    Program<layout> t{m};
    for (int step = 1; step <= 3; ++step) {
      if (step == 2 && m.rank() == sleeper) usleep(100'000);
      t.step();
    }
  }
  CHECK(meshtf::detail::trace_log::here() == nullptr);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  contents found;
  if (rank == 0) {
    found = parsed(path);
    std::remove(path.c_str());
  }
  return found;
}

/// Only process 0 reads; the others have nothing to check.
template<class On>
void has_what_was_promised() {
  using layout                   = typename On::mixed;
  static constexpr auto promised = meshtf::dry_run<training, layout>();
  constexpr long processes       = On::grid::size;
  auto const found               = second_step<On>();
  if (found.slices.empty()) return;

  for (long process = 0; process < processes; ++process) {
    INFO("process " << process);
    auto const calls = found.of(process, "collective");
    REQUIRE(calls.size() == promised.collectives().size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      auto const& expected = promised.collectives()[i];
      auto told            = calls[i];
      INFO("call " << i << ": " << meshtf::detail::words_of<typename On::grid>(expected));
      CHECK(told.name == meshtf::to_string(expected.kind));
      CHECK(told.words["over"] ==
            meshtf::detail::axes_text(typename On::grid::all_axes{}, expected.over).view());
      CHECK(told.words["operator"] == meshtf::to_string(expected.op));
      CHECK(told.words["type"] == meshtf::to_string(expected.type));
      CHECK(told.words["call site"] == meshtf::detail::site_text(expected.site).view());
      CHECK(told.numbers["elements"] == expected.count);
      CHECK(told.numbers["payload"] == expected.payload);
      CHECK(told.numbers["sent"] == expected.sent);
      CHECK(told.numbers["step"] == 2);
      // after those of the first step
      CHECK(told.numbers["number"] == static_cast<extent>(calls.size() + i + 1));
      CHECK(told.track == (expected.site.backward ? 3 : 2));
    }
    extent flops           = 0;
    std::size_t operations = calls.size();
    for (auto const category : {"forward", "backward", "optimizer"})
      for (auto s : found.of(process, category)) {
        ++operations;
        flops += s.words["kind"].starts_with("product") || s.numbers["flops"] > 0 ? s.numbers["flops"] : 0;
        CHECK(s.words["call site"].find(s.name.substr(0, s.name.find('\''))) == 0);
        CHECK((s.track == 3) == (s.category == "backward"));
      }
    CHECK(flops == promised.flops());
    CHECK(operations == static_cast<std::size_t>(promised.operations()));
    CHECK(!found.of(process, "backward").empty());
    CHECK(!found.of(process, "optimizer").empty());

    auto const steps = found.of(process, "step");
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].name == "step 2");
    for (auto const& s : found.slices)
      if (s.process == process) CHECK(steps[0].contains(s));

    CHECK(found.processes.at(process) == "process " + std::to_string(process));
    REQUIRE(found.memory.contains(process));
    auto const& memory = found.memory.at(process);
    CHECK(*std::max_element(memory.begin(), memory.end()) <= promised.peak_bytes());
    CHECK(*std::max_element(memory.begin(), memory.end()) > promised.parameter_bytes());
    CHECK(*std::min_element(memory.begin(), memory.end()) >= promised.parameter_bytes());
  }

  // Each collective has its arrow, through all who take part in it, from the first to come to the last.
  extent ends = 0;
  for (auto const& [number, by_role] : found.arrows) {
    INFO("arrow " << number);
    REQUIRE(by_role.at('s').size() == 1);
    REQUIRE(by_role.at('f').size() == 1);
    CHECK(by_role.at('s')[0].at <= by_role.at('f')[0].at);
    std::set<long> taking_part;
    for (auto const& [role, some] : by_role)
      for (auto const& a : some) {
        taking_part.insert(a.process);
        ++ends;
        auto const starts_here = [&](slice const& s) {
          return s.process == a.process && s.category == "collective" && s.begin == a.at;
        };
        CHECK(std::any_of(found.slices.begin(), found.slices.end(), starts_here));
      }
    CHECK((taking_part.size() == 2 || taking_part.size() == static_cast<std::size_t>(processes)));
  }
  CHECK(ends == processes * promised.calls());
}

// ---- a pipeline

template<int K, int R>
struct stages_on {
  struct stages : meshtf::axis<K> {};
  struct rows : meshtf::axis<R> {};
  struct grid : meshtf::mesh<stages, rows> {};
  struct mixed : meshtf::layout<grid, meshtf::staged<stages>, meshtf::split<batch, rows>> {};
};

/// One stage has a weight, the last has two, so stages call differently many collectives.
template<meshtf::Layout L>
struct pipeline {
  static constexpr int last = meshtf::stage_count<L> - 1;

  std::vector<meshtf::parameter<float, L, inputs, hidden>> up;
  std::vector<meshtf::parameter<float, L, hidden, inputs>> down;
  meshtf::tensor<float, L, batch, inputs> x;
  meshtf::sgd opt{0.1};

  explicit pipeline(meshtf::machine<L>& m) : x{m} {
    for (int k = 0; k <= last; ++k) {
      meshtf::at_stage<L> const here{m, k};
      up.emplace_back(m, meshtf::normal{1, 0.1});
      down.emplace_back(m, meshtf::normal{2, 0.1});
    }
  }
  auto step() {
    auto loss = meshtf::accumulate<2>(x.machine(), [&](extent) {
      auto y = x;
      for (int k = 0; k <= last; ++k) {
        auto const handed = meshtf::hand_on(y, k);
        auto const i      = static_cast<std::size_t>(k);
        auto const h      = relu(meshtf::einsum<batch, hidden>(handed, up[i]));
        // each stage asks its rows for the mean of what it got, as often as its number says
        for (int n = 0; n < k; ++n) auto const seen = mean(handed);
        y = meshtf::einsum<batch, inputs>(h, down[i]);
      }
      return mean(square(y));
    });
    opt.step(meshtf::parameters(up, down));
    return loss;
  }
};

}  // namespace

TEST_CASE("a trace on 1 process has every operation of the chosen step and no collective", "[1]") {
  has_what_was_promised<on<1, 1>>();
}
TEST_CASE("a trace on 2 processes has the ledger's collectives, one by one", "[2]") {
  has_what_was_promised<on<2, 1>>();
  has_what_was_promised<on<1, 2>>();
}
TEST_CASE("a trace on 4 processes has the ledger's collectives, one by one", "[4]") {
  has_what_was_promised<on<2, 2>>();
  has_what_was_promised<on<4, 1>>();
}

TEST_CASE("the trace of a pipeline names stages, and joins the collectives of each", "[4]") {
  auto const found = second_step<stages_on<2, 2>, pipeline>();
  if (found.slices.empty()) return;
  for (long process = 0; process < 4; ++process)
    CHECK(found.processes.at(process) ==
          "stage " + std::to_string(process / 2) + " (process " + std::to_string(process) + ")");
  auto const starting = [&](arrow const& a) {
    for (auto const& s : found.slices)
      if (s.process == a.process && s.category == "collective" && s.begin == a.at) return s;
    return slice{};
  };
  std::set<std::string> joined;
  for (auto const& [number, by_role] : found.arrows) {
    INFO("arrow " << number);
    auto const first = starting(by_role.at('s').at(0));
    std::set<long> taking_part;
    for (auto const& [role, some] : by_role)
      for (auto const& a : some) {
        taking_part.insert(a.process);
        auto const own = starting(a);
        CHECK(own.name == first.name);
        CHECK(own.words.at("call site") == first.words.at("call site"));
      }
    auto const over = first.words.at("over");
    joined.insert(over);
    CHECK(first.name == "all_reduce");
    long const first_of_stage = first.process / 2 * 2;
    long const row            = first.process % 2;
    if (over == "rows") CHECK(taking_part == std::set{first_of_stage, first_of_stage + 1});
    else CHECK(taking_part == std::set{row, row + 2});
  }
  CHECK(joined == std::set<std::string>{"rows", "stages"});
  CHECK(found.of(0, "collective").size() != found.of(2, "collective").size());
  auto const calls = found.of(0, "collective");
  CHECK(std::any_of(calls.begin(), calls.end(), [](slice const& s) { return s.name == "hand_on"; }));
}

TEST_CASE("a sum that goes on has a row of its own, from its begin until it has been waited for", "[2]") {
  auto const found = second_step<on<2, 1>, summed_early>();
  if (found.slices.empty()) return;
  CHECK(found.flights.size() == 2);  // one message of each process
  for (auto const& [process_and_name, moments] : found.flights) {
    auto const& [process, name] = process_and_name;
    INFO(name << " of process " << process);
    auto const is_call = [&](slice const& c) {
      return c.begin == moments.at('b') && c.words.at("call site").starts_with("early_sums") &&
             name == "sum number " + std::to_string(c.numbers.at("number"));
    };
    auto const calls = found.of(process, "collective");
    auto const call  = std::find_if(calls.begin(), calls.end(), is_call);
    REQUIRE(call != calls.end());
    CHECK(moments.at('e') > call->end);
    // the call itself does not wait
    for (auto const& s : found.of(process, "wait")) CHECK_FALSE(call->contains(s));
  }
}

TEST_CASE("waiting for a process that is late is told apart from the transfer", "[2][4]") {
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  auto const found = processes == 2 ? second_step<on<2, 1>>(1) : second_step<on<4, 1>>(1);
  if (found.slices.empty()) return;
  for (long process = 0; process < processes; ++process) {
    INFO("process " << process);
    double longest  = 0;
    double transfer = 0;
    for (auto const& s : found.of(process, "wait")) longest = std::max(longest, s.end - s.begin);
    for (auto const& s : found.of(process, "transfer")) transfer = std::max(transfer, s.end - s.begin);
    CHECK((longest > 80'000) == (process != 1));
    CHECK(transfer < 80'000);
    for (auto const category : {"wait", "transfer"})
      for (auto const& s : found.of(process, category)) {
        auto const calls = found.of(process, "collective");
        CHECK(std::any_of(calls.begin(), calls.end(), [&s](slice const& c) { return c.contains(s); }));
      }
  }
}

TEST_CASE("the steps of a trace are the first and the last, at least one", "[1]") {
  auto const read = [](char const* said) {
    meshtf::trace settings;
    meshtf::detail::read_trace_steps(said, "MESHTF_TRACE_STEPS", settings);
    return std::pair{settings.first, settings.last};
  };
  CHECK(read("3") == std::pair{3L, 3L});
  CHECK(read("3:5") == std::pair{3L, 5L});
  for (auto const* wrong :
       {"", "0", "5:3", "0:3", "-1", "x", "3:", ":3", "3:5:7", "3-5", "3:5x", "99999999999999999999"}) {
    INFO(wrong);
    CHECK_THROWS_WITH(
        read(wrong),
        Catch::Matchers::StartsWith(
            "expected MESHTF_TRACE_STEPS to be the first and the last step of a trace, at least one "
            "from step 1 on, got '" +
            std::string{wrong} + "'"));
  }
}

TEST_CASE("a text in a trace is JSON whatever is in it", "[1]") {
  CHECK(meshtf::detail::json_text("a\"b\\c\nd") == "\"a\\\"b\\\\c\\u000ad\"");
}
#endif
