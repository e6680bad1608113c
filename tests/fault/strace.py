#!/usr/bin/env python3
"""Compares the calls that save_faults counts with those that strace sees: strace.py PROGRAM FOLDER

The program marks where a save begins and ends, and says of each process how many calls it has counted. strace must see as many between the marks:
those with a path in FOLDER, and those with a file. Status 77 where strace is not there, or may not trace."""
import collections, re, shutil, subprocess, sys, tempfile

program, folder = sys.argv[1:]
calls = "openat,write,pwrite64,fsync,rename,renameat2,unlink,rmdir,mkdir"
if shutil.which("strace") is None:
    print("skipped: there is no strace: apt install strace")
    sys.exit(77)
with tempfile.NamedTemporaryFile("r") as log:
    ran = subprocess.run(["strace", "-f", "-o", log.name, "-e", "trace=access," + calls, program, folder, "count"],
                         capture_output=True, text=True, timeout=60)
    lines = log.read().splitlines()
if "ptrace" in ran.stderr and "Operation not permitted" in ran.stderr:
    print("skipped: strace may not trace here:", ran.stderr)
    sys.exit(77)
assert ran.returncode == 0, ran
counted = {int(p): int(n) for p, n in re.findall(r"process (\d+): (\d+) calls", ran.stdout)}

seen = collections.Counter()
begun = set()
for line in lines:
    match = re.match(r"(\d+)\s+(\w+)\((.*)", line)   # not what strace says of a call that goes on: "<... fsync resumed>"
    if not match:
        continue
    process, call, rest = int(match[1]), match[2], match[3]
    if call == "access":
        if "/begins" in rest:
            begun.add(process)
        elif "/ends" in rest:
            begun.discard(process)
    elif process in begun and (call in ("write", "pwrite64", "fsync") or folder in rest):
        seen[process] += 1
print("counted", counted, "strace", dict(seen))
assert len(counted) == 4 and counted == dict(seen), lines
print(f"{sum(counted.values())} calls, and strace sees as many")
