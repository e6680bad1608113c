#!/usr/bin/env python3
"""docs/errors/*.md: every verdict of the library, with the mistakes of this folder, the compilers' words and the corrections; docs/errors.md lists them.

    errors.py --write G++ CLANG++ [FILE...]  compiles each mistake with both, or only these, and writes the pages
    errors.py --write               writes the pages with the words that they have: after a change of a comment, or of the groups below
    errors.py --check               says what is missing or old, without compiling: verdicts of include/, files of this folder, their code
    errors.py --said FILE COMPILER  compares what the compiler said of FILE, on the standard input, with what the pages have: for expect.sh

The words on the pages are those of the compilers they were written with, and are compared with those of the same major versions. What is expected of other
versions stands in the first lines of each file.
"""
import difflib
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
index = root / "docs" / "errors.md"
folder = root / "docs" / "errors"
# (page, title, what it has): verdicts are where the table has their name, or else where it has their header; files without a verdict are named.
groups = [
    ("layouts", "Layouts and meshes", "core/layout.hpp core/placement.hpp runtime/run_on.hpp layouts_are_of_different_meshes "
     "operands_have_different_layouts tensor_without_runtime.cpp nn/beam_search.hpp"),
    ("dims", "Shapes, dimensions and names", "aliases_are_one_dim dim_appears_twice too_many_dims plan/nest_plan.hpp tensor/local.hpp name_of_c.cpp "
     "name_of_the_library.cpp"),
    ("partial_sums", "Partial sums", "plan/pending.hpp tensor/partial.hpp"),
    ("products", "Products and attention", "plan/einsum_plan.hpp ops/product/matmul.hpp ops/product/outer_product.hpp plan/attention_plan.hpp "
     "plan/rotary_plan.hpp"),
    ("normalisation", "Normalisation and losses", "plan/norm_plan.hpp plan/cross_entropy_plan.hpp"),
    ("windows", "Convolution and pooling", "plan/conv_plan.hpp plan/halo_plan.hpp plan/pool_plan.hpp plan/window_plan.hpp"),
    ("indices", "Sorting, ranks and indices", "plan/lines.hpp plan/rank_plan.hpp plan/gather_plan.hpp plan/scatter_plan.hpp "
     "plan/searchsorted_plan.hpp"),
    ("shapes", "Shape operations", "ops/shape/broadcast.hpp ops/shape/reshape.hpp ops/shape/tile.hpp ops/shape/transpose.hpp plan/concat_plan.hpp "
     "plan/displace_plan.hpp plan/reshard/reshape_plan.hpp plan/reshard/reshard_plan.hpp plan/shift_plan.hpp plan/slice_plan.hpp "
     "plan/split_into_plan.hpp plan/stack_plan.hpp plan/write_plan.hpp pad_with_elements_behind.cpp shift_with_wrap_argument.cpp"),
    ("functions", "Functions of the program", "ops/pointwise/map.hpp plan/slicewise_plan.hpp ops/function/custom_gradient.hpp plan/batch_blocks.hpp "
     "ops/function/reproducible.hpp reproducible_of_split_parameter.cpp fused_keeps_reference.cpp fused_of_comparison.cpp fused_of_float.cpp "
     "fused_sum_of_several.cpp fused_with_if.cpp"),
    ("experts", "Mixtures of experts", "nn/expert_capacity.hpp nn/expert_choice.hpp nn/blocks_in_turn.hpp"),
    ("training", "Parameters, optimizers and the backward pass", "tensor/parameters.hpp tensor/tape.hpp nn/depth.hpp optim/update.hpp optim/updates_in_backward.hpp "
     "adafactor_sharded.cpp copied_parameter.cpp early_sums_of_bfloat16.cpp second_backward.cpp step_of_a_model.cpp"),
    ("pipelines", "Pipelines and their schedules", "plan/schedule.hpp nn/stages.hpp ops/function/accumulate.hpp axis_of_stages_splits_dim "
     "two_axes_of_stages"),
    ("prices", "Prices, budgets and dry runs", "price/dry_run.hpp bill_for_a_stranger.cpp budget_exceeded.cpp dry_run_under_one_layout.cpp "
     "local_of_a_dry_run.cpp memory_budget_exceeded.cpp message_budget_exceeded.cpp most_expensive_shown.cpp no_blocks_to_recompute.cpp "
     "value_outlives_dry_run.cpp values_of_a_dry_run.cpp"),
    ("search", "The layout search", "search/cheapest.hpp search/record_price.hpp layout_named_while_undecided.cpp record_cut_elsewhere.cpp"),
]
without_verdict = "Without a verdict"
meanings = {   # of the files without one
    "adafactor_sharded.cpp": "`adafactor` has no state that could be sharded: its factors are whole over replicas.",
    "bill_for_a_stranger.cpp": "A cost is asked for an axis that its mesh does not have.",
    "budget_exceeded.cpp": "A comparison of a cost with a number does not hold; the message has both numbers.",
    "copied_parameter.cpp": "A parameter can't be copied.",
    "dry_run_under_one_layout.cpp": "`dry_run` takes a function that is a template on the layout.",
    "early_sums_of_bfloat16.cpp": "Gradients of parameters in bfloat16 are not added up early, since an optimizer does not train them.",
    "fused_keeps_reference.cpp": "The function of `fused` keeps a reference, which a tape may outlive; it may keep numbers.",
    "fused_of_comparison.cpp": "The function of `fused` returns a comparison, which is no number.",
    "fused_of_float.cpp": "The function of `fused` takes numbers of one type; it is called with batches and derivatives.",
    "fused_sum_of_several.cpp": "The function of `fused_sum` returns several numbers; there is one sum.",
    "fused_with_if.cpp": "The function of `fused` asks whether a comparison holds, but it does so for each element.",
    "layout_named_while_undecided.cpp": "A program that is recorded has no layout yet, so it can't `reshard` to one that it names.",
    "local_of_a_dry_run.cpp": "A tensor under a dry layout has no elements, so `local()` has nothing to show.",
    "memory_budget_exceeded.cpp": "A process needs more bytes than `fits` allows; the message has both numbers.",
    "message_budget_exceeded.cpp": "A process sends more bytes than `sends_at_most` allows; the message has both numbers.",
    "most_expensive_shown.cpp": "`show_most_expensive` was asked for the calls that send most: it shows them as an error.",
    "name_of_c.cpp": "A dimension or an axis has the name of a function of C, which hides it.",
    "name_of_the_library.cpp": "After `using namespace meshtf;` a dimension or an axis with a name of the library is ambiguous.",
    "no_blocks_to_recompute.cpp": "No number of recomputed blocks meets the budget of `fits_with`; the message has the number with the least peak, and this peak and the budget.",
    "pad_with_elements_behind.cpp": "The third argument of `pad` is the value of the further elements; how many there are follows from the sizes.",
    "record_cut_elsewhere.cpp": "Under this layout an operation of the record can't be placed; a dry run may price it.",
    "reproducible_of_split_parameter.cpp": "`reproducible` adds up gradients over processes as whole arrays, so a layout splits none of its parameters.",
    "second_backward.cpp": "An earlier `backward` has used up the tape of this value: call `backward(a + b)` once.",
    "shift_with_wrap_argument.cpp": "The third argument of `shift` is the value that comes in; `roll` goes round.",
    "step_of_a_model.cpp": "An optimizer steps a list of parameters, not a model: `step(parameters(model))`.",
    "tensor_without_runtime.cpp": "`planning.hpp` has no processes: a tensor with elements needs `meshtf.hpp`.",
    "value_outlives_dry_run.cpp": "A value of a dry run is not destroyed before the dry run ends.",
    "values_of_a_dry_run.cpp": "A tensor under a dry layout has no elements, so `value()` has nothing to show.",
}
# Templates without a body that are no objections: prices and parts of them.
no_verdicts = {"cluster", "arrays_of", "factor_of", "finish_sends", "recomputed_if", "reshard_sends", "spilled_if", "split_only", "write_broadcast"}
problems = []
flags = ["-std=c++20", "-fsyntax-only", "-fdiagnostics-color=never", f"-I{root / 'include'}"]


