// What the programs share whose checkpoints fail: a parameter whole on one process, or divided over four. A
// program is run<L>(world, folder, how).
#pragma once

#include <csignal>
#include <filesystem>
#include <string>

#include <sys/resource.h>

#include <meshtf/meshtf.hpp>

struct in : meshtf::dim<64> {};
struct out : meshtf::dim<256> {};
struct line : meshtf::axis<4> {};
struct four : meshtf::mesh<line> {};
struct divided : meshtf::layout<four, meshtf::split<out, line>> {};
struct point : meshtf::axis<1> {};
struct one : meshtf::mesh<point> {};
struct whole : meshtf::layout<one> {};

/// No file may grow beyond a part of what a checkpoint takes.
inline void limit_files() {
  rlimit const part{in::size * out::size, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &part);
}

template<meshtf::Layout L>
void run(boost::mpi::communicator const& world, std::string const& folder, std::string const& how);

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  if (env.world().size() == 1) run<whole>(env.world(), argv[1], argv[2]);
  else run<divided>(env.world(), argv[1], argv[2]);
}
