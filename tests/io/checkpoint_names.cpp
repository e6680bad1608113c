// The names in a checkpoint: those of the model, whether it stands alone in the list or is asked for its own.
#include <meshtf/io/checkpoint.hpp>

#include "../layout_fixture.hpp"
#include "folder.hpp"

using namespace fixture;

namespace {

constexpr checkpoint_options as_file{.in_parts = false};

template<Layout L>
struct layer {
  parameter<float, L, in, hidden> weight;
  parameter<float, L, hidden> bias;
  layer(machine<L>& m, std::uint64_t seed) : weight{m, normal{seed}}, bias{m, normal{seed + 1}} {}
  constexpr auto parameters() { return meshtf::parameters(named("weight", weight), named("bias", bias)); }
};

template<Layout L>
struct net {
  layer<L> first;
  std::vector<layer<L>> blocks;
  explicit net(machine<L>& m) : first{m, 1} {
    blocks.push_back({m, 3});
    blocks.push_back({m, 5});
  }
  constexpr auto parameters() { return meshtf::parameters(named("first", first), named("blocks", blocks)); }
};

/// A model of one model without a name.
template<Layout L>
struct wrapped {
  net<L> inner;
  constexpr auto parameters() { return meshtf::parameters(inner); }
};

std::vector<std::string> names_in(std::string const& path) {
  safetensors_reader const file{path};
  std::vector<std::string> found;
  for (auto const& [name, array] : file.header().arrays) found.push_back(name);
  return found;
}

template<class List>
void spoil(List const& list) {
  list.for_each([](auto& w) { std::fill_n(w.data(), w.size, -7.0f); });
}

std::vector<std::string> const names{"blocks.0.bias",   "blocks.0.weight", "blocks.1.bias",
                                     "blocks.1.weight", "first.bias",      "first.weight"};

}  // namespace

TEST_CASE("a model that stands alone in the list has its own names in the file", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  net<alone> n{m};
  wrapped<alone> w{net<alone>{m}};
  std::string const path = folder / "net.safetensors";
  auto const saved       = [&](auto const& list) {
    save(list, path);
    return names_in(path);
  };
  CHECK(saved(parameters(n)) == names);
  CHECK(saved(n.parameters()) == names);
  CHECK(saved(parameters(w)) == names);
  CHECK(saved(parameters(named("net", n)))[0] == "net.blocks.0.bias");
  CHECK(saved(parameters(n, named("w", w)))[0] == "0.blocks.0.bias");
  CHECK(saved(parameters(n.first.bias)) == std::vector<std::string>{"0"});
  CHECK(saved(parameters(n.blocks))[0] == "0.0.bias");
}

TEST_CASE("files that call the only model 0 are loaded as before, with the optimizer's state", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  net<alone> n{m};
  adam opt;
  adam other;
  backward(sum(square(n.first.weight)));
  opt.step(parameters(n));
  std::string const old = folder / "old";
  std::string const now = folder / "now";
  save(parameters(named("0", n)), opt, {1, 2}, old, as_file);
  save(parameters(n), opt, {1, 2}, now, as_file);
  std::string const file = "/step-00000001.safetensors";
  REQUIRE(names_in(old + file).back() == "optimizer.second.0.first.weight");
  spoil(parameters(n));
  CHECK(load(parameters(n), other, old) == training_position{1, 2});
  save(parameters(n), other, {1, 2}, folder / "again", as_file);
  CHECK((files::read(folder / "again" + file) == files::read(now + file)));
  spoil(parameters(n));
  load(n.parameters(), old);
  save(parameters(n), other, {1, 2}, folder / "again", as_file);
  CHECK((files::read(folder / "again" + file) == files::read(now + file)));
  CHECK_THROWS_WITH(load(parameters(named("net", n)), old),
                    Catch::Contains("but '0.blocks.0.bias', F32 [16]; '0.blocks.0.weight', ") &&
                        Catch::Contains(", which this model has not"));
}
