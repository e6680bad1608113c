// A training and its log: log FOLDER WHAT
//
//   full     meshtf: the log FOLDER can't be written: File too large: training goes on, ...       status 0
//   fifo     meshtf: expected a log that can be written, got 'FOLDER/log.jsonl': it is a FIFO      status 69
//   begin    nothing: five steps are logged                                                       status 0
//   resume   nothing: resumes after the third, to the seventh                                     status 0
//   spike    meshtf: 'loss' of step 30 is a spike: 9, ...                                         status 0
//   slow     meshtf: process 2 is slow: up to step 3 it has worked ...                            status 0
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include <sys/resource.h>
#include <sys/stat.h>

#include <meshtf/core/mesh.hpp>
#include <meshtf/io/log.hpp>
#include <meshtf/ops/pointwise/square.hpp>
#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/optim/sgd.hpp>
#include <meshtf/runtime/environment.hpp>
#include <meshtf/runtime/run_on.hpp>
#include <meshtf/tensor/initialiser.hpp>
#include <meshtf/tensor/parameter.hpp>
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

/// A loss that falls, with noise and one spike of two steps.
bool finds_spike(std::string const& folder) {
  meshtf::log_to log{folder};
  meshtf::spikes of_loss;
  bool right = true;
  for (unsigned step = 1; step <= 60; ++step) {
    bool const is_spike = step == 30 || step == 31;
    double const noise  = (step * 7 % 5) * 0.02;
    right = right && log.scalar("loss", is_spike ? 9 : 2 + 1.0 / step + noise, step, of_loss) == is_spike;
  }
  std::ifstream in{folder + "/log.jsonl"};
  int logged = 0;
  for (std::string line; std::getline(in, line);) logged += line.find("\"loss/spike\"") != line.npos ? 1 : 0;
  return right && (logged == 1 || boost::mpi::communicator{}.rank() != 0);
}

/// Process 2 takes ten times as long, for the first three steps. Nobody else is slow for so long.
template<class M>
bool finds_slow_process(meshtf::process_mesh<M>& m, std::string const& folder) {
  meshtf::log_to log{folder};
  int found[2]{};
  for (unsigned step = 1; step <= 6; ++step) {
    bool const is_slow = m.rank() == 2 && step <= 3;
    std::this_thread::sleep_for(std::chrono::milliseconds{is_slow ? 400 : 40});
    int loss = 1;
    m.all_reduce(meshtf::reduction::sum, &loss, 1, meshtf::joining_axes<M>);
    if (step % 3 == 0) found[step / 3 - 1] = log.slowest_process(m, step, 3);
  }
  return found[0] == 2 && found[1] != 2;
}

template<meshtf::Layout L, class M>
bool trains(meshtf::process_mesh<M>& m, std::string const& folder, std::string const& what) {
  meshtf::parameter<float, L, width> w{m, meshtf::constant{1}};
  meshtf::sgd opt{0.25};
  if (m.rank() == 0 && what == "fifo" && mkfifo((folder + "/log.jsonl").c_str(), 0666) != 0) return false;
  unsigned const completed_steps = what == "resume" ? 3 : 0;
  unsigned const steps           = completed_steps == 0 ? 5 : 7;
  meshtf::training_position at{.step = completed_steps};
  if (completed_steps != 0) {  // a checkpoint would say which training it is
    std::string first;
    std::getline(std::ifstream{folder + "/log.jsonl"}, first);
    at.run = meshtf::detail::parsed_run(first.substr(first.find("\"text\":\"") + 8, 16)).value_or(0);
  }
  meshtf::log_to log{folder, at};
  if (what == "full") {  // no file of this process may be larger
    rlimit const limit{.rlim_cur = 600, .rlim_max = 600};
    std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  for (unsigned step = 1; step <= steps; ++step) {
    auto const loss = sum(square(w));
    backward(loss);
    if (step > completed_steps) {  // a training that resumes has other things to do for completed steps
      log.scalar("loss", loss, step);
      log.histograms(meshtf::parameters(meshtf::named("w", w)), step);
      log.text("words", what + " " + std::to_string(step), step);
    }
    opt.step(meshtf::parameters(w));
  }
  return w.data()[0] == std::ldexp(1.0F, -static_cast<int>(steps));
}

}  // namespace

int main(int argc, char** argv) {
  std::string const folder = argc > 1 ? argv[1] : ".";
  std::string const what   = argc > 2 ? argv[2] : "begin";
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  if (env.world().rank() == 0 && what != "resume") {
    std::remove((folder + "/log.jsonl").c_str());
    std::remove((folder + "/events.out.tfevents.meshtf").c_str());
  }
  env.world().barrier();
  bool right = false;
  meshtf::run_on<alone, together>(env, [&]<class M>(meshtf::process_mesh<M>& m) {
    if (what == "spike") right = finds_spike(folder);
    else if (what == "slow") right = finds_slow_process(m, folder);
    else if constexpr (M::size == 1) right = trains<split<M, one>>(m, folder, what);
    else right = trains<split<M, four>>(m, folder, what);
  });
  return right ? 0 : 1;
}
