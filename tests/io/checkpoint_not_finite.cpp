// What is not finite in a state is said when it is saved, and never costs the last checkpoint that is.
#include <meshtf/io/checkpoint.hpp>

#include <limits>

#include "../layout_fixture.hpp"
#include "said.hpp"

using namespace fixture;
using files::said;

namespace {

constexpr checkpoint_options as_file{.in_parts = false};

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite  = std::numeric_limits<double>::infinity();

template<Layout L>
struct net {
  parameter<float, L, in, hidden> w;
  parameter<double, L, hidden> b;
  explicit net(machine<L>& m) : w{m, normal{1}}, b{m, normal{2}} {}
  auto list() { return meshtf::parameters(named("w", w), named("b", b)); }
  void step(adam& opt, float gradient) {
    backward(sum(w) * gradient);
    opt.step(list());
  }
};

/// f.operator()<L>() under a layout of as many processes as run this.
template<class F>
void under_a_layout(F const& f) {
  switch (boost::mpi::communicator{}.size()) {
    case 1: f.template operator()<alone>(); break;
    case 2: f.template operator()<model>(); break;
    case 4: f.template operator()<mixed>(); break;
    default: break;
  }
}

}  // namespace

TEST_CASE(
    "the newest finite checkpoint stays, however many follow that are not, and each of these is spoken of") {
  files::folder const folder;
  under_a_layout([&]<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    net<L> n{m};
    sgd opt;
    std::string const path = folder / "run";
    std::string const none = "";
    auto const names       = [&] {
      m.world().barrier();
      auto const found = files::names_in(path);
      m.world().barrier();
      return found;
    };
    auto const save_as = [&](std::uint64_t step) {
      return said(folder, [&] { save(n.list(), opt, {step, 0}, path, as_file); });
    };
    auto const file     = [&](int step) { return "step-0000000" + std::to_string(step) + ".safetensors"; };
    auto const of_first = [&](std::string const& text) { return m.rank() == 0 ? text : none; };
    auto const says     = [&](int step, std::string const& name) {
      return of_first("meshtf: saved " + path + "/" + file(step) + ", in which '" + name +
                          "' is not finite: ");
    };
    std::string const remedy =
        of_first(file(2) + " is the newest that is, and stays; to go on from it delete those after it\n");

    CHECK(save_as(1) == none);
    CHECK(save_as(2) == none);
    auto const sound = to_global(n.w);
    // one number on one process
    if (m.rank() == m.world().size() - 1) n.w.data()[n.w.size - 1] = -std::numeric_limits<float>::infinity();
    n.w.handle()->written();
    CHECK(save_as(3) == says(3, "w") + remedy);
    CHECK(names() == std::vector{file(2), file(3)});
    CHECK(save_as(4) == says(4, "w") + remedy);
    n.b = tensor<double, L, hidden>{m};
    if (m.rank() == 0) n.b.data()[0] = no_number;
    CHECK(save_as(5) == says(5, "b") + remedy);
    CHECK(names() == std::vector{file(2), file(4), file(5)});

    CHECK(said(folder, [&] { CHECK(load(n.list(), opt, path).step == 5); }) ==
          of_first("meshtf: loaded " + path + "/" + file(5) +
                   ", in which 'b' is not finite: what goes on from it will not be either\n"));
    CHECK(said(folder, [&] { CHECK(load(n.list(), opt, path + "/" + file(2)).step == 2); }) == none);
    CHECK((to_global(n.w) == sound));

    CHECK(save_as(6) == none);  // finite again, as any other
    CHECK(names() == std::vector{file(5), file(6)});
    std::fill_n(n.b.data(), n.b.size, infinite);
    n.b.handle()->written();
    CHECK_THROWS_WITH(save(n.list(), opt, {6, 0}, path, as_file),
                      Catch::StartsWith("expected what replaces " + path + "/" + file(6) +
                                        " to be finite as it is, got 'b', which holds what is not"));
    CHECK(save_as(7) ==
          says(7, "b") +
              of_first(file(6) +
                       " is the newest that is, and stays; to go on from it delete those after it\n"));
    if (m.rank() == 0) files::write(path + "/" + file(7), "damaged");  // nothing is known for it
    m.world().barrier();
    CHECK(save_as(8) ==
          says(8, "b") +
              of_first(file(6) +
                       " is the newest that is, and stays; to go on from it delete those after it\n"));
    CHECK(names() == std::vector{file(6), file(7), file(8)});

    std::string const other    = folder / "other";
    std::string const net_file = folder / "net.safetensors";
    CHECK(said(folder, [&] { save(n.list(), {1, 0}, other, as_file); }) ==
          of_first("meshtf: saved " + other + "/" + file(1) +
                   ", in which 'b' is not finite: no other checkpoint in the folder is\n"));
    CHECK(said(folder, [&] { save(n.list(), net_file); }) ==
          of_first("meshtf: saved " + net_file + ", in which 'b' is not finite\n"));
  });
}

TEST_CASE("an optimizer's state counts too, also where it is divided among replicas") {
  files::folder const folder;
  under_a_layout([&]<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    for (bool sharded : {false, true}) {
      net<L> n{m};
      adam opt{0.0};
      opt.shard_state        = sharded;
      std::string const path = folder / (sharded ? "sharded" : "whole");
      n.step(opt, 0.5f);
      CHECK(said(folder, [&] { save(n.list(), opt, {1, 0}, path, as_file); }).empty());
      n.step(opt, 1e30f);  // whose square is not
      std::string const text = said(folder, [&] { save(n.list(), opt, {2, 0}, path, as_file); });
      CHECK(text.empty() == (m.rank() != 0));
      if (m.rank() == 0)
        CHECK_THAT(text, Catch::Contains(
                             ", in which 'optimizer.second.w' is not finite: step-00000001.safetensors is"));
    }
  });
}
