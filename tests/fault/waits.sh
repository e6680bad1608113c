#!/bin/bash
# Passes if a command that waits for ever says so: waits.sh REGEX SECONDS COMMAND [ARGUMENT...]
#
# Within SECONDS a line that begins with "meshtf:" must match the extended regular expression REGEX, and it must be said once. The command is ended then.
set -u
words=$1 seconds=$2
shift 2
said=$(mktemp)
"$@" >"$said" 2>&1 </dev/null &
job=$!
end=$((SECONDS + seconds))
until grep -qE "^meshtf:.*$words" "$said" || [ $SECONDS -ge $end ] || ! kill -0 $job 2>/dev/null; do sleep 0.2; done
sleep 2   # it must not be said again
waits=1
kill -0 $job 2>/dev/null || waits=0
kill -TERM $job 2>/dev/null   # examples/processes hands it to mpirun
wait $job
count=$(grep -cE "^meshtf:.*$words" "$said")
text=$(cat "$said")
rm -f "$said"
fail() { printf '%s\n--- the command: %s\n--- it said:\n%s\n' "$1" "$cmd" "$text"; exit 1; }
cmd=$*
[ $waits = 1 ] || fail "expected a command that waits, and it has ended"
[ "$count" -eq 1 ] || fail "expected one line that matches 'meshtf:.*$words', got $count"
