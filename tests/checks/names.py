#!/usr/bin/env python3
"""docs/names.md: which names of dimensions and axes clash, with those of the library after `using namespace meshtf;`, and with those of C.

names.py --check COMPILER   is the page right? Status 77 if the names of the library are and those of C can't be looked for
names.py --write COMPILER   writes the page

The library's names are those of the headers, as reference.py finds them. C's names are the functions and variables in the global
namespace that <meshtf/meshtf.hpp> brings along, with the MPI of mpicxx; the page has those that a dimension or an axis may well have.
"""
import re
import subprocess
import sys
from pathlib import Path

import reference

root = Path(__file__).parents[2]
page = root / "docs/names.md"
# Words for dimensions and axes among C's functions: each of them is looked for, and those that are declared are on the page.
words = """access bind clock close connect daemon div dup exp fork gamma index j0 j1 jn kill link listen nice open pause pipe random read remove rename
select send signal sleep split step stride swab sync system tee time times truncate union wait write y0 y1 yn rank node socket host device stage""".split()
width = 150


def lines_of(names):
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) + 2 > width:
            lines.append("")
        lines[-1] += f"`{name}` "
    return "\n".join(line.rstrip() for line in lines)


def library_names():
    """Names of one word in namespace meshtf: a dimension is hardly called rotated_dim_is_odd."""
    found = {name for page, written in reference.pages()[0].items() if page != "nn" for name, _, _ in written.names}
    return sorted(name for name in found if re.fullmatch(r"[a-z][a-z0-9]*", name))


def global_names(compiler):
    try:
        shown = subprocess.run(["mpicxx", "-show"], capture_output=True, text=True).stdout.split()
        said = subprocess.run([compiler, *(flag for flag in shown if flag.startswith("-I")), "-x", "c++", "-std=c++20", f"-I{root / 'include'}", "-E", "-P", "-"],
                              input="#include <meshtf/meshtf.hpp>\n", capture_output=True, text=True)
    except OSError as e:
        print(f"names of C are not looked for: {e}")
        return None
    if said.returncode:
        print(f"names of C are not looked for: {compiler} says\n{said.stderr[:400]}")
        return None
    depth, outside = 0, []   # what stands in no namespace, class or body; extern "C" counts for nothing
    text = re.sub(r'extern "C(?:\+\+)?"\s*\{', "", said.stdout)
    for part in re.split(r"([{}])", text):
        if part == "{":
            depth += 1
        elif part == "}":
            depth = max(0, depth - 1)
        elif depth == 0:
            outside.append(part)
    outside = "".join(outside)
    return sorted(word for word in words if re.search(rf"\bextern\b[^;]*?\b{word}\s*\(", outside))


def sections(c_names):
    return f"""## Names of the library

{lines_of(library_names())}

## Names of C

{lines_of(c_names)}
"""


if len(sys.argv) != 3 or sys.argv[1] not in ("--check", "--write"):
    sys.exit(__doc__)
mode, compiler = sys.argv[1:]
text = page.read_text()
head = text[: text.index("## Names of the library\n")]
of_c = global_names(compiler)
if mode == "--write":
    if of_c is None:
        sys.exit(69)
    page.write_text(head + sections(of_c))
    sys.exit(0)
bad = False
for title, expected in (("the library", library_names()), ("C", of_c)):
    if expected is None:
        continue
    there = re.findall(r"`(\w+)`", re.search(rf"^## Names of {title}$(.*?)(?=^## |\Z)", text, re.M | re.S)[1])
    for what, names in (("lacks", sorted(set(expected) - set(there))), ("has too many", sorted(set(there) - set(expected)))):
        if names:
            print(f"docs/names.md {what} names of {title}: {' '.join(names)}: tests/checks/names.py --write {compiler}")
            bad = True
sys.exit(1 if bad else 77 if of_c is None else 0)
