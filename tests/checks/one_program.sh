#!/bin/bash
# Translation units that do not belong into one program: every linker says which choice differs. one_program.sh ROOT COMPILER
set -u
root=$1 compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 70
headers=$root/include

unit() {   # NAME FLAG...: a translation unit that knows what all translation units of a program must agree on
  local name=$1
  shift
  echo '#include <meshtf/runtime/one_program.hpp>' >"$name.cpp"
  "$compiler" -std=c++20 -I"$headers" "$@" -c "$name.cpp" -o "$name.o" || exit 70
}
echo '#define MESHTF_COMPILED_PART 1
#define MESHTF_COMPILED_START 1
#include <meshtf/runtime/one_program.hpp>' >part.cpp
"$compiler" -std=c++20 -I"$headers" -c part.cpp -o part.o || exit 70
echo 'int main() {}' >main.cpp
"$compiler" -c main.cpp -o main.o || exit 70
unit plain
unit also_plain
unit compiled -DMESHTF_COMPILED
unit also_compiled -DMESHTF_COMPILED
for library in ONEDNN JANSSON ZLIB XXHASH SENTENCEPIECE; do
  unit with_$library -DMESHTF_WITH_$library=1
  unit also_with_$library -DMESHTF_WITH_$library=1
  unit without_$library -DMESHTF_WITH_$library=0
done
# Another version of the same headers.
cp -r "$headers" later
sed -i -E 's/(MESHTF_VERSION_PATCH) .*/\1 100/' later/meshtf/version.hpp
headers=later
unit later
unit later_compiled -DMESHTF_COMPILED
headers=$root/include

failed=0
for linker in '' bfd gold lld mold; do
  use=${linker:+-fuse-ld=$linker}
  # shellcheck disable=SC2086
  "$compiler" $use main.o -o program 2>words || { [ -n "$linker" ] && continue; cat words; exit 70; }   # it is not installed
  links() {
    # shellcheck disable=SC2086
    "$compiler" $use main.o "$@" -o program 2>words || { echo "expected $* to be one program, the linker $linker says:"; cat words; failed=1; }
  }
  refused() {   # WORDS OBJECT...
    local says=$1
    shift
    # shellcheck disable=SC2086
    if "$compiler" $use main.o "$@" -o program 2>words; then echo "expected the linker $linker to refuse $*, they are linked"; failed=1
    elif ! grep -q "$says" words; then echo "expected the linker $linker to say '$says' of $*, it says:"; cat words; failed=1
    fi
  }
  links plain.o also_plain.o without_ONEDNN.o without_JANSSON.o without_ZLIB.o without_XXHASH.o without_SENTENCEPIECE.o
  links compiled.o also_compiled.o part.o
  refused units_with_and_without_MESHTF_COMPILED plain.o compiled.o part.o
  refused units_with_and_without_MESHTF_COMPILED plain.o part.o
  for library in ONEDNN JANSSON ZLIB XXHASH SENTENCEPIECE; do
    links with_$library.o also_with_$library.o
    refused units_with_and_without_MESHTF_WITH_$library plain.o with_$library.o
    refused units_with_and_without_MESHTF_WITH_$library with_$library.o without_$library.o
  done
  refused compiled_part_of_meshtf_0 compiled.o
  refused units_of_different_versions plain.o later.o
  refused units_of_different_versions later_compiled.o part.o
done

# The same where all translation units are optimised as one, and where the header was precompiled.
use=-flto linker=-flto
if "$compiler" -flto main.cpp -o program 2>/dev/null; then
  for name in plain also_plain with_ONEDNN; do
    mv $name.o $name.own.o
    [ $name = with_ONEDNN ] && flag=-DMESHTF_WITH_ONEDNN=1 || flag=
    # shellcheck disable=SC2086
    unit $name -flto $flag
  done
  links plain.o also_plain.o also_plain.own.o
  refused units_with_and_without_MESHTF_WITH_ONEDNN plain.o with_ONEDNN.o
  refused units_with_and_without_MESHTF_WITH_ONEDNN plain.o with_ONEDNN.own.o
fi
use=
echo '#include <meshtf/runtime/one_program.hpp>' >all.hpp
echo '#include "all.hpp"' >precompiled.cpp
if [[ $compiler == *clang* ]]; then
  "$compiler" -std=c++20 -I"$headers" -x c++-header all.hpp -o all.pch && "$compiler" -std=c++20 -I"$headers" -include-pch all.pch -c precompiled.cpp
else
  "$compiler" -std=c++20 -I"$headers" -x c++-header all.hpp && "$compiler" -std=c++20 -I"$headers" -Winvalid-pch -c precompiled.cpp
fi || exit 70
links precompiled.o also_plain.own.o
refused units_with_and_without_MESHTF_WITH_ONEDNN precompiled.o with_ONEDNN.own.o

# Whatever header a program includes alone.
for header in runtime/environment runtime/process_mesh runtime/collectives data/idx io/safetensors io/safetensors_reader io/safetensors_writer; do
  "$compiler" -std=c++20 -I"$headers" -DMESHTF_WITH_JANSSON=1 -DMESHTF_WITH_ZLIB=1 -M -MG "$headers/meshtf/$header.hpp" 2>words | grep -q runtime/one_program.hpp ||
    { echo "expected meshtf/$header.hpp to include meshtf/runtime/one_program.hpp"; cat words; failed=1; }
done
exit $failed
