#!/bin/bash
# Passes if a job ends as planned where memory is limited: memory_limit.sh PROCESSES PROGRAM
#
# PROGRAM says how much it will take. In a control group with that and 200 MiB it runs; in one with three quarters of it the system kills it: 137, and
# examples/processes says so. Status 77 where there are no control groups, or none may be made.
set -u
processes=$1 program=$2
here=$(cd "$(dirname "$0")" && pwd)
planned=$("$processes" 1 "$program" | sed -n 's/^planned \([0-9]*\) MiB.*/\1/p')
[ -n "$planned" ] || { echo "expected a plan that is right within a tenth"; exit 1; }
. "$here/memory_group.sh"
make_group || { echo "skipped: no control group may be made"; exit 77; }
trap remove_group EXIT
limit_to $(((planned + 200) << 20)) || { echo "skipped: memory can't be limited"; exit 77; }
bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$processes" 1 "$program" || { echo "expected status 0 with 200 MiB more than planned"; exit 1; }
limit_to $(((planned * 3 / 4) << 20)) || exit 77
# the launcher stays outside: it is to live
"$here/expect.sh" 137 "got one killed by SIGKILL" 60 "$processes" 1 bash -c "echo \$\$ >$group/cgroup.procs && exec $program"
