// What a job says that does not go on, and the record of a process's last collectives.
#include <algorithm>
#include <cstdlib>
#include <source_location>
#include <string>
#include <vector>

#include <meshtf/runtime/call_ring.hpp>
#include <meshtf/runtime/environment.hpp>
#include <meshtf/runtime/standstill.hpp>
#include <meshtf/runtime/waiting.hpp>

#include "../catch.hpp"

using namespace meshtf::detail;

namespace {

std::string said_of(std::vector<std::string> const& does) {
  return states_text(does.data(), static_cast<int>(does.size()));
}

}  // namespace

TEST_CASE("the processes that say nothing are named first, then those that do what few do", "[1]") {
  CHECK(said_of({"waits in a", "", "waits in a"}) ==
        "process 1 does not answer (stopped, ended, or another program); processes 0, 2 wait in a");
  CHECK(said_of({"waits in a", "", "", "", "computes after b", "waits in a", "waits in a"}) ==
        "processes 1-3 do not answer (stopped, ended, or another program); process 4 computes after b; "
        "processes 0, 5, 6 wait in a");
  CHECK(said_of({"waits in a", "waits in a", "waits in b", "waits in b"}) ==
        "processes 0, 1 wait in a; processes 2, 3 wait in b");
  CHECK(said_of({"computes after b", "computes after b"}) == "processes 0, 1 compute after b");
  CHECK(said_of({"waits in a", "waits in b", "waits in c", "waits in d", "waits in e", "waits in f"})
            .ends_with("; and 2 other states"));
}

TEST_CASE("a save has twenty times the limit of a collective, unless it has one of its own", "[1]") {
  setenv("MESHTF_TIMEOUT", "30", 1);
  auto job = job_of_launcher();
  CHECK(job.limit == 30);
  CHECK(job.save_limit == 600);
  setenv("MESHTF_SAVE_TIMEOUT", "7", 1);
  job = job_of_launcher();
  CHECK(job.limit == 30);
  CHECK(job.save_limit == 7);
  unsetenv("MESHTF_TIMEOUT");
  job = job_of_launcher();
  CHECK(job.limit == 0);
  CHECK(job.is_limited());
  unsetenv("MESHTF_SAVE_TIMEOUT");
  CHECK(!job_of_launcher().is_limited());
}

TEST_CASE("the last 256 collectives are kept, the outermost ones alone", "[1]") {
  auto const before = last_calls.begun();
  for (int i = 0; i < 300; ++i) {
    waiting const here{"all_reduce", "mean", std::source_location::current(), i % 2 == 1};
    waiting const within{"permute"};
    CHECK(state_of_process().starts_with("waits in all_reduce for mean"));
  }
  CHECK(last_calls.begun() == before + 300);
  CHECK(state_of_process().starts_with("computes after all_reduce for mean's gradient, standstill.cpp:"));
  std::string const text = last_calls.text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 256);
  CHECK(text.starts_with("  " + std::to_string(before + 45) + "  "));
  CHECK(text.find("has not ended") == text.npos);
  waiting const here{"all_gather"};
  CHECK(last_calls.text().find("  has not ended  all_gather\n") != text.npos);
  CHECK(state_of_process() == "waits in all_gather");
  waiting_for_stage const stage{3, "hand_on", "pass", {}, false};
  CHECK(state_of_process() == "waits for stage 3 in all_gather");
}
