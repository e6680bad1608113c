#!/usr/bin/env python3
"""docs/errors.md: every verdict of the library, with the mistakes of this folder, the compilers' words and the corrections.

    errors.py --write G++ CLANG++   compiles each mistake with both and writes the document
    errors.py --check               says what is missing or old, without compiling: verdicts of include/, files of this folder, their code
    errors.py --said FILE COMPILER  compares what the compiler said of FILE, on the standard input, with what the document has: for expect.sh

The words in the document are those of the compilers it was written with, and are compared with those of the same major versions. What is expected of other
versions stands in the first lines of each file.
"""
import functools
import os
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

here = Path(__file__).resolve().parent
root = here.parent.parent
document = root / "docs" / "errors.md"
# Templates without a body that are no objections: prices and parts of them.
no_verdicts = {"cluster", "arrays_of", "factor_of", "finish_sends", "reshard_sends", "split_only", "write_broadcast"}
problems = []
flags = ["-std=c++20", "-fsyntax-only", "-fdiagnostics-color=never", f"-I{root / 'include'}"]


def verdicts():
    """Name -> what the header says of it."""
    found = {}
    for header in sorted((root / "include" / "meshtf").rglob("*.hpp")):
        text = header.read_text()
        for m in re.finditer(r"((?:^///[^\n]*\n)+)(?:^template<[^\n]*\n)+^struct (\w+) \{\};", text, re.M):
            if m[2] not in no_verdicts:
                found[m[2]] = " ".join(line[3:].strip() for line in m[1].splitlines())
    return found


def expected_words(source):
    return re.findall(r"^// error: (.*)$", source, re.M)


def halves(source):
    """The code of the mistake and of the correction."""
    mistakes, corrections = [], []
    for m in re.finditer(r"^#ifdef FIXED\n(.*?)^#endif$", source, re.M | re.S):
        right, _, wrong = m[1].partition("#else\n")
        corrections.append(right.rstrip("\n"))
        mistakes.append(wrong.rstrip("\n"))
    for m in re.finditer(r"^#ifndef FIXED\n(.*?)^#endif$", source, re.M | re.S):
        wrong, _, right = m[1].partition("#else\n")
        corrections.append(right.rstrip("\n"))
        mistakes.append(wrong.rstrip("\n"))
    return [m for m in mistakes if m], [c for c in corrections if c]


def excerpt(said, words):
    lines = []
    for line in said.splitlines():
        m = re.match(r"\S*?:\d+:\d+: +(.*)$", line)
        line = m[1].replace(f"{root}/", "") if m else ""
        if any(w in line for w in words) or line.startswith("error: ") and "meshtf: " in line:
            line = line if len(line) <= 300 else line[:300] + " ..."
            if line not in lines:
                lines.append(line)
    return lines


