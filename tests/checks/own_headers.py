#!/usr/bin/env python3
"""A header includes the headers of ours that declare what it names, itself or through another: own_headers.py FOLDER

Long runs compile each header alone, which takes eleven minutes of a core. This reads from the text what it can, in two seconds: it knows the types, concepts,
aliases, functions and variables that begin in a header's first column, and the macros, and which header has one of their names. A name that the header
declares too, such as a member's, and words that may be anything are not looked at. Of the includes that a header can't do without, it notices six in ten.
"""
import functools
import re
import sys
from pathlib import Path

root = Path(sys.argv[1]).resolve() / "include"


def code(text):
    """Without comments, the preprocessor's lines, and the contents of strings."""
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', re.sub(r"//[^\n]*|/\*.*?\*/|^ *#.*|(?<=MESHTF_TAKES)\(.*", "", text, flags=re.M))


headers = {str(p.relative_to(root)): p.read_text() for p in sorted(root.rglob("*.hpp"))}
codes = {header: code(text) for header, text in headers.items()}

declared_in = {}
for header, text in codes.items():
    types = re.findall(r"^(?:template<.*> *)?(?:struct|class|enum class|concept|using) (?:\[\[.*?\]\] )?(\w+)\b(?!;)", text, re.M)
    values = re.findall(r"^(?:template<.*> *)?(?:\[\[[\w:]*\]\] )?(?!return|using|namespace)[\w:]+[\w:<>,\s&*.]*?[\s&*](\w+)\s*[(={]", text, re.M)
    macros = re.findall(r"^ *# *define (MESHTF_\w+)", headers[header], re.M)
    for name in types + values + macros:
        declared_in.setdefault(name, set()).add(header)


@functools.lru_cache(maxsize=None)
def reached(header):
    seen, rest = {header}, [header]
    while rest:
        for included in re.findall(r"^ *# *include <(meshtf/[^>]+)>", headers[rest.pop()], re.M):
            if included not in seen and included in headers:
                seen.add(included)
                rest.append(included)
    return seen


def declared_by(text):
    """Members, parameters, variables and enumerators: what follows a type."""
    words = re.findall(r"(?<!return)(?<!typename)(?<!public)(?<!else)(?<!throw)(?<!case)(?<!new)(?<!co_return)(?:[\w>&*\])]|\.\.\.)\s+\.*(\w+)(?= *(?:[;,=(){\[:>]|$))", text, re.M)
    words += re.findall(r"\busing [\w:<>]+::(\w+);", text)
    for body in re.findall(r"\benum (?:class |struct )?\w*(?: : [\w: ]+)? *\{([^}]*)\}", text):
        words += re.findall(r"\w+", body)
    return set(words)


def is_distinct(name):
    """Not a word that may be anything: a parameter's type, a member, a local name."""
    return name in {"extent", "machine", "tensor", "parameter"} or ("_" in name[:-1] or name[0].isupper() and len(name) > 1) and not name.endswith("_")


problems = []
for header, text in codes.items():
    mine = declared_by(text)
    used = set(re.findall(r"(?<![\w.])(?<!->)(?<!::)(?<!\btemplate )(\w+)|(?<=detail::)(\w+)|(?<=task::)(\w+)", text))
    for name in sorted({word for words in used for word in words if word} - mine):
        if is_distinct(name) and name in declared_in and not declared_in[name] & reached(header):
            problems.append(f"{header}: expected #include <{'> or <'.join(sorted(declared_in[name])[:2])}>, for {name}")
print("\n".join(problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)
