// The log of a training: histograms are those of whole tensors whatever their layout, and a log that goes on
// has no step twice.
// test: processes 1 2 4
#if MESHTF_WITH_JANSSON
#ifndef MESHTF_POISON
#define MESHTF_POISON  // padding is NaN
#endif
#include <clocale>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <jansson.h>
#include <sys/resource.h>

#include <meshtf/core/mesh.hpp>
#include <meshtf/io/checkpoint.hpp>
#include <meshtf/io/log.hpp>
#include <meshtf/ops/pointwise/square.hpp>
#include <meshtf/ops/product/einsum.hpp>
#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/tensor/initialiser.hpp>
#include <meshtf/tensor/parameter.hpp>
#include <meshtf/tensor/tape.hpp>

#include "../catch.hpp"
#include "said.hpp"

namespace {

using meshtf::extent;

// clang-format off
struct batch  : meshtf::dim<8> {};
struct inputs : meshtf::dim<6> {};
struct five   : meshtf::dim<5> {};
// clang-format on

template<int R, int C>
struct on {
  struct rows : meshtf::axis<R> {};
  struct cols : meshtf::axis<C> {};
  struct grid : meshtf::mesh<rows, cols> {};
  struct replicated : meshtf::layout<grid> {};
  struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};
  struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<inputs, cols>> {};
  struct uneven : meshtf::layout<grid, meshtf::padded<five, rows>, meshtf::split<inputs, cols>> {};
};

/// A line of the log.
struct line {
  extent step                = 0;
  std::string name           = {};
  std::string text           = {};
  double value               = 0;
  double least               = 0;
  double most                = 0;
  double count               = 0;
  double not_finite          = 0;
  double sum                 = 0;
  double sum_squares         = 0;
  std::vector<double> limits = {};
  std::vector<double> counts = {};
};

/// All lines but the first, which is the identity of the training.
std::vector<line> lines_of(std::string const& path) {
  std::vector<line> lines;
  std::string const all = files::read(path);
  for (std::size_t at = 0; at < all.size();) {
    auto const end = all.find('\n', at);
    REQUIRE(end != std::string::npos);
    json_t* const root = json_loadb(all.data() + at, end - at, 0, nullptr);
    INFO(all.substr(at, end - at));
    REQUIRE(root != nullptr);
    line l{.step = json_integer_value(json_object_get(root, "step")),
           .name = json_string_value(json_object_get(root, "name"))};
    CHECK(json_is_real(json_object_get(root, "time")));
    if (json_t const* const x = json_object_get(root, "value"))
      l.value = json_is_string(x) ? std::nan("") : json_number_value(x);
    if (json_t const* const x = json_object_get(root, "text")) l.text = json_string_value(x);
    if (json_t const* const h = json_object_get(root, "histogram")) {
      auto const number = [h](char const* name) { return json_number_value(json_object_get(h, name)); };
      auto const list   = [h](char const* name) {
        std::vector<double> some;
        std::size_t i;
        json_t* x;
        json_array_foreach(json_object_get(h, name), i, x) some.push_back(json_number_value(x));
        return some;
      };
      l.least       = number("min");
      l.most        = number("max");
      l.count       = number("count");
      l.not_finite  = number("not_finite");
      l.sum         = number("sum");
      l.sum_squares = number("sum_squares");
      l.limits      = list("limits");
      l.counts      = list("counts");
    }
    json_decref(root);
    lines.push_back(l);
    at = end + 1;
  }
  REQUIRE(!lines.empty());
  CHECK((lines[0].name == "run" && meshtf::detail::parsed_run(lines[0].text)));
  lines.erase(lines.begin());
  return lines;
}

/// The identity in a log's first line.
std::uint64_t read_run(files::folder const& log) {
  auto const all  = files::read(log / "log.jsonl");
  auto const text = all.find("\"text\":\"") + 8;
  return meshtf::detail::parsed_run(std::string_view{all}.substr(text, 16)).value_or(0);
}

