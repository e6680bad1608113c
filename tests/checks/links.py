#!/usr/bin/env python3
"""No link is dead: links.py [ROOT]

- A link of a document leads to a file that is there, and what follows # is a heading of it.
- A page of docs/ that a source or a document names by its path is there: `docs/cost.md`.
- docs/README.md links to each page of docs/, and the page that has a folder's name to each page of that folder.
"""
import functools
import re
import sys
from pathlib import Path

from reference import slug

root = Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parents[2]).resolve()
sources = ("include", "tests", "examples", "benchmarks")
suffixes = {".hpp", ".cpp", ".py", ".sh", ".txt", ".cmake", ""}


@functools.lru_cache(maxsize=None)
def prose(document):
    """The lines of a document; those of code are empty."""
    lines, inside = [], False
    for line in document.read_text(encoding="utf-8").splitlines():
        fence = line.lstrip().startswith("```")
        inside ^= fence
        lines.append("" if inside or fence else line)
    return lines


@functools.lru_cache(maxsize=None)
def anchors(document):
    """What a link to the document may have after #. Of several headings alike, GitHub numbers those after the first."""
    found, seen = set(), {}
    for line in prose(document):
        if heading := re.match(r"#+ +(.*?)(?: +#+)?$", line):
            anchor = slug(re.sub(r"\[([^]]*)\]\([^)]*\)|\\(.)", lambda m: m[1] or m[2], heading[1]))
            number = seen.get(anchor, 0)
            seen[anchor] = number + 1
            found.add(f"{anchor}-{number}" if number else anchor)
        found |= set(re.findall(r'<a (?:name|id)="([^"]+)"', line))
    return found


def links(document):
    """[(number of the line, path, anchor)]"""
    for number, line in enumerate(prose(document), 1):
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if not re.match(r"https?:|mailto:", link):
                path, _, anchor = link.partition("#")
                yield number, path, anchor


def main():
    bad = []
    documents = sorted([*root.glob("*.md"), *(p for folder in ("docs", *sources) for p in (root / folder).rglob("*.md"))])
    linked = {}  # document -> what it links to
    for document in documents:
        name = document.relative_to(root)
        linked[document] = set()
        for number, path, anchor in links(document):
            if page := re.match(r"\.\./\.\./actions/workflows/([\w.]+\.yml)", path):  # pages of GitHub: of a file here
                path = f".github/workflows/{page[1]}"
            target = (document.parent / path).resolve() if path else document
            linked[document].add(target)
            if not target.exists():
                bad.append(f"{name}:{number}: there is no {path} to link to")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                bad.append(f"{name}:{number}: {target.relative_to(root)} has no heading #{anchor}")
    for page in sorted((root / "docs").rglob("*.md")):
        above = root / "docs/README.md" if page.parent == root / "docs" else page.parent.with_suffix(".md")
        if page not in (above, root / "docs/README.md") and page not in linked.get(above, set()):
            bad.append(f"{above.relative_to(root)}: it has no link to {page.relative_to(root)}")
    files = [p for folder in sources for p in sorted((root / folder).rglob("*")) if p.suffix in suffixes and p.is_file() and p.suffix != ".md"]
    for file in [root / "CMakeLists.txt", *files, *documents]:
        if not file.exists() or "__pycache__" in file.parts:
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            for path in re.findall(r"(?<![\w/*.])docs/[\w/]+\.md\b", line):
                if not (root / path).exists():
                    bad.append(f"{file.relative_to(root)}:{number}: there is no {path}")
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
