// Checkpoints that a thread writes while training goes on.
#include <meshtf/io/asynchronous_saves.hpp>

#include <algorithm>
#include <limits>

#include "../layout_fixture.hpp"
#include "folder.hpp"
#include "said.hpp"
#include "small_disk.hpp"

using namespace fixture;
using files::what_it_throws;

namespace {

struct height : dim<128> {};
struct width : dim<192> {};
struct columns : layout<two_by_two, split<width, cols>> {};  // rows hold the same
struct halves : layout<pair, split<height, line>> {};

template<Layout L>
struct net {
  parameter<float, L, height, width> w;
  parameter<double, L, width> b;
  adam opt{0.5};
  explicit net(machine<L>& m) : w{m, normal{1}}, b{m, normal{2}} {}
  auto list() { return meshtf::parameters(named("w", w), named("b", b)); }
  void step() {
    backward(sum(square(w)));
    opt.step(list());
  }
  void fill(float x) {
    std::fill_n(w.data(), w.size, x);
    std::fill_n(b.data(), b.size, double{x} + 0.5);
  }
  bool has(float x) {
    return std::all_of(w.data(), w.data() + w.size, [x](float y) { return x == y; }) &&
           std::all_of(b.data(), b.data() + b.size, [x](double y) { return double{x} + 0.5 == y; });
  }
};

/// f<L>(m) under one layout for 1, 2 and 4 processes.
void on_these_processes(auto const& f) {
  auto const under = [&]<Layout L> { f.template operator()<L>(processes<typename L::mesh_type>()); };
  int const n      = boost::mpi::communicator{}.size();
  if (n == 1) under.template operator()<alone>();
  if (n == 2) under.template operator()<halves>();
  if (n == 4) under.template operator()<columns>();
}

std::vector<std::string> names(auto& m, std::string const& path) {
  m.world().barrier();
  auto const found = files::names_in(path);
  m.world().barrier();
  return found;
}

constexpr void look(auto& saves) {
  saves.poll();
  saves.poll();
  saves.finish();
}

}  // namespace

TEST_CASE("what an asynchronous save writes is of the moment of the save, whatever changes after it",
          "[1][2][4]") {
  files::folder const folder;
  on_these_processes([&]<Layout L>(machine<L>& m) {
    net<L> n{m};
    n.step();
    save(n.list(), n.opt, {1, 5}, folder / "as they are", {.in_parts = true});
    {
      asynchronous_saves saves{m};
      saves.save(n.list(), n.opt, {1, 5}, folder / "copied");
      n.fill(-7);
      n.step();
      while (!saves.poll()) n.step();
      CHECK(saves.poll());
    }
    std::string const there = folder / "copied/step-00000001";
    auto const files        = names(m, there);
    CHECK(files.size() == static_cast<std::size_t>(m.world().size()) + 1);
    for (auto const& name : files) {
      INFO(name);
      CHECK((files::read(there + "/" + name) == files::read(folder / "as they are/step-00000001/" + name)));
    }
    CHECK(load(n.list(), n.opt, folder / "copied") == training_position{1, 5});
    m.world().barrier();
  });
}

TEST_CASE("a second asynchronous save waits for the first, older ones go, an equal one changes nothing",
          "[1][2][4]") {
  files::folder const folder;
  on_these_processes([&]<Layout L>(machine<L>& m) {
    net<L> n{m};
    asynchronous_saves saves{m};
    for (std::uint64_t step : {1u, 2u, 3u}) {
      n.fill(static_cast<float>(step));
      saves.save(n.list(), {step, 0}, folder.path());
      if (step > 1) {
        auto const there = names(m, folder.path());
        CHECK(std::count(there.begin(), there.end(), "step-0000000" + std::to_string(step - 1)) == 1);
      }
    }
    n.fill(0);
    saves.finish();
    CHECK(names(m, folder.path()) == std::vector<std::string>{"step-00000002", "step-00000003"});
    CHECK(load(n.list(), folder.path()).step == 3);
    CHECK(n.has(3));
    auto const written = std::filesystem::last_write_time(folder / "step-00000003/manifest.json");
    saves.save(n.list(), {3, 0}, folder.path());
    saves.finish();
    CHECK(std::filesystem::last_write_time(folder / "step-00000003/manifest.json") == written);
    n.fill(4);
    saves.save(n.list(), {3, 0}, folder.path());
    saves.finish();
    CHECK(names(m, folder.path()) == std::vector<std::string>{"step-00000002", "step-00000003"});
    n.fill(0);
    load(n.list(), folder.path());
    CHECK(n.has(4));
    CHECK_THAT(what_it_throws([&] { saves.save(n.list(), {1, 0}, folder.path()); }),
               Catch::StartsWith("64 ") && Catch::Contains("got step-00000003: load it and go on"));
    m.world().barrier();
  });
}

