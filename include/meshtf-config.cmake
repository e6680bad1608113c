# What find_package(meshtf) reads, once meshtf is installed:
#
#   find_package(meshtf 0.1 COMPONENTS core)      meshtf::core: layouts, plans and prices; needs Boost's headers
#   find_package(meshtf 0.1 COMPONENTS runtime)   and meshtf::runtime, also named meshtf::meshtf: programs on the processes of a mesh
#   find_package(meshtf 0.1)                      the same as runtime
#
# With runtime comes meshtf::compiled, whose kernels are compiled once: meshtf-compiled.cmake, or in the library that was packed (MESHTF_PACK_COMPILED).
# It also brings meshtf_precompile(PROGRAM [OTHER...]): meshtf-precompile.cmake.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/meshtf-dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/meshtf-precompile.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/meshtf-compiled.cmake)

set(meshtf_wanted ${meshtf_FIND_COMPONENTS})
if(NOT meshtf_wanted)
  set(meshtf_wanted runtime)
  set(meshtf_FIND_REQUIRED_runtime TRUE)
endif()
set(meshtf_NOT_FOUND_MESSAGE "")
foreach(meshtf_component IN LISTS meshtf_wanted)
  if(meshtf_component STREQUAL "core")
    meshtf_find_core(meshtf_objection)
  elseif(meshtf_component STREQUAL "runtime")
    meshtf_find_runtime(meshtf_objection)
  else()
    set(meshtf_objection "meshtf has no component '${meshtf_component}': there are core and runtime")
  endif()

  if(NOT meshtf_objection)
    set(meshtf_${meshtf_component}_FOUND TRUE)
    include(${CMAKE_CURRENT_LIST_DIR}/meshtf-core.cmake)
    if(meshtf_component STREQUAL "runtime" AND NOT TARGET meshtf::runtime)
      include(${CMAKE_CURRENT_LIST_DIR}/meshtf-runtime.cmake)
      add_library(meshtf::meshtf ALIAS meshtf::runtime)
      if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/meshtf-library.cmake)
        include(${CMAKE_CURRENT_LIST_DIR}/meshtf-library.cmake)
      else()
        meshtf_add_compiled()
      endif()
    endif()
  else()
    set(meshtf_${meshtf_component}_FOUND FALSE)
    string(APPEND meshtf_NOT_FOUND_MESSAGE "${meshtf_objection}\n")
    if(meshtf_FIND_REQUIRED_${meshtf_component})
      set(meshtf_FOUND FALSE)
    endif()
  endif()
endforeach()
unset(meshtf_wanted)
unset(meshtf_objection)
