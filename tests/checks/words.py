#!/usr/bin/env python3
"""Words that are not used: words.py [FILE...] prints FILE:LINE, the word and the term of the literature to write instead (docs/glossary.md).

Without files: the headers, the documents (those made from the headers apart), the examples and the tests. A word counts in identifiers, in comments
and in documents as its rule says. What must keep a former name says so in the line itself, [[deprecated, or stands below with its reason.
"""
import re
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]

everywhere = [  # (what is found, what to write)
    (r"\bwet<", "actual<"),
    (r"(?:\.|->)room\(\)", "allocated_extent()"),
    (r"\.turns\b", ".iterations"),
    (r"\b[Oo]pen sums?\b|\bopen_sums?\b|\bOpenSum\b", "partial sum, PartialSum"),
    (r"\baddends?\b", "local terms"),
    (r"\b[Oo]we[s]?\b|\b[Oo]wed\b(?!\(\))|\bOwed\b|\b\w+_owes\b|\bowed_\w+", "unreduced, unreduced over"),
    (r"\bentered\(", "local_terms("),
    (r"(?:\.|->)enter\(", ".begin_operation("),
    (r"\blooks_on\b|\blook_on\b|\bdoes_task\b|\bwatched\(\)", "observer(), ensure_observer(), trace_task, is_observed()"),
    (r"\baccounts<|\bclass accounts\b", "machine_base"),
    (r"\b[Ww]ays? back\b", "backward pass"),
    (r"\bleave_this\b", "run_backward, destroy_this"),
    (r"\bserve_as\b|\blet_serve\b|\bmay_serve\w*|\brecorded_service\b", "alias_as, alias, can_alias"),
    (r"\bHasWishes\b|\bwishes\b", "HasOptions, options"),
    (r"\bstraight_way\b|\bcheapest_way\b|\bstanding_\w+|\bstandings\b", "direct_path, cheapest_path, placement state"),
    (r"\b(?:use|meeting)::(?:grown|bent|moved|widened|narrowed)\b", "monotone, nonlinear, layout_only, exact_cast, rounding_cast"),
    (r"\bzoo\.hpp\b", "layout_fixture.hpp"),
    (r"\bmost_(?!of\b|expensive)[a-z]\w*|\bleast_(?!of\b)[a-z]\w*", "max_, min_"),
    (r"\bcompiled part\b", "compiled library"),
    (r"\brooms? of `ops/`", "operation family"),
]
in_words = [  # in comments and documents
    (r"\b[Bb]ehind\b", "after"),
    (r"\b[Bb]eside\b", "next to, compared with, in addition to"),
    (r"\b[Ww]hat (?:a|the) (?:training )?step sends\b", "the communication of a step, the bytes sent by a step"),
    (r"\bis of the (?:Xeon|EPYC)\b", "is from the ..."),
    (r"\bwho wants to\b|\b(?:somebody|nobody) (?:looks on|wants to know)\b", "say who: the caller, the program, the observer"),
]
exceptions = [  # (file, line, reason)
    (r"kernel/running\.|plan/cumsum_plan\.hpp", r"addend", "the recurrence s -> factor * s + addend"),
    (r"norm|residual_of_other_dims|normalise/residual|errors\.md", r"addend", "residual_layer_norm adds a tensor: the operand, and the verdict addend_has_other_dims"),
    (r"", r"\b[Ll]ea?[vf][et]s? (?:\w+ )?behind\b|\bmeasurements behind\b|\bhard to tell from what is behind\b", "plain English"),
    (r"plan/window_plan\.hpp|tests/plan/", r"\b(?:ahead|After)\b|\.behind\b", "window_rule::behind, elements after a dimension"),
    (r"", r"--beside|mixed beside data_parallel|mixed_beside|beside_kernels", "an option of meshtf-plan, the title of a picture that it draws, and the name of a file"),
    (r"fuzz/generate\.py|checks/(?:docs\.sh|reference\.py|pages\.py)", r"beside|behind|most", "variables of a script"),
    (r"search/record\.hpp|search/recorder\.hpp|search/recorded_calls?\.hpp", r"\bwishes\b", "the public member recorded_call::wishes"),
    (r"", r"least_factored", "the public member adafactor::least_factored"),
    (r"fuzz/generate\.py|nn/recurrent\.cpp", r"\bturns\b", "the turns of a recurrent layer's loop"),
    (r"tests/CMakeLists\.txt", r"old_words", "the test of this check"),
    (r"bug_corpus/README\.md", r"\bowed\b", "an issue that is left to do"),
]
own = {"tests/checks/words.py", "docs/glossary.md", "docs/reference.md", "docs/errors.md", "tests/plan/public_names.cpp", "tests/runtime/public_names.cpp"}


def words_of(line, path, inside):
    """What of a line is a comment or a document's text, and whether a block of code goes on."""
    if path.suffix == ".md":
        if line.lstrip().startswith("```"):
            return "", not inside
        return ("" if inside else re.sub(r"`[^`]*`", "", line)), inside
    mark = "//" if path.suffix in {".hpp", ".cpp"} else "#"
    found = re.search(r"(?:^|\s)" + mark + r"(.*)", line)
    return (found[1] if found else ""), inside


def main(files):
    if not files:
        files = [root / "README.md", root / "CONTRIBUTING.md"]
        for folder in ("include", "docs", "examples", "tests"):
            files += [p for p in sorted((root / folder).rglob("*")) if p.suffix in {".hpp", ".cpp", ".md", ".py", ".sh", ".txt", ".cmake"}]
    status = 0
    for path in map(Path, files):
        path = path.resolve()
        name = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
        if name in own or name.startswith(("docs/reference/", "docs/errors/")):
            continue
        inside = former = False
        whole = path.read_text(encoding="utf-8")
        here, here_in_words = ([rule for rule in rules if re.search(rule[0], whole)] for rules in (everywhere, in_words))
        if not here and not here_in_words:
            continue
        for number, line in enumerate(whole.splitlines(), 1):
            text, inside = words_of(line, path, inside)
            before, former = former, "[[deprecated" in line or "he former name" in line or (former and bool(line.strip()))
            if former or before:
                continue
            for rules, where in ((here, line), (here_in_words, text)):
                for old, new in rules:
                    for m in re.finditer(old, where):
                        if any(re.search(f, name) and re.search(l, line) for f, l, _ in exceptions):
                            continue
                        print(f"{name}:{number}: '{m[0]}': write {new} (docs/glossary.md)")
                        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
