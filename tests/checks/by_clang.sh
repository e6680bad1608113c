#!/bin/bash
# Clang compiles what g++ was asked to compile: by_clang.sh CLANG COMPILER [LAUNCHER...] COMPILER ARGUMENT...
#
# A launcher in the sense of CMake's CXX_COMPILER_LAUNCHER: each argument that g++ alone understands is left out, or becomes clang's. A
# header is precompiled with the rest of the target, so what g++ finds as x.hxx.gch is clang's here. Clang 18 and newer write the concepts
# of a template's parameters into its symbol, which g++ 12 does not, and the compiled library is g++'s: they are told not to.
set -u
clang=$1 compiler=$2 precompiles=
shift 2
command=()
while [ $# -gt 0 ]; do
  case $1 in
    "$compiler") command+=("$clang" -fclang-abi-compat=17 -Wno-invalid-feature-combination);;
    --param) shift;;
    -fpch-preprocess) command+=(-Xclang -fno-pch-timestamp);;
    -fconstexpr-ops-limit=*) command+=(-fconstexpr-steps=100000000);;
    -Winvalid-pch | -Wduplicated-branches | -Wlogical-op) ;;
    c++-header) command+=("$1" -Xclang -fpch-instantiate-templates) precompiles=yes;;
    -include)
      if [[ -z $precompiles && $2 == */cmake_pch.hxx ]]; then command+=(-include-pch "$2.gch"); else command+=(-include "$2"); fi
      shift;;
    *) command+=("$1");;
  esac
  shift
done
exec "${command[@]}"
