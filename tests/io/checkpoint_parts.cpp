// Checkpoints in parts: what is in the folder, what replaces what, what is damaged, and what they cost.
#include <meshtf/io/checkpoint.hpp>

#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>

#include <sys/stat.h>

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
struct strips : layout<two_by_two, split<height, cols, rows>> {};

constexpr checkpoint_options in_parts{.in_parts = true};
constexpr checkpoint_options as_file{.in_parts = false};

template<Layout L>
struct net {
  parameter<float, L, height, width> w;
  parameter<double, L, width> b;
  tensor<bool, L, width> mask;
  adam opt{0.5};
  explicit net(machine<L>& m) : w{m, normal{1}}, b{m, normal{2}}, mask{m} {
    for (extent i = 0; i < mask.size; ++i) mask.data()[i] = b.data()[i] > 0;
  }
  auto list() { return meshtf::parameters(named("w", w), named("b", b), named("mask", mask)); }
  void step() {
    backward(sum(square(w)));
    opt.step(list());
  }
  void spoil() {
    std::fill_n(w.data(), w.size, -7.0f);
    std::fill_n(b.data(), b.size, -7.0);
  }
};

void change(std::string const& path, std::string const& content) {
  if (boost::mpi::communicator{}.rank() == 0) files::write(path, content);
  boost::mpi::communicator{}.barrier();
}

}  // namespace

TEST_CASE("each process writes its own part, replicas write different elements, and each is written once",
          "[4]") {
  files::folder const folder;
  auto const check = [&]<Layout L> {
    auto& m = processes<two_by_two>();
    net<L> n{m};
    n.step();
    std::string const path = folder / std::string{name_of<L>()};
    save(n.list(), n.opt, {1, 5}, path, in_parts);
    std::string const step = path + "/step-00000001";
    CHECK(files::names_in(path) == std::vector<std::string>{"step-00000001"});
    CHECK(files::names_in(step) ==
          std::vector<std::string>{"manifest.json", "part-00000-of-00004.safetensors",
                                   "part-00001-of-00004.safetensors", "part-00002-of-00004.safetensors",
                                   "part-00003-of-00004.safetensors"});
    std::size_t elements = 0;
    for (auto const& name : files::names_in(step)) {
      if (name == "manifest.json") continue;
      safetensors_reader const part{step + "/" + name};
      auto const bytes = std::filesystem::file_size(step + "/" + name);
      CHECK(bytes > 70000);  // of 300000 in all
      CHECK(bytes < 90000);
      for (auto const& [key, array] : part.header().arrays) {
        elements += key == "w" ? part.read<float>(key).size() : 0;
        if (key == "w")
          CHECK(array.extents == (std::is_same_v<L, columns> ? std::vector<extent>{128 * 96 / 2}
                                                             : std::vector<extent>{32, 192}));
      }
    }
    CHECK(elements == 128 * 192);
    m.world().barrier();
  };
  check.operator()<columns>();
  check.operator()<strips>();
}

TEST_CASE("one process's part has the arrays as they are", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  net<alone> n{m};
  save(n.list(), {1, 5}, folder.path(), in_parts);
  safetensors_reader const part{folder / "step-00000001/part-00000-of-00001.safetensors"};
  CHECK(part.header().arrays.at("w").extents == std::vector<extent>{128, 192});
  auto const w = to_global(n.w);
  CHECK(part.read<float>("w") == std::vector<float>(w.begin(), w.end()));
  // the step's folder is a checkpoint, too
  n.spoil();
  CHECK(load(n.list(), folder / "step-00000001").step == 1);
  CHECK((to_global(n.w) == w));
}

