#!/usr/bin/env python3
"""A translation memory: what a sentence's nearest neighbour among the training pairs was translated to, and its BLEU.

memory.py FOLDER    the folder with train.tsv, random.tsv and held_out.tsv that text.py made

Writes FOLDER/random.memory.fr and FOLDER/held_out.memory.fr, one line for each pair of the set, and prints sacrebleu's score and signature.
A model that translates is better than this on both sets. sacrebleu comes from PyPI, into a virtual environment next to FOLDER.
"""
import json
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from packages import stop
from pairs import Pair
from sets import neighbours

version = "2.5.1"  # of sacrebleu


def read_pairs(file):
    if not file.is_file():
        stop(66, f"expected the pairs in {file}, got no such file: make them with examples/translate --text")
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    if bad := next((n for n, row in enumerate(rows, 1) if len(row) != 4), 0):
        stop(65, f"expected 4 columns in line {bad} of {file}, got {len(rows[bad - 1])}: make it anew with examples/translate --text")
    return [Pair(*row) for row in rows]


def sacrebleu(environment):
    """The program's path; installed if it is not there."""
    program = environment / "bin/sacrebleu"
    if not program.is_file() or subprocess.run([program, "--version"], capture_output=True).returncode:
        for command, remedy in (([sys.executable, "-m", "venv", "--clear", environment], "install python3-venv"),
                                ([environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", f"sacrebleu=={version}"], "look at the network")):
            if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode:
                stop(69, f"expected to install sacrebleu in {environment}, got the error above: {remedy}")
    return program


def bleu(program, hypotheses, references):
    """(score, signature) of two files of lines."""
    command = [program, references, "-i", hypotheses, "-m", "bleu", "-w", "2", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        stop(70, f"expected sacrebleu to compare {hypotheses} and {references}, got the error above: look at both files")
    result = json.loads(done.stdout)
    return result["score"], result["signature"]


def lines(texts):
    return "".join(text + "\n" for text in texts)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] == ["--help"] else 64
    folder = Path(sys.argv[1]).resolve()
    train = read_pairs(folder / "train.tsv")
    tested = {name: read_pairs(folder / f"{name}.tsv") for name in ("random", "held_out")}
    program = sacrebleu(folder.parent / "sacrebleu")
    memory = neighbours(train)
    print(f"the memory of {len(train)} pairs:")
    for name, pairs in tested.items():
        found = [memory.best(p.english) for p in pairs]
        hypotheses, references = folder / f"{name}.memory.fr", folder / f"{name}.fr"
        hypotheses.write_text(lines(train[at].french for _, at in found), encoding="utf-8")
        references.write_text(lines(p.french for p in pairs), encoding="utf-8")
        score, signature = bleu(program, hypotheses, references)
        mean = sum(index for index, _ in found) / max(len(found), 1)
        print(f"{name:10}{len(pairs):6} pairs  BLEU {score:5.2f}  mean Jaccard index {mean:.3f}  {signature}", flush=True)
        if name == "random" and len(train) > 50000 and score < 20:
            stop(70, f"expected a BLEU of at least 20 of the memory on the random pairs, got {score:.2f}: the memory, or the alignment of the pairs, is broken")
    return 0


if __name__ == "__main__":
    sys.exit(main())
