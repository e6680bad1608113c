// A save of four processes with a fault at each of its calls, in turn: save_faults FOLDER KIND [EVERY]
//
// Each case saves step 3 after steps 1 and 2, or step 2 again with other values. After the fault the newest
// checkpoint loads, with its values, the same step saves again, and nothing is left over. Status 0, and one
// line with the number of cases. EVERY: one case of EVERY, drawn by a seed.
//
// KIND         the fault comes
// kill         at each call of the system, the removal of step 1 among them: SIGKILL
// collective   before and after each message of a step of training and of a save: SIGKILL
// slow         never: one process sleeps before each of its calls
// medium       from each call on: read-only, no quota, no space, an error of the disk; the folder goes away.
//              All processes get the same error, or none, and training goes on
// count        never: one save, for strace to count
// golden       never: what an earlier version has saved in FOLDER loads; `golden_anew` saves it
// allocation   at each allocation of processes 0 and 1: there is no memory
// pairs        twice: a kill or a full disk in a save, and a kill in the next load or save; a process that
//              stops, and another that is killed
#include "forked.hpp"
#include "system_calls.hpp"
#include "training.hpp"

#include <charconv>
#include <cstdio>
#include <new>
#include <random>
#include <string_view>
#include <vector>

#include <jansson.h>

namespace {

using system_calls::fault;
using training::net;

/// What happens to one process of a job.
struct trouble {
  int rank       = -1;
  fault comes    = fault::none;
  int call       = 0;
  int error      = 0;
  bool lasts     = false;
  int collective = 0;  // it is killed before this message, or after it
  bool after     = false;
  int allocation = 0;  // this one fails

  std::string text() const {
    return "process " + std::to_string(rank) + ", call " + std::to_string(call) + ", errno " +
           std::to_string(error) + ", message " + std::to_string(collective) + (after ? " after" : "") +
           ", allocation " + std::to_string(allocation);
  }
};

trouble own;

void die_at_message() {
  auto const& s = system_calls::current;
  if (s.counts && own.collective == forked::own_report().collectives) kill(getpid(), SIGKILL);
}
void before_message() {
  if (own.comes == fault::sleeps) usleep(2000);
  if (!own.after) die_at_message();
}
void after_message() {
  if (own.after) die_at_message();
}

void move_folder_away() {
  std::string const& folder = system_calls::current.folder;
  syscall(SYS_rename, folder.c_str(), (folder + ".gone").c_str());
}

/// In a process: from now on calls count, and the trouble comes.
void begin(std::vector<trouble> const& troubles, std::string const& folder) {
  auto& s = system_calls::current;
  s       = {};
  own     = {};
  for (auto const& t : troubles)
    if (t.rank == forked::rank) own = t;
  s.folder                         = folder;
  s.syncs                          = false;
  s.comes                          = own.comes;
  s.number                         = own.call;
  s.error                          = own.error;
  s.lasts                          = own.lasts;
  s.hook                           = move_folder_away;
  forked::before_collective        = before_message;
  forked::after_collective         = after_message;
  forked::own_report().collectives = 0;
  s.counts                         = true;
}
void end() {
  auto& s                           = system_calls::current;
  s.counts                          = false;
  forked::own_report().system_calls = s.calls;
}

[[noreturn]] void fail(std::string const& text) {
  std::printf("%s\n", text.c_str());
  std::exit(1);
}

class trials {
public:
  trials(std::string folder, unsigned every)
      : folder_{std::move(folder)}, saved_{folder_ + ".saved"}, gone_{folder_ + ".gone"}, every_{every} {
    for (auto const& path : {folder_, saved_, gone_}) std::filesystem::remove_all(path);
    int const status = forked::run_job([&] {
      system_calls::current.syncs = false;
      net n;
      n.save_step(1, saved_);
      n.save_step(2, saved_);
    });
    expect(status == 0, "the first two steps can't be saved");
  }

  /// A job that saves, with these faults. Returns its status.
  int save(std::vector<trouble> const& troubles, bool again = false, double seconds = 20) {
    for (auto const& t : troubles) case_ += (again ? "again, " : "next, ") + t.text() + "; ";
    int const status = forked::run_job(
        [&] {
          net n;
          begin(troubles, folder_);
          n.save_as(again ? 2 : 3, again ? 20 : 3, folder_);
          end();
        },
        seconds);
    keep_reports();
    return status;
  }

