#!/bin/bash
# Passes if a job that does not go on ends well: standstill.sh REGEX "RANKS" COMMAND [ARGUMENT...]
#
# It ends with status 75 and says one line, which matches REGEX (expect.sh); the processes RANKS have written their last collectives, in JSON.
set -u
here=$(cd "$(dirname "$0")" && pwd)
words=$1 ranks=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export MESHTF_CHECK=0 MESHTF_TIMEOUT=${MESHTF_TIMEOUT-4}
"$here/expect.sh" 75 "$words" 30 "$@" || exit 1
for rank in $ranks; do
  python3 - "$rank" <<'END' || { ls -lR "$folder"; exit 1; }
import glob, json, sys
ring = json.load(open(glob.glob(f"meshtf-rings-*/{sys.argv[1]}.json")[0]))
numbers = [call["number"] for call in ring["last"]]
assert ring["process"] == int(sys.argv[1]) and ring["does"].startswith(("waits ", "computes ")), ring
assert numbers == list(range(1, ring["collectives"] + 1)), numbers
assert all(call["us"] >= 0 for call in ring["last"][:-1]), ring
assert (ring["last"][-1]["us"] == -1) == ring["does"].startswith("waits "), ring
END
done
grep -qE "$words" meshtf-rings-*/report.txt || { echo "expected report.txt with the same line, got:"; cat meshtf-rings-*/report.txt; exit 1; }
