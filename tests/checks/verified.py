#!/usr/bin/env python3
"""docs/verified.md: which rules are verified under every placement, which operations follow them, and which are not yet verified.

verified.py --check            is the page what the tests, their counts and the headers say, and has every operation a line?
verified.py --write            writes the page
verified.py --count PROGRAM    runs test_verified, writes what it counted to tests/verified/counts.txt, and the page

A test says of its rule, in a comment above it:

  // rule NAME: the headers of the plan
  // checks: what is compared
  // sizes: of each dimension
  // operations: the headers of the operations that follow it, from include/meshtf/ops/; * for all of a folder that no other rule names
"""
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import operations  # noqa: E402
import reference  # noqa: E402

root = Path(__file__).parents[2]
ops = root / "include/meshtf/ops"
page = root / "docs/verified.md"
tests = root / "tests/verified"
counts = tests / "counts.txt"
written = re.compile(r"// rule ([\w ]+): (.*)\n((?:// .*\n)+)")

# What no test of a rule covers: headers, and the one reason.
not_yet = {
    "function/*": "they call a function of the program, and plan nothing of their own but its schedule"
}

head = """# Rules that are verified under every placement

Made by `tests/checks/verified.py --write` from `tests/verified/`, which runs as `test_verified` with one process.

A *rule* is what an operation does under a placement: the loops and arrays of each process, and the axes over which the result is joined. A plan
(`include/meshtf/plan/`) says it, in the compiler. Each test takes the plans of all layouts of its dimensions as the types make them, on meshes of 2, 3 and
2 x 2 processes: an axis splits one dimension or none, and two axes may split one, in both orders. It sets each combination of sizes in them, gives every
simulated process its shard, runs the library's kernels, joins the results, and compares every element with the definition of the operation on whole
arrays. Elements are small integers, so sums are exact and the comparison is for equality. The padding of shards is NaN, so a rule that reads it fails.
A case is one comparison: a value or a gradient, under one placement, with one combination of sizes.

Elements are chosen so that a function of real numbers is exact too: rows of a norm have deviations that are powers of two, weights of an attention are equal
or nothing, pairs that are rotated have a zero. (Only what an attention gives is rounded to integers before it is compared, since exp and log are not exact.)
Random numbers are compared with those of one process, to the bit.

The tests don't cover which plan an operation asks for, nor its messages between real processes: `tests/ops/` compares each operation with one process under
the layouts of `tests/layout_fixture.hpp`. Of a function like exp the rule is verified (which elements it is applied to), not its value.
"""


class rule:
    def __init__(self, path, name, plans, text):
        parts = re.split(r"\b(checks|sizes|operations): ", " ".join(line.removeprefix("//").strip() for line in text.splitlines()))
        fields = {key: value.strip() for key, value in zip(parts[1::2], parts[2::2])}
        if set(fields) != {"checks", "sizes", "operations"}:
            sys.exit(f"{path.relative_to(root)}: expected checks, sizes and operations below `// rule {name}`, got {', '.join(fields) or 'none'}")
        self.path, self.name, self.plans = path, name, plans.split()
        self.checks, self.sizes, self.headers = fields["checks"], fields["sizes"], fields["operations"].split()


def rules():
    found = [rule(path, *match.groups()) for path in sorted(tests.glob("*.cpp")) for match in written.finditer(path.read_text())]
    if not found:
        sys.exit("tests/verified/ has no `// rule NAME: ...`")
    return found


def headers_of(patterns, others):
    """{header: None} of patterns; those of a * leave out what `others` name."""
    found = {}
    for pattern in patterns:
        paths = sorted(ops.glob(pattern))
        if not paths:
            sys.exit(f"tests/verified/ or verified.py names include/meshtf/ops/{pattern}, which is not there")
        found.update({p.relative_to(ops).as_posix(): None for p in paths if "*" not in pattern or p.relative_to(ops).as_posix() not in others})
    return list(found)


