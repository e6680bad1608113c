"""Rules for lines that clang-format doesn't know: lines.py ROOT

- A line has at most 110 columns. Exempt are the text of raw strings (it is output), and the first lines of a test that must not compile (they
  are what a compiler says).
- A declaration declares one name. Exempt are the heads of `for` loops.
- The operands of a conditional operator contain no other: write `if`, or name a part.

Prints FILE:LINE: what, and ends with 1, if a file breaks a rule.
"""
import pathlib
import re
import sys

columns = 110
folders = ("include", "tests", "examples", "benchmarks")
no_types = set("return else case using template throw delete new namespace goto if for while switch do operator typename".split())
specifiers = r"(?:(?:static|constexpr|inline|const|mutable|thread_local|constinit)\s+)*"
declared = re.compile(specifiers + r"((?:unsigned |long )*[A-Za-z_][\w:]*)(?:<[^;={}]*>)?(?:\s+const)?[\s*&]+[A-Za-z_]\w*\s*(?==|,|\{|;|\()")


def without_text(source):
    """`source` in which comments, and what is in quotes, are blank. Offsets stay."""
    def blank(found):
        return re.sub(r"[^\n]", " ", found[0])
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![0-9A-Fa-f])\'(?:[^\'\\\n]|\\.)+\''
    return re.sub(pattern, blank, source, flags=re.S)


def commas(text):
    """The parts of `text` between commas that are in no bracket."""
    parts, depth, first = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{<") - (c in ")]}" or (c == ">" and text[i - 1] != "-"))
        if c == "," and depth == 0:
            parts.append(text[first:i])
            first = i + 1
    return parts + [text[first:]]


def long_lines(source):
    """Numbers of lines that are too long."""
    raw = [(source.count("\n", 0, m.start()), source.count("\n", 0, m.end())) for m in re.finditer(r'R"(\w*)\(.*?\)\1"', source, re.S)]
    expected = 0
    if source.startswith("// error"):
        expected = next(i for i, line in enumerate(source.split("\n")) if not line.startswith("// "))
    for number, line in enumerate(source.split("\n")):
        if len(line) > columns and number >= expected and not any(a <= number <= b for a, b in raw):
            yield number + 1


def several_names(code):
    """Numbers of lines with a declaration of several names."""
    for number, line in enumerate(code.split("\n")):
        for statement in re.split(r"[;{}](?=\s|$)", line):
            text = statement.strip()
            found = declared.match(text + ";")
            constructs = re.search(r"\)\s*(?:noexcept\s*)?:\s", text)   # a constructor, and what it initialises
            if not found or constructs or found[1].split()[0] in no_types:
                continue
            parts = commas(text)
            if len(parts) > 1 and all(re.match(r"\s*[*&]?\s*[A-Za-z_]\w*\s*($|=|\{)", p) for p in parts[1:]):
                yield number + 1


def nested_conditionals(code):
    """Numbers of lines with a conditional operator whose operands contain another."""
    for m in re.finditer(r"\?", code):
        depth = 0
        for c in code[m.end():]:
            depth += (c in "([{") - (c in ")]}")
            if depth < 0 or (depth == 0 and c in ",;"):
                break
            if c == "?":
                yield code.count("\n", 0, m.start()) + 1
                break


def main(root):
    bad = 0
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".hpp", ".cpp"):
                continue
            source = path.read_text()
            code = without_text(source)
            for rule, numbers in (
                (f"the line has more than {columns} columns", long_lines(source)),
                ("a declaration declares several names", several_names(code)),
                ("a conditional operator contains another", nested_conditionals(code)),
            ):
                for number in numbers:
                    bad += 1
                    print(f"{path.relative_to(root)}:{number}: {rule}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