TEST_CASE("files and folders of parts in one folder: the newest is loaded, two stay, one form of a step",
          "[1][4]") {
  files::folder const folder;
  auto const check = [&]<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    net<L> n{m};
    auto const names = [&] {
      m.world().barrier();
      return files::names_in(folder.path());
    };
    save(n.list(), n.opt, {1, 0}, folder.path(), as_file);
    save(n.list(), n.opt, {2, 0}, folder.path(), in_parts);
    CHECK(names() == std::vector<std::string>{"step-00000001.safetensors", "step-00000002"});
    CHECK(load(n.list(), n.opt, folder.path()).step == 2);
    save(n.list(), n.opt, {3, 0}, folder.path(), as_file);
    CHECK(names() == std::vector<std::string>{"step-00000002", "step-00000003.safetensors"});
    CHECK(load(n.list(), n.opt, folder.path()).step == 3);
    save(n.list(), n.opt, {3, 1}, folder.path(), in_parts);
    CHECK(names() == std::vector<std::string>{"step-00000002", "step-00000003"});
    CHECK(load(n.list(), n.opt, folder.path()) == training_position{3, 1});
    save(n.list(), n.opt, {3, 2}, folder.path(), as_file);
    CHECK(names() == std::vector<std::string>{"step-00000002", "step-00000003.safetensors"});
    save(n.list(), n.opt, {4, 0}, folder.path(), in_parts);
    save(n.list(), n.opt, {5, 0}, folder.path(), in_parts);
    CHECK(names() == std::vector<std::string>{"step-00000004", "step-00000005"});
    CHECK_THAT(
        what_it_throws([&] { save(n.list(), n.opt, {4, 0}, folder.path(), in_parts); }),
        Catch::StartsWith("64 ") && Catch::Contains("got step-00000005: load it and go on from there"));
    // what was cut off goes with the next save, what is somebody else's stays
    if (m.rank() == 0) {
      std::filesystem::create_directories(folder / "step-00000006.tmp-0123456789abcdef");
      files::write(folder / "step-00000006.tmp-0123456789abcdef/part-00000-of-00004.safetensors", "cut off");
      std::filesystem::create_directories(folder / "step-00000006.tmp-mine");
    }
    m.world().barrier();
    CHECK(load(n.list(), n.opt, folder.path()).step == 5);
    save(n.list(), n.opt, {6, 0}, folder.path(), in_parts);
    CHECK(names() == std::vector<std::string>{"step-00000005", "step-00000006", "step-00000006.tmp-mine"});
  };
  if (boost::mpi::communicator{}.size() == 1) check.operator()<alone>();
  else check.operator()<columns>();
}

TEST_CASE("a step that is saved again: equal changes nothing, another replaces it", "[1][4]") {
  files::folder const folder;
  auto const check = [&]<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    net<L> n{m};
    std::string const step = folder / "step-00000001";
    auto const file_number = [&] {
      struct stat about{};
      m.world().barrier();
      REQUIRE(stat(step.c_str(), &about) == 0);
      return about.st_ino;
    };
    save(n.list(), n.opt, {1, 0}, folder.path(), in_parts);
    auto const first = file_number();
    save(n.list(), n.opt, {1, 0}, folder.path(), in_parts);
    CHECK(file_number() == first);
    // one whose bytes are no longer what they were is not equal
    std::string const part = step + "/part-00000-of-0000" + std::to_string(m.world().size()) + ".safetensors";
    std::string bytes      = files::read(part);
    bytes.back()           = static_cast<char>(bytes.back() ^ 1);
    m.world().barrier();
    change(part, bytes);
    save(n.list(), n.opt, {1, 0}, folder.path(), in_parts);
    auto const second = file_number();
    CHECK(second != first);
    n.step();
    save(n.list(), n.opt, {1, 0}, folder.path(), in_parts);
    CHECK(file_number() != second);
    auto const w = to_global(n.w);
    n.spoil();
    load(n.list(), n.opt, folder.path());
    CHECK((to_global(n.w) == w));
    CHECK(files::names_in(folder.path()) == std::vector<std::string>{"step-00000001"});
    m.world().barrier();
  };
  if (boost::mpi::communicator{}.size() == 1) check.operator()<alone>();
  else check.operator()<columns>();
}

