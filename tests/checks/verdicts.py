#!/usr/bin/env python3
"""Every verdict is named in a test, which says of which mistake it is the answer.

A verdict is an empty struct template; errors.py says which of these are no verdicts.
"""
import re
import sys
from pathlib import Path

root = Path(__file__).parents[2]

list_of_others = re.search(r"^no_verdicts = (\{[^}]*\})", (root / "tests/must_not_compile/errors.py").read_text(), re.M)
others = set(re.findall(r'"(\w+)"', list_of_others[1]))
tests = "\n".join(path.read_text() for path in (root / "tests").rglob("*.cpp"))
named = set(re.findall(r"\w+", tests))
missing = [
    f"{path.relative_to(root)}: {name}"
    for path in sorted((root / "include/meshtf").rglob("*.hpp"))
    for name in re.findall(r"^template<[^\n]*\nstruct (\w+) \{\};", path.read_text(), re.M)
    if name not in others and name not in named
]
for verdict in missing:
    print(f"{verdict} is named in no test")
sys.exit(1 if missing else 0)
