// Checkpoints: what one layout saves every other loads, training goes on as if nothing had happened, and no
// damaged file gets in.
#include <meshtf/io/checkpoint.hpp>

#include <bit>
#include <csignal>
#include <functional>

#include <sys/resource.h>
#include <sys/wait.h>

#include "../optim/model.hpp"
#include "folder.hpp"
#include "said.hpp"
#include "small_disk.hpp"

using namespace optim;

namespace {

constexpr checkpoint_options as_file{.in_parts = false};

/// The processes in groups of the size of the mesh; every group does the same.
template<Mesh M>
process_mesh<M>& group_of() {
  static auto* const m = [] {
    boost::mpi::communicator const world;
    return new process_mesh<M>{world.split(world.rank() / int{M::size})};
  }();
  return *m;
}
template<Mesh M>
std::string of_group(std::string const& path) {
  return path + "." + std::to_string(boost::mpi::communicator{}.rank() / int{M::size});
}

void meet() { boost::mpi::communicator{}.barrier(); }

/// f.operator()<L>() under all layouts that fit into the processes of this run, one process included.
template<class F>
void under_all_layouts(F const& f) {
  int const n = boost::mpi::communicator{}.size();
  f.template operator()<alone>();
  if (n >= 2) {
    f.template operator()<fixture::data>();
    f.template operator()<model>();
  }
  if (n >= 4) {
    f.template operator()<mixed>();
    f.template operator()<tall>();
  }
  if (n >= 8) {
    f.template operator()<mixed8>();
    f.template operator()<spread>();
    f.template operator()<solid>();
  }
}

template<Layout L>
struct block {
  parameter<double, L, hidden, out> weight;
  constexpr auto parameters() { return meshtf::parameters(named("weight", weight)); }
};

template<Layout L>
struct trained {
  model_of<double, L> net;
  std::vector<block<L>> blocks;  // nobody trains them: the optimizer keeps nothing of them
  adamw opt{0.05};
  tensor<double, L, batch, in> x;

