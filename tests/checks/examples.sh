#!/bin/bash
# The first comment of every example says what it shows, how to run it, and what it prints: examples.sh ROOT
#
# That is: a sentence on its first line, a line `Run: ` with the program, which the build has or is a script here, and a line `Prints: `.
set -u
cd "$1/examples" || exit 66
bad=0
say() { echo "examples/$1"; bad=1; }

while IFS= read -r file; do
  comment=$(awk '/^#!/ {next} !/^(\/\/|#)( |$)/ {exit} {sub(/^(\/\/|#) ?/, ""); print}' "$file")
  [[ ${comment%%$'\n'*} =~ ^[A-Z].{20} ]] || say "$file: its first comment says what it shows: it begins with '${comment%%$'\n'*}'"
  run=$(sed -n 's/^Run:  *//p' <<<"$comment")
  case $run in
    '') say "$file: its first comment lacks the line 'Run: ' with what to type";;
    *build/release/examples/*)
      program=${run#*build/release/examples/} program=${program%% *} stem=$(basename "$file" .cpp)
      { [[ ${program//-/_} = "$stem"* ]] && grep -qw -e "$stem" CMakeLists.txt; } ||
        say "$file: its line 'Run: ' names the program '$program', which CMakeLists.txt does not build of it"
      ! grep -q 'environment .*argc\|MPI_Init' "$file" || [[ $run = 'examples/processes '* ]] ||
        say "$file: it runs on processes, so its line 'Run: ' begins with examples/processes";;
    examples/*) program=${run#examples/}; [ -x "${program%% *}" ] || say "$file: its line 'Run: ' names the script '$run', which is not there";;
    *) say "$file: its line 'Run: ' names no program in build/release/examples/ and no script in examples/";;
  esac
  grep -qE '^Prints: .{20}' <<<"$comment" || say "$file: its first comment lacks the line 'Prints: '"
done < <(find . \( -name '*.cpp' -o -name demo -o -name images -o -name translate -o -name generate \) -type f | sed 's,^\./,,' | sort)
exit $bad