/// It tells what the elements say.
void tells(line const& told, std::vector<double> const& elements) {
  INFO(told.name);
  double least   = elements[0];
  double most    = elements[0];
  double sum     = 0;
  double squares = 0;
  for (double const x : elements) {
    least = std::min(least, x);
    most  = std::max(most, x);
    sum += x;
    squares += x * x;
  }
  CHECK(told.count == static_cast<double>(elements.size()));
  CHECK(told.not_finite == 0);
  CHECK(told.least == least);
  CHECK(told.most == most);
  CHECK(std::abs(told.sum - sum) < 1e-12 * (1 + std::abs(sum)));
  CHECK(std::abs(told.sum_squares - squares) < 1e-12 * (1 + squares));
  REQUIRE(told.limits.size() == told.counts.size());
  double before = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < told.limits.size(); ++i) {
    // a limit that is positive is the next bin's
    auto const inside = std::count_if(elements.begin(), elements.end(), [&](double x) {
      return (x > before || (x == before && x > 0)) && (x < told.limits[i] || (x == told.limits[i] && x < 0));
    });
    CHECK(told.counts[i] == static_cast<double>(inside));
    before = told.limits[i];
  }
}

template<meshtf::Layout L, class D>
meshtf::parameter<float, L, D, inputs> made(meshtf::process_mesh<typename L::mesh_type>& m) {
  return meshtf::parameter<float, L, D, inputs>{m, meshtf::normal{1, 0.5}};
}

/// The elements are the same under every layout, so one process knows them all.
template<class D>
std::vector<double> whole() {
  using alone = on<1, 1>;
  meshtf::process_mesh<alone::grid> m{MPI_COMM_SELF};
  auto const w = made<alone::replicated, D>(m);
  return {w.data(), w.data() + w.size};
}

bool is_first() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

template<meshtf::Layout L, class D>
void has_histograms() {
  files::folder const here;
  meshtf::extent calls = 0;
  {
    meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
    auto w = made<L, D>(m);
    meshtf::log_to log{here.path()};
    log.histogram("alone", w, 1);
    backward(sum(square(w)));
    auto const unreduced = w.slot().unreduced;
    auto const spent     = meshtf::recorded<L>(
        m, [&]<class>(auto&) { log.histograms(meshtf::parameters(meshtf::named("w", w)), 2); });
    calls = spent.calls();
    CHECK(w.slot().unreduced == unreduced);
    CHECK(spent.template payload<>() >=
          (unreduced == 0 ? 0 : extent{sizeof(float)}) + (m.world().size() > 1 ? 2 * (513 + 3 + 2) * 8 : 0));
    w.zero_gradient();
  }
  if (!is_first()) return;
  INFO(meshtf::name_of<L>());
  auto elements = whole<D>();
  auto const l  = lines_of(here / "log.jsonl");
  REQUIRE(l.size() == 3);
  CHECK((l[0].name == "alone" && l[1].name == "weights/w" && l[2].name == "gradients/w"));
  CHECK((l[0].step == 1 && l[1].step == 2 && l[2].step == 2));
  tells(l[0], elements);
  tells(l[1], elements);
  for (double& x : elements) x = 2 * x;
  tells(l[2], elements);
  CHECK(calls >= (L::mesh_type::size == 1 ? 0 : 2));
}

}  // namespace

TEST_CASE("the bins of a histogram end where the next begin", "[1]") {
  using meshtf::detail::histogram_bins;
  CHECK(histogram_bins::count == 513);
  for (std::size_t i = 0; i + 2 < histogram_bins::count; ++i) {
    double const limit = histogram_bins::limit(i);
    CHECK(limit < histogram_bins::limit(i + 1));
    CHECK(histogram_bins::bin_of(limit) == (limit < 0 ? i : i + 1));
    CHECK(histogram_bins::bin_of(std::nextafter(limit, 1e300)) == i + 1);
    CHECK(histogram_bins::bin_of(std::nextafter(limit, -1e300)) == i);
  }
  CHECK(histogram_bins::bin_of(0) == histogram_bins::bin_of(-0.0));
  CHECK(histogram_bins::bin_of(1e300) == 512);
  CHECK(histogram_bins::bin_of(-1e300) == 0);
  CHECK(histogram_bins::limit(512) == std::numeric_limits<double>::max());
}

TEST_CASE("checksums of event files are CRC-32C, masked", "[1]") {
  // RFC 3720, B.4: 32 bytes of zeros have 8a9136aa
  CHECK(meshtf::detail::masked_checksum::of(std::string(32, '\0')) ==
        std::rotr(0x8a9136aaU, 15) + 0xa282ead8U);
}