  explicit trained(machine<L>& m, bool sharded = false) : net{m}, x{data_of<double, L>(m)} {
    opt.shard_state = sharded;
    opt.max_norm    = 0.5;
    for (std::uint64_t i = 0; i < 2; ++i) blocks.push_back({{m, normal{10 + i}}});
  }
  auto list() {
    return meshtf::parameters(named("weight", net.w), named("bias", net.b), named("c", net.c),
                              named("temperature", net.t), named("u", net.u), named("v", net.v),
                              named("blocks", blocks));
  }
  double step() {
    auto const loss = net.loss(x);
    backward(loss);
    opt.step(list());
    return loss.value();
  }
  /// Other values everywhere than training gives.
  void spoil() {
    list().for_each([](auto& w) { std::fill_n(w.data(), w.size, -7.0); });
  }
};

constexpr char const* a_checkpoint = "/step-00000002.safetensors";

template<Layout L>
void train_and_save(std::string const& path, bool sharded) {
  auto& m = group_of<typename L::mesh_type>();
  trained<L> t{m, sharded};
  t.step();
  t.step();
  save(t.list(), t.opt, {2, 21}, of_group<typename L::mesh_type>(path), as_file);
  save(t.list(), t.opt, {2, 21}, of_group<typename L::mesh_type>(path + "parts"), {.in_parts = true});
  meet();
  safetensors_reader const file{path + ".0" + a_checkpoint};
  CHECK(file.header().arrays.size() == 6 * 3 + 2);
  t.list().for_each_named([&](std::string const& name, auto& w) {
    auto const whole = to_global(w);
    INFO(name);
    CHECK(file.read<double>(name) == std::vector<double>(whole.begin(), whole.end()));
  });
  meet();
}

template<Layout L>
void load_and_save(std::string const& from, std::string const& to, bool sharded, bool used) {
  auto& m = group_of<typename L::mesh_type>();
  trained<L> t{m, sharded};
  if (used) {
    t.step();
    t.step();
    t.step();
  }
  t.spoil();
  CHECK(load(t.list(), t.opt, from) == training_position{2, 21});
  save(t.list(), t.opt, {2, 21}, of_group<typename L::mesh_type>(to), as_file);
  meet();
}

/// What f throws, in words; on all processes the same.
template<class Error, class F>
std::string what_it_throws(F const& f) {
  try {
    f();
  } catch (Error const& e) {
    return e.what();
  }
  FAIL("nothing was thrown");
  return {};
}

template<class L>
struct small {
  parameter<float, L, in, hidden> w;
  parameter<double, L, hidden> b;
  explicit small(machine<L>& m) : w{m, normal{1}}, b{m, normal{2}} {}
  auto list() { return meshtf::parameters(named("w", w), named("b", b)); }
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

}  // namespace

TEST_CASE("what any layout saves, with its state sharded or not, any other loads, and saves the same bytes") {
  files::folder const folder;
  int number = 0;
  std::string first;
  under_all_layouts([&]<Layout From> {
    for (bool sharded : {false, true}) {
      INFO("saved under " << name_of<From>() << (sharded ? ", sharded" : ""));
      std::string const from = folder / ("from" + std::to_string(++number));
      train_and_save<From>(from, sharded);
      std::string const saved = files::read(from + ".0" + a_checkpoint);
      REQUIRE(saved.size() > 10000);
      bool const is_new = first != saved;  // then it is no file that has been loaded already
      first             = saved;
      under_all_layouts([&]<Layout To> {
        for (bool divided : {false, true}) {
          INFO("loaded under " << name_of<To>() << (divided ? ", sharded" : ""));
          std::string const to = folder / ("to" + std::to_string(++number));
          load_and_save<To>(from + "parts.0", to, divided, number % 2 == 0);
          CHECK(files::read(of_group<typename To::mesh_type>(to) + a_checkpoint) == saved);
          if (!is_new) continue;
          load_and_save<To>(from + ".0", to, divided, number % 2 == 0);
          CHECK(files::read(of_group<typename To::mesh_type>(to) + a_checkpoint) == saved);
        }
      });
    }
  });
}

TEST_CASE("after load training goes on with the same bits") {
  files::folder const folder;
  under_all_layouts([&]<Layout L> {
    for (bool sharded : {false, true}) {
      INFO("under " << name_of<L>() << (sharded ? ", sharded" : ""));
      auto& m = group_of<typename L::mesh_type>();
      std::string const path =
          of_group<typename L::mesh_type>(folder / (std::string{name_of<L>()} + (sharded ? "1" : "0")));
      std::vector<double> losses;
      trained<L> t{m, sharded};
      for (int i = 0; i < 2; ++i) t.step();
      save(t.list(), t.opt, {2, 0}, path, as_file);
      for (int i = 0; i < 3; ++i) losses.push_back(t.step());
      trained<L> resumed{m, sharded};
      trained<L> otherwise{m, !sharded};
      resumed.spoil();
      load(resumed.list(), resumed.opt, path);
      load(otherwise.list(), otherwise.opt, path);
      for (double loss : losses) {
        CHECK(resumed.step() == loss);
        CHECK(std::abs(otherwise.step() - loss) <= 1e-12 * std::abs(loss));
      }
      CHECK(losses[0] > losses[2]);
    }
  });
}

TEST_CASE("the checksum, the shortest digits of numbers, and larger elements first", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  small<alone> s{m};
  adam opt{0.1};
  for (int i = 0; i < 3; ++i) {
    backward(sum(square(s.w)));
    backward(sum(square(s.b)));
    opt.step(s.list());
  }
  std::string const path = folder / "run";
  training_position const position{
      .step = ~std::uint64_t{0}, .seed = ~std::uint64_t{1}, .vocabulary = ~std::uint64_t{2}};
  save(s.list(), opt, position, path, as_file);
  safetensors_reader const file{path + "/step-18446744073709551615.safetensors"};
  auto const& [arrays, about] = file.header();
  CHECK(about.at("format") == "meshtf 1");
  CHECK(about.at("step") == "18446744073709551615");
  CHECK(about.at("seed") == "18446744073709551614");
  CHECK(about.at("vocabulary") == "18446744073709551613");
  CHECK(about.at("optimizer") == "adam");
  double power = 1;
  for (int i = 0; i < 3; ++i) power *= 0.9;
  CHECK(std::stod(about.at("optimizer.power1")) == power);
  CHECK(arrays.size() == 6);
  for (auto const& [name, array] : arrays) {
    INFO(name);
    CHECK(array.begin % (array.end - array.begin == 16 * 8 ? 8 : 4) == 0);
    CHECK(array.type == (name.ends_with("b") ? "F64" : "F32"));
  }
  CHECK(arrays.at("b").begin == 0);
  CHECK(arrays.at("optimizer.second.w").extents == std::vector<extent>{6, 16});
  CHECK(load(s.list(), opt, path) == position);
#if MESHTF_WITH_ZLIB
  CHECK(about.contains("crc32"));
#endif
  CHECK(files::read(file.path()).size() % 4 == 0);
  CHECK_THROWS_WITH(file.read<double>("w"),
                    Catch::Contains("expected 'w' in ") && Catch::Contains("to hold F64, got F32 [6, 16]"));
  CHECK_THROWS_WITH(file.read<double>("x"), Catch::Contains("got none of that name"));
}

TEST_CASE("parameters alone, of a file, of a folder, and of a file that another program made", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  small<alone> s{m};
  small<alone> t{m};
  auto const spoil = [&] {
    t.w = tensor<float, alone, in, hidden>{m}, t.b = tensor<double, alone, hidden>{m};
  };
  auto const equal = [&] { return to_global(s.w) == to_global(t.w) && to_global(s.b) == to_global(t.b); };
  std::string const name = folder / "net";

  std::string const path = name + ".safetensors";
  save(s.list(), path);
  spoil();
  CHECK(load(t.list(), path) == training_position{});
  CHECK(equal());

  adam opt;
  backward(sum(square(s.w)));
  opt.step(s.list());
  save(s.list(), opt, {5, 6}, name, as_file);
  spoil();
  CHECK(load(t.list(), name) == training_position{5, 6});
  CHECK(equal());
  spoil();
  CHECK(load(t.list(), name + "/step-00000005.safetensors") == training_position{5, 6});
  CHECK(equal());

  sgd down;
  save(s.list(), down, {7, 6}, name, as_file);
  CHECK(load(t.list(), down, name) == training_position{7, 6});
  save(s.list(), {8, 6}, name, as_file);
  CHECK(load(t.list(), name) == training_position{8, 6});

  spoil();
  std::string data(6 * 16 * 4 + 16 * 8, '\0');
  auto const one = std::bit_cast<std::array<char, 4>>(1.0f);
  for (std::size_t i = 0; i < 4; ++i) data[i] = one[i];
  files::write(
      path,
      with_header(
          R"({"w":{"dtype":"F32","shape":[6,16],"data_offsets":[0,384]},"b":{"data_offsets":[384,512],"dtype":"F64","shape":[16]}})",
          data));
  CHECK(load(t.list(), path) == training_position{});
  CHECK(*t.w.data() == 1);
}

TEST_CASE("what had no gradient when it was saved has the state of a new optimizer after load", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  small<alone> s{m};
  adam opt;
  adam used;
  backward(sum(square(s.w)));
  opt.step(s.list());
  std::string const path = folder / "run";
  save(s.list(), opt, {1, 0}, path, as_file);
  CHECK_FALSE(
      safetensors_reader{path + "/step-00000001.safetensors"}.header().arrays.contains("optimizer.first.b"));
  for (int i = 0; i < 3; ++i) {
    backward(sum(square(s.b)));
    used.step(s.list());
  }
  load(s.list(), used, path);
  int arrays = 0;
  used.for_each_array(s.b, [&](char const*, auto const& handle, replica_parts const& parts) {
    ++arrays;
    for (extent i = 0; i < parts.part(); ++i) CHECK(handle->data()[i] == 0);
  });
  CHECK(arrays == 2);
}

TEST_CASE("the two newest stay; what a save that was cut off has left goes; nothing else is touched", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  small<alone> s{m};
  sgd opt;
  std::string const path = folder / "run";
  for (std::uint64_t step : {0u, 20u, 100000u, 100000000u}) save(s.list(), opt, {step, 0}, path, as_file);
  CHECK(files::names_in(path) ==
        std::vector<std::string>{"step-00100000.safetensors", "step-100000000.safetensors"});
  CHECK(load(s.list(), opt, path).step == 100000000);

  std::vector<std::string> const strangers{"notes.txt", "other.safetensors.partial", "step-5.safetensors",
                                           "step-x.safetensors"};
  for (auto const& name : strangers) files::write(path + "/" + name, "x");
  files::write(path + "/step-100000001.safetensors.partial", "cut off");
  CHECK(load(s.list(), opt, path).step == 100000000);
  save(s.list(), opt, {100000000, 3}, path, as_file);  // in the place of the one before
  CHECK(load(s.list(), opt, path) == training_position{100000000, 3});
  auto names = files::names_in(path);
  for (auto const& name : strangers) CHECK(std::erase(names, name) == 1);
  CHECK(names == std::vector<std::string>{"step-00100000.safetensors", "step-100000000.safetensors"});

  CHECK(what_it_throws<usage_error>([&] { save(s.list(), opt, {99999999, 0}, path, as_file); }) ==
        "expected " + path +
            " to hold no checkpoint later than the one to be saved, of step 99999999, got "
            "step-100000000.safetensors: "
            "load it and go on from there, or save to another folder");
}

TEST_CASE("a full disk: an error on all processes, and the checkpoints before are whole", "[1][2][4]") {
  files::folder const folder;
  auto const check = [&]<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    trained<L> t{m};
    t.step();
    std::string const path = folder / "run";
    save(t.list(), t.opt, {1, 0}, path, as_file);
    auto const before    = files::read(path + "/step-00000001.safetensors");
    std::string const by = m.world().size() == 1 ? "" : " (seen by process 0)";
    for (rlim_t room : {0ul, 100ul, 4096ul, before.size() - 1}) {
      files::small_disk const full{room};
      CHECK(what_it_throws<unavailable>([&] { save(t.list(), t.opt, {2, 0}, path, as_file); }) ==
            "expected to write the file " + path +
                "/step-00000002.safetensors, got: File too large: make room; what was saved before is "
                "untouched" +
                by);
      CHECK(files::names_in(path) == std::vector<std::string>{"step-00000001.safetensors"});
      CHECK(files::read(path + "/step-00000001.safetensors") == before);
      meet();
    }
    t.spoil();
    CHECK(load(t.list(), t.opt, path).step == 1);
    save(t.list(), t.opt, {2, 0}, path, as_file);

    files::write(folder / ("file" + std::to_string(m.rank())), "");
    CHECK(what_it_throws<unavailable>([&] { save(t.list(), t.opt, {3, 0}, folder / "file0", as_file); }) ==
          "expected " + folder / "file0" + " to be a folder of checkpoints, got: Not a directory" + by);
    CHECK(what_it_throws<unavailable>([&] { save(t.list(), t.opt, {3, 0}, folder / "no/where", as_file); }) ==
          "expected to make the folder " + folder / "no/where" + ", got: No such file or directory" + by);
  };
  switch (boost::mpi::communicator{}.size()) {
    case 1: check.operator()<alone>(); break;
    case 2: check.operator()<model>(); break;
    default: check.operator()<mixed>(); break;
  }
}

