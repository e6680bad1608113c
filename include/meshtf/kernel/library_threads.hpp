// The threads that libraries start by themselves: none.
#pragma once

#include <initializer_list>

#include <dlfcn.h>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// OpenMP and OpenBLAS start no threads of their own for what this thread calls. OpenMP keeps that number for
/// each thread, so every thread that calls a library does this once. It is for whichever of these libraries
/// the program is linked with; none is linked for this.
inline void use_one_library_thread() {
  for (char const* const name : {"omp_set_num_threads", "openblas_set_num_threads"})
    if (void* const f = dlsym(RTLD_DEFAULT, name)) reinterpret_cast<void (*)(int)>(f)(1);
}

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
