#!/bin/bash
# What MESHTF_TRACE writes is JSON of four processes, and a collective has one number on all: trace.sh PROCESSES PROGRAM FILE
set -u
mpirun=$1 program=$2 file=$3
command -v python3 >/dev/null || { echo "no python3 here, which reads the trace"; exit 77; }
MESHTF_TRACE=$file MESHTF_TRACE_STEPS=2:3 "$mpirun" 4 "$program" </dev/null >/dev/null || exit 1
python3 - "$file" <<'END'
import collections, json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
assert {e["pid"] for e in events} == {0, 1, 2, 3}, "tracks of four processes"
slices = [e for e in events if e["ph"] == "X"]
assert {e["args"]["step"] for e in slices if "step" in e["args"]} == {2, 3}, "the steps that were asked for"
assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in slices)
for category in "forward", "backward", "optimizer", "collective", "transfer", "step":
    assert any(e["cat"] == category for e in slices), category
calls = collections.defaultdict(list)
for e in slices:
    if e["cat"] == "collective":
        a = e["args"]
        calls[a["mesh"], a["number"]].append((e["name"], a["over"], a["type"], a["payload"], a["call site"]))
assert all(len(c) == 4 and len(set(c)) == 1 for c in calls.values()), "one call of four processes to each number"
counters = [e for e in events if e["ph"] == "C"]
assert counters and all(e["args"]["bytes"] > 0 for e in counters)
print(len(slices), "slices,", len(calls), "collectives")
END
