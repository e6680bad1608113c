"""The score of translations: sacrebleu, in an environment of its own, and the files it compares."""
import json
import subprocess
import sys

from packages import stop
from pairs import Pair

version = "2.5.1"  # of sacrebleu
scored_sets = ("random", "held_out")


def read_pairs(file):
    if not file.is_file():
        stop(66, f"expected the pairs in {file}, got no such file: make them with examples/translate --text")
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    if bad := next((n for n, row in enumerate(rows, 1) if len(row) != 4), 0):
        stop(65, f"expected 4 columns in line {bad} of {file}, got {len(rows[bad - 1])}: make it anew with examples/translate --text")
    return [Pair(*row) for row in rows]


def lines(texts):
    return "".join(text + "\n" for text in texts)


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
