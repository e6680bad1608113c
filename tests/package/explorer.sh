#!/bin/bash
# The program for Compiler Explorer with the one header: it prints who holds what and why something is sent, and its mistake is refused in the user's
# names: explorer.sh ROOT FOLDER COMPILER (FOLDER has meshtf_core.hpp)
set -u
root=$1 folder=$2 compiler=$3
program=$root/docs/packaging/compiler_explorer.cpp made=$folder/explorer.${3##*/}
flags=(-std=c++20 -Wall -Wextra -Werror -I"$folder")
"$compiler" "${flags[@]}" "$program" -o "$made" || exit 1
said=$("$made")
for words in 'rank 7  ' 'all_reduce  cols .*einsum, .*hidden is summed and split over cols'; do
  grep -q "$words" <<<"$said" || { printf 'expected a line with: %s\n%s\n' "$words" "$said"; exit 1; }
done
exec "$root/tests/must_not_compile/expect.sh" "$program" "$compiler" "${flags[@]}" -DMISTAKE -fsyntax-only -fdiagnostics-color=never "$program"
