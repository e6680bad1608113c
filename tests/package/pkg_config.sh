#!/bin/bash
# Builds programs with what pkg-config says of the installed tree, and runs them: pkg_config.sh headers|kernels PREFIX FOLDER MPIRUN COMPILER...
#
# core.cpp with each of the compilers; runtime.cpp with mpicxx, which calls the last: with the headers alone, or with its kernels in one source, as
# docs/install.md says it for programs without CMake (the target meshtf::compiled has four). They are compiled with -fopenmp, which must change nothing:
# threads are our own. Without pkg-config, or the files of the libraries that meshtf's ask for, it is skipped (status 77).
set -u
with=$1 prefix=$2 folder=$3 mpirun=$4
shift 4
here=$(cd "$(dirname "$0")" && pwd)
export PKG_CONFIG_PATH=$prefix/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
command -v pkg-config >/dev/null || { echo "skipped: no pkg-config here: apt install pkg-config"; exit 77; }
mkdir -p "$folder"
fail() { echo "pkg_config.sh: $1"; exit 1; }

read -ra core <<<"$(pkg-config --cflags --libs meshtf-core)"
[ ${#core[@]} = 1 ] || fail "expected the folder of the headers alone for meshtf-core, got '${core[*]}'"
for compiler in "$@"; do
  kind=gcc
  [[ $compiler != *clang* ]] || kind=clang
  read -ra steps <<<"$(pkg-config --variable=${kind}_flags meshtf-core)"
  [ ${#steps[@]} = 1 ] || fail "expected an option for $kind, got '${steps[*]}'"
  "$compiler" -std=c++20 "${steps[@]}" "$here/core.cpp" -o "$folder/core" "${core[@]}" && "$folder/core" || fail "core.cpp with $compiler"
done

command -v mpicxx >/dev/null || { echo "skipped: no mpicxx here"; exit 77; }
pkg-config --exists meshtf meshtf-jansson || { pkg-config --print-errors --exists meshtf meshtf-jansson; echo "skipped: they lack their files for pkg-config"; exit 77; }
read -ra all <<<"$(pkg-config --cflags --libs meshtf meshtf-jansson)"
[[ " ${all[*]} " == *" -DMESHTF_WITH_JANSSON=1 "* && " ${all[*]} " == *" -ljansson "* ]] || fail "expected jansson to be asked for, got '${all[*]}'"
export OMPI_CXX=${!#} MPICH_CXX=${!#}   # clang, if there is one: it takes half as long for all kernels as g++
if [ "$with" = headers ]; then
  mpicxx -std=c++20 -fopenmp -c "$here/runtime.cpp" -o "$folder/runtime.o" "${all[@]}" || fail "runtime.cpp does not build"
  mpicxx "$folder/runtime.o" -o "$folder/runtime" "${all[@]}" || fail "runtime.cpp does not link"
  "$mpirun" 2 "$folder/runtime" </dev/null || fail "runtime.cpp does not run"
  exit
fi
echo '#include <meshtf/compiled.hpp>' >"$folder/kernels.cpp"
mpicxx -std=c++20 -fopenmp -c "$folder/kernels.cpp" -o "$folder/kernels.o" "${all[@]}" || fail "kernels.cpp does not build"
mpicxx -std=c++20 -fopenmp -DMESHTF_COMPILED -c "$here/runtime.cpp" -o "$folder/runtime.o" "${all[@]}" || fail "runtime.cpp does not build"
mpicxx "$folder/runtime.o" "$folder/kernels.o" -o "$folder/runtime" "${all[@]}" || fail "runtime.cpp and kernels.cpp are not one program"
"$mpirun" 2 "$folder/runtime" </dev/null || fail "runtime.cpp does not run"
