#!/usr/bin/env python3
"""Programs on simulated ranks: simulated.py MPIRUN FOLDER [--programs NAME...] [--ranks N...] [--seeds S...]

Each program of tests/simulated runs on 4 real processes (FOLDER has it, compiled) and on N simulated ranks, which are a square, on the default network
and on those of the seeds, with MESHTF_CHECK=1: the losses must be the same to 1e-6, and no run may end in a deadlock, or take more memory
than examples/simulate expects before it begins. Then a rank that leaves out a step
must be missed. Ends with 77 (skipped) if SimGrid can't be had, and where CI is set a skip is a failure.
"""
import argparse
import math
import os
import re
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]
wrong = []


def losses(words, command, **environment):
    """The numbers of each line `loss NAME ...`; None if the run failed."""
    run = subprocess.run(command, capture_output=True, text=True, timeout=3000, env=os.environ | environment)
    if run.returncode == 69:
        print(run.stderr.strip().splitlines()[-1])
        sys.exit(1 if os.environ.get("CI") else 77)
    if run.returncode != 0 or "Deadlock detected" in run.stdout + run.stderr:
        wrong.append(f"{words}: expected it to end, got status {run.returncode} and\n" + "\n".join((run.stdout + run.stderr).splitlines()[-20:]))
        return None
    found, took = {}, None
    for line in run.stdout.splitlines():
        if line.startswith("loss "):
            _, name, *numbers = line.split()
            found[name] = [float(n) for n in numbers]
        elif "simulated time" in line:
            print(f"{words}: {line}", flush=True)
        elif fits := re.match(r"meshtf: took ([0-9.]+) s \(([0-9.]+) s of processor\) and ([0-9]+) MiB, expected up to ([0-9]+) MiB", line):
            print(f"{words}: {line}", flush=True)
            took = fits
    if took and int(took[3]) > int(took[4]):
        wrong.append(f"{words}: expected no more memory than it said before, got {took[0]}")
    if not found:
        wrong.append(f"{words}: expected losses, got {run.stdout!r}")
    return found


def same(a, b):
    return a.keys() == b.keys() and all(
      len(a[k]) == len(b[k]) and all(math.isclose(x, y, rel_tol=1e-6) for x, y in zip(a[k], b[k])) for k in a)


def simulate(ranks, program, *more):
    side = str(math.isqrt(ranks))
    return [root / "examples/simulate", str(ranks), root / f"tests/simulated/{program}.cpp", f"-DROWS={side}", f"-DCOLUMNS={side}", *more]


arguments = argparse.ArgumentParser()
arguments.add_argument("mpirun")
arguments.add_argument("folder", type=Path)
arguments.add_argument("--programs", nargs="+", default=["perceptron", "transformer", "pipeline", "experts", "kept_over", "ragged"])
arguments.add_argument("--ranks", nargs="+", type=int, default=[16, 64, 256])
arguments.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
asked = arguments.parse_args()

for program in asked.programs:
    real = losses(f"{program} on 4 processes", [asked.mpirun, "4", asked.folder / f"simulated_{program}"], MESHTF_CHECK="1")
    for ranks in asked.ranks:
        networks = [[]] + [["--seed", str(s), "--check"] for s in asked.seeds]
        for network in networks:
            words = " ".join([program, "on", str(ranks), "ranks", *network])
            got = losses(words, simulate(ranks, program, *network))
            if real and got and same(real, got):
                print(f"{words}: losses equal to those of 4 processes", flush=True)
            elif real and got:
                wrong.append(f"{words}: expected the losses of 4 processes,\n  {real}, got\n  {got}")

# A rank that is missed is found: SMPI itself ends with 0 where others wait for it, and aborts where they send to it.
program = asked.programs[0]
run = subprocess.run(simulate(min(asked.ranks), program), capture_output=True, text=True, timeout=600, env=os.environ | {"LEAVES_EARLY": "3"})
if run.returncode != 70 or not any(words in run.stderr for words in ["got a deadlock", "got rank 3, which ended"]):
    wrong.append(f"{program} without rank 3: expected status 70, and a deadlock or the rank's number, got {run.returncode} and {run.stderr[-300:]!r}")

for words in wrong:
    print(words)
sys.exit(1 if wrong else 0)
