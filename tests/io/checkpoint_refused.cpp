// What a file may not say: that it has no checksum, numbers that no optimizer has, more header than its
// arrays need, and arrays in another order.
#include <meshtf/io/checkpoint.hpp>

#include <filesystem>
#include <limits>

#include <sys/stat.h>

#include "../layout_fixture.hpp"
#include "folder.hpp"

using namespace fixture;

namespace {

constexpr checkpoint_options as_file{.in_parts = false};

template<Layout L>
struct net {
  parameter<float, L, in, hidden> w;
  explicit net(machine<L>& m) : w{m, normal{1}} {}
  auto list() { return meshtf::parameters(named("w", w)); }
};

std::string with_header(std::string const& json, std::string const& data = {}) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(json.size() >> 8 * i);
  return length + json + data;
}

std::string exchanged(std::string text, std::string const& what, std::string const& by) {
  auto const at = text.find(what);
  REQUIRE(at != text.npos);
  return text.replace(at, what.size(), by);
}

template<class F>
std::string what_it_throws(F const& f) {
  try {
    f();
  } catch (data_error const& e) {
    return e.what();
  }
  return "nothing";
}

/// An optimizer of somebody else, who says nothing of its numbers.
struct counts_down : sgd {
  static constexpr char const* kind = "counts_down";
  double left                       = 0;

  template<class Self, class F>
  static constexpr void for_each_number(Self& self, F const& f) {
    f("left", self.left);
  }
};

}  // namespace

TEST_CASE("a file of ours without a checksum is damaged, one of another program is not", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  net<alone> n{m};
  adam opt;
  std::string const path = folder / "step-00000001.safetensors";
  save(n.list(), opt, {1, 0}, folder.path(), as_file);
  std::string const sound = files::read(path);
  std::string const data(6 * 16 * 4, '\0');
  std::string const says =
      "expected " + path +
      " to have a checksum, 'crc32' in its metadata, got none: the file is damaged or of another kind, "
      "take another copy of it";
  files::write(path, exchanged(sound, "crc32", "crc33"));
  CHECK(what_it_throws([&] { load(n.list(), opt, path); }) == says);
  CHECK(what_it_throws([&] { load(n.list(), path); }) == says);
  std::string const entry = R"("w":{"dtype":"F32","shape":[6,16],"data_offsets":[0,384]}})";
  for (char const* const about : {"", R"("__metadata__":{"format":"pt"},)"}) {
    files::write(path, with_header("{" + (about + entry), data));
    CHECK(what_it_throws([&] { load(n.list(), path); }) == "nothing");
  }
#if MESHTF_WITH_ZLIB
  files::write(path, exchanged(sound, "\"crc32\":\"", "\"crc32\":\"n"));
  CHECK_THAT(what_it_throws([&] { load(n.list(), path); }),
             Catch::StartsWith("expected " + path + " to have "));
#endif
}

TEST_CASE("what another program calls step, crc32 and not_finite is not taken for ours", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  net<alone> n{m};
  std::string const path = folder / "theirs.safetensors";
  std::string const data(sizeof(float) * static_cast<std::size_t>(in::size * hidden::size), '\0');
  std::string const array = R"("w":{"dtype":"F32","shape":[)" + std::to_string(in::size) + "," +
                            std::to_string(hidden::size) + R"(],"data_offsets":[0,)" +
                            std::to_string(data.size()) + "]}}";
  for (std::string const about :
       {R"("step":"epoch 3")", R"("crc32":"3735928559")", R"("not_finite":"w","format":"pt","step":"7")"}) {
    files::write(path, with_header(R"({"__metadata__":{)" + about + "}," + array, data));
    INFO(about);
    training_position position{.step = 9};
    CHECK_NOTHROW(position = load(n.list(), path));
    CHECK(position == training_position{});
  }
}

TEST_CASE("a path that is a FIFO or a folder is not replaced by a file", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  net<alone> n{m};
  std::string const fifo = folder / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0666) == 0);
  std::string const end = ": name another one";
  for (auto const& [path, what] : {std::pair{fifo, "a FIFO"}, std::pair{folder.path(), "a folder"}})
    CHECK_THROWS_WITH(save(n.list(), path),
                      "expected to write the file " + path + ", got: it is " + what + end);
  CHECK(std::filesystem::is_fifo(fifo));
  adam opt;
  CHECK_THROWS_WITH(save(n.list(), opt, {.step = 1}, fifo, as_file),
                    Catch::Contains("to be a folder of checkpoints, got: Not a directory"));
  CHECK_THROWS_WITH(load(n.list(), fifo), Catch::Contains("got something that is not a file"));
}

