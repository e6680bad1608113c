// Files of other programs: all that does not fit is named at once, and arrays are renamed while they are
// loaded.
#include <meshtf/io/checkpoint.hpp>
#include <meshtf/io/print_names.hpp>

#include <numeric>
#include <sstream>

#include "../layout_fixture.hpp"
#include "folder.hpp"

using namespace fixture;

namespace {

template<Layout L>
struct layer {
  parameter<float, L, in, hidden> weight;
  parameter<float, L, hidden> bias;
  explicit layer(machine<L>& m) : weight{m}, bias{m} {}
  constexpr auto parameters() { return meshtf::parameters(named("weight", weight), named("bias", bias)); }
};

template<Layout L>
struct net {
  std::vector<layer<L>> blocks;
  parameter<float, L, hidden, out> head;
  explicit net(machine<L>& m) : head{m} {
    blocks.emplace_back(m);
    blocks.emplace_back(m);
  }
  constexpr auto parameters() { return meshtf::parameters(named("blocks", blocks), named("head", head)); }
};

struct entry {
  std::string name;
  std::vector<std::size_t> extents;
  std::string type = "F32";
};

/// A file as another program writes it: element k of each array is k.
void write_foreign(std::string const& path, std::vector<entry> const& entries) {
  boost::mpi::communicator const world;
  world.barrier();
  if (world.rank() == 0) {
    std::string header = R"({"__metadata__":{"format":"pt"})";
    std::string data;
    for (auto const& [name, extents, type] : entries) {
      std::string list;
      for (auto n : extents) list += (list.empty() ? "" : ",") + std::to_string(n);
      std::size_t const from = data.size();
      std::size_t const n =
          std::accumulate(extents.begin(), extents.end(), std::size_t{1}, std::multiplies<>{});
      for (std::size_t k = 0; k < n; ++k) {
        auto const x = static_cast<float>(k);
        data.append(reinterpret_cast<char const*>(&x), sizeof x);
      }
      header += ",\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":[" + list + "],\"data_offsets\":[" +
                std::to_string(from) + "," + std::to_string(data.size()) + "]}";
    }
    header += "}";
    std::string length(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> 8 * i);
    files::write(path, length + header + data);
  }
  world.barrier();
}

std::vector<entry> const theirs{{"layers.0.weight", {6, 16}}, {"layers.0.bias", {16}},
                                {"layers.1.weight", {6, 16}}, {"layers.1.bias", {16}},
                                {"lm_head.weight", {16, 8}},  {"steps", {1}}};

template<class F>
std::string refusal(F const& f) {
  try {
    f();
  } catch (data_error const& e) {
    return e.what();
  }
  return "nothing";
}

template<class W>
bool counts_up(W const& w) {
  auto const whole = to_global(w);
  float k          = 0;
  return std::all_of(whole.begin(), whole.end(), [&k](float x) { return x == k++; });
}

template<class F>
void under_one_or_mixed(F const& f) {
  switch (boost::mpi::communicator{}.size()) {
    case 1: f.template operator()<alone>(); break;
    case 4: f.template operator()<mixed>(); break;
    default: break;
  }
}

}  // namespace

TEST_CASE("all that a file lacks, has besides, or has otherwise is in one message, on all processes") {
  files::folder const folder;
  under_one_or_mixed([&]<Layout L>() {
    auto& m                = processes<typename L::mesh_type>();
    std::string const by   = m.world().size() == 1 ? "" : " (seen by process 0)";
    std::string const path = folder / "theirs.safetensors";
    net<L> n{m};
    write_foreign(path, {{"blocks.0.weight", {16, 6}},
                         {"blocks.0.bias", {16}, "I32"},
                         {"blocks.1.w", {6, 16}},
                         {"blocks.1.bias_", {16}},
                         {"steps", {1}}});
    CHECK(refusal([&] { load(parameters(n), path); }) ==
          "expected 'blocks.1.weight', F32 [6, 16]; 'blocks.1.bias', F32 [16]; 'head', F32 [16, 8], in " +
              path +
              ", got no arrays of these names but 'blocks.1.bias_', F32 [16]; 'blocks.1.w', F32 [6, 16]; "
              "'steps', "
              "F32 [1], which this model has not (perhaps 'blocks.1.w' is 'blocks.1.weight', "
              "'blocks.1.bias_' is "
              "'blocks.1.bias'): another program wrote the file: rename its arrays there, or here: "
              "load(parameters, "
              "path, {{\"blocks.1.w\", \"blocks.1.weight\"}, ...); print_names(parameters) shows the model's "
              "names, and "
              "docs/from_pytorch_and_jax.md has PyTorch's beside those of each layer; expected "
              "'blocks.0.weight' in " +
              path +
              " to be F32 [6, 16], got F32 [16, 6]: it is the transpose: save weight.T.contiguous() in "
              "PyTorch, or "
              "name the dimensions in the order of the file; expected 'blocks.0.bias' in " +
              path + " to be F32 [16], got I32 [16]: make the parameters of that type, or convert the file" +
              by);
  });
}

