// A disk that is full.
#pragma once

#include <csignal>

#include <sys/resource.h>

#include <boost/mpi/communicator.hpp>

namespace files {

/// While it lives, files have at most `bytes`, on all processes or on the one of `rank`.
class small_disk {
public:
  explicit small_disk(rlim_t bytes, int rank = -1) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit const limit{bytes, before_.rlim_max};
    if (rank < 0 || boost::mpi::communicator{}.rank() == rank) setrlimit(RLIMIT_FSIZE, &limit);
  }
  small_disk(small_disk const&)            = delete;
  small_disk& operator=(small_disk const&) = delete;
  ~small_disk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace files
