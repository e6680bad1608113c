# meshtf::compiled: the same as meshtf::runtime, with the kernels compiled once instead of in each source. docs/compile_time.md says what that saves.
#
# It is built where it is linked, with the options that hold where meshtf is found or added: CMAKE_CXX_FLAGS, CMAKE_BUILD_TYPE. Nobody waits for it who
# does not link it.
function(meshtf_add_compiled)
  if(TARGET meshtf_compiled)
    return()
  endif()
  # One source for each element type, and one for all that is no kernel: they compile side by side, and a change of one is not a change of all.
  set(sources)
  foreach(part IN ITEMS float double bfloat16 start)
    set(source ${CMAKE_BINARY_DIR}/meshtf_compiled/${part}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Made by CMake: what meshtf compiles once.\n#define MESHTF_COMPILED_PART_${part}\n#include <meshtf/compiled.hpp>\n" @ONLY)
    list(APPEND sources ${source})
  endforeach()
  add_library(meshtf_compiled STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(meshtf_compiled PUBLIC meshtf::runtime)
  target_compile_definitions(meshtf_compiled INTERFACE MESHTF_COMPILED)
  add_library(meshtf::compiled ALIAS meshtf_compiled)
endfunction()
