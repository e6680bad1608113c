#!/usr/bin/env python3
"""The program of tests/ops/compiled.cpp calls every operation, so that none of them lacks its kernels in a program with a compiled library.
tests/tensor/rejected.cpp, or `all_rejected` in an operation's own test, calls every operation that has operands, so that each of them accepts the result
of one that was refused.

compiled.py [TEST]

Operations are the public functions of the headers in ops/. One that several headers declare, as `softmax` with and without an extra logit, is called
as often.
"""
import re
import sys
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
import catalogue
import reference

root = Path(__file__).parents[2]
test = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "tests/ops/compiled.cpp"

declared = Counter()  # function -> headers
for header in (root / "include/meshtf/ops").rglob("*.hpp"):
    declared.update({name for name, signature, *_ in reference.entries(header, []) if not name.startswith("operator") and re.search(rf"\bauto {name}\(", signature)})

why = "a program with a compiled library must find its kernels"
if test.name == "rejected.cpp":
    why = "after a refused operand the compiler must say nothing more"
    declared = Counter({name: 1 for name in declared if name not in {"iota", "random_uniform", "random_normal"}})  # these have no operands

texts = [test.read_text()]
others = {path: path.read_text() for path in (root / "tests/ops").rglob("*.cpp")}
if test.name == "rejected.cpp":
    texts += re.findall(r"\ball_rejected\(([^;]*)\);", "".join(others.values()))
elif test.name == "compiled.cpp":  # and what else is part of its program
    texts += [text for text in others.values() if re.search(r"^// test: program (\w+ )*compiled\b", text, re.M)]
called = Counter(re.findall(r"\b(\w+)(?=[<(])", re.sub(r"//.*", "", "\n".join(texts))) + catalogue.called_in(texts[0]))
missing = [name for name in sorted(declared) if called[name] < declared[name]]
for name in missing:
    print(f"{test.name} calls {name} {called[name]} times, expected {declared[name]} or more: {why}")
if len(declared) < 80:
    print(f"found {len(declared)} operations, expected 80 or more: their form is no longer what this script reads")
sys.exit(1 if missing or len(declared) < 80 else 0)
