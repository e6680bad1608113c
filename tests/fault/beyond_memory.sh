#!/bin/bash
# Passes if a model trains in a quarter of the memory that it needs: beyond_memory.sh PROCESSES PROGRAM FOLDER TIMES
#
# FOLDER is for arrays that leave memory. PROGRAM compares what it takes with what it was promised to take, and its losses with those of the model in
# memory. Where there are control groups it then trains in one that has no more, with the same losses. There the system kills the model in memory; and it
# pages one in a mapped file, for which the disk must move twice the bytes, and which must take TIMES the seconds a step: on a busy machine, which the
# system's own threads share with the file's, that is less than on a quiet one. Status 77 where FOLDER is memory.
set -u
processes=$1 program=$2 times=$4
export MESHTF_SPILL=$3
here=$(cd "$(dirname "$0")" && pwd)
fail() { printf '%s\n' "$1" "${said-}"; exit 1; }
[ "$(stat -f -c %T "$MESHTF_SPILL")" != tmpfs ] || { echo "skipped: $MESHTF_SPILL is memory"; exit 77; }

said=$("$processes" 1 "$program" 2>&1) || fail "expected a model that needs what was planned"
echo "$said"
limit=$(sed -n 's/^limit \([0-9]*\)$/\1/p' <<<"$said")
losses() { grep -m1 '^losses' <<<"$1"; }
seconds() { sed -n 's/^seconds \([0-9.]*\),.*/\1/p' <<<"$1" | head -1; }
moved() { sed -n 's/^seconds .*MiB read \([0-9.]*\), written \([0-9.]*\);.*/\1 \2/p' <<<"$1" | awk 'NR == 1 { print $1 + $2 }'; }
at_least() { awk -v x="$1" -v times="$2" -v y="$3" 'BEGIN { exit !(x >= times * y) }'; }   # X TIMES Y

. "$here/memory_group.sh"
make_group || { echo "no control group may be made: VmHWM alone was compared"; exit 0; }
trap remove_group EXIT
limit_to "$limit" || { echo "memory can't be limited: VmHWM alone was compared"; exit 0; }
inside() { "$processes" 1 bash -c "echo \$\$ >$group/cgroup.procs && exec $program $1" 2>&1; }   # the launcher stays outside

in_memory=$(losses "$said")
"$here/expect.sh" 137 "got one killed by SIGKILL" 60 "$processes" 1 bash -c "echo \$\$ >$group/cgroup.procs && exec $program in_memory" || exit 1
echo "in memory: killed"
for try in 1 2 3; do   # others may have the disk or the processor for a while
  for where in in_file paged; do
    said=$(inside $where) || fail "$where: expected status 0 within $limit bytes"
    [ "$(losses "$said")" = "$in_memory" ] || fail "$where: expected the same losses within $limit bytes: $in_memory"
    echo "$where: the same losses; $(grep '^seconds' <<<"$said")"
    declare "$where=$(seconds "$said")" "moved_$where=$(moved "$said")"
  done
  at_least "$moved_paged" 2 "$moved_in_file" || fail "expected twice the bytes of $moved_in_file MiB in a mapped file, got $moved_paged"
  at_least "$paged" "$times" "$in_file" && exit 0
done
fail "expected $times times the seconds in a mapped file"
