#!/usr/bin/env python3
"""Passes if the files and names that documents have in backticks are there: quoted_names.py DOCUMENT... (from the root; docs.sh says what is looked for)."""
import functools
import re
import sys
from pathlib import Path


@functools.lru_cache(maxsize=None)
def text_of(file):
    return Path(file).read_text(errors="replace")


@functools.lru_cache(maxsize=None)
def sources():
    folders = ("include", "examples", "tests", "benchmarks")
    return "\n".join(text_of(p) for folder in folders for p in sorted(Path(folder).rglob("*")) if p.is_file())


def has(text, name):
    """`name` is in the text, and is no part of a longer name."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def quoted(document):
    """The words in backticks, which may not span lines, and `FILE: NAME` for each line of a block without a kind that begins with these two."""
    found, inside, drawing = set(), False, False
    for line in text_of(document).splitlines():
        if line.startswith("```"):
            inside = not inside
            drawing = inside and line == "```"
        elif not inside:
            found.update(re.findall(r"`([^`]+)`", line))
        elif drawing and re.match(r"\s*[a-z_]+/\S*\.hpp\s", line + " "):
            found.add(": ".join((line.split() + [""])[:2]))
    return sorted(found)


problems = []
for document in sys.argv[1:]:
    for words in quoted(document):
        if re.fullmatch(r"([a-z_]+/)+[a-z_0-9]+\.(hpp|cpp|sh|md)(:.*)?", words):
            file, _, names = words.partition(":")
            places = [p for p in (Path(file), Path("include/meshtf", file), Path(document).parent / file) if p.exists()]
            if not places:
                problems.append(f"{document}: there is no file {file}")
                continue
            problems += [f"{document}: '{name}' is not in {file}" for name in re.split(r"[:,\s]+", names) if name and not has(text_of(places[0]), name)]
        elif document == "docs/walk.md" and re.fullmatch(r"[a-z_0-9]+(::[a-z_0-9]+)*", words):
            if not has(sources(), words.split("::")[-1]):
                problems.append(f"{document}: '{words}' is nowhere in the sources")
print("\n".join(problems), end="\n" if problems else "")
sys.exit(bool(problems))