TEST_CASE("the step of an event is read back", "[1]") {
  using meshtf::detail::event_record;
  auto const event = [](std::string const& framed) {
    return std::string_view{framed}.substr(12, framed.size() - 16);
  };
  for (std::uint64_t const step : {0ULL, 1ULL, 127ULL, 128ULL, 1ULL << 40}) {
    auto const framed = event_record::of(1.5, step, event_record::scalar("loss", 2));
    CHECK(event_record::step_of(event(framed)) == step);
  }
  auto const first = event_record::of_version(1.5);
  CHECK(!event_record::step_of(event(first)));
}

TEST_CASE("histograms of weights and gradients on 1 process", "[1]") {
  has_histograms<on<1, 1>::replicated, batch>();
  has_histograms<on<1, 1>::uneven, five>();
}
TEST_CASE("histograms of weights and gradients are those of the whole tensors on 2 processes", "[2]") {
  has_histograms<on<2, 1>::replicated, batch>();
  has_histograms<on<2, 1>::data, batch>();
  has_histograms<on<1, 2>::mixed, batch>();
  has_histograms<on<2, 1>::uneven, five>();
}
TEST_CASE("histograms of weights and gradients are those of the whole tensors on 4 processes", "[4]") {
  has_histograms<on<2, 2>::replicated, batch>();
  has_histograms<on<2, 2>::data, batch>();
  has_histograms<on<2, 2>::mixed, batch>();
  has_histograms<on<4, 1>::uneven, five>();
  has_histograms<on<2, 2>::uneven, five>();
}

TEST_CASE(
    "the histogram of an unreduced gradient is that of the finished sum, and the gradient stays unreduced",
    "[2][4]") {
  files::folder const here;
  bool open = false;
  {
    auto const with = [&]<class On>(On) {
      using L = typename On::data;
      meshtf::process_mesh<typename On::grid> m{MPI_COMM_WORLD};
      meshtf::parameter<float, L, inputs> w{m, meshtf::constant{0.5}};
      meshtf::tensor<float, L, batch, inputs> x{m};
      std::fill_n(x.data(), x.size, 1.0F);
      meshtf::log_to log{here.path()};
      backward(sum(meshtf::einsum<batch>(x, w)));
      open = w.slot().unreduced != 0;
      log.histograms(meshtf::parameters(meshtf::named("w", w)), 1);
      CHECK((w.slot().unreduced != 0) == open);
      w.zero_gradient();
    };
    boost::mpi::communicator const world;
    if (world.size() == 2) with(on<2, 1>{});
    else with(on<4, 1>{});
  }
  CHECK(open);
  if (is_first()) tells(lines_of(here / "log.jsonl")[1], std::vector<double>(6, 8.0));
}

TEST_CASE("what is not finite is counted apart, and numbers that JSON lacks are texts") {
  files::folder const here;
  {
    using alone = on<1, 1>;
    meshtf::process_mesh<alone::grid> m{MPI_COMM_SELF};
    meshtf::tensor<float, alone::replicated, inputs> x{m};
    for (int i = 0; i < 6; ++i) x.data()[i] = static_cast<float>(i);
    x.data()[1] = NAN;
    x.data()[2] = INFINITY;
    x.data()[3] = -INFINITY;
    meshtf::log_to log{here.path()};
    log.histogram("x", x, 1);
    log.scalar("loss", NAN, 1);
    log.text("words", "a \"quote\"\nand a line", 1);
  }
  if (!is_first()) return;
  auto const l = lines_of(here / "log.jsonl");
  REQUIRE(l.size() == 3);
  CHECK((l[0].not_finite == 3 && l[0].count == 3 && l[0].least == 0 && l[0].most == 5 && l[0].sum == 9));
  CHECK(std::isnan(l[1].value));
  CHECK(l[2].text == "a \"quote\"\nand a line");
}