TEST_CASE("killed while saving: the checkpoint before is the newest, and what was left goes with the next",
          "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  small<alone> s{m};
  sgd opt;
  std::string const path = folder / "run";
  save(s.list(), opt, {1, 0}, path, as_file);
  if (pid_t const child = fork(); child == 0) {  // it writes as `save` does, without MPI
    safetensors_writer file{path + "/step-00000002.safetensors", {}, {{"w", {"F32", {100}}}}};
    std::array<float, 50> half{};
    file.write(half.data(), sizeof half);
    std::raise(SIGKILL);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
  }
  auto const left = files::names_in(path);
  REQUIRE(left.size() == 2);
  CHECK(left[0] == "step-00000001.safetensors");
  CHECK_THAT(left[1], Catch::StartsWith("step-00000002.safetensors.") && Catch::EndsWith(".partial"));
  CHECK(load(s.list(), opt, path).step == 1);
  save(s.list(), opt, {3, 0}, path, as_file);
  CHECK(files::names_in(path) ==
        std::vector<std::string>{"step-00000001.safetensors", "step-00000003.safetensors"});
}

TEST_CASE("missing files", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  small<alone> s{m};
  sgd opt;
  std::string const path = folder / "run";
  CHECK(what_it_throws<no_input>([&] { load(s.list(), opt, path); }) ==
        "expected a checkpoint at " + path + ", got: No such file or directory");
  std::filesystem::create_directory(path);
  CHECK(what_it_throws<no_input>([&] { load(s.list(), opt, path); }) ==
        "expected a checkpoint (step-00000000.safetensors or later) in " + path +
            ", got none: save one there first");
  files::write(path + "/step-00000001.safetensors.partial", "x");
  CHECK_THROWS_AS(load(s.list(), opt, path), no_input);
  CHECK(what_it_throws<no_input>([&] { load(s.list(), opt, "/dev/null"); }) ==
        "expected to read the file /dev/null, got something that is not a file");
}

