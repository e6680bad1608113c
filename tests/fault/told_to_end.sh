#!/bin/bash
# Passes if examples/processes, told to end by a signal, ends with 128 + its number and says its name: told_to_end.sh PROCESSES SIGNAL STATUS
set -um   # with jobs of their own groups, so that SIGINT is not ignored
said=$(mktemp)
"$1" 2 sleep 50 2>"$said" &
job=$!
sleep 2
kill -"$2" $job
wait $job
status=$?
count=$(grep -c '^meshtf:' "$said")
right=$(grep -c "^meshtf: .* got SIG$2, which has ended them (status $3)$" "$said")
cat "$said"
rm -f "$said"
[ $status -eq "$3" ] && [ "$count" -eq 1 ] && [ "$right" -eq 1 ] || { echo "expected status $3 and one line with SIG$2, got status $status"; exit 1; }