TEST_CASE("a save that fails on one process fails on all, names the file, and leaves what was there", "[4]") {
  files::folder const folder;
  auto& m = processes<two_by_two>();
  net<columns> n{m};
  save(n.list(), n.opt, {1, 0}, folder.path(), in_parts);
  auto const w = to_global(n.w);
  for (int bad : {0, 2}) {
    files::small_disk const full{10000, bad};
    CHECK_THAT(what_it_throws([&] { save(n.list(), n.opt, {2, 0}, folder.path(), in_parts); }),
               Catch::StartsWith("69 expected to write " + folder / "step-00000002.tmp-") &&
                   Catch::Contains("/part-0000" + std::to_string(bad) +
                                   "-of-00004.safetensors, got: File too large") &&
                   Catch::EndsWith("; what was saved before is untouched (seen by process " +
                                   std::to_string(bad) + ")"));
    m.world().barrier();
    CHECK(files::names_in(folder.path()) == std::vector<std::string>{"step-00000001"});
  }
  n.spoil();
  CHECK(load(n.list(), n.opt, folder.path()).step == 1);
  CHECK((to_global(n.w) == w));
  save(n.list(), n.opt, {2, 0}, folder.path(), in_parts);
  m.world().barrier();
  CHECK(files::names_in(folder.path()) == std::vector<std::string>{"step-00000001", "step-00000002"});
}

TEST_CASE("one that is not finite is saved and named, and the newest that is finite stays", "[4]") {
  files::folder const folder;
  auto& m = processes<two_by_two>();
  net<columns> n{m};
  auto const saves = [&](std::uint64_t step) {
    return files::said(folder, [&] { save(n.list(), n.opt, {step, 0}, folder / "run", in_parts); });
  };
  CHECK(saves(1).empty());
  float const before = n.w.data()[0];
  if (m.rank() == 1) n.w.data()[0] = std::numeric_limits<float>::infinity();
  for (std::uint64_t step : {2u, 3u, 4u}) {
    std::string const said = saves(step);
    if (m.rank() == 0)
      CHECK(said ==
            "meshtf: saved " + folder / "run/step-0000000" + std::to_string(step) +
                ", in which 'w' is not finite: step-00000001 is the newest that is, and stays; to go on "
                "from it delete those after it\n");
    else CHECK(said.empty());
  }
  m.world().barrier();
  CHECK(files::names_in(folder / "run") ==
        std::vector<std::string>{"step-00000001", "step-00000003", "step-00000004"});
  CHECK_THAT(files::said(folder, [&] { load(n.list(), n.opt, folder / "run"); }),
             m.rank() == 0 ? Catch::Contains("in which 'w' is not finite: what goes on from it")
                           : Catch::Contains(""));
  n.w.data()[0] = before;
  CHECK(saves(5).empty());
  if (m.rank() == 1) n.w.data()[0] = std::numeric_limits<float>::infinity();
  CHECK_THAT(what_it_throws([&] { save(n.list(), n.opt, {5, 0}, folder / "run", in_parts); }),
             Catch::StartsWith("64 expected what replaces " + folder / "run/step-00000005" +
                               " to be finite as it is, got 'w'"));
}

TEST_CASE("a manifest names its hash, and each kind has the digits of others' programs", "[1]") {
  using detail::chunk_hash;
  CHECK(detail::chunk_hash_named("xxh3") == chunk_hash::xxh3);
  CHECK(detail::chunk_hash_named("xxh2") == std::nullopt);
  CHECK(!detail::is_available(chunk_hash::none));
#if MESHTF_WITH_ZLIB
  CHECK(detail::hash_of("123456789", 9, chunk_hash::crc32) == "cbf43926");
#endif
#if MESHTF_WITH_XXHASH
  CHECK(detail::hash_of("", 0) == "2d06800538d394c2");  // as xxhsum -H3 prints it
#endif
  files::folder const folder;
  net<alone> n{processes<single>()};
  save(n.list(), {1, 0}, folder.path(), in_parts);
  CHECK_THAT(
      files::read(folder / "step-00000001/manifest.json"),
      Catch::Contains("\"hash\":\"" + std::string{detail::hash_name(detail::own_chunk_hash())} + "\""));
}