  /// The same where an error does not end the job: it makes a step, whose sum all processes know.
  int save_and_go_on(std::vector<trouble> const& troubles) {
    case_ += troubles[0].text() + "; ";
    int const status = forked::run_job([&] {
      net n;
      double const loss = n.step();
      begin(troubles, folder_);
      try {
        n.save_step(3, folder_);
      } catch (meshtf::unavailable const& e) {
        std::snprintf(forked::own_report().text, sizeof forked::own_report().text, "%s", e.what());
      }
      end();
      n.set(0);
      if (n.step() != loss) throw meshtf::software_error{"training does not go on"};
    });
    keep_reports();
    return status;
  }

  /// A job that makes a step, with these faults. Returns its status.
  int step(std::vector<trouble> const& troubles) {
    case_ += "step, " + troubles[0].text() + "; ";
    int const status = forked::run_job([&] {
      net n;
      begin(troubles, folder_);
      n.step();
      end();
    });
    keep_reports();
    return status;
  }

  /// A job that loads, with these faults. Returns its status.
  int load(std::vector<trouble> const& troubles) {
    case_ += "load, " + troubles[0].text() + "; ";
    int const status = forked::run_job([&] {
      net n;
      begin(troubles, folder_);
      n.load_from(folder_);
      end();
    });
    keep_reports();
    return status;
  }

  /// A new case.
  void begin_case() {
    ++cases;
    reset();
  }
  /// What was there before the fault is there again.
  void reset() {
    case_ = "case " + std::to_string(cases) + ": ";
    for (auto const& path : {folder_, gone_}) std::filesystem::remove_all(path);
    std::filesystem::copy(saved_, folder_, std::filesystem::copy_options::recursive);
  }

  /// What is in the folder loads, the same step saves again, and nothing is left over.
  void expect_intact(bool is_saved, bool again = false) {
    if (std::filesystem::exists(gone_)) {
      bool const in_new_one = std::filesystem::exists(folder_ + "/step-00000003");
      bool const in_gone    = std::filesystem::exists(gone_ + "/step-00000003");
      expect(!is_saved || in_new_one || in_gone, "saved, but it is not there");
      std::filesystem::remove_all(folder_);
      std::filesystem::rename(gone_, folder_);
      is_saved = in_gone;
    }
    int const status = forked::run_job([&] {
      system_calls::current.syncs = false;
      net n;
      std::uint64_t const step = again ? 2 : 3;
      float const value        = again ? 20 : 3;
      for (auto const& name : training::folders_in(folder_))  // an older one does not take its place
        if (name.find(".tmp-") == name.npos) n.load_from(folder_ + "/" + name);
      auto const found  = n.load_from(folder_);
      bool const is_old = found == 2 && n.has(2);
      bool const is_new = found == step && n.has(value);
      if (!is_old && !is_new) throw meshtf::software_error{"loaded step " + std::to_string(found)};
      if (is_saved && !is_new) throw meshtf::software_error{"saved, but it is not there"};
      n.save_as(step, value, folder_);
      n.load_from(folder_);
      if (!n.has(value)) throw meshtf::software_error{"it can't be saved again"};
    });
    expect(status == 0, forked::said());
    auto const expected = again ? std::vector<std::string>{"step-00000001", "step-00000002"}
                                : std::vector<std::string>{"step-00000002", "step-00000003"};
    auto const names    = training::folders_in(folder_);
    expect(names == expected, "something is left: " + names.back());
  }

  /// All processes have said the same. Returns whether they said something.
  bool expect_agreement() const {
    std::string const text = reports_[0].text;
    for (auto const& r : reports_) {
      std::string const other = r.text;
      auto const seen         = other.find(" (seen by ");
      expect(other.substr(0, seen) == text.substr(0, text.find(" (seen by ")),
             "one says '" + text + "', another '" + other + "'");
    }
    return !text.empty();
  }

  void expect(bool holds, std::string const& text) const {
    if (!holds) fail(case_ + text);
  }
  void expect_status(int status, int expected) const {
    expect(status == expected,
           "expected status " + std::to_string(expected) + ", got " + std::to_string(status) + ": " + said());
  }
  std::string said() const {
    for (auto const& r : reports_)
      if (r.text[0] != '\0') return r.text;
    return "nothing was said";
  }

  /// Whether a case that is drawn by the seed is among those that run.
  bool is_drawn() { return draw(every_) == 0; }
  bool has_turn(int i) const { return static_cast<unsigned>(i) % every_ == 0; }
  unsigned draw(unsigned n) { return static_cast<unsigned>(random_() % n); }

  forked::shared_memory::report const& report(int rank) const { return reports_[rank]; }