TEST_CASE("damaged and foreign files: one line that names the file, and the one before is loaded", "[1]") {
  files::folder const folder;
  auto& m = processes<single>();
  small<alone> s{m};
  adam opt;
  backward(sum(square(s.w)));
  backward(sum(square(s.b)));
  opt.step(s.list());
  std::string const path = folder / "run";
  std::string const file = path + "/step-00000002.safetensors";
  save(s.list(), opt, {1, 21}, path, as_file);
  save(s.list(), opt, {2, 21}, path, as_file);
  std::string const sound = files::read(file);
  auto const data         = sound.size() - 3 * (6 * 16 * 4 + 16 * 8);
  auto const flipped      = [&](std::size_t at) {
    auto text = sound;
    text[at]  = static_cast<char>(text[at] ^ 4);
    return text;
  };
  auto const entry = [](std::string const& text) {
    return with_header(R"({"w":)" + text + "}", std::string(8, 'x'));
  };
  struct damage {
    std::string content;
    std::string says;
  };
  std::vector<damage> cases{
      {"", "to have a header after 8 bytes with its length, got 0 bytes in all"},
      {"1234567", "got 7 bytes in all"},
      {"PK\3\4 the file of another program, which is long enough",
       "to have a header of at most 1051216 bytes, got one of "},
      {sound.substr(0, 100), " bytes, got 100 bytes in all"},
      {sound.substr(0, sound.size() - 1), "bytes after its header, which names them, got "},
      {sound + "x", "bytes after its header, which names them, got "},
      {with_header("not json"), "to have a header in JSON that begins with {, got "},
      {with_header("[]"), "to have a header in JSON that begins with {, got other JSON"},
      {with_header(" {}"), "to have a header in JSON that begins with {, got other JSON"},
      {with_header(""), "to have a header in JSON that begins with {, got "},
      {with_header("{\"a\n\x01"), "to have a header in JSON that begins with {, got "},
      {with_header("{\"\xff\":{}}"), "to have a header in JSON that begins with {, got "},
      {with_header("{\"__metadata__\":{\"a\":\"\xc3(\"}}"),
       "to have a header in JSON that begins with {, got "},
      {with_header(R"({"a\u0000b":{}})"), "to have a header in JSON that begins with {, got "},
      {entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551624]})"),
       "got too big integer"},
      {with_header("{}", "x"), "to have 0 bytes after its header, which names them, got 1"},
      {with_header(R"({"w":{},"w":{}})"), "duplicate object key"},
      {with_header(R"({"__metadata__":{"a":1}})"), "to have metadata of names and texts, got something else"},
      {with_header(R"({"__metadata__":[]})"), "to have metadata of names and texts, got something else"},
      {entry("7"), "to have the element type of the array 'w', got none"},
      {entry(R"({"dtype":"F32","data_offsets":[0,8]})"), "to have the list shape of the array 'w', got none"},
      {entry(R"({"dtype":"F32","shape":[2]})"), "to have the list data_offsets of the array 'w', got none"},
      {entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
       "to have whole numbers of at least 0 in shape of the array 'w'"},
      {entry(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"),
       "to have whole numbers of at least 0 in shape of the array 'w'"},
      {entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,16]})"),
       "to have the begin and the end of the array 'w'"},
      {entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
       "to have the begin and the end of the array 'w'"},
      {entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
       "to have 12 bytes of the array 'w', F32 [3], got 8"},
      {entry(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]})"),
       "a shape of the array 'w' that can be"},
      {entry(R"({"dtype":"F32","shape":[2],"data_offsets":[1,9]})"),
       "to have the array 'w' at byte 0, where the one before it ends, got it at byte 1"},
      {entry(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})"),
       "to have 16 bytes after its header, which names them, got 8"},
      {with_header(
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
           std::string(12, 'x')),
       "to have the array 'b' at byte 8, where the one before it ends, got it at byte 4"},
      {with_header("{\"a\\nb\\u007f\":7}"), "of the array 'a?b?', got none"},
  };
