#!/usr/bin/env python3
"""docs/limits.md: its numbers are the constants of the headers, its sentences are theirs, and each sentence of a limit is there: limits.py [PAGE]

A row of its tables is: what is limited | number | `file.hpp: constant` | what is said. Without a constant the number is not compared.
"""
import re
import sys
from pathlib import Path

root = Path(__file__).parents[2]
page = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "docs/limits.md"
headers = root / "include/meshtf"
largest_int = "std::numeric_limits<int>::max()"
sources = {path: path.read_text().replace(largest_int, str(2**31 - 1)) for path in sorted(headers.rglob("*.hpp"))}
everything = re.sub(r'"\s*\n\s*"', "", "\n".join(sources.values()))


def number_of(expression, text):
    """The value of a constant's initialiser."""
    expression = re.sub(r"(?:extent|std::size_t|int)\{([^}]*)\}", r"(\1)", expression).replace("'", "")
    for name in set(re.findall(r"[a-z_]\w*", expression)):
        expression = re.sub(rf"\b{name}\b", str(constant(name, text)), expression)
    if not re.fullmatch(r"[\d\s+*()<-]+", expression):
        raise ValueError(expression)
    return eval(expression)  # digits and operators only


def constant(name, text):
    """The first initialiser of that name in the text, or else in any header."""
    for where in (text, everything):
        if match := re.search(rf"\b{name}\s*=\s*([^,;>]+)[,;>]", where):
            return number_of(match[1].strip(), where)
    raise ValueError(name)


def number_said(words):
    match = re.fullmatch(r"([\d,]+)(?:\^(\d+))?(?: ([KMG])iB)?", words)
    if not match:
        raise ValueError(words)
    return int(match[1].replace(",", "")) ** int(match[2] or 1) * 1024 ** " KMG".index(match[3] or " ")


def main():
    said, bad = page.read_text(), []
    for line in said.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        if len(cells) != 4 or not line.startswith("|") or cells[0] == "limit" or set(cells[0]) <= set("-:"):
            continue
        what, number, where, happens = cells
        if where:
            file, name = re.fullmatch(r"`([^:]+): (\w+)`", where).groups()
            found = constant(name, sources[headers / file])
            if found != number_said(number):
                bad.append(f"{what}: the page says {number}, {file} has {name} = {found}")
        for words in re.findall(r'"([^"]+)"', happens):
            if words not in everything:
                bad.append(f"{what}: nothing in include/meshtf/ says \"{words}\"")
    limit = r'"(meshtf: [^"]*(?:at most (?:\d|three|four)|holds|more than \d)[^"]*)"'
    for words in sorted(set(re.findall(limit, everything))):
        if words not in said and "no condition" not in words:
            bad.append(f"the page lacks what include/meshtf/ says: \"{words}\"")
    print("\n".join(f"{page.name}: {b}" for b in bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
