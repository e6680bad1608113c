#!/usr/bin/env python3
"""The table of the names of layers' arrays in docs/from_pytorch_and_jax.md, between <!-- layers --> and <!-- end of layers -->.

layer_names.py PROGRAM --check | --write     (is it what PROGRAM, made from layer_names.cpp, prints? / put that there)
"""
import subprocess
import sys
from pathlib import Path

page = Path(__file__).parents[2] / "docs/from_pytorch_and_jax.md"
begin, end = "<!-- layers -->\n", "<!-- end of layers -->\n"


def main():
    program, what = sys.argv[1:]
    ran = subprocess.run([program], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"tests/checks/layer_names.cpp and the layers differ:\n{ran.stderr}")
    text = page.read_text()
    if text.count(begin) != 1 or text.count(end) != 1:
        sys.exit(f"expected one line {begin.strip()} and one line {end.strip()} in {page.name}")
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    table = "| here | dimensions | PyTorch |\n|---|---|---|\n" + ran.stdout
    wanted = before + begin + table + end + after
    if what == "--write":
        page.write_text(wanted)
    elif text != wanted:
        sys.exit(f"{page.name} does not have the table that tests/checks/layer_names.cpp prints: tests/checks/layer_names.py {program} --write")


main()
