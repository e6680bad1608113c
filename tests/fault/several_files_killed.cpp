// A save of a model in several files that is killed at each of its calls, in turn:
// several_files_killed FOLDER KIND [EVERY]
//
// Four processes save into a folder that is not there, or into one that has a model of the same names, with
// other values, and a file that is no model's. After that the folder has the earlier model or the new one,
// whole; the same save works again, and nothing is left over. Status 0, and one line with the number of
// cases. EVERY: one case of EVERY, drawn by a seed.
//
// KIND         a process is killed, by SIGKILL
// kill         at each call of the system
// collective   before and after each message
#include "forked.hpp"
#include "system_calls.hpp"
#include "training.hpp"

#include <charconv>
#include <cstdio>
#include <fstream>
#include <random>
#include <string_view>
#include <vector>

namespace {

using system_calls::fault;
using training::net;

enum class death { at_call, before_message, after_message };

/// What happens to one process of a job.
struct trouble {
  int rank    = -1;
  death comes = death::at_call;
  int number  = 0;

  std::string text() const {
    char const* const where[]{"at call", "before message", "after message"};
    return "process " + std::to_string(rank) + " is killed " + where[static_cast<int>(comes)] + " " +
           std::to_string(number) + ": ";
  }
};

trouble own;

void die_at_message(death here) {
  if (system_calls::current.counts && own.comes == here && own.number == forked::own_report().collectives)
    kill(getpid(), SIGKILL);
}

/// In a process: from now on calls count, and the trouble comes.
void begin(trouble const& t, std::string const& folder) {
  auto& s  = system_calls::current;
  s        = {};
  own      = t.rank == forked::rank ? t : trouble{};
  s.folder = folder;
  s.syncs  = false;
  if (own.comes == death::at_call && own.number > 0) s.comes = fault::kills;
  s.number                         = own.number;
  forked::before_collective        = [] { die_at_message(death::before_message); };
  forked::after_collective         = [] { die_at_message(death::after_message); };
  forked::own_report().collectives = 0;
  s.counts                         = true;
}

[[noreturn]] void fail(std::string const& text) {
  std::printf("%s\n", text.c_str());
  std::exit(1);
}

std::vector<std::string> names_in(std::string const& folder) {
  std::vector<std::string> names;
  for (auto const& entry : std::filesystem::directory_iterator{folder})
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

class trials {
public:
  trials(std::string folder, unsigned every)
      : folder_{std::move(folder)}, saved_{folder_ + ".saved"}, model_{folder_ + "/net"}, every_{every} {
    for (auto const& path : {folder_, saved_}) std::filesystem::remove_all(path);
    std::string const left = saved_ + "/net.tmp-0123456789abcdef";  // by a job that was killed before
    std::filesystem::create_directories(left);
    for (auto const* name : {"/.lock", "/model-00001-of-00002.safetensors"}) std::ofstream{left + name} << "";
    int const status = forked::run_job([&] {
      system_calls::current.syncs = false;
      net{}.save_model(earlier, saved_ + "/net");
    });
    expect(status == 0, "the earlier model can't be saved: " + forked::said());
    std::ofstream{saved_ + "/net/config.json"} << "{}\n";
  }

  void kill_at_calls() {
    for_each_case({death::at_call}, [](auto const& report) { return report.system_calls; });
    expect(most_ >= 40 && most_ <= 80, "expected 40 to 80 calls of process 0, got " + std::to_string(most_));
  }
  void kill_at_messages() {
    for_each_case({death::before_message, death::after_message},
                  [](auto const& report) { return report.collectives; });
    expect(most_ >= 5, "expected at least 5 messages, got " + std::to_string(most_));
  }

  int cases = 0;

private:
  static constexpr float earlier = 1;
  static constexpr float later   = 2;

  template<class Count>
  void for_each_case(std::vector<death> const& deaths, Count const& count) {
    for (bool const replaces : {false, true}) {
      reset(replaces);
      expect(save({}) == 0, forked::said());
      int counted[forked::processes];
      for (int rank = 0; rank < forked::processes; ++rank) {
        counted[rank] = count(forked::shared->reports[rank]);
        most_         = std::max(most_, counted[rank]);
      }
      expect_whole(true, replaces);
      for (int rank = 0; rank < forked::processes; ++rank)
        for (int k = 1; k <= counted[rank] + 1; ++k)
          for (death const d : deaths) {
            if (random_() % every_ != 0) continue;
            ++cases;
            reset(replaces);
            bool const comes = k <= counted[rank];
            int const status = save({rank, d, k});
            expect(status == (comes ? 128 + SIGKILL : 0), "got status " + std::to_string(status));
            expect_whole(!comes, replaces);
          }
    }
  }

  /// What was there before the save is there again.
  void reset(bool replaces) {
    case_ = replaces ? "into the folder of another model, " : "into a new folder, ";
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(saved_, folder_, std::filesystem::copy_options::recursive);
    if (!replaces) std::filesystem::remove_all(model_);
  }

  /// A job that saves. Returns its status.
  int save(trouble const& t) {
    case_ += t.text();
    return forked::run_job([&] {
      net n;
      begin(t, folder_);
      n.save_model(later, model_);
      system_calls::current.counts      = false;
      forked::own_report().system_calls = system_calls::current.calls;
    });
  }

  void expect_whole(bool is_saved, bool replaces) const {
    int const status = forked::run_job([&] {
      system_calls::current.syncs = false;
      net n;
      if (is_saved || replaces || std::filesystem::exists(model_)) {
        n.load_model(model_);
        if (!n.has(later) && (is_saved || !replaces || !n.has(earlier)))
          throw meshtf::software_error{"loaded what is neither model"};
      }
      n.world().barrier();
      n.save_model(later, model_);
      n.load_model(model_);
      if (!n.has(later)) throw meshtf::software_error{"it can't be saved again"};
    });
    expect(status == 0, forked::said());
    auto const all = names_in(folder_);
    expect(all == std::vector<std::string>{"net"}, "something is left: " + all.back());
    std::vector<std::string> expected{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                                      "model.safetensors.index.json"};
    if (replaces) expected.insert(expected.begin(), "config.json");
    expect(names_in(model_) == expected, "other files than those of the model, " + names_in(model_).front());
  }

  void expect(bool holds, std::string const& text) const {
    if (!holds) fail(case_ + text);
  }

  std::string folder_;
  std::string saved_;
  std::string model_;
  std::string case_;
  unsigned every_;
  int most_ = 0;
  std::mt19937 random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("expected FOLDER KIND");
  std::string_view const kind = argv[2];
  unsigned every              = 1;
  if (argc > 3) std::from_chars(argv[3], argv[3] + std::strlen(argv[3]), every);
  trials all{argv[1], every};
  if (kind == "kill") all.kill_at_calls();
  else if (kind == "collective") all.kill_at_messages();
  else fail("expected a kind");
  std::printf("%d cases of %s\n", all.cases, argv[2]);
}
