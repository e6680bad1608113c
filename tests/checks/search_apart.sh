#!/bin/bash
# Operations, layers and optimizers know nothing of the search for a layout: search_apart.sh ROOT FOLDER COMPILER [FLAG...]
#
# FOLDER becomes a copy of include/ without search/ and core/undecided_layout.hpp, in which all headers of plan/, tensor/, ops/, nn/ and optim/
# compile, and a program's dry run. Nor does a header ask in other words whether a layout is decided.
set -eu
root=$1 folder=$2
shift 2
rm -rf "$folder"
mkdir -p "$folder"
cp -r "$root/include" "$folder"
rm -r "$folder/include/meshtf/search" "$folder/include/meshtf/core/undecided_layout.hpp"
cd "$folder/include"
# What the search alone has: the layout, its sizes and loops, and the members that the recorder has and no other machine.
if grep -rnE 'is_undecided|undecided_(layout|size|dim|loops|steps|condition|parts)\b|\b(when_joined|if_holds|ask_in_parts|ask_to_move|move_between|note_send|end_of_sends|may_be_split)\b' \
    meshtf/{core,plan,tensor,ops,nn,optim} | grep -v '^[^:]*:[0-9]*: *//'; then
  echo "these ask for a layout that is not decided: a class template of the layout in the operation's header, which search/ specialises, does it without"
  exit 1
fi

{
  for file in $(find meshtf/{plan,tensor,ops,nn,optim} -name '*.hpp' | sort); do echo "#include <$file>"; done
  cat "$root/tests/checks/search_apart.cpp"
} >../all.cpp
"$@" -I"$folder/include" -fsyntax-only ../all.cpp
