# meshtf::compiled: the same as meshtf::runtime, with the kernels compiled once instead of in each source. docs/compiled.md says what that saves.
#
# It is built where it is linked, with the options that hold where meshtf is found or added: CMAKE_CXX_FLAGS, CMAKE_BUILD_TYPE. Nobody waits for
# it who does not link it.
#
# MESHTF_ARCHITECTURES="avx2;avx512" (also sse2) compiles the kernels for each of them, whatever -march the options have, and programs take the
# best that their processor has when they start.
set(MESHTF_ARCHITECTURES "" CACHE STRING "The kernels of meshtf::compiled are for these (sse2, avx2, avx512); empty: as CMAKE_CXX_FLAGS say")
set(meshtf_architecture_sse2   x86-64)
set(meshtf_architecture_avx2   x86-64-v3)
set(meshtf_architecture_avx512 x86-64-v4)
set(meshtf_architectures_script ${CMAKE_CURRENT_LIST_DIR}/meshtf-architectures.cmake CACHE INTERNAL "")

function(meshtf_add_compiled)
  if(TARGET meshtf_compiled)
    return()
  endif()
  foreach(name IN LISTS MESHTF_ARCHITECTURES)
    if(NOT name MATCHES "^(sse2|avx2|avx512)$")
      message(FATAL_ERROR "meshtf: expected MESHTF_ARCHITECTURES to list some of sse2, avx2 and avx512, got '${name}': for example "
        "-DMESHTF_ARCHITECTURES=\"avx2;avx512\"\n")
    endif()
  endforeach()
  # One source for each element type: they compile side by side, and a change of one is not a change of all.
  set(folder ${CMAKE_BINARY_DIR}/meshtf_compiled)
  set(sources)
  set(for_each)
  foreach(name IN LISTS MESHTF_ARCHITECTURES)
    string(APPEND for_each " X(${name})")
  endforeach()
  if(for_each)
    set(for_each "#define MESHTF_FOR_EACH_ARCHITECTURE(X)${for_each}\n")
  endif()
  foreach(part IN ITEMS float double bfloat16 start)
    set(source ${folder}/${part}.cpp)
    set(before)
    if(part STREQUAL start)
      set(before "${for_each}")
    endif()
    file(CONFIGURE OUTPUT ${source} @ONLY
      CONTENT "// Made by CMake: what meshtf compiles once.\n${before}#define MESHTF_COMPILED_PART_${part}\n#include <meshtf/compiled.hpp>\n")
    list(APPEND sources ${source})
  endforeach()
  if(MESHTF_ARCHITECTURES)
    list(POP_BACK sources start)
    meshtf_add_architectures(objects ${folder} ${sources})
    set(sources ${start} ${objects})
  endif()
  add_library(meshtf_compiled STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(meshtf_compiled PUBLIC meshtf::runtime)
  target_compile_definitions(meshtf_compiled INTERFACE MESHTF_COMPILED)
  add_library(meshtf::compiled ALIAS meshtf_compiled)
endfunction()

# The objects that have the kernels of SOURCES for each of MESHTF_ARCHITECTURES, and the one that chooses among them.
function(meshtf_add_architectures result folder)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" OR NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    message(FATAL_ERROR "meshtf: expected MESHTF_ARCHITECTURES for g++ or clang++ on x86-64, got ${CMAKE_CXX_COMPILER_ID} on "
      "${CMAKE_SYSTEM_PROCESSOR}: leave it out\n")
  endif()
  find_program(MESHTF_LINKER NAMES ld.bfd ld REQUIRED)   # which can undo groups; programs are linked with any
  mark_as_advanced(MESHTF_LINKER)
  set(objects ${folder}/kernels.o)
  set(needed)
  foreach(name IN LISTS MESHTF_ARCHITECTURES)
    set(target meshtf_compiled_${name})
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${ARGN})
    target_link_libraries(${target} PRIVATE meshtf::runtime)
    target_compile_definitions(${target} PRIVATE MESHTF_ARCHITECTURE=${name})
    target_compile_options(${target} PRIVATE -march=${meshtf_architecture_${name}} $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF POSITION_INDEPENDENT_CODE ON)
    file(GENERATE OUTPUT ${folder}/${name}.objects CONTENT "$<TARGET_OBJECTS:${target}>")
    list(APPEND objects ${folder}/${name}.o)
    list(APPEND needed ${target} $<TARGET_OBJECTS:${target}>)
  endforeach()
  string(REPLACE ";" "," names "${MESHTF_ARCHITECTURES}")
  add_custom_command(OUTPUT ${objects} VERBATIM COMMENT "Kernels for ${names}"
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DARCHITECTURES=${names} -DLINKER=${MESHTF_LINKER} -DOBJCOPY=${CMAKE_OBJCOPY} -DNM=${CMAKE_NM}
      -DASSEMBLER=${CMAKE_CXX_COMPILER} -P ${meshtf_architectures_script}
    DEPENDS ${needed} ${meshtf_architectures_script})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(${result} ${objects} PARENT_SCOPE)
endfunction()