@functools.lru_cache(maxsize=None)
def verdicts():
    """Name -> (header, what the header says of it)."""
    found = {}
    headers = root / "include" / "meshtf"
    for header in sorted(headers.rglob("*.hpp")):
        text = header.read_text()
        for m in re.finditer(r"((?:^///[^\n]*\n)+)(?:^template<[^\n]*\n)+^struct (\w+) \{\};", text, re.M):
            if m[2] not in no_verdicts:
                meaning = " ".join(line[3:].strip() for line in m[1].splitlines())
                found[m[2]] = (str(header.relative_to(headers)), meaning)
    return found


def expected_words(source, compiler=None):
    """Those of all compilers, and of this one."""
    own = [] if compiler is None else re.findall(rf"^// {'clang' if 'clang' in compiler else re.escape('g++')}: (.*)$", source, re.M)
    return re.findall(r"^// error: (.*)$", source, re.M) + own


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
    """The first error and the lines with the expected words, without the places where the sources lie. Of the code that is quoted, only the lines with
    words that no message has."""
    messages = [(m[1], m[2]) for m in re.finditer(r"^(\S*?:\d+:\d+:| *\d+ \|) +(.*)$", said.replace(f"{root}/", ""), re.M)]
    of_code = [w for w in words if not any(w in message for place, message in messages if not place.endswith("|"))]
    lines, first = [], True
    for place, line in messages:
        is_error = not place.endswith("|") and line.startswith("error: ")
        wanted = of_code if place.endswith("|") else words
        if any(w in line for w in wanted) or is_error and (first or "meshtf: " in line):
            line = line if len(line) <= 300 else line[:300] + " ..."
            if line not in lines:
                lines.append(line)
        first = first and not is_error
    return lines


