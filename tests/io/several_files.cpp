// A model in several files with an index, as Hugging Face's programs keep it: read, written, and what is
// refused.
#include <meshtf/io/checkpoint.hpp>

#include <algorithm>
#include <vector>

#include <meshtf/io/describe_checkpoint.hpp>

#include "../layout_fixture.hpp"
#include "folder.hpp"
#include "said.hpp"

using namespace fixture;
using files::what_it_throws;

namespace {

std::string const theirs     = MESHTF_TESTS_FOLDER "/golden/hugging_face";
std::string const index_file = "model.safetensors.index.json";
std::string const first      = "model-00001-of-00002.safetensors";
std::string const second     = "model-00002-of-00002.safetensors";

struct columns : layout<two_by_two, split<hidden, cols>> {};  // rows hold the same
struct halves : layout<pair, split<hidden, line>> {};

template<Layout L>
struct net {
  parameter<float, L, in, hidden> weight;
  parameter<double, L, hidden> bias;
  parameter<float, L, hidden, out> head;
  tensor<bool, L, hidden> mask;
  explicit net(machine<L>& m) : weight{m}, bias{m}, head{m}, mask{m} {}
  auto list() {
    return meshtf::parameters(named("blocks.0.weight", weight), named("blocks.0.bias", bias),
                              named("head", head), named("mask", mask));
  }
  /// What tests/golden/hugging_face.py writes.
  void fill() {
    auto const count_up = [](auto& w) {
      for_each_run(
          placed_dims<L, typename std::remove_reference_t<decltype(w)>::shape_type>, w.machine().place(),
          [&](extent local, extent global, extent run) {
            for (extent i = 0; i < run; ++i)
              w.data()[local + i] =
                  static_cast<typename std::remove_reference_t<decltype(w)>::element_type>(global + i);
          });
    };
    count_up(weight);
    count_up(bias);
    count_up(head);
    tensor<int, L, hidden> numbers{mask.machine()};
    count_up(numbers);
    for (extent i = 0; i < mask.size; ++i) mask.data()[i] = numbers.data()[i] % 3 == 0;
  }
};

template<Layout L>
bool are_equal(net<L>& a, net<L>& b) {
  auto const equal   = [](auto const& x, auto const& y) { return to_global(x) == to_global(y); };
  bool const weights = equal(a.weight, b.weight) && equal(a.head, b.head);
  return equal(a.bias, b.bias) && equal(a.mask, b.mask) && weights;
}

template<class F>
void under_each(F const& f) {
  switch (boost::mpi::communicator{}.size()) {
    case 1: f.template operator()<alone>(); break;
    case 2: f.template operator()<halves>(); break;
    case 4: f.template operator()<columns>(); break;
    default: break;
  }
}

void on_first(auto const& f) {
  boost::mpi::communicator const world;
  world.barrier();
  if (world.rank() == 0) f();
  world.barrier();
}

std::string with(std::string text, std::string const& from, std::string const& to) {
  auto const at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("what Hugging Face's packages wrote is read: by the index and by the folder", "[1][2][4]") {
  under_each([]<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    net<L> expected{m};
    net<L> a{m};
    net<L> b{m};
    expected.fill();
    load(a.list(), theirs);
    load(b.list(), theirs + "/" + index_file);
    CHECK(are_equal(a, expected));
    CHECK(are_equal(b, expected));
    CHECK(describe(theirs).at("array.blocks.0.weight").starts_with("F32 ["));
    CHECK(differences(describe(theirs), describe(theirs + "/" + index_file)).empty());
    net<L> c{m};
    auto const list = meshtf::parameters(named("b", c.bias), named("h", c.head));
    load(list, theirs, {{"blocks.0.bias", "b"}, {"head", "h"}, {"mask", ""}, {"blocks.0.weight", ""}});
    CHECK((to_global(c.bias) == to_global(expected.bias)));
    CHECK((to_global(c.head) == to_global(expected.head)));
    CHECK(what_it_throws([&] { load(list, theirs); })
              .starts_with("65 expected 'b', F64 [16]; 'h', F32 [16, 8], in " + theirs + "/" + index_file +
                           ", got no arrays of these names but 'blocks.0.bias', F64 [16]"));
  });
}

TEST_CASE("a model is written so: as many files as it takes, each within the limit, and read again",
          "[1][2][4]") {
  under_each([]<Layout L> {
    files::folder const folder;
    auto& m = processes<typename L::mesh_type>();
    net<L> n{m};
    net<L> a{m};
    n.fill();
    std::string const path = folder / "net/";
    save(n.list(), path, several_files{.max_bytes = 600});
    m.world().barrier();
    CHECK(files::names_in(path) == std::vector<std::string>{first, second, index_file});
    CHECK(files::read(path + index_file) == files::read(theirs + "/" + index_file));
    load(a.list(), path);
    CHECK(are_equal(a, n));

    // one in which all has a file of its own; other files of the folder stay, older ones of the model go
    on_first([&] {
      files::write(path + "config.json", "{}");
      // what a killed job leaves, and what is another model's
      for (std::string const left : {"net.tmp-0123456789abcdef", "next.tmp-0123456789abcdef"}) {
        std::filesystem::create_directories(folder / left);
        files::write(folder / (left + "/.lock"), "");
        files::write(folder / (left + "/" + first), "a part");
      }
    });
    save(n.list(), path, several_files{.max_bytes = 1});
    m.world().barrier();
    CHECK(files::names_in(path) == std::vector<std::string>{"config.json", "model-00001-of-00004.safetensors",
                                                            "model-00002-of-00004.safetensors",
                                                            "model-00003-of-00004.safetensors",
                                                            "model-00004-of-00004.safetensors", index_file});
    net<L> b{m};
    load(b.list(), path);
    CHECK(are_equal(b, n));

    save(n.list(), path, several_files{});
    m.world().barrier();
    CHECK(files::names_in(path) == std::vector<std::string>{"config.json", "model.safetensors"});
    CHECK(files::names_in(folder.path()) == std::vector<std::string>{"net", "next.tmp-0123456789abcdef"});
    net<L> c{m};
    load(c.list(), path);
    CHECK(are_equal(c, n));
  });
}

TEST_CASE("an index that does not fit its files is refused with a sentence, and nothing changes",
          "[1][2][4]") {
  under_each([]<Layout L> {
    files::folder const folder;
    auto& m = processes<typename L::mesh_type>();
    net<L> n{m};
    net<L> before{m};
    std::string const own       = files::read(theirs + "/" + index_file);
    std::string const own_index = folder / index_file;
    std::string const end       = ": the model is damaged, take another copy of it";
    auto const put              = [&](std::string const& text) {
      on_first([&] {
        for (auto const& name : {first, second})
          files::write(folder / name, files::read(theirs + "/" + name));
        files::write(own_index, text);
      });
    };
    auto const refusal = [&] {
      std::string text = what_it_throws([&] { load(n.list(), folder.path()); });
      auto const seen  = text.find(" (seen by process");
      return text.substr(0, seen);
    };
    put(with(own, "\"head\"", "\"tail\""));
    CHECK(refusal() == "65 expected " + folder / second + " to have no array that the index " + own_index +
                           " does not name, got 'head'" + end);
    put(with(own, "\"head\": \"model-00002", "\"head\": \"model-00001"));
    CHECK(refusal() == "65 expected " + folder / second + " not to have the array 'head', which the index " +
                           own_index + " says is in " + first + ", got it" + end);
    put(with(own, "{\n    \"blocks", "{\n    \"absent\": \"" + first + "\",\n    \"blocks"));
    CHECK(refusal() == "65 expected " + folder / first + " to have the array 'absent', as the index " +
                           own_index + " says, got none of that name" + end);
    put(with(own, "1040", "1041"));
    CHECK(refusal() == "65 expected " + own_index +
                           " to have the 'total_size' 1040, which its files have, got 1041" + end);
    for (std::string const out : {"../x.safetensors", "/etc/passwd", "..", "", "a/b"}) {
      put(with(own, first, out));
      CHECK(refusal() == "65 expected " + own_index +
                             " to name a file of its folder as that of 'blocks.0.bias', got '" + out + "'" +
                             end);
    }
    put(with(own, "\"head\"", "\"mask\""));
    CHECK(refusal().starts_with("65 expected " + own_index +
                                " to be an index in JSON, got duplicate object key"));
    put("[]");
    CHECK(refusal() == "65 expected " + own_index + " to be an index in JSON, got other JSON" + end);
    put("{}");
    CHECK(refusal() ==
          "65 expected " + own_index + " to have a 'weight_map' of names and files, got none" + end);
    put(std::string(std::size_t{2} << 20, ' '));
    CHECK(refusal().starts_with("65 expected " + own_index + " to be an index of at most "));
    put(own);
    on_first([&] { std::filesystem::remove(folder / second); });
    CHECK(refusal() == "65 expected " + folder / second + " to be there, as the index " + own_index +
                           " says, got no file" + end);
    put(own);
    on_first([&] { files::write(folder / second, files::read(theirs + "/" + second).substr(0, 600)); });
    CHECK(refusal().starts_with("65 expected " + folder / second + " to have 528 bytes after its header"));
    put(own);
    on_first([&] { files::write(folder / "other.safetensors.index.json", own); });
    CHECK(refusal().starts_with("66 expected one index of a model in " + folder.path() + ", got "));
    CHECK(are_equal(n, before));
  });
}

TEST_CASE("our files have checksums, a value that is not finite is said, and checkpoints are not covered",
          "[1][2][4]") {
  under_each([]<Layout L> {
    files::folder const folder;
    auto& m = processes<typename L::mesh_type>();
    net<L> n{m};
    n.fill();
    n.bias.data()[0]       = std::numeric_limits<double>::infinity();
    std::string const path = folder / "net";
    auto const mine        = m.rank() == 0;
    auto const saved       = files::said(folder, [&] { save(n.list(), path, several_files{600}); });
    CHECK(saved == (mine ? "meshtf: saved " + path + ", in which 'blocks.0.bias' is not finite\n" : ""));
    auto const loaded = files::said(folder, [&] { load(n.list(), path); });
    CHECK(loaded.starts_with(mine ? "meshtf: loaded " + path + "/" + index_file + ", in which 'blocks.0.bias'"
                                  : ""));
    on_first([&] {
      auto bytes               = files::read(path + "/" + second);
      bytes[bytes.size() - 20] = '\1';
      files::write(path + "/" + second, bytes);
    });
    CHECK(what_it_throws([&] {
            load(n.list(), path);
          }).starts_with("65 expected " + path + "/" + second + " to have the checksum "));

    save(n.list(), {.step = 3}, folder / "run");
    CHECK(what_it_throws([&] { save(n.list(), folder / "run", several_files{}); })
              .starts_with("64 expected " + folder / "run" +
                           " to be a folder for a model, got one with the checkpoint step-00000003"));
    on_first([&] { std::filesystem::create_directories(path + "/inside"); });
    auto const kept = files::names_in(path);
    CHECK(what_it_throws([&] {
            save(n.list(), path, several_files{});
          }).starts_with("69 expected to keep " + path + "/inside next to the new model, got: "));
    CHECK(files::names_in(path) == kept);
    CHECK(what_it_throws([&] {
            save(n.list(), path + "/" + first, several_files{});
          }).starts_with("69 expected to write a model into the folder " + path + "/" + first + ", got a"));
    m.world().barrier();
  });
}
