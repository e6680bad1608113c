"""Runs the programs of two trees in turn, and prints how much slower each row became. benchmarks/compare calls it."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=10)
parser.add_argument("--at-most", type=float)
parser.add_argument("--json")
parser.add_argument("processes")
parser.add_argument("before", type=pathlib.Path)
parser.add_argument("programs", nargs="+")
options = parser.parse_args()
after = pathlib.Path(__file__).resolve().parent.parent / "build" / "release" / "benchmarks"

# What ./benchmarks/run starts: processes, threads of each, program, its arguments. A virtual machine has seconds in which it is slower by half, so each
# run is short, and the trees take turns often.
RUNS = [(2, 1, "step", "--rounds", "5"), (1, 1, "step", "--rounds", "10", "--only", "small forward"),
        (2, 1, "language_model_step", "--rounds", "2", "--only", "data"), (2, 1, "language_model_step", "--rounds", "2", "--only", "tensor"),
        (1, 1, "language_model_step", "--rounds", "2"), (1, 2, "language_model_step", "--rounds", "2"),
        (2, 1, "translation_step", "--rounds", "2", "--only", "data"), (2, 1, "translation_step", "--rounds", "2", "--only", "tensor"),
        (1, 1, "translation_step", "--rounds", "2"), (1, 1, "expert_layer", "--rounds", "3"), (1, 1, "operation", "--rounds", "10"),
        (1, 1, "operation_compiled", "--rounds", "10"), (1, 1, "kernels", "--part", "cache", "--rounds", "3"),
        (1, 1, "kernels", "--part", "memory", "--rounds", "3"), (1, 1, "fused", "--rounds", "5"), (1, 1, "convolutions", "--rounds", "2"),
        (2, 1, "convolutions", "--rounds", "2")]
SECONDS = ("median_s", "operation_s")   # of a row, whichever it has


def rows(folder, run):
    """Of one run: whose work it is and what was measured -> seconds."""
    processes, threads, program, *arguments = run
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "rows.json"
        command = [options.processes, str(processes), str(folder / program), *arguments, "--json", str(file)]
        environment = os.environ | ({"MESHTF_THREADS": str(threads)} if threads > 1 else {})
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"expected {' '.join(command)} to end with status 0, got {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
        found = {}
        for row in json.loads(file.read_text()):
            where = f"{program}, {processes} x {threads}" if processes * threads > 1 else program
            name = ": ".join([where, row["what"], *([row["variant"]] if "variant" in row else [])])
            for column in SECONDS:
                if column in row:
                    found[bool(row.get("raw")), name] = row[column]
            if "loop_s" in row:
                found[True, name + ", the loop"] = row["loop_s"]
        return found


def measured():
    """(the same in both trees or not, name) -> seconds before, and after, of each round. Both orders are as frequent."""
    samples = {}
    for index in range(options.rounds):
        for run in RUNS:
            if run[2] not in options.programs:
                continue
            folders = [options.before, after]
            found = {folder: rows(folder, run) for folder in (folders if index % 2 == 0 else reversed(folders))}
            for key in found[after]:
                if key in found[options.before]:
                    pair = samples.setdefault(key, ([], []))
                    for seconds, folder in zip(pair, folders):
                        seconds.append(found[folder][key])
        print(f"round {index + 1} of {options.rounds} done", file=sys.stderr, flush=True)
    return samples


def of_rounds(pair):
    return statistics.median(y / x for x, y in zip(*pair))


def of_least(pair):
    return min(pair[1]) / min(pair[0])


def ratio(pair):
    """What both statistics say at least: a row that is slower is so in the median of the rounds and in the fastest."""
    return min(of_rounds(pair), of_least(pair))


samples = measured()
worst = 0
print(f"{'':<100} {'before us':>12} {'after us':>12} {'ratio':>7} {'of least':>9}")
for (same, name), pair in sorted(samples.items(), key=lambda item: (item[0][0], -ratio(item[1]))):
    if same:
        continue
    worst = max(worst, ratio(pair))
    print(f"{name:<100} {1e6 * statistics.median(pair[0]):12.2f} {1e6 * statistics.median(pair[1]):12.2f} {of_rounds(pair):7.3f} {of_least(pair):9.3f}")
for words, which in (("meshtf's own", False), ("the same in both trees", True)):
    ratios = sorted(ratio(pair) for (same, _), pair in samples.items() if same == which)
    if ratios:
        quantiles = ", ".join(f"{ratios[min(len(ratios) - 1, int(q * len(ratios)))]:.3f}" for q in (0, 0.1, 0.5, 0.9, 1))
        print(f"{words}, {len(ratios)} rows: least, first tenth, median, last tenth and largest ratio {quantiles}")
if options.json:
    table = [{"what": name, "same": same, "before_s": pair[0], "after_s": pair[1], "ratio": ratio(pair)} for (same, name), pair in samples.items()]
    pathlib.Path(options.json).write_text(json.dumps(table, indent=1) + "\n")
sys.exit(options.at_most is not None and worst > 1 + options.at_most / 100)
