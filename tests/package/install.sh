#!/bin/bash
# Installs meshtf where its libraries are not found, and moves what was installed: install.sh ROOT PREFIX CMAKE [OPTION...]
set -eu
root=$1 prefix=$2 cmake=$3
shift 3
work=$prefix.work
rm -rf "$prefix" "$work"

"$cmake" -S "$root" -B "$work/build" "$@" -DMESHTF_TESTS=OFF -DMESHTF_EXAMPLES=OFF -DMESHTF_BENCHMARKS=OFF \
  -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
"$cmake" --install "$work/build" --prefix "$work/made"

part() { sed -n "s/^#define MESHTF_VERSION_$1 //p" "$root/include/meshtf/version.hpp"; }
version=$(part MAJOR).$(part MINOR).$(part PATCH)
grep -qF "set(PACKAGE_VERSION \"$version\")" "$work/made/share/cmake/meshtf/meshtf-config-version.cmake" || {
  echo "include/meshtf/version.hpp says $version, the project() of CMakeLists.txt something else: make them equal"
  exit 1
}
traces=(-e "$work")
[[ $root == /*/* ]] && traces+=(-e "$root")   # the name of a tree in /meshtf is a part of other paths
if grep -rF "${traces[@]}" "$work/made"; then
  echo "these installed files name a folder of the machine that made them"
  exit 1
fi
mv "$work/made" "$prefix"
