#!/usr/bin/env python3
"""docs/environment.md has each variable that the sources read, and no other: environment.py [PAGE]

Read are: in C++, a name that is a text of its own in a file with getenv ("MESHTF_CHECK"); in scripts, ${NAME...}, where NAME begins with MESHTF_.
"""
import re
import sys
from pathlib import Path

root = Path(__file__).parents[2]
page = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "docs/environment.md"


def names_read():
    found = {}
    for folder in ("include", "examples", "benchmarks"):
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            text = path.read_text()
            names = re.findall(r'getenv\("(\w+)"\)', text)
            if "getenv(name)" in text:  # of a function that is given names
                names += re.findall(r'\bset\("(MESHTF_\w+)"\)', text)
            found.update({name: path.relative_to(root) for name in names})
            if text.count("getenv(") != len(re.findall(r'getenv\((?:"\w+"|name)\)', text)):
                sys.exit(f"{path.relative_to(root)}: getenv of something else than a name that stands there")
    scripts = [p for folder in ("examples", "benchmarks", "tests") for p in sorted((root / folder).rglob("*")) if p.is_file()]
    for path in scripts:
        if path.suffix in (".sh", "") and path.read_bytes()[:2] == b"#!":
            text = path.read_text()
            if text.startswith("#!/bin/bash"):
                found.update({name: path.relative_to(root) for name in re.findall(r"\$\{?(MESHTF_\w+)", text)})
    return found


def main():
    read, said = names_read(), set(re.findall(r"^\| `(\w+)` \|", page.read_text(), re.M))
    bad = [f"{page.name}: it lacks {name}, which {where} reads" for name, where in sorted(read.items()) if name not in said]
    bad += [f"{page.name}: nothing reads {name}" for name in sorted(said - set(read))]
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