#if MESHTF_WITH_ZLIB
TEST_CASE("a damaged part or manifest is found: the step before is loaded, and an explicit step is an error",
          "[1][4]") {
  files::folder const folder;
  auto const check = [&]<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    net<L> n{m};
    extent const chunk = extent(std::exchange(meshtf::detail::chunk_bytes, 5000));
    save(n.list(), n.opt, {1, 0}, folder.path(), in_parts);
    auto const w = to_global(n.w);
    n.step();
    save(n.list(), n.opt, {2, 0}, folder.path(), in_parts);
    std::string const step = folder / "step-00000002";
    auto const is_found    = [&](std::string const& what) {
      INFO(what);
      n.spoil();
      CHECK_THAT(what_it_throws([&] { load(n.list(), n.opt, step); }),
                    Catch::StartsWith("65 expected " + step + "/") &&
                        Catch::Contains(": the checkpoint is damaged, take another copy of it"));
      CHECK(n.w.local().data()[0] == -7);
      std::string const said =
          files::said(folder, [&] { CHECK(load(n.list(), n.opt, folder.path()).step == 1); });
      if (m.rank() == 0)
        CHECK_THAT(said,
                      Catch::StartsWith("meshtf: expected " + step + "/") &&
                          Catch::Contains("the checkpoint is damaged, step-00000001 is loaded in its place"));
      else CHECK(said.empty());
      CHECK((to_global(n.w) == w));
    };
    auto const names = files::names_in(step);
    for (auto const& name : names) {
      std::string const path  = step + "/" + name;
      std::string const sound = files::read(path);
      m.world().barrier();
      for (std::size_t i = 0; i < 64; ++i) {
        change(path, sound.substr(0, i * sound.size() / 64));
        is_found(name + " cut at " + std::to_string(i) + " 64ths");
      }
      for (std::size_t i = 0; i < 8; ++i) {
        std::string flipped = sound;
        auto& byte          = flipped[(i * 7919 * 31) % sound.size()];
        byte                = static_cast<char>(byte ^ (1 << i));
        change(path, flipped);
        is_found(name + " with another bit, " + std::to_string(i));
      }
      change(path, sound);
    }
    if (names.size() > 2) {
      std::string const a = step + "/" + names[1];
      std::string const b = step + "/" + names[2];
      if (m.rank() == 0) std::filesystem::rename(a, a + "x");
      m.world().barrier();
      is_found("no part");
      if (m.rank() == 0) {
        std::filesystem::rename(b, a);
        std::filesystem::rename(a + "x", b);
      }
      m.world().barrier();
      is_found("exchanged parts");
    }
    meshtf::detail::chunk_bytes = static_cast<std::uint64_t>(chunk);
  };
  if (boost::mpi::communicator{}.size() == 1) check.operator()<alone>();
  else check.operator()<strips>();
}

TEST_CASE("ten thousand flipped bits are found, wherever they are", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  net<alone> n{m};
  save(n.list(), {1, 0}, folder.path(), in_parts);
  std::string const step = folder / "step-00000001";
  auto const is_damaged  = [&] {
    try {
      detail::step_folder_reader{step, detail::step_folder_reader::read_manifest(step), ""}.verify(0, 1);
    } catch (data_error const&) {
      return true;
    }
    return false;
  };
  REQUIRE(!is_damaged());
  std::uint64_t drawn = 1;
  for (auto const& name : files::names_in(step)) {
    std::string const path = step + "/" + name;
    auto const size        = std::filesystem::file_size(path);
    for (int i = 0; i < 5000; ++i) {
      drawn           = drawn * 6364136223846793005u + 1442695040888963407u;
      auto const at   = static_cast<std::streamoff>((drawn >> 33) % size);
      auto const flip = [&] {
        std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
        file.seekg(at);
        int const byte = file.get();
        file.seekp(at);
        file.put(static_cast<char>(byte ^ 1 << (drawn >> 30) % 8));
      };
      flip();
      INFO(name << ", bit " << (drawn >> 30) % 8 << " of byte " << at);
      CHECK(is_damaged());
      flip();
    }
  }
  CHECK(!is_damaged());
}
#endif
