# What meshtf's targets need, and which package has it where it is missing. Written once: the build of meshtf includes this file, and so
# does the package that it installs.
#
#   meshtf_find_core(objection)      Boost::headers
#   meshtf_find_runtime(objection)   that, and meshtf::libraries: all that meshtf::runtime links
#
# The objection is empty, or says what could not be found and which packages to install.

macro(meshtf_lacks list what debian conan spack)
  string(APPEND ${list} "\n  ${what}\n    Debian: apt install ${debian}\n    Conan:  ${conan}\n    Spack:  spack install ${spack}")
endmacro()

function(meshtf_find_core objection)
  set(missing "")
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "CXX" IN_LIST languages)   # the libraries' own files would fail in words that nobody understands
    set(${objection} "meshtf::core lacks the language C++: say project(... LANGUAGES CXX), or enable_language(CXX) first" PARENT_SCOPE)
    return()
  endif()
  if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12) OR
     (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16))
    set(${objection} "meshtf::core lacks g++ 12 or clang 16 or newer, this is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}: \
set CMAKE_CXX_COMPILER" PARENT_SCOPE)
    return()
  endif()

  # CONFIG: CMake's own FindBoost is gone for CMake 3.30 and later, and Boost has had its config file since 1.70.
  find_package(Boost 1.74 QUIET CONFIG COMPONENTS headers)
  if(NOT TARGET Boost::headers)
    meshtf_lacks(missing "Boost 1.74 or newer (Boost.Hana)" libboost-dev "boost/[>=1.74]" boost@1.74:)
    string(PREPEND missing "meshtf::core lacks:")
  endif()
  set(${objection} "${missing}" PARENT_SCOPE)
endfunction()