TEST_CASE("numbers that no optimizer has are refused, and nothing is loaded", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  net<alone> n{m};
  auto const numbers = [&](std::string const& power) {
    std::string const path = folder / "step-00000001.safetensors";
    std::string const data(3 * 6 * 16 * 4, '\0');
    auto const entry = [](std::string const& name, int at) {
      return "\"" + name + R"(":{"dtype":"F32","shape":[6,16],"data_offsets":[)" + std::to_string(at) + "," +
             std::to_string(at + 384) + "]}";
    };
    files::write(
        path,
        with_header(
            R"({"__metadata__":{"crc32":"none","format":"meshtf 1","step":"1","seed":"2","optimizer":"adam","optimizer.power1":")" +
                power + R"(","optimizer.power2":"0.5"},)" + entry("w", 0) + "," +
                entry("optimizer.first.w", 384) + "," + entry("optimizer.second.w", 768) + "}",
            data));
    return path;
  };
  auto const before = to_global(n.w);
  for (char const* const bad : {"nan", "-nan", "inf", "-inf", "1.5", "-0.5", "nan(0x1)"}) {
    adam opt;
    std::string const path = numbers(bad);
    CHECK(what_it_throws([&] { load(n.list(), opt, path); }) ==
          "expected the metadata of " + path + " to have a number from 0 to 1 as 'optimizer.power1', got '" +
              bad + "': the file is damaged, take another checkpoint or another copy of it");
    CHECK((to_global(n.w) == before));
  }
  for (char const* const good : {"1", "0.9", "0", "1e-320"}) {
    adam opt;
    CHECK(what_it_throws([&] { load(n.list(), opt, numbers(good)); }) == "nothing");
  }

  counts_down opt;
  for (double x : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    opt.left = x;
    std::filesystem::remove_all(folder / "run");
    save(n.list(), opt, {1, 0}, folder / "run", as_file);
    CHECK_THAT(what_it_throws([&] { load(n.list(), opt, folder / "run"); }),
               Catch::Contains("as 'optimizer.left', got '"));
  }
  opt.left = -1e300;
  save(n.list(), opt, {1, 0}, folder / "run", as_file);
  CHECK(what_it_throws([&] { load(n.list(), opt, folder / "run"); }) == "nothing");
}

TEST_CASE("a header longer than the model needs is refused before it is parsed", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  net<alone> n{m};
  std::string const path = folder / "net.safetensors";
  auto const padded = [](std::string text, std::size_t to) { return text.append(to - text.size(), ' '); };
  std::string const json = R"({"w":{"dtype":"F32","shape":[6,16],"data_offsets":[0,384]}})";
  std::string const data(384, '\0');
  std::size_t const most = (std::size_t{1} << 20) + 8 * (128 + 1 + 2 * 24);
  files::write(path, with_header(padded(json, most), data));
  CHECK(what_it_throws([&] { load(n.list(), path); }) == "nothing");
  files::write(path, with_header(padded(json, most + 1), data));
  CHECK(what_it_throws([&] { load(n.list(), path); }) ==
        "expected " + path + " to have a header of at most " + std::to_string(most) + " bytes, got one of " +
            std::to_string(most + 1) + ": the file is damaged or of another kind, take another copy of it");
  CHECK(safetensors_reader{path}.header().arrays.size() == 1);
  std::size_t const of_reader = std::size_t{16} << 20;
  files::write(path, with_header(padded(json, of_reader + 1), data));
  CHECK_THAT(what_it_throws([&] { safetensors_reader const file{path}; }),
             Catch::Contains("a header of at most 16777216 bytes, got one of 16777217"));
  CHECK(safetensors_reader{path, "", of_reader + 1}.header().arrays.size() == 1);
}

TEST_CASE("an array in another order of dimensions: the message says how to put it right") {
  files::folder const folder;
  auto const check = [&]<Layout L> {
    auto& m                = processes<typename L::mesh_type>();
    std::string const by   = m.world().size() == 1 ? "" : " (seen by process 0)";
    std::string const path = folder / "net.safetensors";
    parameter<float, L, in, hidden> w{m};
    parameter<float, L, hidden, in> t{m};
    parameter<float, L, in, hidden, out> cube{m};
    parameter<float, L, hidden, out, in> turned{m};
    auto const says = [&](auto& saved, auto& wanted) {
      save(parameters(named("w", saved)), path);
      return what_it_throws([&] { load(parameters(named("w", wanted)), path); });
    };
    CHECK(says(t, w) ==
          "expected 'w' in " + path +
              " to be F32 [6, 16], got F32 [16, 6]: it is the transpose: save weight.T.contiguous() in "
              "PyTorch, or name the dimensions in "
              "the order of the file" +
              by);
    CHECK(says(turned, cube) ==
          "expected 'w' in " + path +
              " to be F32 [6, 16, 8], got F32 [16, 8, 6]: its dimensions are in another order: save "
              "weight.permute(2, 0, 1).contiguous() in PyTorch, or name the dimensions in the order of the "
              "file" +
              by);
    CHECK_THAT(says(cube, w), Catch::Contains("make the model of the sizes that it was saved with"));
  };
  switch (boost::mpi::communicator{}.size()) {
    case 1: check.operator()<alone>(); break;
    case 4: check.operator()<mixed>(); break;
    default: break;
  }
}