  int cases = 0;

private:
  void keep_reports() {
    for (int r = 0; r < forked::processes; ++r) reports_[r] = forked::shared->reports[r];
  }

  std::string folder_;
  std::string saved_;
  std::string gone_;
  std::string case_;
  unsigned every_;
  std::mt19937 random_{1};
  forked::shared_memory::report reports_[forked::processes];
};

/// f(rank, k) for each call of the system that a save makes, and one more.
template<class F>
void for_each_call(trials& all, bool again, F const& f) {
  all.reset();
  all.expect_status(all.save({}, again), 0);
  int counted[forked::processes];
  for (int rank = 0; rank < forked::processes; ++rank) {
    counted[rank] = all.report(rank).system_calls;
    all.expect(counted[rank] >= 5 && counted[rank] <= 60,
               "expected 5 to 60 calls, got " + std::to_string(counted[rank]));
  }
  all.expect_intact(true, again);
  for (int rank = 0; rank < forked::processes; ++rank)
    for (int k = 1; k <= counted[rank] + 1; ++k) {
      if (!all.is_drawn()) continue;
      all.begin_case();
      f(rank, k, k <= counted[rank]);
    }
}

void kill_at_calls(trials& all) {
  for (bool const again : {false, true})
    for_each_call(all, again, [&](int rank, int k, bool comes) {
      int const status = all.save({{.rank = rank, .comes = fault::kills, .call = k}}, again);
      all.expect_status(status, comes ? 137 : 0);
      all.expect_intact(!comes, again);
    });
}

template<class Job>
void kill_at_messages(trials& all, bool saves, Job const& job) {
  all.reset();
  all.expect_status(job(trouble{}), 0);
  int counted[forked::processes];
  for (int rank = 0; rank < forked::processes; ++rank) {
    counted[rank] = all.report(rank).collectives;
    all.expect(counted[rank] >= 1, "expected at least one message");
  }
  for (int rank = 0; rank < forked::processes; ++rank)
    for (int k = 1; k <= counted[rank] + 1; ++k)
      for (bool const after : {false, true}) {
        bool const comes = k <= counted[rank];
        if (!all.is_drawn()) continue;
        all.begin_case();
        all.expect_status(job({.rank = rank, .collective = k, .after = after}), comes ? 137 : 0);
        all.expect_intact(saves && !comes);
      }
}

void kill_at_messages(trials& all) {
  kill_at_messages(all, false, [&](trouble const& t) { return all.step({t}); });
  kill_at_messages(all, true, [&](trouble const& t) { return all.save({t}); });
}

void sleep_at_calls(trials& all) {
  for (bool const again : {false, true})
    for (int rank = 0; rank < forked::processes; ++rank) {
      all.begin_case();
      all.expect_status(all.save({{.rank = rank, .comes = fault::sleeps, .call = 1, .lasts = true}}, again),
                        0);
      all.expect_intact(true, again);
    }
}

void fail_from_calls(trials& all) {
  for (int const error : {EROFS, EDQUOT, ENOSPC, EIO, 0}) {
    int failed = 0;
    for_each_call(all, false, [&](int rank, int k, bool) {
      trouble const t{.rank  = rank,
                      .comes = error == 0 ? fault::hooked : fault::fails,
                      .call  = k,
                      .error = error,
                      .lasts = error != 0};
      all.expect_status(all.save_and_go_on({t}), 0);
      bool const has_failed = all.expect_agreement();
      failed += has_failed;
      all.expect_intact(!has_failed);
    });
    all.expect(failed >= 1, "expected some of the saves to fail, got none");
  }
}

void fail_at_allocations(trials& all) {
  all.reset();
  all.expect_status(all.save({}), 0);
  int const counted[]{all.report(0).allocations, all.report(1).allocations};
  for (int rank = 0; rank < 2; ++rank)
    for (int k = 1; k <= counted[rank] + 1; k += k < 300 ? 1 : 10) {
      if (!all.is_drawn()) continue;
      all.begin_case();
      int const status = all.save({{.rank = rank, .allocation = k}});
      all.expect(status == 0 || status == 69, "got status " + std::to_string(status) + ": " + all.said());
      all.expect_intact(status == 0);
    }
}

/// The second of two faults.
void fail_again(trials& all) {
  auto const rank  = static_cast<int>(all.draw(forked::processes));
  auto const call  = static_cast<int>(1 + all.draw(rank == 0 ? 28 : 5));
  int const status = all.draw(2) == 0 ? all.load({{.rank = rank, .comes = fault::kills, .call = call}})
                                      : all.save({{.rank = rank, .comes = fault::kills, .call = call}});
  all.expect(status == 0 || status == 137, "got status " + std::to_string(status) + ": " + all.said());
  all.expect_intact(false);
}

void fail_in_pairs(trials& all) {
  for (int i = 0; i < 200; ++i) {
    auto const rank = static_cast<int>(all.draw(forked::processes));
    auto const call = static_cast<int>(1 + all.draw(rank == 0 ? 28 : 5));
    auto const kind = all.draw(3);
    if (!all.has_turn(i)) continue;
    all.begin_case();
    if (kind == 0) {
      int const status = all.save({{.rank = rank, .comes = fault::kills, .call = call}});
      all.expect(status == 0 || status == 137, "got status " + std::to_string(status));
    } else if (kind == 1) {
      int const status =
          all.save({{.rank = rank, .comes = fault::fails, .call = call, .error = ENOSPC, .lasts = true}});
      all.expect(status == 0 || status == 69, "got status " + std::to_string(status));
    } else {  // the one that is killed may wait for the one that has stopped: then the job's time ends it
      int const other  = (rank + 1) % forked::processes;
      int const status = all.save({{.rank = rank, .comes = fault::stops, .call = call},
                                   {.rank = other, .comes = fault::kills, .call = 1 + call % 5}},
                                  false, 0.5);
      all.expect(status == 137 || status == forked::late, "got status " + std::to_string(status));
    }
    fail_again(all);
  }
}

/// Marks that strace sees.
void mark(char const* name) { access(name, F_OK); }

void count_calls(std::string const& folder) {
  std::filesystem::remove_all(folder);
  int const status = forked::run_job([&] {
    net n;
    n.save_step(1, folder);
    n.save_step(2, folder);
    begin({}, folder);
    system_calls::current.syncs = true;
    mark("/begins");
    n.save_step(3, folder);
    mark("/ends");
    end();
    std::printf("process %d: %d calls\n", static_cast<int>(getpid()), forked::own_report().system_calls);
    std::fflush(stdout);
  });
  if (status != 0) fail(forked::said());
}

/// What each version has saved loads in all later ones.
void load_golden(std::string const& folder) {
  int loaded = 0;
  for (auto const& name : training::folders_in(folder)) {
    int const status = forked::run_job([&] {
      net n;
      if (n.load_from(folder + "/" + name) != 200 || !n.is_numbered())
        throw meshtf::software_error{name + " has other values than it had"};
    });
    if (status != 0) fail(forked::said());
    ++loaded;
  }
  std::printf("%d formats of checkpoints load\n", loaded);
  if (loaded == 0) fail("expected some");
}
void save_golden(std::string const& folder) {
  int const status = forked::run_job([&] {
    net n;
    n.save_numbered(200, folder);
  });
  if (status != 0) fail(forked::said());
}

/// One more allocation; whether it is the one that fails.
bool fails_to_allocate() {
  if (!system_calls::current.counts) return false;
  return ++forked::own_report().allocations == own.allocation;
}

void* allocated(std::size_t n) { return fails_to_allocate() ? nullptr : std::malloc(n); }

}  // namespace

