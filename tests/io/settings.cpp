// Settings and descriptions: what is read equals what was written, what a checkpoint keeps of them, and what
// is said when they differ.
#include <meshtf/io/settings.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include <meshtf/io/checkpoint.hpp>
#include <meshtf/io/describe_checkpoint.hpp>
#include <meshtf/io/description.hpp>

#include "../layout_fixture.hpp"
#include "folder.hpp"
#include "said.hpp"

using namespace fixture;

namespace {

struct decay {
  std::string kind = "cosine";
  double least     = 0.1;

  static constexpr auto settings() {
    return std::tuple{setting{"kind", &decay::kind},
                      setting{"least", &decay::least}.expects("a number of at least 0",
                                                              [](double const& x) { return x >= 0; })};
  }
};

bool is_named(std::string const& name) { return !name.empty(); }

struct chosen_settings {
  double rate              = 1e-3;
  float clip               = 1;
  long warmup              = 100;
  std::uint64_t id         = 1;
  bool quick               = false;
  std::optional<long> seed = {};
  std::string note         = {};
  std::string folder       = {};
  decay after              = {};

  static constexpr auto settings() {
    using self = chosen_settings;
    return std::tuple{setting{"rate", &self::rate},
                      setting{"clip", &self::clip},
                      setting{"warmup", &self::warmup},
                      setting{"id", &self::id},
                      setting{"quick", &self::quick},
                      setting{"seed", &self::seed}.must_match(),
                      setting{"note", &self::note},
                      setting{"folder", &self::folder}.expects("a folder", is_named).not_kept().may_differ(),
                      setting{"decay", &self::after}};
  }
};

struct two_of_one_name {
  long one = 0;
  long two = 0;
  static constexpr auto settings() {
    return std::tuple{setting{"n", &two_of_one_name::one}, setting{"n", &two_of_one_name::two}};
  }
};

template<class... A>
std::string refused(A const&... arguments) {
  char const* const argv[]{"program", arguments...};
  try {
    read_settings<chosen_settings>(static_cast<int>(std::size(argv)), argv);
  } catch (error const& e) {
    return std::to_string(e.exit_status()) + " " + e.what();
  }
  return "nothing";
}

std::string refused_text(std::string const& text) {
  chosen_settings s;
  try {
    read_settings_text(s, text, "run.settings");
  } catch (usage_error const& e) {
    return e.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("a command line sets members by their names", "[1]") {
  char const* const argv[]{"program", "--rate=0.5", "--quick", "--seed", "7", "--decay.kind", "line"};
  auto const s = read_settings<chosen_settings>(std::size(argv), argv, {.warmup = 3});
  CHECK((s.rate == 0.5 && s.quick && s.seed == 7 && s.after.kind == "line" && s.warmup == 3));
  CHECK(settings_text(s) ==
        "rate = 0.5\nclip = 1\nwarmup = 3\nid = 1\nquick = true\nseed = 7\nnote = \nfolder = \n"
        "decay.kind = line\ndecay.least = 0.1\n");
}

TEST_CASE("settings that are written and read are equal to the bit", "[1]") {
  std::mt19937_64 random{1};
  auto const text = [&] {
    constexpr std::string_view letters = "a \"\\\n\t#=-\r\xc3\xa9";
    std::string t(random() % 6, 'x');
    for (char& c : t) c = letters[random() % letters.size()];
    return t;
  };
  for (int i = 0; i < 10000; ++i) {
    chosen_settings s;
    do s.rate = std::bit_cast<double>(random());
    while (std::isnan(s.rate));
    do s.clip = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    while (std::isnan(s.clip));
    s.warmup = static_cast<long>(random());
    s.id     = random();
    s.quick  = random() % 2 == 0;
    if (random() % 2 == 0) s.seed = static_cast<long>(random());
    s.note       = text();
    s.folder     = text();
    s.after.kind = text();
    chosen_settings back;
    read_settings_text(back, settings_text(s), "it");
    bool const equal = back.rate == s.rate && back.clip == s.clip && back.warmup == s.warmup &&
                       back.id == s.id && back.quick == s.quick && back.seed == s.seed &&
                       back.note == s.note && back.folder == s.folder && back.after.kind == s.after.kind;
    if (!equal) FAIL(settings_text(s) << "became\n" << settings_text(back));
  }
}

TEST_CASE("a name or a value that is none is refused, with the nearest name", "[1]") {
  CHECK(refused("--warmpu", "3") ==
        "64 expected the name of a setting, got '--warmpu': did you mean '--warmup'?");
  CHECK(refused("--decay.leats", "3") ==
        "64 expected the name of a setting, got '--decay.leats': did you mean '--decay.least'?");
  CHECK(refused("--warmup", "3.5") ==
        "64 expected a whole number after --warmup, got '3.5': for example --warmup 100");
  CHECK(refused("--folder", "") == "64 expected a folder after --folder, got ''");
  CHECK(refused("--warmup") == "64 expected a whole number after --warmup, got nothing");
  CHECK(refused("--quick=maybe") ==
        "64 expected true or false after --quick, got 'maybe': for example --quick false");
  CHECK(refused("--decay.least", "-1") ==
        "64 expected a number of at least 0 after --decay.least, got '-1': for example --decay.least 0.1");
  CHECK(refused("warmup") ==
        "64 expected --rate or another setting, got 'warmup', which does not begin with --");
  CHECK(refused("--settings", "/nowhere") ==
        "66 expected a file with settings after --settings, got '/nowhere', which can't be read");
  CHECK(refused_text("# none\n\nrate = 1\nwarmpu = 3") ==
        "expected the name of a setting in line 4 of run.settings, got 'warmpu': did you mean 'warmup'?");
  CHECK(refused_text("rate: 1") == "expected 'name = value' in line 1 of run.settings, got 'rate: 1'");
  CHECK(refused_text("rate = fast") == "expected a number for rate in line 1 of run.settings, got 'fast'");
  CHECK(refused_text("note = \"open") == "expected a text for note in line 1 of run.settings, got '\"open'");
  CHECK_THROWS_AS(settings_text(two_of_one_name{}), software_error);
}

TEST_CASE("a file of settings is read where it is named, and what follows it overrides it", "[1]") {
  files::folder const folder;
  std::string const path = folder / "run.settings";
  files::write(path, "rate = 0.25\r\nwarmup = 7\n");
  char const* const argv[]{"program", "--rate", "3", "--settings", path.c_str(), "--warmup", "8"};
  auto const s = read_settings<chosen_settings>(std::size(argv), argv);
  CHECK((s.rate == 0.25 && s.warmup == 8));
}

#if MESHTF_WITH_JANSSON

namespace {

template<Layout L>
struct net {
  parameter<float, L, batch, hidden> w;
  parameter<double, L, hidden> b;
  adam opt{0.5};
  explicit net(machine<L>& m) : w{m, normal{1}}, b{m, normal{2}} {}
  auto list() { return meshtf::parameters(named("w", w), named("b", b)); }
};

std::string one_line(std::vector<std::string> const& lines) {
  std::string all;
  for (auto const& line : lines) all += line + "\n";
  return all;
}

}  // namespace

TEST_CASE("a checkpoint keeps settings, and what differs is said when it is loaded", "[1][4]") {
  files::folder const folder;
  auto const check = [&]<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    net<L> n{m};
    for (bool const in_parts : {true, false}) {
      std::string const path = folder / (in_parts ? "parts" : "file");
      chosen_settings s{.rate = 0.25, .seed = 7};
      save(n.list(), n.opt, {.step = 3}, s, path, {.in_parts = in_parts});
      auto const load_with = [&](chosen_settings const& now) {
        return files::said(folder, [&] { CHECK(load(n.list(), n.opt, path, now).step == 3); });
      };
      s.folder = "elsewhere";
      CHECK(load_with(s) == "");
      s.rate                  = 0.5;
      s.note                  = "x";
      std::string const step  = path + (in_parts ? "/step-00000003" : "/step-00000003.safetensors");
      std::string const words = "meshtf: setting note was '' in " + step + ", is 'x'\n" +
                                "meshtf: setting rate was '0.25' in " + step + ", is '0.5'\n";
      CHECK(load_with(s) == (m.rank() == 0 ? words : ""));
      s.seed = 8;
      CHECK_THROWS_AS(load(n.list(), n.opt, path, s), usage_error);
      auto const about = describe(path);
      CHECK(about.at("setting.rate") == "0.25");
      CHECK(about.at("array.w") == "F32 [batch=8, hidden=16]");
      CHECK(about.at("layout") == name_of<L>());
      CHECK(!about.contains("setting.folder"));
      m.world().barrier();
    }
  };
  if (boost::mpi::communicator{}.size() == 1) check.operator()<alone>();
  else check.operator()<mixed>();
}

TEST_CASE("a checkpoint of before, without settings, loads with some", "[1]") {
  files::folder const folder;
  net<alone> n{processes<single>()};
  save(n.list(), n.opt, {.step = 3}, folder.path());
  CHECK(files::said(folder, [&] { load(n.list(), n.opt, folder.path(), chosen_settings{}); }) == "");
  CHECK(describe(folder.path()).at("array.w") == "F32 [8, 16]");
}

TEST_CASE("descriptions differ in what differs", "[1]") {
  files::folder const folder;
  net<alone> n{processes<single>()};
  save(n.list(), n.opt, {.step = 3}, chosen_settings{}, folder / "a");
  save(n.list(), n.opt, {.step = 4}, chosen_settings{.rate = 2}, folder / "b");
  auto const a = describe(folder / "a");
  auto const b = describe(folder / "b");
  CHECK(one_line(differences(a, a)) == "");
  CHECK(one_line(differences(a, b)) == "~ setting.rate = 0.001 -> 2\n~ step = 3 -> 4\n");
  // against a program: without a process, and a file without names of dimensions
  save(n.list(), folder / "c.safetensors");
  auto const c       = describe(folder / "c.safetensors");
  auto const program = describe(n.list());
  CHECK(one_line(differences(c, program)) == "+ layout = alone\n+ mesh = solo=1\n");
  auto other       = program;
  other["array.w"] = "F32 [batch=8, other=16]";
  CHECK(one_line(differences(program, other)) ==
        "~ array.w = F32 [batch=8, hidden=16] -> F32 [batch=8, other=16]\n");
  CHECK(one_line(differences(c, other)) == "+ layout = alone\n+ mesh = solo=1\n");
  other["array.w"] = "F32 [batch=8, other=17]";
  CHECK(one_line(differences(c, other)) ==
        "~ array.w = F32 [8, 16] -> F32 [batch=8, other=17]\n+ layout = alone\n+ mesh = solo=1\n");
}

#endif
