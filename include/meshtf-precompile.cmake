# meshtf_precompile(PROGRAM [OTHER...]): <meshtf/meshtf.hpp>, and with it the headers of all libraries, is compiled once instead of once for each source of
# these targets. docs/compile_time.md says what that saves. The others use the first one's precompiled header, and so must have its options.
#
# For targets that link meshtf::runtime. Sources that include meshtf/core.hpp or meshtf/planning.hpp alone have little to gain.
function(meshtf_precompile program)
  target_precompile_headers(${program} PRIVATE <meshtf/meshtf.hpp>)
  foreach(other IN LISTS ARGN)
    target_precompile_headers(${other} REUSE_FROM ${program})
  endforeach()
  # g++ forgets in a precompiled header for which lines warnings are off, and of the AVX-512 intrinsics it falsely says that they use what is not
  # initialised (GCC bug 105593).
  foreach(target IN LISTS program ARGN)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  endforeach()
endfunction()
