// One process calls alone what all should call, in a program compiled without NDEBUG: nobody has asked for
// the comparison of calls, and it finds the mistake.
//
//   lonely CASE FOLDER   mean, save, load, agreed: process 0 alone calls it; before all call mean, stopped:
//                        process 1 stops; returns: it returns; computes: it computes for ever; helps:
//                        processes 0 and 1 return before they have an environment; rings: each process sends
//                        SIGUSR2 to itself; none: all is well
//
// mean:    meshtf: the processes differ in collective number 2: process 0 calls all_reduce (sum) of 1 float
// over "line" for mean, lonely.cpp:..., process 1 has
//          come to the end of its mesh ...                                    status 70
// With MESHTF_CHECK=0 the program waits for ever, and says so:
// mean:    meshtf: process 0 of 4 has waited 10 s for others in all_reduce for mean, lonely.cpp:...
// With MESHTF_TIMEOUT=2, too, it ends:
// returns: meshtf: the job has not gone on for 2 s (MESHTF_TIMEOUT): process 1 waits in the end of the
//          program (MPI_Finalize); processes 0, 2, 3 wait in all_reduce for mean, ...         status 75
#undef NDEBUG
#include <csignal>
#include <cstdio>
#include <string_view>

#include <unistd.h>

#include <meshtf/meshtf.hpp>

namespace {

struct in : meshtf::dim<64> {};
struct line : meshtf::axis<4> {};
struct four : meshtf::mesh<line> {};
struct divided : meshtf::layout<four, meshtf::split<in, line>> {};

}  // namespace

int main(int argc, char** argv) {
  std::string_view const which = argc > 1 ? argv[1] : "none";
  char const* const folder     = argc > 2 ? argv[2] : "/nowhere";
  if (which == "helps") {
    // mpirun ends a job itself if a process ends without MPI_Init after others have called it
    if (meshtf::detail::job_of_launcher().rank < 2) return 0;
    sleep(2);
  }
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  meshtf::process_mesh<four> m{env.world()};
  meshtf::parameter<float, divided, in> w{m};
  bool const alone = m.rank() == 0;

  if (which == "mean" && alone) std::printf("%g\n", static_cast<double>(mean(w).value()));
  if (which == "save" && alone) meshtf::save(parameters(w), {.step = 1, .seed = 1}, folder);
  if (which == "load" && alone) meshtf::load(parameters(w), folder);
  if (which == "agreed" && alone) meshtf::agreed(m.world(), [] { return 1; });
  if (which == "returns" && m.rank() == 1) return 0;
  if (which == "computes" && m.rank() == 1) pause();
  if (which == "rings") {
    std::raise(SIGUSR2);
    sleep(2);  // the thread that prints looks each second
  }
  if (which == "stopped" && m.rank() == 1) std::raise(SIGSTOP);
  std::printf("%g\n", static_cast<double>(mean(w).value()));
}
