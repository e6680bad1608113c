#!/bin/bash
# Units that do not belong into one program: the linker says which choice differs. one_program.sh ROOT COMPILER
set -u
root=$1 compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 70

unit() {   # NAME FLAG...: a unit that knows what all units of a program must agree on
  local name=$1
  shift
  echo '#include <meshtf/runtime/one_program.hpp>' >"$name.cpp"
  "$compiler" -std=c++20 -I"$root/include" "$@" -c "$name.cpp" -o "$name.o" || exit 70
}
echo '#define MESHTF_COMPILED_PART 1
#define MESHTF_COMPILED_START 1
#include <meshtf/runtime/one_program.hpp>' >part.cpp
"$compiler" -std=c++20 -I"$root/include" -c part.cpp -o part.o || exit 70
echo 'int main() {}' >main.cpp
"$compiler" -c main.cpp -o main.o || exit 70
unit plain
unit also_plain
unit compiled -DMESHTF_COMPILED
unit also_compiled -DMESHTF_COMPILED
unit onednn -DMESHTF_WITH_ONEDNN=1
unit off -DMESHTF_WITH_ONEDNN=0
sed -E 's/(compiled_part_of_meshtf_##a##_##b##_##c)/\1##_or_later/' "$root/include/meshtf/runtime/one_program.hpp" >later.hpp
echo '#include "later.hpp"' >later.cpp
"$compiler" -std=c++20 -I"$root/include" -I. -DMESHTF_COMPILED -c later.cpp -o later.o || exit 70

failed=0
links() {
  "$compiler" main.o "$@" -o program 2>words || { echo "expected $* to be one program, the linker says:"; cat words; failed=1; }
}
refused() {   # WORDS OBJECT...
  local says=$1
  shift
  if "$compiler" main.o "$@" -o program 2>words; then echo "expected $* to be refused, they are linked"; failed=1
  elif ! grep -q "$says" words; then echo "expected the linker to say '$says' of $*, it says:"; cat words; failed=1
  fi
}
links plain.o also_plain.o off.o
links compiled.o also_compiled.o part.o
refused units_with_and_without_MESHTF_COMPILED plain.o compiled.o part.o
refused units_with_and_without_MESHTF_COMPILED plain.o part.o
refused units_with_and_without_MESHTF_WITH_ONEDNN plain.o onednn.o
refused compiled_part_of_meshtf_0 compiled.o
refused compiled_part_of_meshtf_.*_or_later later.o part.o
exit $failed