@functools.lru_cache(maxsize=None)
def words_of(compiler, file, words):
    """What the compiler says: of the first error and of the lines with the expected words, without the places where the sources lie."""
    more = ["-fconstexpr-steps=100000000"] if "clang" in compiler else []
    said = subprocess.run([compiler, *flags, *more, str(file)], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stderr
    return excerpt(said, words), [w for w in words if w not in said]


def wrapped(text):
    return textwrap.fill(text, 160, break_long_words=False, break_on_hyphens=False)


def code(blocks):
    return "\n".join(f"```cpp\n{block}\n```" for block in blocks)


def case(file, compilers):
    source = file.read_text()
    mistakes, corrections = halves(source)
    part = [f"`tests/must_not_compile/{file.name}`", code(mistakes)]
    for name, compiler in compilers:
        lines, missing = words_of(compiler, file, tuple(expected_words(source)))
        problems.extend(f"{file.name}: {compiler} does not say: {w}" for w in missing)
        part.append(f"{name} says:\n```console\n" + "\n".join(lines) + "\n```")
    part.append("Instead:\n" + code(corrections) if corrections else "Instead: leave it out.")
    return "\n\n".join(part)


def sections():
    """(title, text, files) in order: the verdicts by name, then what is said without one."""
    files = {f: f.read_text() for f in sorted(here.glob("*.cpp"))}
    rest = set(files)
    for name, text in sorted(verdicts().items()):
        mine = [f for f, s in files.items() if any(re.search(rf"\b{name}<", w) for w in expected_words(s))]
        rest -= set(mine)
        yield name, text, mine
    yield "Without a verdict", "What is no question of legality is refused in a sentence alone, or by the compiler.", sorted(rest)


def write(gcc, clang):
    versions = [subprocess.run([c, "--version"], capture_output=True, text=True).stdout.splitlines()[0] for c in (gcc, clang)]
    compilers = [("g++", gcc), ("clang", clang)]
    text = ["# Errors", "Every objection of the library is a type whose name states the fact and whose arguments are your own names. This page has each of them: what it means, "
            "the mistake, what the compilers say of it, and the correction. `meshtf::placement_verdict`, `einsum_verdict` and their like return the same types, so you can query them.",
            "Prices in a verdict are bytes that each process would send: `finish_sends<64>` for `finish(p)`, `reshard_sends<128, 0>` for resharding the first operand or the "
            "second. `reshard_for<512, rows>` stands where `rows` splits a dimension that must be whole, and prices the cheapest reshard after which it is. "
            "`as_partial<...>(x)` sends nothing.",
            f"The words are those of {versions[0]} and {versions[1]}. Written by `tests/must_not_compile/errors.py --write g++-12 clang++-19`."]
    text[1:] = map(wrapped, text[1:])
    with ThreadPoolExecutor(os.cpu_count()) as pool:   # they are remembered
        jobs = [(c, f, tuple(expected_words(f.read_text()))) for f in sorted(here.glob("*.cpp")) for _, c in compilers]
        list(pool.map(lambda job: words_of(*job), jobs))
    for name, meaning, files in sections():
        text.append(f"## `{name}`" if "_" in name else f"## {name}")
        text.append(wrapped(meaning))
        text += [case(f, compilers) for f in files]
        if not files:
            text.append("No case here yet.")
    document.write_text("\n\n".join(text) + "\n")
    if problems:
        sys.exit("\n".join(problems))


def check():
    page = document.read_text() if document.exists() else ""
    bad = []
    known = verdicts()
    for name in known:
        if f"## `{name}`\n" not in page:
            bad.append(f"the verdict {name} is not in it")
    for name in re.findall(r"^## `(\w+)`$", page, re.M):
        if name not in known:
            bad.append(f"{name} is no verdict of include/ any more")
    for file in sorted(here.glob("*.cpp")):
        source = file.read_text()
        start = page.find(f"`tests/must_not_compile/{file.name}`")
        if start < 0:
            bad.append(f"{file.name} is not in it")
            continue
        part = page[start:]
        part = part[:part.find("\n`tests/must_not_compile/", 1)] if "\n`tests/must_not_compile/" in part[1:] else part
        for block in sum(halves(source), []):
            if block not in part:
                bad.append(f"{file.name} has other code: {block.splitlines()[0].strip()}")
        for words in expected_words(source):
            if part.count(words) < 1:
                bad.append(f"{file.name} expects other words: {words}")
    for name in re.findall(r"^`tests/must_not_compile/([^`]+)`$", page, re.M):
        if not (here / name).exists():
            bad.append(f"there is no {name} any more")
    cases = len(re.findall(r"^## `", page, re.M)) - page.count("No case here yet.")
    if cases < 30:
        bad.append(f"{cases} verdicts have a case, expected at least 30")
    for line in bad:
        print(f"docs/errors.md: {line}")
    if bad:
        sys.exit("docs/errors.md is old: tests/must_not_compile/errors.py --write g++ clang++-19")


def major_version(text):
    m = re.search(r"clang version (\d+)", text) or re.search(r"\+\+\S* \([^)]*\) (\d+)", text)
    return m and m[1]


def compare(file, compiler):
    page = document.read_text()
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    name = "clang" if "clang" in version else "g++"
    written_with = re.search(r"^The words are those of (g\+\+.*?) and (.*?clang.*?)\.\sWritten by", page, re.M | re.S)
    if not written_with:
        sys.exit("docs/errors.md does not say of which compilers its words are")
    if major_version(version) != major_version(written_with[2 if name == "clang" else 1]):
        return
    _, _, part = page.partition(f"`tests/must_not_compile/{file.name}`\n")
    part = re.split(r"^`tests/must_not_compile/", part, maxsplit=1, flags=re.M)[0]
    block = re.search(rf"^{re.escape(name)} says:\n```console\n(.*?)```$", part, re.M | re.S)
    written = block[1].splitlines() if block else []
    said = excerpt(sys.stdin.read(), expected_words(file.read_text()))
    if written != said:
        sys.exit("\n".join([f"docs/errors.md has other words of {name} for {file.name}:", *written, "It said:", *said,
                            "If that is what it is to say: tests/must_not_compile/errors.py --write g++-12 clang++-19"]))


if sys.argv[1:2] == ["--write"] and len(sys.argv) == 4:
    write(*sys.argv[2:])
elif sys.argv[1:] == ["--check"]:
    check()
elif sys.argv[1:2] == ["--said"] and len(sys.argv) == 4:
    compare(Path(sys.argv[2]), sys.argv[3])
else:
    sys.exit(__doc__)