TEST_CASE("the first loss that is not finite is reported, once for each name, by process 0") {
  files::folder const here;
  std::string const folder = here / "log";
  auto const told          = files::said(here, [&folder] {
    meshtf::log_to log{folder};
    log.scalar("loss", 2.5, 1);
    log.scalar("loss", NAN, 2);
    log.scalar("loss", NAN, 3);
    log.scalar("gap", -INFINITY, 3);
    log.scalar("loss", 1.0, 4);
  });
  std::string const rest =
      " in the log " + folder +
      ": a step with a loss that is not finite makes the weights so, and later ones are not reported\n";
  CHECK(told == (is_first()
                     ? "meshtf: 'loss' of step 2 is nan" + rest + "meshtf: 'gap' of step 3 is -inf" + rest
                     : ""));
}

TEST_CASE("a log that resumes from a checkpoint has each step once, and its events are whole") {
  files::folder const here;
  meshtf::training_position position;
  auto const log_steps = [&](std::uint64_t completed_steps, std::uint64_t to, double value) {
    position.step = completed_steps;
    meshtf::log_to log{here.path(), position};
    for (std::uint64_t step = completed_steps; step <= to; ++step)
      if (step > 0) log.scalar("loss", value, step);
  };
  log_steps(0, 5, 1);
  if (is_first()) {  // it was cut off in the middle of a record and of a line
    files::write(here / "log.jsonl", files::read(here / "log.jsonl") + R"({"step":6,"time":1.0,"na)");
    auto const events = files::read(here / "events.out.tfevents.meshtf");
    files::write(here / "events.out.tfevents.meshtf", events + events.substr(0, 20));
  }
  log_steps(3, 7, 2);
  log_steps(7, 8, 3);
  if (is_first()) {
    auto const l = lines_of(here / "log.jsonl");
    REQUIRE(l.size() == 8);
    CHECK(read_run(here) == position.run);
    constexpr double values[] = {1, 1, 1, 2, 2, 2, 2, 3};
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(l[i].step == static_cast<extent>(i + 1));
      CHECK(l[i].value == values[i]);
    }
    // The version, five and two and one of three trainings of which two steps came again, and two restarts.
    auto const events = files::read(here / "events.out.tfevents.meshtf");
    std::vector<std::uint64_t> steps;
    for (std::size_t at = 0; at < events.size();) {
      auto const size = static_cast<unsigned char>(events[at]) |
                        std::size_t{static_cast<unsigned char>(events[at + 1])} << 8;
      steps.push_back(
          meshtf::detail::event_record::step_of(std::string_view{events}.substr(at + 12, size)).value_or(0));
      at += size + 16;
    }
    CHECK(steps == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 8});
  }
}

TEST_CASE("a disk that is full for a while: one line when it begins, one at its end with what is missing") {
  files::folder const here;
  std::string const folder = here / "log";
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  meshtf::training_position at;
  auto const told = files::said(here, [&] {
    meshtf::log_to log{folder, at};
    for (std::uint64_t step = 1; step <= 9; ++step) {
      rlimit full   = before;
      full.rlim_cur = 300;  // more than is said, less than the files have
      if (step == 4 || step == 7) setrlimit(RLIMIT_FSIZE, step == 4 ? &full : &before);
      log.scalar("loss", 1, step);
      log.scalar("rate", 1, step);
    }
  });
  if (!is_first()) return;
  CHECK(told == "meshtf: the log " + folder +
                    " can't be written: File too large: training goes on, and entries from step 4 on are "
                    "missing\nmeshtf: the log " +
                    folder + " can be written again at step 7: entries of steps 4 to 6 are missing\n");
  auto const l = lines_of(folder + "/log.jsonl");
  REQUIRE(l.size() == 13);
  CHECK((l[6].name == "missing" && l[6].step == 7 && l[6].text == "steps 4 to 6"));
}