TEST_CASE("an asynchronous save that fails on one process is an error on all when they ask next",
          "[1][2][4]") {
  files::folder const folder;
  on_these_processes([&]<Layout L>(machine<L>& m) {
    net<L> n{m};
    n.fill(1);
    asynchronous_saves saves{m};
    saves.save(n.list(), {1, 0}, folder.path());
    saves.finish();
    int const size = m.world().size();
    int const bad  = size - 1;
    std::string seen_by;
    if (size > 1) seen_by = " (seen by process " + std::to_string(bad) + ")";
    auto const fails = [&](auto const& then) {
      {
        files::small_disk const full{10000, bad};
        saves.save(n.list(), {2, 0}, folder.path());
        CHECK_THAT(what_it_throws(then),
                   Catch::StartsWith("69 expected to write " + folder / "step-") &&
                       Catch::Contains("/part-0000" + std::to_string(bad)) &&
                       Catch::Contains(", got: File too large") &&
                       Catch::EndsWith("; what was saved before is untouched" + seen_by));
      }
      CHECK(names(m, folder.path()) == std::vector<std::string>{"step-00000001"});
      CHECK(saves.poll());  // said once
    };
    fails([&] {
      while (!saves.poll()) {
      }
    });
    fails([&] { saves.finish(); });
    fails([&] { saves.save(n.list(), {3, 0}, folder.path()); });
    n.fill(2);
    saves.save(n.list(), {2, 0}, folder.path());
    saves.finish();
    n.fill(0);
    CHECK(load(n.list(), folder.path()).step == 2);
    CHECK(n.has(2));
    m.world().barrier();
  });
}

TEST_CASE("another save in the folder of one that is under way is refused on all processes", "[1][2][4]") {
  files::folder const folder;
  on_these_processes([&]<Layout L>(machine<L>& m) {
    net<L> n{m};
    asynchronous_saves saves{m};
    saves.save(n.list(), n.opt, {1, 0}, folder / "run");
    for (bool const in_parts : {false, true})
      CHECK_THAT(
          what_it_throws([&] { save(n.list(), n.opt, {2, 0}, folder / "run/", {.in_parts = in_parts}); }),
          Catch::StartsWith("64 expected no other save in " + folder / "run/" +
                            " while one is under way, got ") &&
              Catch::Contains("step-00000001.tmp-") &&
              Catch::Contains(": call finish() of its asynchronous_saves first"));
    save(n.list(), n.opt, {2, 0}, folder / "beside");
    saves.finish();
    save(n.list(), n.opt, {2, 0}, folder / "run", {.in_parts = true});
    CHECK(load(n.list(), n.opt, folder / "run").step == 2);
    m.world().barrier();
  });
}

TEST_CASE("an asynchronous save that nobody has asked for is not there, and the next save clears it away",
          "[1][2][4]") {
  files::folder const folder;
  on_these_processes([&]<Layout L>(machine<L>& m) {
    net<L> n{m};
    n.fill(1);
    save(n.list(), {1, 0}, folder.path());
    {
      asynchronous_saves saves{m};
      saves.save(n.list(), {2, 0}, folder.path());
      if (m.rank() != 0) usleep(20000);
    }
    m.world().barrier();
    CHECK(!std::filesystem::exists(folder / "step-00000002"));
    n.fill(0);
    CHECK(load(n.list(), folder.path()).step == 1);
    CHECK(n.has(1));
    save(n.list(), {2, 0}, folder.path());
    CHECK(names(m, folder.path()) == std::vector<std::string>{"step-00000001", "step-00000002"});
    m.world().barrier();
  });
}

TEST_CASE("an asynchronous save of what is not finite says so", "[1][2][4]") {
  files::folder const folder;
  on_these_processes([&]<Layout L>(machine<L>& m) {
    net<L> n{m};
    if (m.rank() == 0) n.b.data()[0] = std::numeric_limits<double>::infinity();
    asynchronous_saves saves{m};
    std::string const said = files::said(folder, [&] {
      saves.save(n.list(), {1, 0}, folder / "run");
      saves.finish();
    });
    CHECK_THAT(said, m.rank() != 0 ? Catch::Equals("")
                                   : Catch::Equals("meshtf: saved " + folder / "run/step-00000001" +
                                                   ", in which 'b' is not finite: no other checkpoint in the "
                                                   "folder is\n"));
    m.world().barrier();
  });
}

TEST_CASE("asynchronous saves cost one number each time that one looks", "[1][2][4]") {
  files::folder const folder;
  on_these_processes([&]<Layout L>(machine<L>& m) {
    constexpr auto promised = dry_run<L>([]<Layout U>(machine<U>& on) {
      asynchronous_saves saves{on};
      look(saves);
    });
    net<L> n{m};
    asynchronous_saves saves{m};
    for (bool under_way : {false, true}) {
      if (under_way) saves.save(n.list(), {1, 0}, folder.path());
      auto const counted = recorded<L>(m, [&]<Layout U>(machine<U>&) { look(saves); });
      CHECK(counted.calls() == promised.calls());
      CHECK(counted.bytes_sent() == promised.bytes_sent());
    }
    CHECK(promised.calls() == (m.world().size() == 1 ? 0 : 3));
    m.world().barrier();
  });
}
