// planning.hpp needs the standard library and Boost.Hana. The driver hides everything else that this machine
// has.
#ifdef LOOK_FOR
// clang-format off
#if __has_include(<mpi.h>) || __has_include(<boost/mpi/communicator.hpp>) || __has_include(<cblas.h>) || \
    __has_include(<dnnl.h>) || __has_include(<xtensor/xtensor.hpp>) || __has_include(<xsimd/xsimd.hpp>)
// clang-format on
#error "they are not hidden"
#endif
#else
#include <meshtf/planning.hpp>
#endif
