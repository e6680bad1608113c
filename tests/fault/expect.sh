#!/bin/bash
# Passes if a command fails well: expect.sh STATUS REGEX SECONDS COMMAND [ARGUMENT...]
#
# It must end within SECONDS, with the exit status STATUS (a number, or `nonzero`), and say exactly one line that begins with "meshtf:"; that
# line must match the extended regular expression REGEX.
set -u
expected=$1 words=$2 seconds=$3
shift 3
export MESHTF_PATIENCE=${MESHTF_PATIENCE:-0}   # a machine that is busy makes processes wait, and they would say so
export OMPI_MCA_odls_base_sigkill_timeout=0     # mpirun would wait two seconds for processes that have ended
run() {
  said=$(timeout -k 5 "$seconds" "$@" 2>&1 </dev/null)
  status=$?
}
run "$@"
# Open MPI 4.1.4's mpirun sometimes crashes when it has ended a job. The status is then that of its own end, so the job is run again.
if [ $status -gt 128 ] && [[ $said == *PMIx_server_finalize* ]]; then run "$@"; fi
fail() { printf '%s\n--- the command: %s\n--- status %s, and it said:\n%s\n' "$1" "$cmd" "$status" "$said"; exit 1; }
cmd=$*

[ $status -ne 124 ] || fail "expected an end within $seconds seconds"
if [ "$expected" = nonzero ]; then
  [ $status -ne 0 ] || fail "expected a status other than 0"
else
  [ $status -eq "$expected" ] || fail "expected status $expected"
fi
count=$(grep -c '^meshtf:' <<<"$said")
[ "$count" -eq 1 ] || fail "expected one line that begins with 'meshtf:', got $count"
line=$(grep '^meshtf:' <<<"$said")
[[ $line =~ $words ]] || fail "expected a line that matches: $words"
