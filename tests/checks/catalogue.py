#!/usr/bin/env python3
"""The catalogue of operations: what headers say of them, for all that would otherwise list them by hand.

catalogue.py --check   are the parts below what the headers say, and has every function of x alone a line for the dictionary?
catalogue.py --write   writes them

  include/meshtf/ops/FAMILY.hpp          includes the headers of its folder
  include/meshtf/kernel/kernels.hpp      includes the kernels that define `compute`
  tests/ops/functions_of_x.hpp           the pointwise functions that take x alone; tests of all of them are made with it

Other scripts ask this one: dictionary.py and tests/golden/operations.py for the lines `//= MESH TENSORFLOW || PYTORCH || JAX || HERE` above the comment of
an operation (any may be empty; HERE, a call, may be missing if the function takes x alone), tests/fuzz/generate.py for the smooth functions.
"""
import re
import sys
from pathlib import Path
from typing import NamedTuple

root = Path(__file__).parents[2]
include = root / "include/meshtf"
functions_of_x = root / "tests/ops/functions_of_x.hpp"
passes_over_arrays = {"transform.hpp"}  # in kernels.hpp, although it is the kernel of no task
# What a function's struct derives from, and the macro that has such functions. A function with steps has no gradient.
kinds = {"smooth": "MESHTF_SMOOTH_FUNCTIONS", "smooth_of_positive": "MESHTF_FUNCTIONS_OF_POSITIVE", "bent": "MESHTF_BENT_FUNCTIONS",
         "of_elements": "MESHTF_STEP_FUNCTIONS"}


class function(NamedTuple):
    name: str
    kind: str  # a key of `kinds`
    used: str  # of plan/pending.hpp
    header: Path


class row(NamedTuple):
    """A line of the dictionary: what others write, and what is written here."""
    folder: str
    there: list
    here: str


def pointwise():
    """The pointwise functions that take x alone, by name. Those that compare, whose results are no numbers, are not among them."""
    found = []
    for path in (include / "ops/pointwise").glob("*.hpp"):
        text = path.read_text()
        for name in re.findall(r"return detail::pointwise<function::(\w+)>\(x, at\);", text):
            struct = re.search(rf"^struct {name} : (\w+)<.*?^}};", text, re.M | re.S)
            used = struct and re.search(r"algebra::use used = algebra::use::(\w+);", struct[0])
            if not used or struct[1] not in kinds:
                sys.exit(f"{path.relative_to(root)}: the struct of {name} derives from none of {', '.join(kinds)}, or does not say how it is `used`")
            if used[1] != "compared":
                found.append(function(name, struct[1], used[1], path))
    return sorted(found)


def rows():
    """[row] in the order of folders, headers and lines."""
    found = []
    for path in sorted((include / "ops").rglob("*.hpp")):
        lines = path.read_text().splitlines()
        for i, line in enumerate(lines):
            if not line.startswith("//= ") or lines[i - 1].startswith("//="):
                continue
            text, j = line[4:], i + 1
            while lines[j].startswith("//="):
                text, j = text + " " + lines[j][3:].strip(), j + 1
            words = [w.strip() for w in text.split("||")]
            declared = next((m[1] for m in (re.match(r"(?:constexpr )?auto (\w+)\(", l) for l in lines[j:]) if m), None)
            if len(words) < 3 or len(words) > 4 or declared is None:
                sys.exit(f"{path.relative_to(root)}:{i + 1}: expected `//= MESH TENSORFLOW || PYTORCH || JAX || HERE` above a function")
            here = words[3] if len(words) == 4 else f"{declared}(x)"
            if not re.search(rf"\b{declared}[<(]", here):
                sys.exit(f"{path.relative_to(root)}:{i + 1}: expected a call of {declared}, got {here}")
            found.append(row(path.parent.name, words[:3], here))
    return found


def there(name):
    """What Mesh TensorFlow, PyTorch and JAX call a function of x alone; empty where they lack it."""
    return next((r.there for r in rows() if r.here == f"{name}(x)"), None)


def called_in(test):
    """The functions of x that the text of a test calls with the macros of functions_of_x.hpp."""
    return [f.name for f in pointwise() if f"{kinds[f.kind]}(" in test]


def with_includes(path, headers):
    """A header that includes others and nothing else: its first comment, and the includes."""
    head = path.read_text()
    head = head[: head.index("#pragma once")]
    return head + "#pragma once\n\n" + "".join(f"#include <meshtf/{h}>\n" for h in headers)


def made():
    """{file: what it should hold}"""
    files = {}
    for folder in sorted(p for p in (include / "ops").iterdir() if p.is_dir()):
        files[folder.with_suffix(".hpp")] = with_includes(folder.with_suffix(".hpp"), [f"ops/{folder.name}/{p.name}" for p in sorted(folder.glob("*.hpp"))])

    kernels = sorted({p.name for p in (include / "kernel").glob("*.hpp") if re.search(r"^void [\w<>,. ]+::compute\(", p.read_text(), re.M)} | passes_over_arrays)
    path = include / "kernel/kernels.hpp"
    files[path] = re.sub(r"(?<=\n#else\n)(#include [^\n]*\n)*", "".join(f"#include <meshtf/kernel/{k}>\n" for k in kernels), path.read_text())

    text = ["// The pointwise functions that take x alone, for tests of all of them.", "// Made from the headers in ops/pointwise/ by tests/checks/catalogue.py --write.",
            "// clang-format off", "#pragma once"]
    for kind, macro in kinds.items():
        calls = [f"X({f.name})" for f in pointwise() if f.kind == kind]
        lines, width = [f"#define {macro}(X)"], 100
        for call in calls:
            if len(lines[-1]) + len(call) + 1 > width:
                lines.append(" ")
            lines[-1] += " " + call
        longest = max(map(len, lines))
        text += [""] + [line.ljust(longest) + " \\" for line in lines[:-1]] + lines[-1:]
    files[functions_of_x] = "\n".join(text) + "\n"
    return files


def main():
    if sys.argv[1:] not in (["--check"], ["--write"]):
        sys.exit(__doc__)
    functions, status = pointwise(), 0
    if len(functions) < 20:
        sys.exit(f"found {len(functions)} functions of x, expected 20 or more: their form is no longer what this script reads")
    for f in functions:
        if there(f.name) is None:
            print(f"{f.header.relative_to(root)}: say above the comment of {f.name} what others call it: //= MESH TENSORFLOW || PYTORCH || JAX")
            status = 1
    for path, text in made().items():
        if sys.argv[1] == "--write":
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path.relative_to(root)} is not what the headers say: run tests/checks/catalogue.py --write")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
