// What it gains to add gradients up while the backward pass goes on, on a network of a known speed: this
// program's MPI_Isend ends no sooner than a network would have carried the message that carries one after the
// other. (Between the processes of one machine a message is computing: there is nothing to hide it behind.)
//
// Run:    examples/processes 2 build/release/benchmarks/early_sums
// Prints: the medians of a step without delay; and, on a network that makes the messages last a given share
// of it, with sums that are waited for at once and with early ones, beside cost.time().overlapped().
#include "timing.hpp"

#include <chrono>
#include <cstdio>
#include <map>
#include <vector>

#include <mpi.h>

#include <meshtf/meshtf.hpp>

namespace {

using clock_type = std::chrono::steady_clock;

double seconds_per_byte    = 0;
double seconds_per_message = 0;
clock_type::time_point network_is_free;
std::map<MPI_Request, clock_type::time_point> ends_of_sends;

/// When the last of these requests has ended; what has not been delayed has ended.
clock_type::time_point end_of(int n, MPI_Request const* requests) {
  clock_type::time_point last{};
  for (int i = 0; i < n; ++i)
    if (auto const found = ends_of_sends.find(requests[i]); found != ends_of_sends.end())
      last = std::max(last, found->second);
  return last;
}
void forget(int n, MPI_Request const* requests) {
  for (int i = 0; i < n; ++i) ends_of_sends.erase(requests[i]);
}

}  // namespace

extern "C" {

int MPI_Isend(void const* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* r) {
  int const failure = PMPI_Isend(data, n, type, to, tag, comm, r);
  int bytes         = 0;
  MPI_Type_size(type, &bytes);
  auto const begin = std::max(network_is_free, clock_type::now());
  auto const takes = std::chrono::duration<double>(seconds_per_message + seconds_per_byte * n * bytes);
  network_is_free  = begin + std::chrono::duration_cast<clock_type::duration>(takes);
  if (takes.count() > 0) ends_of_sends[*r] = network_is_free;
  return failure;
}
int MPI_Testall(int n, MPI_Request* requests, int* ended, MPI_Status* statuses) {
  if (clock_type::now() < end_of(n, requests)) {
    int there = 0;  // the messages themselves move on
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    *ended = 0;
    return MPI_SUCCESS;
  }
  std::vector<MPI_Request> const before(requests, requests + n);
  int const failure = PMPI_Testall(n, requests, ended, statuses);
  if (*ended != 0) forget(n, before.data());
  return failure;
}
int MPI_Waitall(int n, MPI_Request* requests, MPI_Status* statuses) {
  while (clock_type::now() < end_of(n, requests)) {
    int there = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  }
  forget(n, requests);
  return PMPI_Waitall(n, requests, statuses);
}
}

namespace {

struct batch : meshtf::dim<512> {};
struct model : meshtf::dim<512> {};
struct hidden : meshtf::dim<1024> {};
struct rows : meshtf::axis<2> {};
struct line : meshtf::mesh<rows> {};
struct data : meshtf::layout<line, meshtf::split<batch, rows>> {};

template<meshtf::Layout L>
struct block {
  meshtf::nn::linear<float, L, model, hidden> up;
  meshtf::nn::linear<float, L, hidden, model> down;
  constexpr explicit block(meshtf::machine<L>& m)
      : up{m, meshtf::normal{1, 0.02}}, down{m, meshtf::normal{2, 0.02}} {}
  constexpr auto operator()(auto const& x) const { return x + down(relu(up(x))); }
  constexpr auto parameters() { return meshtf::parameters(up, down); }
};

template<meshtf::Layout L>
struct network {
  meshtf::nn::stack<block<L>, 8> blocks;
  constexpr explicit network(meshtf::machine<L>& m) : blocks{m} {}
  constexpr auto loss(auto const& x) const { return mean(square(blocks(x))); }
  constexpr auto parameters() { return meshtf::parameters(blocks); }
};

enum class sums { in_the_step, at_once, early };

/// One step, for the compiler.
struct step {
  template<meshtf::Layout L>
  constexpr void operator()(meshtf::machine<L>& m) const {
    network<L> net{m};
    meshtf::early_sums const early{parameters(net)};
    backward(net.loss(meshtf::random_normal<float, L, batch, model>(m, {.seed = 1})));
    meshtf::sgd{1e-4}.step(parameters(net));
  }
};

/// The median seconds of a step.
double seconds_of(meshtf::process_mesh<line>& m, sums when) {
  network<data> net{m};
  std::unique_ptr<meshtf::early_sums<meshtf::machine<data>>> early;
  using wait = meshtf::wait_for_sums;
  if (when != sums::in_the_step)
    early = std::make_unique<meshtf::early_sums<meshtf::machine<data>>>(
        parameters(net), when == sums::early ? wait::at_the_end : wait::at_once);
  meshtf::sgd opt{1e-4};
  auto const x = meshtf::random_normal<float, data, batch, model>(m, {.seed = 1});
  std::vector<double> seconds;
  for (int i = 0; i < 15; ++i) {
    m.world().barrier();
    auto const begin = clock_type::now();
    backward(net.loss(x));
    opt.step(parameters(net));
    seconds.push_back(std::chrono::duration<double>(clock_type::now() - begin).count());
  }
  double median = bench::quantile(seconds, 0.5);
  m.broadcast(&median);
  return median;
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<line> m{env.world()};
  static constexpr auto cost = meshtf::dry_run<data>(step{});
  constexpr auto work        = cost.time();
  auto const say             = [&m](char const* what, double seconds) {
    if (m.rank() == 0) std::printf("%-58s %7.2f ms\n", what, 1e3 * seconds);
  };
  double const without = seconds_of(m, sums::in_the_step);
  double const begun   = seconds_of(m, sums::early);
  double const all     = seconds_of(m, sums::at_once);
  say("no delay: sums in the step", without);
  say("no delay: early sums", begun);
  say("no delay: the same exchange, waited for at once", all);

  seconds_per_message  = 5e-6;
  seconds_per_byte     = 0.9 * all / static_cast<double>(cost.bytes_sent());
  double const at_once = seconds_of(m, sums::at_once);
  double const early   = seconds_of(m, sums::early);
  // a machine as fast as this one is without delay
  double const slower = all / (work.products + work.passes);
  meshtf::machine_model machine;
  machine.flops_per_second /= slower;
  machine.memory_bytes_per_second /= slower;
  machine.seconds_per_byte_added = 0;
  machine.within_node = {.seconds_per_message = seconds_per_message, .seconds_per_byte = seconds_per_byte};
  auto const modelled = cost.time(machine);
  if (m.rank() == 0)
    std::printf("a network of %.2f GB/s: messages %.2f ms, %.2f of the computing\n", 1e-9 / seconds_per_byte,
                1e3 * modelled.messages(), modelled.messages() / all);
  say("delayed: waited for at once", at_once);
  say("delayed: early sums", early);
  say("cost.time(machine).total()", modelled.total());
  say("cost.time(machine).overlapped()", modelled.overlapped());
  if (m.rank() == 0)
    std::printf("faster by %.2f; %.2f of overlapped()\n", at_once / early, early / modelled.overlapped());
}
