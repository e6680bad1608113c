#!/bin/bash
# Compiles where MPI, Boost.MPI, xtensor, xsimd, BLAS and oneDNN are not installed: planning_alone.sh FOLDER COMPILER [FLAG...]
#
# FOLDER.COMPILER becomes a copy in links of the system's include folders without these libraries, and the compiler looks there: a folder for each
# compiler, because the tests of two run at the same time.
set -eu
farm=$1.$(basename "$2")
shift
hidden='mpi|mpi.h|mpi-ext.h|openmpi|mpich|cblas.*|cblas-.*|cblas_.*|openblas.*|f77blas.h|dnnl.*|oneapi|xtensor|xtensor-blas|xtl|xsimd|catch2'

links() {   # links FROM TO: TO/x -> FROM/x for all that is not hidden
  local entry seen=()
  for entry in "$1"/*; do
    [[ ${entry##*/} =~ ^($hidden)$ ]] || seen+=("$entry")
  done
  mkdir -p "$2"
  ln -s -t "$2" "${seen[@]}"
}

rm -rf "$farm"
number=0
search=(-nostdinc)
while read -r folder; do
  case $(realpath "$folder") in
    /usr/include|/usr/include/*-linux-gnu|/usr/local/include)
      number=$((number + 1))
      links "$(realpath "$folder")" "$farm/$number"
      if [ -e "$farm/$number/boost" ]; then
        rm "$farm/$number/boost"
        hidden='mpi|mpi.hpp' links "$folder/boost" "$farm/$number/boost"
      fi
      search+=(-isystem "$farm/$number");;
    *) search+=(-isystem "$folder");;
  esac
done < <("$1" -x c++ -E -v /dev/null 2>&1 >/dev/null | sed -n '/^#include </,/^End of search list/{/^ /s/^ //p}')

"$@" "${search[@]}" -DLOOK_FOR   # they are hidden indeed
"$@" "${search[@]}"
