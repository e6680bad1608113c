#!/usr/bin/env python3
"""docs/bugs_of_others.md: every row has an outcome and tests that exist, and the counts by outcome there and in README.md are those of the rows.

bugs.py --check   compares; --write puts the counts between the marks <!-- outcomes --> and <!-- end --> of both files.
"""
import re
import sys
from pathlib import Path

root = Path(__file__).parents[2]
page, readme = root / "docs/bugs_of_others.md", root / "README.md"
outcomes = ["compile error", "impossible to write", "right result", "run-time error", "not yet"]
mark = re.compile(r"(<!-- outcomes -->\n).*?(<!-- end -->)", re.S)


def rows():
    """[(number, outcome, cell with the tests)]"""
    found = []
    for line in page.read_text().splitlines():
        if re.match(r"\| \d+ \|", line):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) != 6:
                sys.exit(f"{page.name}: expected 6 cells, got {len(cells)}: {line[:60]}")
            found.append((int(cells[0]), cells[3], cells[5]))
    return found


def complaints(all_rows):
    """What is wrong with the page itself."""
    if [number for number, _, _ in all_rows] != list(range(1, len(all_rows) + 1)):
        yield "expected rows numbered from 1 on"
    named = set()
    for number, outcome, tests in all_rows:
        if outcome not in outcomes:
            yield f"row {number}: expected one of {', '.join(outcomes)}, got '{outcome}'"
        files = re.findall(r"`([^`]+)`", tests)
        named |= set(files)
        if outcome in ("compile error", "right result", "run-time error") and not files:
            yield f"row {number}: expected a test of '{outcome}', got none"
        for file in files:
            if not (root / file).is_file():
                yield f"row {number}: there is no file {file}"
        own = next((f for f in files if f.startswith(f"tests/bug_corpus/{number:02}_")), None)
        if own and outcome != "compile error":
            yield f"row {number}: {own} must not compile, but the outcome is '{outcome}'"
    for file in sorted((root / "tests/bug_corpus").glob("*.cpp")):
        if str(file.relative_to(root)) not in named:
            yield f"no row names {file.relative_to(root)}"
    cases = (root / "tests/bug_corpus/right_results.cpp").read_text()
    for number, _, tests in all_rows:
        if "right_results.cpp" in tests and not re.search(rf'(?:// ---- |TEST_CASE\(")(?:\d+ and )?{number}(?: and \d+)?\. ', cases):
            yield f"row {number}: tests/bug_corpus/right_results.cpp has no case of that number"


def counted(all_rows):
    number_of = {o: sum(outcome == o for _, outcome, _ in all_rows) for o in outcomes}
    head = "| " + " | ".join([f"of {len(all_rows)}"] + outcomes) + " |"
    return "\n".join([head, "|" + "---|" * (len(outcomes) + 1), "| | " + " | ".join(str(number_of[o]) for o in outcomes) + " |"]) + "\n"


def main():
    if sys.argv[1:] not in (["--check"], ["--write"]):
        sys.exit(__doc__)
    all_rows = rows()
    said = [f"docs/bugs_of_others.md: {c}" for c in complaints(all_rows)]
    for file in (page, readme):
        before = file.read_text()
        if not mark.search(before):
            said.append(f"{file.name}: it lacks the marks <!-- outcomes --> and <!-- end -->")
            continue
        now = mark.sub(lambda m: m[1] + counted(all_rows) + m[2], before)
        if sys.argv[1] == "--write":
            file.write_text(now)
        elif now != before:
            said.append(f"{file.name}: its counts by outcome are not those of docs/bugs_of_others.md: run tests/checks/bugs.py --write")
    print("\n".join(said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
