// Traces that can't be made, and what is said of those that are made in part.
//
//   file /nowhere/t.json  expected a file for the trace that can be written, got '...': No such file   69
//   fifo FILE             the same, got 'FILE': it is a FIFO                                           69
//   locked FILE           expected one job to write the trace FILE, got another that does              64
//   steps 5:3             expected MESHTF_TRACE_STEPS to be the first and the last step of a trace     64
//   program 5:3           expected trace{file, first, last} to be ...                                  64
//   late FILE             the trace in FILE has nothing: steps 100 to 102 were asked for, ...          0
//   full FILE             the trace in FILE is not whole: File too large                               0
//   off /nowhere/t.json   nothing                                                                      0
#include <csignal>
#include <cstdlib>
#include <string>

#include <sys/resource.h>
#include <sys/stat.h>

#include <meshtf/core/mesh.hpp>
#include <meshtf/ops/pointwise/square.hpp>
#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/optim/sgd.hpp>
#include <meshtf/runtime/environment.hpp>
#include <meshtf/runtime/locked_file.hpp>
#include <meshtf/runtime/run_on.hpp>
#include <meshtf/tensor/initialiser.hpp>
#include <meshtf/tensor/parameter.hpp>
#include <meshtf/tensor/parameters.hpp>
#include <meshtf/tensor/tape.hpp>

namespace {

// clang-format off
struct width : meshtf::dim<8> {};
struct one   : meshtf::axis<1> {};
struct four  : meshtf::axis<4> {};
struct alone    : meshtf::mesh<one> {};
struct together : meshtf::mesh<four> {};
template<class M, class A> struct split : meshtf::layout<M, meshtf::split<width, A>> {};
// clang-format on

template<meshtf::Layout L, class M>
void train(meshtf::process_mesh<M>& m) {
  meshtf::parameter<float, L, width> w{m, meshtf::normal{1}};
  meshtf::sgd opt;
  for (int step = 0; step < 3; ++step) {
    backward(sum(square(w)));
    opt.step(meshtf::parameters(w));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string const what  = argc > 1 ? argv[1] : "";
  std::string const value = argc > 2 ? argv[2] : "";
  bool const of_program   = what == "program";
  auto const of_file      = what != "steps";
  if (what == "off") setenv("MESHTF_TRACE", "0", 1);
  else if (!of_program) setenv("MESHTF_TRACE", of_file ? value.c_str() : "trace.json", 1);
  if (what == "steps") setenv("MESHTF_TRACE_STEPS", value.c_str(), 1);
  if (what == "late") setenv("MESHTF_TRACE_STEPS", "100:102", 1);
  if (what == "fifo") mkfifo(value.c_str(), 0666);
  meshtf::detail::file_descriptor other{-1};  // another job has it
  if (what == "locked") {
    other = meshtf::detail::open_to_write(value).file;
    static_cast<void>(meshtf::detail::lock(other));
  }
  meshtf::trace settings;
  if (of_program) settings = {"trace.json", value[0] - '0', value[2] - '0'};
  if (what == "off") settings.file = value;
  meshtf::environment const env{argc, argv, settings, {.report_kernels = false}};
  if (what == "full") {  // no file of this process may be larger
    rlimit const limit{.rlim_cur = 512, .rlim_max = 512};
    std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  meshtf::run_on<alone, together>(env, []<class M>(meshtf::process_mesh<M>& m) {
    if constexpr (M::size == 1) train<split<M, one>>(m);
    else train<split<M, four>>(m);
  });
}