@functools.lru_cache(maxsize=None)
def words_of(compiler, file, words):
    """What the page quotes of a compiler, and which of the expected words it did not say."""
    more = ["-fconstexpr-steps=100000000"] if "clang" in compiler else []
    said = subprocess.run([compiler, *flags, *more, str(file)], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stderr
    return excerpt(said, words), [w for w in words if w not in said]


def pages():
    """Path -> text of the pages that there are."""
    return {path: path.read_text() for path in sorted(folder.glob("*.md"))}


def quoted(file, texts):
    """{compiler: lines} that a page has of a file."""
    for text in texts:
        _, here, part = text.partition(f"`tests/must_not_compile/{file.name}`\n")
        if here:
            part = re.split(r"^`tests/must_not_compile/", part, maxsplit=1, flags=re.M)[0]
            return {m[1]: m[2].splitlines() for m in re.finditer(r"^(\S+) says:\n```console\n(.*?)```$", part, re.M | re.S)}
    return {}


def wrapped(text):
    return textwrap.fill(text, 160, break_long_words=False, break_on_hyphens=False)


def code(blocks):
    return "\n".join(f"```cpp\n{block}\n```" for block in blocks)


def case(file, words):
    mistakes, corrections = halves(file.read_text())
    part = [f"`tests/must_not_compile/{file.name}`", code(mistakes)]
    for name in ("g++", "clang"):
        part.append(f"{name} says:\n```console\n" + "\n".join(words.get(name, [])) + "\n```")
    part.append("Instead:\n" + code(corrections) if corrections else "Instead: leave it out.")
    return "\n\n".join(part)


def sections():
    """Page -> [(title, text, files)] in order: the verdicts by name, then what is said without one. Adds to the problems what has no page."""
    files = {f: f.read_text() for f in sorted(here.glob("*.cpp"))}
    page_of = {member: page for page, _, members in groups for member in members.split()}
    unused, rest = set(page_of), set(files)
    found = {page: [] for page, _, _ in groups}
    for name, (header, meaning) in sorted(verdicts().items()):
        mine = [f for f, s in files.items() if any(re.search(rf"\b{name}<", w) for w in expected_words(s))]
        rest -= set(mine)
        unused -= {name, header}
        page = page_of.get(name) or page_of.get(header)
        if page is None:
            problems.append(f"the verdict {name} of {header} is in none of the groups of errors.py")
            continue
        found[page].append((name, meaning, mine))
    for page, _, members in groups:
        mine = [f for f in sorted(rest) if f.name in members.split() and f.name in meanings]
        rest -= set(mine)
        unused -= {f.name for f in mine}
        if mine:
            found[page].append((without_verdict, "What is no question of legality is refused in a sentence alone, or by the compiler.", mine))
    problems.extend(f"{f.name} expects no verdict, and lacks a place in groups or a sentence in meanings of errors.py" for f in sorted(rest))
    problems.extend(f"the meanings of errors.py have {name}, which is nowhere" for name in sorted(set(meanings) - {f.name for f in files}))
    problems.extend(f"the groups of errors.py have {name}, which is nowhere" for name in sorted(unused))
    return found


def first_sentence(text):
    sys.path.insert(0, str(root / "tests" / "checks"))
    import operations
    return operations.first_sentence([text]).replace("|", "\\|")


def made(words, versions):
    """Path -> text of all pages, the index too. `words`: file -> {compiler: lines}; `versions`: the first lines of what the compilers say of themselves."""
    found, all_of_them = sections(), {}
    top = ["# Errors", "Every objection of the library is a type whose name states the fact and whose arguments are your own names. This page lists them, by what "
           "they are about. Each name links to what it means, the mistake, what the compilers say of it, and the correction. `meshtf::placement_verdict`, "
           "`einsum_verdict` and their like return the same types, so you can query them.",
           "Prices in a verdict are bytes that each process would send: `finish_sends<64>` for `finish(p)`, `reshard_sends<128, 0>` for resharding the first operand or the "
           "second. `reshard_for<512, rows>` stands where `rows` splits a dimension that must be whole, and prices the cheapest reshard after which it is. "
           "`as_partial<...>(x)` sends nothing.",
           "What is no question of legality is refused in a sentence alone, or by the compiler. It is listed by the name of its file in "
           "`tests/must_not_compile`.",
           f"The words are those of {versions[0]} and {versions[1]}. Written by `tests/must_not_compile/errors.py --write g++-12 clang++-19`."]
    top[1:] = map(wrapped, top[1:])
    for page, title, _ in groups:
        text = [f"# Errors: {title[0].lower()}{title[1:]}", "A part of the [list of errors](../errors.md)."]
        rows = ["| verdict | meaning |", "|---|---|"]
        for name, meaning, files in found[page]:
            if name == without_verdict:
                text.append(f"## {name}")
                rows += [f"| [`{f.name}`](errors/{page}.md#without-a-verdict) | {meanings[f.name]} |" for f in files]
            else:
                text.append(f"## `{name}`")
                rows.append(f"| [`{name}`](errors/{page}.md#{name}) | {first_sentence(meaning)} |")
            text.append(wrapped(meaning))
            for f in files:
                text += ([wrapped(meanings[f.name])] if name == without_verdict else []) + [case(f, words[f])]
            if not files:
                text.append("No case here yet.")
        all_of_them[folder / f"{page}.md"] = "\n\n".join(text) + "\n"
        top += [f"## [{title}](errors/{page}.md)", "\n".join(rows)]
    all_of_them[index] = "\n\n".join(top) + "\n"
    return all_of_them


def check_words(words):
    for file, by_compiler in words.items():
        if not halves(file.read_text())[0]:
            problems.append(f"{file.name} has no mistake between #ifdef FIXED, #else and #endif")
        for name in ("g++", "clang"):
            if not by_compiler.get(name):
                problems.append(f"there are no words of {name} for {file.name}")
        said = "\n".join(sum(by_compiler.values(), []))
        problems.extend(f"{file.name} expects other words: {w}" for w in expected_words(file.read_text()) if w not in said)


def written_with():
    found = re.search(r"^The words are those of (g\+\+.*?) and (.*?clang.*?)\.\sWritten by", index.read_text(), re.M | re.S)
    if not found:
        sys.exit("docs/errors.md does not say of which compilers its words are")
    return [re.sub(r"\s+", " ", version) for version in found.groups()]


def words_there():
    texts = [*pages().values(), index.read_text()]
    return {file: quoted(file, texts) for file in sorted(here.glob("*.cpp"))}


def write(gcc=None, clang=None, *chosen):
    files = sorted(here.glob("*.cpp"))
    if gcc is None or chosen:
        versions, words = written_with(), words_there()
    if gcc is not None:
        files = [f for f in files if f.name in chosen] if chosen else files
        versions = [subprocess.run([c, "--version"], capture_output=True, text=True).stdout.splitlines()[0] for c in (gcc, clang)]
        jobs = [(c, f, tuple(expected_words(f.read_text(), c))) for f in files for c in (gcc, clang)]
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:   # they are remembered
            for job, (_, missing) in zip(jobs, pool.map(lambda job: words_of(*job), jobs)):
                problems.extend(f"{job[1].name}: {job[0]} does not say: {w}" for w in missing)
        said = {f: {name: words_of(c, f, tuple(expected_words(f.read_text(), c)))[0] for name, c in (("g++", gcc), ("clang", clang))} for f in files}
        words = {**words, **said} if chosen else said
    check_words(words)
    texts = made(words, versions)
    folder.mkdir(exist_ok=True)
    for path in set(pages()) - set(texts):
        path.unlink()
    for path, text in texts.items():
        path.write_text(text)
    if problems:
        sys.exit("\n".join(problems))


def check():
    words = words_there()
    check_words(words)
    texts = made(words, written_with())
    there = {**pages(), index: index.read_text()}
    for path in sorted(set(texts) | set(there)):
        name = path.relative_to(root)
        if path not in there:
            problems.append(f"there is no {name}")
        elif path not in texts:
            problems.append(f"{name} is no page of errors any more")
        elif texts[path] != there[path]:
            differences = difflib.unified_diff(there[path].splitlines(), texts[path].splitlines(), "it has", "expected", n=0, lineterm="")
            problems.extend(f"{name}: {line}" for line in list(differences)[2:12])
    cases = sum(bool(files) for group in sections().values() for name, _, files in group if name != without_verdict)
    if cases < 30:
        problems.append(f"{cases} verdicts have a case, expected at least 30")
    if problems:
        print("\n".join(problems))
        sys.exit("docs/errors.md and its pages are old: tests/must_not_compile/errors.py --write g++-12 clang++-19")


def major_version(text):
    m = re.search(r"clang version (\d+)", text) or re.search(r"\+\+\S* \([^)]*\) (\d+)", text)
    return m and m[1]


def compare(file, compiler):
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    name = "clang" if "clang" in version else "g++"
    if major_version(version) != major_version(written_with()[name == "clang"]):
        return
    written = quoted(file, pages().values()).get(name, [])
    said = excerpt(sys.stdin.read(), expected_words(file.read_text(), name))
    if not said:
        sys.exit(f"nothing that {name} said of {file.name} would be quoted")
    if written != said:
        sys.exit("\n".join([f"docs/errors/ has other words of {name} for {file.name}:", *written, "It said:", *said,
                            "If that is what it is to say: tests/must_not_compile/errors.py --write g++-12 clang++-19"]))


if sys.argv[1:2] == ["--write"] and len(sys.argv) != 3:
    write(*sys.argv[2:])
elif sys.argv[1:] == ["--check"]:
    check()
elif sys.argv[1:2] == ["--said"] and len(sys.argv) == 4:
    compare(Path(sys.argv[2]), sys.argv[3])
else:
    sys.exit(__doc__)