#if MESHTF_WITH_ZLIB
  cases.push_back({flipped(sound.size() - 1), "to have the checksum "});
  cases.push_back({flipped(data), "to have the checksum "});
  cases.push_back({exchanged(sound, "\"step\":\"2\"", "\"step\":\"3\""), "to have the checksum "});
  cases.push_back({exchanged(sound, "\"crc32\":\"", "\"crc32\":\"0"), "got "});
#endif
  auto const before = to_global(s.w);
  for (auto const& [content, says] : cases) {
    INFO(says);
    files::write(file, content);
    s.w.data()[0]          = -7;
    std::string const said = files::said(folder, [&] { CHECK(load(s.list(), opt, path).step == 1); });
    CHECK_THAT(said,
               Catch::StartsWith("meshtf: expected " + file + " to have ") && Catch::Contains(says) &&
                   Catch::EndsWith(": the file is damaged or of another kind, step-00000001.safetensors "
                                   "is loaded in its place; delete it before you save\n"));
    CHECK(said.find('\n') == said.size() - 1);
    CHECK(said.size() < 600);
    CHECK((to_global(s.w) == before));
    CHECK_THAT(what_it_throws<data_error>([&] { load(s.list(), file); }),
               Catch::Contains(says) && Catch::EndsWith("take another copy of it"));
  }
  std::filesystem::remove(file);
  CHECK(load(s.list(), opt, path).step == 1);
  files::write(path + "/step-00000001.safetensors", "");
  CHECK_THAT(what_it_throws<data_error>([&] { load(s.list(), opt, path); }),
             Catch::EndsWith(", and no other is in the folder"));
}

