// What the benchmarks start with: options, one GEMM thread a process, memory that stays with the process.
#pragma once

#include "mlp.hpp"
#include "timing.hpp"

#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>

#include <dlfcn.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace bench {

struct options {
  int rounds = 40;  // samples of each variant
  std::string json;
  std::string only;

  /// `--only TEXT` leaves out the groups whose name doesn't hold it.
  bool wants(std::string_view group) const { return group.find(only) != group.npos; }
};

/// `--rounds N`, `--json FILE` and `--only TEXT`.
inline options read(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; i += 2) {
    std::string const name  = argv[i];
    std::string const value = i + 1 < argc ? argv[i + 1] : "";
    auto const end          = value.data() + value.size();
    bool understood         = false;
    if (name == "--json") understood = !(o.json = value).empty();
    else if (name == "--only") understood = !(o.only = value).empty();
    else if (name == "--rounds")
      understood = std::from_chars(value.data(), end, o.rounds).ptr == end && o.rounds > 0;
    if (!understood || value.empty())
      throw meshtf::usage_error{"expected [--rounds N] [--json FILE] [--only TEXT], got '" + name + " " +
                                value + "'"};
  }
  return o;
}

/// oneDNN would start an OpenMP thread for every core it may use, in each process; glibc would give packing
/// buffers back after every call.
inline void settle() {
  if (void* const f = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) reinterpret_cast<void (*)(int)>(f)(1);
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
#endif
}

/// Collectives and reshards, in collectives.cpp.
void measure_collectives(report&, options const&, meshtf::process_mesh<with_meshtf::line>&);

}  // namespace bench
