# Files for pkg-config, for those who build without CMake.
#
#   meshtf-core      the headers: layouts, plans and prices
#   meshtf           that, and what a program that runs links; the compiler is mpicxx, or MPI's own file is asked for too (ompi-cxx, mpich)
#   meshtf-onednn, meshtf-jansson, meshtf-zlib, meshtf-xxhash, meshtf-sentencepiece   each adds an optional library: its definition, and what to link
#
# They name no folder of the machine that makes them, so the installed tree may be moved. The standard and -march are the choice of who builds.

function(meshtf_write_pc folder name description)
  list(JOIN ARGN "\n" lines)
  file(WRITE ${folder}/${name}.pc "Name: ${name}\nDescription: ${description}\nVersion: ${PROJECT_VERSION}\n${lines}\n")
endfunction()

function(meshtf_write_pkgconfig folder)
  set(includes ${CMAKE_INSTALL_INCLUDEDIR})
  if(NOT IS_ABSOLUTE "${includes}")
    file(RELATIVE_PATH up /${CMAKE_INSTALL_DATADIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" up "${up}")
    set(includes "\${pcfiledir}/${up}/${includes}")
  endif()
  meshtf_write_pc(${folder} meshtf-core "${PROJECT_DESCRIPTION}: layouts and prices" "includedir=${includes}"
    "# A long dry run takes more steps of constant evaluation than compilers allow: pkg-config --variable=gcc_flags meshtf-core, or clang_flags"
    "gcc_flags=-fconstexpr-ops-limit=1000000000" "clang_flags=-fconstexpr-steps=100000000" "Cflags: -I\${includedir}")
  meshtf_write_pc(${folder} meshtf "${PROJECT_DESCRIPTION}" "Requires: meshtf-core = ${PROJECT_VERSION} xtensor >= 0.24 openblas"
    "Libs: -lboost_mpi -lboost_serialization")
  meshtf_write_pc(${folder} meshtf-onednn "meshtf with oneDNN: products in single precision" "Requires: meshtf"
    "Cflags: -DMESHTF_WITH_ONEDNN=1" "Libs: -ldnnl")
  meshtf_write_pc(${folder} meshtf-jansson "meshtf with jansson: checkpoints" "Requires: meshtf jansson" "Cflags: -DMESHTF_WITH_JANSSON=1")
  meshtf_write_pc(${folder} meshtf-zlib "meshtf with zlib: checksums, compressed data" "Requires: meshtf zlib" "Cflags: -DMESHTF_WITH_ZLIB=1")
  meshtf_write_pc(${folder} meshtf-xxhash "meshtf with xxHash: fast hashes of checkpoints" "Requires: meshtf libxxhash"
    "Cflags: -DMESHTF_WITH_XXHASH=1")
  meshtf_write_pc(${folder} meshtf-sentencepiece "meshtf with sentencepiece: a tokenizer" "Requires: meshtf sentencepiece"
    "Cflags: -DMESHTF_WITH_SENTENCEPIECE=1")
endfunction()