TEST_CASE("a sound file of something else is refused by name, shape and type, on all processes") {
  files::folder const folder;
  boost::mpi::communicator const world;
  auto const check = [&]<Layout L> {
    auto& m              = processes<typename L::mesh_type>();
    std::string const by = world.size() == 1 ? "" : " (seen by process 0)";
    small<L> s{m};
    adam opt;
    sgd down;
    backward(sum(square(s.w)));
    opt.step(s.list());
    std::string const path = folder / "run";
    std::string const file = path + "/step-00000001.safetensors";
    std::string const net  = folder / "net.safetensors";
    save(s.list(), opt, {1, 21}, path, as_file);
    save(s.list(), net);
    parameter<float, L, in, out> w{m};
    parameter<double, L, in, hidden> wide{m};
    parameter<double, L, hidden> c{m};
    std::string const remedy =
        ": load it into the model that it was saved from, or give the parameters the names that they had" +
        by;

    CHECK(what_it_throws<data_error>([&] { load(parameters(named("w", w), named("b", s.b)), net); }) ==
          "expected 'w' in " + net +
              " to be F32 [6, 8], got F32 [6, 16]: make the model of the sizes that it was saved with" + by);
    CHECK(what_it_throws<data_error>([&] { load(parameters(named("w", wide), named("b", s.b)), net); }) ==
          "expected 'w' in " + net +
              " to be F64 [6, 16], got F32 [6, 16]: make the parameters of that type, or convert the file" +
              by);
    CHECK(what_it_throws<data_error>([&] { load(parameters(named("w", s.w), named("bias", s.b)), net); }) ==
          "expected 'bias', F64 [16], in " + net +
              ", got no array of that name but 'b', F64 [16], which this model has not" + remedy);
    CHECK(what_it_throws<data_error>([&] {
            load(parameters(named("w", s.w), named("b", s.b), named("c", c)), net);
          }) == "expected 'c', F64 [16], in " + net + ", got no array of that name" + remedy);
    CHECK(what_it_throws<data_error>([&] { load(parameters(named("w", s.w)), net); }) ==
          "expected nothing in " + net + " but what this model has, got 'b', F64 [16]" + remedy);
    CHECK(what_it_throws<data_error>([&] { load(parameters(named("w", s.w)), path); }) ==
          "expected nothing in " + file + " but what this model has, got 'b', F64 [16]" + remedy);
    CHECK(what_it_throws<data_error>([&] { load(s.list(), opt, net); }) ==
          "expected the metadata of " + net +
              " to have 'step', got none: " + std::string{detail::checkpoint_check::other} + by);
    CHECK(what_it_throws<data_error>([&] { load(s.list(), down, path); }) ==
          "expected " + file +
              " to hold the state of the optimizer sgd, got that of adam: load(parameters, path) takes the "
              "parameters alone" +
              by);

    auto const altered = [&](std::string const& what, std::string const& instead) {
      world.barrier();
      if (world.rank() == 0) {
        auto const text = exchanged(files::read(file), what, instead);
        auto const at   = text.find("\"crc32\":\"") + 9;
        files::write(folder / "altered.safetensors", exchanged(text, text.substr(at, 9), "none\"    "));
      }
      world.barrier();
      return folder / "altered.safetensors";
    };
    std::string const here = "expected the metadata of " + folder / "altered.safetensors" + " to have ";
    CHECK(what_it_throws<data_error>([&] { load(s.list(), opt, altered("meshtf 1", "meshtf 2")); }) ==
          here + "the format 'meshtf 1', got 'meshtf 2': load it with the version that saved it" + by);
    CHECK_THROWS_WITH(load(s.list(), altered("meshtf 1", "meshtf 2")),
                      Catch::Contains("load it with the version that saved it"));
    CHECK(what_it_throws<data_error>([&] { load(s.list(), opt, altered("meshtf 1", "pytorch1")); }) ==
          here + "the format 'meshtf 1', got 'pytorch1': " + detail::checkpoint_check::other + by);
    CHECK(what_it_throws<data_error>([&] {
            load(s.list(), opt, altered("\"seed\":\"21\"", "\"seed\":\"2x\""));
          }) == here + "a number as 'seed', got '2x': " + detail::checkpoint_check::other + by);
    CHECK_THROWS_WITH(load(s.list(), opt, altered("optimizer.power2", "optimizer.powerx")),
                      Catch::Contains("to have 'optimizer.power2', got none"));
    CHECK_THROWS_WITH(load(s.list(), opt, altered("optimizer.second.w", "optimizer.secxnd.w")),
                      Catch::Contains("expected 'optimizer.second.w', F32 [6, 16], in ") &&
                          Catch::Contains("but 'optimizer.secxnd.w', F32 [6, 16], which this model has not"));
    load(s.list(), opt, altered("crc32", "crc32"));  // a file that was saved without zlib is taken as it is
    load(s.list(), altered("optimizer.second.w", "optimizer.secxnd.w"));

    CHECK_THROWS_WITH(save(parameters(named("w", s.w), named("w", s.b)), net),
                      Catch::Contains("two that are called 'w'"));
    CHECK_THROWS_AS(load(parameters(named("w", s.w), named("w", s.b)), net), software_error);
    CHECK_THROWS_WITH(save(parameters(named("optimizer.w", s.w)), net),
                      Catch::Contains("no parameter to be called 'optimizer.w'"));
    CHECK_THROWS_WITH(save(parameters(named("\xff", s.w)), net),
                      Catch::Contains("expected UTF-8 text as a name"));
    std::vector<block<L>> empty;
    CHECK_THROWS_WITH(save(parameters(named("blocks", empty)), net),
                      "a checkpoint of no parameters: the list is empty");
    load(s.list(), net);
  };
  switch (world.size()) {
    case 1: check.operator()<alone>(); break;
    case 2: check.operator()<model>(); break;
    case 4: check.operator()<mixed>(); break;
    default: break;
  }
}
