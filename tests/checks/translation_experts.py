#!/usr/bin/env python3
"""The translation program with experts: translation_experts.py MPIRUN PROGRAM DENSE FOLDER (examples/translation.cpp, built as tiny with EXPERTS=8 and without)

On the pairs and the vocabulary that translation_program.py has left in FOLDER: the losses of ten steps on 4 processes, which have two experts each, are those of one; a
step has as many flops as without experts, to 2 %; a checkpoint of 4 processes translates on one as on 4, and the program without experts refuses it. Without FOLDER:
skipped (77).
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

mpirun, *places = sys.argv[1:5]
program, dense, folder = (Path(place).resolve() for place in places)
text, saved = folder / "text", folder / "saved_experts"
common = ["--folder", text, "--vocabulary", folder / "one.model"]
wrong = []


def run(processes, which, *options):
    return subprocess.run([mpirun, str(processes), which, *map(str, (*common, *options))], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def good(words, processes, which, *options):
    done = run(processes, which, *options)
    if done.returncode:
        sys.exit(f"{words}: expected status 0, got {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def losses(said):
    return [float(loss) for loss in re.findall(r"^step +[0-9]+ +loss ([0-9.]+)", said, re.M)]


def teraflop(said):
    return float(re.search(r"([0-9.]+) Tflop a step", said)[1])


def check_losses_and_flops():
    steps = ["--compare", 2, "--steps", 10, "--every", 1, "--layout"]
    one = good("training", 1, program, *steps, "replicated")
    four = good("training", 4, program, *steps, "data", "--checkpoint", saved)
    pairs = list(zip(losses(one), losses(four)))
    if len(pairs) != 10 or not all(abs(a - b) <= 1e-3 for a, b in pairs):
        wrong.append(f"expected ten losses on 4 processes as on one, to 0.001, got {pairs}")
    row = re.search(r"^data +[0-9.]+ +([0-9]+) +([0-9]+) +([0-9]+) +([0-9]+) ", four, re.M)
    if not row or row[1] != row[2] or row[3] != row[4] or row[1] == "0":
        wrong.append(f"expected messages as promised, got {four}")
    ratio = teraflop(four) / teraflop(good("training", 1, dense, "--steps", 1, "--compare", 0))
    if not abs(ratio - 1) <= 0.02:
        wrong.append(f"expected as many flops as without experts, to 2 %, got {ratio:.4f} times as many")


def check_translation():
    (folder / "two").write_text("The first sentence\nA second one, longer than that\n")
    options = ["--checkpoint", saved, "--translate", folder / "two", "--to"]
    for processes in (1, 4):
        good("translating", processes, program, *options, folder / f"two.{processes}")
    if (folder / "two.1").read_text() != (folder / "two.4").read_text():
        wrong.append(f"expected one translation on 1 and 4 processes, got {(folder / 'two.1').read_text()!r} and {(folder / 'two.4').read_text()!r}")
    refused = run(1, dense, *options, folder / "two.dense")
    if refused.returncode != 65 or "experts" not in refused.stdout + refused.stderr:
        wrong.append(f"expected the program without experts to refuse the checkpoint (65), got {refused.returncode}: {refused.stderr}")


def main():
    if not (text / "train.tsv").is_file():
        print(f"skipped: no pairs in {text}: example.translation makes them")
        return 77
    shutil.rmtree(saved, ignore_errors=True)
    check_losses_and_flops()
    check_translation()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