TEST_CASE("a folder that is removed is reported, and the training that resumes says what is missing") {
  files::folder const here;
  boost::mpi::communicator const world;
  std::string const folder = here / "log";
  meshtf::training_position at;
  auto const begins  = files::said(here, [&] {
    meshtf::log_to log{folder, at};
    for (std::uint64_t step = 1; step <= 20; ++step) {
      if (step == 11 && is_first()) std::filesystem::remove_all(folder);
      if (step % 2 == 0) log.scalar("loss", 1, step);
    }
  });
  auto const goes_on = [&](std::uint64_t completed, std::uint64_t last) {
    at.step = completed;
    return files::said(here, [&] {
      meshtf::log_to log{folder, at};
      for (std::uint64_t step = completed + 1; step <= last; ++step)
        if (step % 2 == 0) log.scalar("loss", 1, step);
    });
  };
  world.barrier();
  auto const all_missing  = goes_on(17, 31);
  auto const none_missing = goes_on(31, 40);
  auto const some_missing = goes_on(50, 52);
  if (!is_first()) return;
  CHECK(begins == "meshtf: the log " + folder +
                      " can't be written: No such file or directory: training goes on, and entries from step "
                      "12 on are missing\n");
  auto const says = [&folder](std::string const& steps) {
    return "meshtf: the log " + folder + " has nothing of " + steps +
           ", which the checkpoint has completed: they don't come again\n";
  };
  CHECK(all_missing == says("steps 1 to 17"));
  CHECK(none_missing.empty());
  CHECK(some_missing == says("steps 41 to 50"));
  auto const l = lines_of(folder + "/log.jsonl");
  CHECK((l[0].name == "missing" && l[0].step == 17 && l[0].text == "steps 1 to 17"));
}

TEST_CASE("a training that was cut off before its first checkpoint begins again, and nothing is lost") {
  files::folder const here;
  std::string const folder = here / "log";
  auto const trains        = [&](std::uint64_t completed, double value) {
    return files::said(here, [&] {
      meshtf::training_position at{.step = completed};
      meshtf::log_to log{folder, at};
      for (std::uint64_t step = completed + 1; step <= completed + 3; ++step) log.scalar("loss", value, step);
    });
  };
  auto const moved = [&folder](std::string const& number) {
    return "meshtf: a training begins its log in " + folder + "; the one that was there is in " + folder +
           "/earlier-" + number + "\n";
  };
  bool const first = is_first();
  CHECK(trains(0, 1).empty());
  CHECK(trains(0, 2) == (first ? moved("1") : ""));
  CHECK(trains(0, 3) == (first ? moved("2") : ""));
  if (first) {
    CHECK(lines_of(folder + "/log.jsonl").at(2).value == 3);
    CHECK(lines_of(folder + "/earlier-1/log.jsonl").at(2).value == 1);
    CHECK(lines_of(folder + "/earlier-2/log.jsonl").at(2).value == 2);
    CHECK(files::read(folder + "/earlier-2/events.out.tfevents.meshtf").size() > 100);
    std::filesystem::remove_all(folder);
  }
  boost::mpi::communicator{}.barrier();
  // the checkpoint that both go on from is of a time before there was a log
  CHECK(trains(7, 4).empty());
  CHECK(trains(7, 5) == (first ? moved("1") : ""));
  CHECK_THROWS_AS(trains(8, 5), meshtf::usage_error);
}

TEST_CASE("numbers are written and read with a point in a locale that has a comma", "[1]") {
  files::folder const here;
  std::string const make = "localedef -i de_DE -f UTF-8 '" + (here / "de_DE.UTF-8") + "' >/dev/null 2>&1";
  if (std::system(make.c_str()) == -1) return;
  setenv("LOCPATH", here.path().c_str(), 1);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) {
    WARN("no German locale can be made here");
    return;
  }
  CHECK(std::string{std::localeconv()->decimal_point} == ",");
  {
    meshtf::log_to log{here / "log"};
    log.scalar("loss", 1.5, 1);
  }
  setenv("MESHTF_PATIENCE", "2.5", 1);
  CHECK(meshtf::detail::watchdog::patience() == 2.5);
  unsetenv("MESHTF_PATIENCE");
  CHECK(meshtf::detail::to_compare(1.5F).words == "1.5");
  meshtf::profile spent;
  spent.count({}, {}).seconds = 1.25;
  CHECK(spent.text("grid").find("    1.2500  100.0 %          1     0.0     0.0  ") != std::string::npos);
  std::setlocale(LC_ALL, "C");
  unsetenv("LOCPATH");
  CHECK(lines_of(here / "log/log.jsonl").at(0).value == 1.5);
}

