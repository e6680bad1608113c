// Two jobs and one folder, or one file: whoever comes second is told, and nobody's checkpoint is damaged.
#include <meshtf/io/checkpoint.hpp>

#include <csignal>
#include <functional>

#include <sys/wait.h>

#include "../layout_fixture.hpp"
#include "folder.hpp"

using namespace fixture;

namespace {

constexpr checkpoint_options as_file{.in_parts = false};

/// A process that does f() and then lives on until it is killed: by a signal, or with this.
class other_job {
public:
  explicit other_job(std::function<void()> const& f) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    if (child_ = fork(); child_ == 0) {
      f();
      if (write(ends[1], "x", 1) == 1)
        for (;;) pause();
    }
    char done = 0;
    close(ends[1]);
    REQUIRE(read(ends[0], &done, 1) == 1);
    close(ends[0]);
  }
  other_job(other_job const&)            = delete;
  other_job& operator=(other_job const&) = delete;
  ~other_job() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  std::string number() const { return std::to_string(child_); }

private:
  pid_t child_ = 0;
};

/// Writes a file of 100 numbers as `save` does, without MPI; `half` of it, without an end, or all.
void write_file(std::string const& path, float x, bool half) {
  static std::vector<safetensors_writer*> left_open;
  auto* const file = new safetensors_writer{path, {}, {{"w", {"F32", {100}}}}};
  std::vector<float> const numbers(half ? 50 : 100, x);
  file->write(numbers.data(), numbers.size() * sizeof(float));
  if (half) return left_open.push_back(file);
  file->commit();
  delete file;
}

std::string host() {
  std::array<char, 65> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

template<Layout L>
struct net {
  parameter<float, L, in, hidden> w;
  explicit net(machine<L>& m) : w{m, normal{1}} {}
  auto list() { return meshtf::parameters(named("w", w)); }
};

}  // namespace

TEST_CASE("two writers of one file: each has its own until it is whole, and the last one stays", "[1]") {
  files::folder const folder;
  std::string const path = folder / "net.safetensors";
  auto const elements    = [&] { return safetensors_reader{path}.read<float>("w"); };
  std::vector<float> const ones(100, 1.0f);
  std::vector<float> const twos(100, 2.0f);
  safetensors_writer first{path, {}, {{"w", {"F32", {100}}}}};
  first.write(ones.data(), 200);
  safetensors_writer second{path, {}, {{"w", {"F32", {100}}}}};
  second.write(twos.data(), 200);
  CHECK(files::names_in(folder.path()).size() == 2);
  first.write(ones.data(), 200);
  first.commit();
  CHECK(elements() == ones);
  second.write(twos.data(), 200);
  second.commit();
  CHECK(elements() == twos);
  CHECK(files::names_in(folder.path()) == std::vector<std::string>{"net.safetensors"});
}

TEST_CASE("what a killed job left of a file goes with the next writer of it; what a living one writes stays",
          "[1]") {
  files::folder const folder;
  std::string const path = folder / "net.safetensors";
  std::vector<std::string> const strangers{"net.safetensors.0123.partial", "net.safetensors.old.partial",
                                           "others.safetensors.partial"};
  for (auto const& name : strangers) files::write(folder / name, "x");
  {
    other_job const living{[&] { write_file(path, 1, true); }};
    {
      other_job const killed{[&] { write_file(path, 2, true); }};
      CHECK(files::names_in(folder.path()).size() == strangers.size() + 2);
    }
    write_file(path, 3, false);
    CHECK(files::names_in(folder.path()).size() == strangers.size() + 2);  // the living one's, and the file
  }
  write_file(path, 3, false);
  auto names = files::names_in(folder.path());
  for (auto const& name : strangers) CHECK(std::erase(names, name) == 1);
  CHECK(names == std::vector<std::string>{"net.safetensors"});
}

TEST_CASE(
    "a folder belongs to the job that saves in it: another is told so on all processes, and damages nothing",
    "[1][4]") {
  files::folder const folder;
  auto const check = [&]<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    net<L> n{m};
    sgd opt;
    std::string const path       = folder / "run";
    std::string const by         = m.world().size() == 1 ? "" : " (seen by process 0)";
    std::string const unfinished = path + "/step-00000001.safetensors";
    auto const says              = [&] {
      try {
        save(n.list(), opt, {2, 0}, path, as_file);
      } catch (usage_error const& e) {
        return std::string{e.what()};
      }
      return std::string{"nothing"};
    };
    {
      std::optional<other_job> other;  // it is in the middle of its first save
      if (m.rank() == 0)
        other.emplace([&] { write_file(detail::reserve_path(path, 1, [](std::string const&) {}), 1, true); });
      m.world().barrier();
      std::string const said = says();
      if (other)
        CHECK(said == "expected one job to save in " + path + ", got another that does (process " +
                          other->number() + " on " + host() +
                          "): save to another folder, or end that job first" + by);
      CHECK_THAT(said, Catch::StartsWith("expected one job to save in " + path) &&
                           Catch::EndsWith("end that job first" + by));
      if (other) {
        CHECK(files::names_in(path).size() == 1);
        CHECK_THAT(files::names_in(path)[0], Catch::StartsWith("step-00000001.safetensors."));
      }
      m.world().barrier();
    }
    // the kernel has given back what a dead one held, and its file does not matter
    CHECK(says() == "nothing");
    if (m.rank() == 0) {
      CHECK(files::names_in(path) == std::vector<std::string>{"step-00000002.safetensors"});
      CHECK(files::read(path + "/.lock") == "process " + std::to_string(getpid()) + " on " + host() + "\n");
    }
    m.world().barrier();
    CHECK(load(n.list(), opt, path).step == 2);
    // a folder in the place of one that is gone is another folder
    if (m.rank() == 0) std::filesystem::remove_all(path);
    m.world().barrier();
    CHECK(says() == "nothing");
    if (m.rank() == 0) CHECK(std::filesystem::exists(path + "/.lock"));
    m.world().barrier();
  };
  if (boost::mpi::communicator{}.size() == 1) check.operator()<alone>();
  else check.operator()<mixed>();
}
