// The main of the run-time tests: every process of an MPI job runs the same test cases, and one that fails
// does not leave the others waiting.
//
// A test case whose tags name numbers of processes ("[2][4]") runs with these numbers only; one without runs
// with any. The first process reports; another one is heard only if something failed there.
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_DEFAULT_REPORTER "console"
#include "catch.hpp"
#include "shown_if_it_fails.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include <mpi.h>

#ifdef __SANITIZE_ADDRESS__
// Open MPI unloads its plugins at the end. The leak checker can't name the module of what they leave behind
// then, nor suppress it.
extern "C" int dlclose(void*) noexcept { return 0; }
#endif

namespace {

#if __has_include(<catch2/catch_all.hpp>)
using listener_base = Catch::EventListenerBase;
#else
using listener_base = Catch::TestEventListenerBase;
#endif

/// Where the processes of this job meet between test cases: a communicator of its own, and calls that a PMPI
/// counter does not see.
MPI_Comm meeting = MPI_COMM_NULL;
int rank         = 0;
int processes    = 1;
/// What the processes other than the first have said.
std::ostringstream unheard;

void be_heard() {
  std::istringstream lines(unheard.str());
  std::string all;
  for (std::string line; std::getline(lines, line);)
    all += "[process " + std::to_string(rank) + "] " + line + "\n";
  std::cerr << all << std::flush;
  unheard.str("");
}

/// Holds the processes together at the end of every run through a test case.
///
/// A process that fails leaves its test case early, and the others may wait for it in a collective that it
/// will never join. So it waits for them here for a few seconds and then ends the job. If all fail alike they
/// meet, and the next test case runs.
struct together : listener_base {
  using listener_base::listener_base;

  void sectionStarting(Catch::SectionInfo const&) override { ++depth_; }

  void sectionEnded(Catch::SectionStats const& section) override {
    if (--depth_ > 0) return;  // the outermost section is the test case itself
    std::string const shown = std::exchange(tests::shown_if_it_fails, {});
    bool const failed       = section.assertions.failed > 0;
    int const mine          = failed ? rank : processes;
    int first_to_fail       = mine;
    if (processes > 1) {
      auto const grace = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      MPI_Request all_here;
      PMPI_Iallreduce(&mine, &first_to_fail, 1, MPI_INT, MPI_MIN, meeting, &all_here);
      for (int done = 0; PMPI_Test(&all_here, &done, MPI_STATUS_IGNORE), !done; std::this_thread::yield()) {
        if (!failed || std::chrono::steady_clock::now() < grace) continue;
        std::cout << shown << std::flush;
        be_heard();
        std::cerr << "process " << rank << " of " << processes << " failed in \"" << section.sectionInfo.name
                  << "\" and the others wait for it: the job ends here" << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
    if (first_to_fail == rank) std::cout << shown << std::flush;
  }

private:
  int depth_ = 0;
};

CATCH_REGISTER_LISTENER(together)

/// Test cases for this number of processes, and those that name none.
std::string default_selection() {
  std::string mine = "[" + std::to_string(processes) + "]";
  std::string other;
  for (int n : {1, 2, 3, 4, 5, 6, 7, 8})
    if (n != processes) other += "~[" + std::to_string(n) + "]";
  return mine + "," + other;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_dup(MPI_COMM_WORLD, &meeting);
  MPI_Comm_rank(meeting, &rank);
  MPI_Comm_size(meeting, &processes);

  std::streambuf* const screen = std::cout.rdbuf();
  if (rank != 0) std::cout.rdbuf(unheard.rdbuf());

  int status = 0;
  {
    Catch::Session session;
    status = session.applyCommandLine(argc, argv);
    if (status == 0) {
      auto& choice = session.configData();
      if (choice.testsOrTags.empty()) choice.testsOrTags.push_back(default_selection());
      // the order and the random values must be the same everywhere
      auto seed = static_cast<unsigned>(choice.rngSeed);
      MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, meeting);
      choice.rngSeed = seed;
#if !__has_include(<catch2/catch_all.hpp>)
      choice.useColour = Catch::UseColour::No;  // mpirun's pipes look like a terminal
#endif
      status = session.run();
    }
  }
  status = std::min(status, 255);

  if (rank != 0) {
    std::cout.rdbuf(screen);
    if (status != 0) be_heard();
  }
  int worst = 0;
  MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, meeting);
  MPI_Comm_free(&meeting);
  MPI_Finalize();
  return worst;
}
