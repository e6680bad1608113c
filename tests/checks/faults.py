#!/usr/bin/env python3
"""Each of the failures F1 to F20 has a test, and docs/reliability.md says which: faults.py LISTED PAGE

LISTED is what tests/fault/labels.cmake writes: on each line a number and its tests. Each number must have one at least, and a row in the table of PAGE;
each test that the row names must be one of them, or the beginning of its name, unless it is of the programs that build/zoo has."""
import pathlib, re, sys

listed, page = (pathlib.Path(name).read_text() for name in sys.argv[1:])
tests = {words[0]: words[1:] for words in map(str.split, listed.splitlines())}
rows = dict(re.findall(r"^\| (F\d+) \|(.*)\|$", page, re.M))
of_zoo = ("run.io", "run.optim", "run.uneven_shards", "run.pipeline")
wrong = []
for number in (f"F{i}" for i in range(1, 21)):
    if not tests.get(number):
        wrong.append(f"expected a test that shows {number}, got none: name one in tests/fault/listed.txt")
    if number not in rows:
        wrong.append(f"expected a row for {number} in the table of docs/reliability.md, got none")
        continue
    named = re.findall(r"`((?:fault|run|example)\.[^`]*)`", rows[number])
    if not named:
        wrong.append(f"expected the row of {number} to name a test, got none")
    for name in named:
        if name not in of_zoo and not any(test.startswith(name) for test in tests.get(number, [])):
            wrong.append(f"expected a test {name} with the label {number}, got {' '.join(tests.get(number, []))}")
for number in rows.keys() - {f"F{i}" for i in range(1, 21)}:
    wrong.append(f"expected F1 to F20, got a row for {number}")
print("\n".join(wrong) or f"{len(tests)} failures, {sum(map(len, tests.values()))} tests")
sys.exit(1 if wrong else 0)