function(meshtf_find_runtime objection)
  meshtf_find_core(missing)
  if(missing)   # no use to look further
    set(${objection} "${missing}" PARENT_SCOPE)
    return()
  endif()

  find_package(MPI QUIET COMPONENTS CXX)
  if(TARGET MPI::MPI_C AND NOT TARGET MPI::MPI_CXX)   # Conan's openmpi has this name alone; nothing here calls MPI in C++
    add_library(MPI::MPI_CXX ALIAS MPI::MPI_C)
  endif()
  if(NOT TARGET MPI::MPI_CXX)
    meshtf_lacks(missing "MPI" libopenmpi-dev openmpi/4.1.8 openmpi)
  endif()

  find_package(Boost 1.74 QUIET CONFIG COMPONENTS headers mpi serialization)   # Boost_FOUND stays true without Boost.MPI: ask for the target
  if(NOT TARGET Boost::mpi OR NOT TARGET Boost::serialization)
    meshtf_lacks(missing "Boost.MPI 1.74 or newer" libboost-mpi-dev "boost/[>=1.74] with -o boost/*:without_mpi=False"
      "boost@1.74: +mpi+serialization")
  endif()

  find_package(xtensor 0.24 QUIET CONFIG)
  if(NOT TARGET xtensor)
    meshtf_lacks(missing "xtensor 0.24 or newer" libxtensor-dev xtensor/0.24.7 xtensor@0.24:)
  endif()

  # OpenBLAS by file: distributions, its two build systems and Conan disagree on what its config file defines. The one that was built with
  # threads is preferred: several threads may call it (it starts none of its own, see kernel/library_threads.hpp), where the serial one gives wrong
  # numbers, so that meshtf has threads take turns.
  find_path(MESHTF_CBLAS_INCLUDE cblas.h PATH_SUFFIXES
    ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread openblas-pthread ${CMAKE_LIBRARY_ARCHITECTURE}/openblas openblas
    ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial openblas-serial
    ${CMAKE_LIBRARY_ARCHITECTURE})
  find_library(MESHTF_CBLAS_LIBRARY openblas PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread openblas-pthread)
  if(NOT MESHTF_CBLAS_INCLUDE OR NOT MESHTF_CBLAS_LIBRARY)
    meshtf_lacks(missing "OpenBLAS (cblas.h)" libopenblas-pthread-dev openblas/0.3.30 "openblas threads=pthreads")
  endif()

  # What makes programs faster, or able to do more, where it is there.
  set(better_with "")
  find_package(xsimd 8 QUIET CONFIG)
  if(NOT TARGET xsimd)
    meshtf_lacks(better_with "xsimd 8 or newer (vector arithmetic)" libxsimd-dev xsimd/13.0.0 xsimd@8:)
  endif()
  find_package(ZLIB QUIET)
  if(NOT TARGET ZLIB::ZLIB)
    meshtf_lacks(better_with "zlib (compressed data)" zlib1g-dev zlib/1.3.1 zlib)
  endif()
  # oneDNN by file: Debian's config file insists on OpenCL, even under QUIET.
  find_path(MESHTF_ONEDNN_INCLUDE dnnl.h)
  find_library(MESHTF_ONEDNN_LIBRARY dnnl)
  if(NOT MESHTF_ONEDNN_INCLUDE OR NOT MESHTF_ONEDNN_LIBRARY)
    meshtf_lacks(better_with "oneDNN (products in single precision)" libdnnl-dev "has none: take the machine's" onednn)
  endif()
  find_path(MESHTF_JANSSON_INCLUDE jansson.h)
  find_library(MESHTF_JANSSON_LIBRARY jansson)
  if(NOT MESHTF_JANSSON_INCLUDE OR NOT MESHTF_JANSSON_LIBRARY)
    meshtf_lacks(better_with "jansson (checkpoints)" libjansson-dev jansson/2.14 jansson)
  endif()
  find_path(MESHTF_XXHASH_INCLUDE xxhash.h)
  find_library(MESHTF_XXHASH_LIBRARY xxhash)
  if(NOT MESHTF_XXHASH_INCLUDE OR NOT MESHTF_XXHASH_LIBRARY)
    meshtf_lacks(better_with "xxHash 0.8 or newer (fast hashes of checkpoints)" libxxhash-dev xxhash/0.8.3 xxhash@0.8:)
  endif()
  find_path(MESHTF_SENTENCEPIECE_INCLUDE sentencepiece_processor.h)
  find_library(MESHTF_SENTENCEPIECE_LIBRARY sentencepiece)
  if(NOT MESHTF_SENTENCEPIECE_INCLUDE OR NOT MESHTF_SENTENCEPIECE_LIBRARY)
    meshtf_lacks(better_with "sentencepiece (a tokenizer)" libsentencepiece-dev "has none: take the machine's" sentencepiece)
  endif()
  mark_as_advanced(MESHTF_CBLAS_INCLUDE MESHTF_CBLAS_LIBRARY MESHTF_ONEDNN_INCLUDE MESHTF_ONEDNN_LIBRARY
    MESHTF_JANSSON_INCLUDE MESHTF_JANSSON_LIBRARY MESHTF_XXHASH_INCLUDE MESHTF_XXHASH_LIBRARY
    MESHTF_SENTENCEPIECE_INCLUDE MESHTF_SENTENCEPIECE_LIBRARY)

  if(missing)
    set(${objection} "meshtf::runtime lacks:${missing}" PARENT_SCOPE)
    return()
  endif()
  set(${objection} "" PARENT_SCOPE)
  if(TARGET meshtf::libraries)
    return()   # found before
  endif()
  if(better_with AND NOT meshtf_FIND_QUIETLY)
    message(STATUS "meshtf::runtime does without these, and better with them:${better_with}")
  endif()
  add_library(meshtf::libraries INTERFACE IMPORTED)
  target_include_directories(meshtf::libraries INTERFACE ${MESHTF_CBLAS_INCLUDE})
  target_link_libraries(meshtf::libraries INTERFACE
    Boost::mpi Boost::serialization MPI::MPI_CXX xtensor ${MESHTF_CBLAS_LIBRARY} ${CMAKE_DL_LIBS})
  if(TARGET xsimd)
    target_link_libraries(meshtf::libraries INTERFACE xsimd)
  endif()
  if(TARGET ZLIB::ZLIB)
    target_link_libraries(meshtf::libraries INTERFACE ZLIB::ZLIB)
    target_compile_definitions(meshtf::libraries INTERFACE MESHTF_WITH_ZLIB=1)
  endif()
  foreach(library IN ITEMS ONEDNN JANSSON XXHASH SENTENCEPIECE)
    if(MESHTF_${library}_INCLUDE AND MESHTF_${library}_LIBRARY)
      target_include_directories(meshtf::libraries INTERFACE ${MESHTF_${library}_INCLUDE})
      target_link_libraries(meshtf::libraries INTERFACE ${MESHTF_${library}_LIBRARY})
      target_compile_definitions(meshtf::libraries INTERFACE MESHTF_WITH_${library}=1)
    endif()
  endforeach()
endfunction()