TEST_CASE("a hundred arrays of a kind are listed, and the rest is counted", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  net<alone> n{m};
  std::vector<entry> many(120, {"", {1}});
  for (std::size_t i = 0; i < many.size(); ++i) many[i].name = "x" + std::to_string(i);
  write_foreign(folder / "many.safetensors", many);
  auto const said = refusal([&] { load(parameters(n), folder / "many.safetensors"); });
  CHECK(said.find("'head', F32 [16, 8], in ") != said.npos);
  CHECK(said.find("; and 20 more, which this model has not: another") != said.npos);
}

TEST_CASE("arrays are renamed while they are loaded, by a list of names or by a rule") {
  files::folder const folder;
  under_one_or_mixed([&]<Layout L>() {
    auto& m                = processes<typename L::mesh_type>();
    std::string const path = folder / "theirs.safetensors";
    write_foreign(path, theirs);
    auto const is_loaded = [](net<L>& n) {
      bool all = true;
      parameters(n).for_each([&all](auto const& w) { all = counts_up(w) && all; });
      return all;
    };
    net<L> n{m};
    net<L> by_rule{m};
    CHECK(!is_loaded(n));
    CHECK(load(parameters(n), path,
               {{"layers.0.weight", "blocks.0.weight"},
                {"layers.0.bias", "blocks.0.bias"},
                {"layers.1.weight", "blocks.1.weight"},
                {"layers.1.bias", "blocks.1.bias"},
                {"lm_head.weight", "head"},
                {"steps", ""}}) == training_position{});
    CHECK(is_loaded(n));
    load(parameters(by_rule), path, [](std::string const& name) -> std::string {
      if (name == "steps") return "";
      return name.starts_with("layers.") ? "blocks." + name.substr(7) : "head";
    });
    CHECK(is_loaded(by_rule));
  });
}

TEST_CASE("names that can't be given are refused, and nothing is loaded") {
  files::folder const folder;
  under_one_or_mixed([&]<Layout L>() {
    auto& m                = processes<typename L::mesh_type>();
    std::string const by   = m.world().size() == 1 ? "" : " (seen by process 0)";
    std::string const path = folder / "theirs.safetensors";
    net<L> n{m};
    write_foreign(path, theirs);
    CHECK(refusal([&] { load(parameters(n), path, {{"lm_head", "head"}}); }) ==
          "expected " + path +
              " to have the arrays that are to be renamed, got none called 'lm_head': the first of two names "
              "is the one in the file" +
              by);
    CHECK(refusal([&] { load(parameters(n), path, [](std::string const&) { return "head"; }); }) ==
          "expected the arrays of " + path +
              " to be renamed to different names, got two that become 'head', the second of them "
              "'layers.0.weight': rename it to something else, or to "
              "\"\", which leaves it out" +
              by);
    CHECK_THAT(refusal([&] { load(parameters(n), path, {{"lm_head.weight", "head"}, {"steps", ""}}); }),
               Catch::Contains(", 'layers.0.bias' is 'blocks.0.bias', ") &&
                   Catch::Contains("{\"layers.0.weight\", \"blocks.0.weight\"}, ...)"));
    auto const keeps_steps = [](std::string const& name) {
      if (name == "steps") return name;
      return name.starts_with("layers.") ? "blocks." + name.substr(7) : std::string{"head"};
    };
    CHECK_THAT(refusal([&] { load(parameters(n), path, keeps_steps); }),
               Catch::Contains("got 'steps', F32 [1]: another program wrote the file") &&
                   Catch::Contains("{\"steps\", \"\"}, ...), where \"\" leaves"));
    CHECK(to_global(n.head)(1, 1) == 0);
  });
}

TEST_CASE("print_names shows what files have, on process 0") {
  under_one_or_mixed([&]<Layout L>() {
    auto& m = processes<typename L::mesh_type>();
    net<L> n{m};
    std::string const all =
        "blocks.0.weight  float [in=6, hidden=16]\nblocks.0.bias  float [hidden=16]\nblocks.1.weight  "
        "float [in=6, hidden=16]\n"
        "blocks.1.bias  float [hidden=16]\nhead  float [hidden=16, out=8]\n";
    std::ostringstream of_net;
    std::ostringstream of_list;
    print_names(n, of_net);
    print_names(parameters(named("net", n.head)), of_list);
    CHECK(of_net.str() == (m.rank() == 0 ? all : ""));
    CHECK(of_list.str() == (m.rank() == 0 ? "net  float [hidden=16, out=8]\n" : ""));
  });
}