def names_in(header):
    """{name: link} of the operations of a header."""
    found = {}
    family = "ops/" + header.split("/")[0]
    for name, signature, comment, _ in reference.entries(ops / header, []):
        if comment and operations.is_listed(family, signature.split("\n")[0]):
            found.setdefault(name, reference.link_to(Path("ops") / header, name))
    return found


def linked(headers):
    found = {}
    for header in headers:
        for name, link in names_in(header).items():
            found.setdefault(name, link)
    return ", ".join(f"[`{name}`]({link})" for name, link in found.items())


def counted():
    found = {}
    for line in counts.read_text().splitlines():
        match = re.fullmatch(r"([\w ]+): (\d+) (\d+)", line)
        if not match:
            sys.exit(f"{counts.relative_to(root)}: expected `rule: placements cases`, got `{line}`")
        found[match[1]] = (int(match[2]), int(match[3]))
    return found


def text():
    found, numbers = rules(), counted()
    named = {h for r in found for h in r.headers if "*" not in h} | {h for headers in not_yet for h in headers.split() if "*" not in h}
    missing = [r.name for r in found if r.name not in numbers] + [n for n in numbers if n not in {r.name for r in found}]
    if missing:
        sys.exit(f"{counts.relative_to(root)} and the tests have not the same rules: {', '.join(missing)}: run verified.py --count")
    out = [head, "| rule | plan | compared | sizes | placements | cases |", "|---|---|---|---|---|---|"]
    for r in found:
        for plan in r.plans:
            if not (root / "include/meshtf/plan" / plan).exists():
                sys.exit(f"{r.path.relative_to(root)}: there is no include/meshtf/plan/{plan}")
        places, cases = numbers[r.name]
        plans = ", ".join(f"[`plan/{p}`](../include/meshtf/plan/{p})" for p in r.plans)
        out.append(f"| [{r.name}](../{r.path.relative_to(root)}) | {plans} | {r.checks} | {r.sizes} | {places:,} | {cases:,} |")
    out.append(f"| all | | | | {sum(p for p, _ in numbers.values()):,} | {sum(c for _, c in numbers.values()):,} |")
    covered = set()
    out += ["", "## The operations that follow them", "",
            "An operation that is made of others follows their rules. `tests/checks/verified.py --check` fails for an operation that has no line here.", "",
            "| rule | operations |", "|---|---|"]
    for r in found:
        headers = headers_of(r.headers, named)
        covered |= set(headers)
        out.append(f"| {r.name} | {linked(headers)} |")
    out += ["", "## Not yet", "", "| operations | why |", "|---|---|"]
    for headers, reason in not_yet.items():
        headers = headers_of(headers.split(), named)
        covered |= set(headers)
        out.append(f"| {linked(headers)} | {reason} |")
    lacking = [h for h in sorted(p.relative_to(ops).as_posix() for p in ops.rglob("*.hpp")) if h not in covered and names_in(h)]
    if lacking:
        sys.exit("these operations have no line in docs/verified.md: name their headers below the `// rule` that they follow, in tests/verified/, or in "
                 f"`not_yet` of tests/checks/verified.py: {', '.join('ops/' + h for h in lacking)}")
    return "\n".join(out) + "\n"


def count(program):
    ran = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = dict(re.findall(r"^ *counted: ([\w ]+: )(\d+ \d+)$", ran.stdout, re.M))
    wrong = [line for line in ran.stdout.splitlines() if "than its definition" in line]
    if wrong:
        sys.exit("\n".join(wrong))
    kept = {name + ": ": f"{p} {c}" for name, (p, c) in counted().items()} if counts.exists() else {}
    kept.update(found)
    names = [r.name + ": " for r in rules()]
    counts.write_text("".join(f"{name}{kept[name]}\n" for name in names if name in kept))


def main():
    if sys.argv[1:2] == ["--count"] and len(sys.argv) == 3:
        count(sys.argv[2])
        page.write_text(text())
    elif sys.argv[1:] == ["--write"]:
        page.write_text(text())
    elif sys.argv[1:] != ["--check"]:
        sys.exit(__doc__)
    elif not page.exists() or page.read_text() != text():
        print("docs/verified.md is not what the tests and the headers say: run tests/checks/verified.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