TEST_CASE("names and texts that are no UTF-8 are escaped") {
  files::folder const here;
  {
    meshtf::log_to log{here / "log"};
    log.scalar("l\xf6ss", 1, 1);
    log.text("w",
             "\xc3\xb6 \xff \xe2\x82\xac \xc0\xaf "
             "\xed\xa0\x80 \xf0\x9f\x98\x80 \xf4\x90\x80\x80 \xe2\x82",
             1);
  }
  if (!is_first()) return;
  auto const l = lines_of(here / "log/log.jsonl");
  CHECK(l.at(0).name == "l\\xf6ss");
  CHECK(l.at(1).text ==
        "\xc3\xb6 \\xff \xe2\x82\xac \\xc0\\xaf "
        "\\xed\\xa0\\x80 \xf0\x9f\x98\x80 \\xf4\\x90\\x80\\x80 \\xe2\\x82");
  CHECK(files::read(here / "log/events.out.tfevents.meshtf").find("l\\xf6ss") != std::string::npos);
}

TEST_CASE("a log is refused where there is another one, or something else, on all processes") {
  files::folder const here;
  using Catch::Contains;
  {
    meshtf::log_to log{here.path()};
    log.scalar("loss", 1, 5);
    CHECK_THROWS_WITH(log.scalar("loss", 1, 4),
                      Contains("expected a step of at least 5, which was logged last, got step 4"));
    meshtf::training_position at{.step = 5};
    CHECK_THROWS_WITH((meshtf::log_to{here.path(), at}), Contains("expected one job to write the log"));
  }
  CHECK_THROWS_WITH(meshtf::log_to{""}, Contains("expected a folder for the log, got ''"));
  CHECK_THROWS_WITH(meshtf::log_to{(here / "log.jsonl") + "/below"},
                    Contains("expected a folder for the log that can be made"));
  boost::mpi::communicator const world;
  world.barrier();
  if (is_first()) files::write(here / "events.out.tfevents.meshtf", "this is no event file at all");
  meshtf::training_position at{.step = 5, .run = read_run(here)};
  world.barrier();
  CHECK_THROWS_WITH((meshtf::log_to{here.path(), at}), Contains("expected TensorBoard's events in"));
}

TEST_CASE("a log knows its training by the checkpoint, and refuses another one, which changes nothing") {
  files::folder const here;
  boost::mpi::communicator const world;
  using Catch::Contains;
  using alone = on<1, 1>;
  meshtf::process_mesh<alone::grid> m{MPI_COMM_SELF};
  auto w                 = made<alone::replicated, batch>(m);
  auto const from_a_save = [&](meshtf::training_position const& position) {
    std::string const path = here / ("saved" + std::to_string(world.rank()));
    meshtf::save(meshtf::parameters(w), position, path);
    auto const loaded = meshtf::load(meshtf::parameters(w), path);
    std::filesystem::remove_all(path);
    CHECK(loaded == position);
    return loaded;
  };
  auto const log_steps = [&](std::string const& name, meshtf::training_position& at, std::uint64_t last) {
    meshtf::log_to log{here / name, at};
    for (std::uint64_t step = at.step + 1; step <= last; ++step) log.scalar("loss", 1, step);
    at.step = last - 1;
    return from_a_save(at);
  };
  meshtf::training_position a;
  meshtf::training_position b;
  auto saved_a       = log_steps("a", a, 240);
  auto saved_b       = log_steps("b", b, 34);
  auto without_a_log = from_a_save({.step = 34});
  CHECK((saved_a.run != 0 && saved_b.run != 0 && saved_a.run != saved_b.run));
  auto const before = files::read(here / "a/log.jsonl");
  CHECK_THROWS_WITH(
      (meshtf::log_to{here / "a", saved_b}),
      Contains("a/log.jsonl to be the log of the training that goes on, run " +
               meshtf::detail::spelled_run(saved_b.run) + ", got that of run " +
               meshtf::detail::spelled_run(saved_a.run) + ": name its own folder, or a new one"));
  CHECK_THROWS_WITH((meshtf::log_to{here / "a", without_a_log}), Contains("which had none so far, got that"));
  if (is_first()) CHECK(files::read(here / "a/log.jsonl") == before);
  log_steps("a", saved_a, 241);
  if (is_first()) CHECK(lines_of(here / "a/log.jsonl").size() == 241);
}
#endif
