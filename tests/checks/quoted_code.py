#!/usr/bin/env python3
"""Passes if each ```cpp block of the documents stands line by line in a source: quoted_code.py SOURCE... -- DOCUMENT..."""
import sys
from pathlib import Path


def blocks(document):
    """The lines of each ```cpp block."""
    inside = None
    for line in Path(document).read_text().splitlines():
        if line.startswith("```"):
            if inside is None:
                inside = [] if line == "```cpp" else ()
            else:
                if isinstance(inside, list):
                    yield inside
                inside = None
        elif isinstance(inside, list):
            inside.append(line)


between = sys.argv.index("--")
# Each source begins and ends with a newline, so that a block is found as whole lines only.
sources = "\0".join("\n" + Path(source).read_text() + "\n" for source in sys.argv[1:between])
failed = False
for document in sys.argv[between + 1:]:
    for number, block in enumerate(blocks(document), 1):
        if "\n" + "\n".join(block) + "\n" not in sources:
            print(f"{document}: C++ block {number} stands in no source as it is: {block[0] if block else ''}")
            failed = True
sys.exit(failed)
