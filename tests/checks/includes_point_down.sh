#!/bin/bash
# Dependencies point strictly down: a file of include/meshtf/X/ includes only the folders named for X here, and only the libraries named for X.
set -u
shopt -s globstar nullglob
cd "$1/include/meshtf" || exit 66

# folder | folders of ours it may include, besides itself | what it may include of Boost, MPI, BLAS, oneDNN, xsimd, xtensor, zlib, jansson, xxHash and sentencepiece
# A folder in a folder has the rule of the outer one: ops/reduce/ that of ops. What search/ and explain/ answer only planning.hpp includes.
rules='
core    |                                                    | boost/hana
plan    | core                                               | boost/hana
price   | core plan                                          | boost/hana
tensor  | core plan price                                    | boost/hana
ops     | core plan price tensor                             | boost/hana
nn      | core plan price tensor ops                         | boost/hana
optim   | core plan price tensor ops nn                      | boost/hana
search  | core plan price tensor ops optim                   | boost/hana
explain | core plan price tensor                             | boost/hana
kernel  | core plan                                          | boost/hana cblas dnnl xsimd xtensor xtl
runtime | core plan price kernel                             | boost/hana boost/mpi boost/serialization mpi.h xtensor xtl
data    | core plan price tensor ops nn optim kernel runtime io | boost/hana xtensor xtl zlib sentencepiece
io      | core plan price tensor ops nn optim kernel runtime | boost/hana xtensor xtl zlib jansson xxhash
detail  |                                                    |
'
allowed() {   # allowed WHAT LIST: one of the list is WHAT or begins it
  local entry
  for entry in $2; do
    case $1 in "$entry"|"$entry"/*|"$entry".*|"$entry"_*) return 0;; esac
  done
  return 1
}

bad=0
for file in */**/*.hpp; do
  folder=${file%%/*}
  rule=$(grep "^$folder  *|" <<<"$rules") || { echo "$file: no rule for the folder '$folder': add it to tests/checks/includes_point_down.sh"; bad=1; continue; }
  IFS='|' read -r _ ours others <<<"$rule"
  while read -r number included; do
    case $included in
      meshtf/version.hpp|meshtf/detail/*) continue;;
      meshtf/*/*) below=${included#meshtf/}; allowed "${below%%/*}" "$folder $ours" || {
          echo "include/meshtf/$file:$number: $folder/ may include of ours:$ours; this is $included"; bad=1; };;
      meshtf/*) echo "include/meshtf/$file:$number: a header in a folder includes no header above the folders; this is $included"; bad=1;;
      boost/*|mpi.h|cblas*|*openblas*|*dnnl*|xsimd/*|xtensor*|xtl/*|zlib.h|jansson.h|xxhash.h|sentencepiece*)
        allowed "$included" "$others" || { echo "include/meshtf/$file:$number: $folder/ may include of the libraries:$others; this is $included"; bad=1; };;
    esac
  done < <(sed -nE '/^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]/{=;s/^[^<"]*[<"]([^>"]*)[>"].*/\1/p}' "$file" | paste -d' ' - -)
done
exit $bad
