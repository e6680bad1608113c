// What a call writes on stderr, and what it throws.
#pragma once

#include <cstdio>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <boost/mpi/communicator.hpp>

#include <meshtf/core/error.hpp>

#include "folder.hpp"

namespace files {

/// What f() makes this process write on stderr.
template<class F>
std::string said(folder const& here, F const& f) {
  std::string const path = here / ("said" + std::to_string(boost::mpi::communicator{}.rank()));
  std::fflush(stderr);
  int const before = dup(2);
  int const file   = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  dup2(file, 2);
  f();
  std::fflush(stderr);
  dup2(before, 2);
  close(before);
  close(file);
  return read(path);
}

/// The status and the text of the error that f() throws, or "nothing".
std::string what_it_throws(auto const& f) {
  try {
    f();
  } catch (meshtf::error const& e) {
    return std::to_string(e.exit_status()) + " " + e.what();
  }
  return "nothing";
}

}  // namespace files