void* operator new(std::size_t n) {
  if (void* const p = allocated(n)) return p;
  throw std::bad_alloc{};
}
void* operator new[](std::size_t n) { return operator new(n); }
void* operator new(std::size_t n, std::nothrow_t const&) noexcept { return allocated(n); }
void* operator new[](std::size_t n, std::nothrow_t const&) noexcept { return allocated(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

int main(int argc, char** argv) {
  if (argc < 3) fail("expected FOLDER KIND");
  std::string_view const kind = argv[2];
  unsigned every              = 1;
  if (argc > 3) std::from_chars(argv[3], argv[3] + std::strlen(argv[3]), every);
  json_set_alloc_funcs(allocated, std::free);
  if (kind == "count") {
    count_calls(argv[1]);
    return 0;
  }
  if (kind == "golden") {
    load_golden(argv[1]);
    return 0;
  }
  if (kind == "golden_anew") {
    save_golden(argv[1]);
    return 0;
  }
  trials all{argv[1], every};
  if (kind == "kill") kill_at_calls(all);
  else if (kind == "collective") kill_at_messages(all);
  else if (kind == "slow") sleep_at_calls(all);
  else if (kind == "medium") fail_from_calls(all);
  else if (kind == "allocation") fail_at_allocations(all);
  else if (kind == "pairs") fail_in_pairs(all);
  else fail("expected a kind");
  std::printf("%d cases of %s\n", all.cases, argv[2]);
}
