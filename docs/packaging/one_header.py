#!/usr/bin/env python3
"""All of <meshtf/planning.hpp> in one header, which needs the standard library and Boost.Hana alone: for Compiler Explorer, and wherever one file is
easier to pass on than a folder.

    one_header.py [OUTPUT]      writes meshtf_core.hpp, or OUTPUT

Whole lines of comment are left out, since the header is pasted and sent; those who want to read find them in include/meshtf/.
"""
import re
import sys
from pathlib import Path

include = Path(__file__).resolve().parents[2] / "include"
first = "meshtf/planning.hpp"
others, seen, body = set(), set(), []


def take(file):
    """Appends a header's lines, those of what it includes before them; each header once."""
    if file in seen:
        return
    seen.add(file)
    depth = 0
    lines = []
    for number, line in enumerate((include / file).read_text().splitlines(), 1):
        if match := re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line):
            if depth:   # what is included on a condition can't be moved to the top
                sys.exit(f"one_header.py: include/{file}:{number} includes {match[1]} on a condition, which is not handled: include it always")
            if match[1].startswith("meshtf/"):
                take(match[1])
            else:
                others.add(match[1])
        elif not re.match(r"\s*//|#pragma once|\s*$", line):
            depth += 1 if re.match(r"\s*#\s*if", line) else -1 if re.match(r"\s*#\s*endif", line) else 0
            lines.append(line)
    body.extend(lines)


take(first)
allowed = re.compile(r"[a-z_]+$|boost/hana/")
for file in sorted(others):
    if not allowed.match(file):
        sys.exit(f"one_header.py: {first} includes {file}, which is neither the standard library nor Boost.Hana")
version = ".".join(re.findall(r"#define MESHTF_VERSION_\w+ (\d+)", (include / "meshtf/version.hpp").read_text())[:3])
text = f"// meshtf {version}: layouts, verdicts and prices in one header, made of {len(seen)} by docs/packaging/one_header.py. Boost Software License 1.0.\n"
text += "// Needs C++20 and Boost.Hana. Long dry runs: g++ -fconstexpr-ops-limit=1000000000, clang++ -fconstexpr-steps=100000000\n#pragma once\n\n"
text += "".join(f"#include <{file}>\n" for file in sorted(others)) + "\n" + "\n".join(body) + "\n"
output = Path(sys.argv[1] if len(sys.argv) > 1 else "meshtf_core.hpp")
try:
    output.write_text(text)
except OSError as e:
    print(f"meshtf: expected to write {output}, got: {e.strerror}: name a file in a folder that can be written", file=sys.stderr)
    sys.exit(69)
