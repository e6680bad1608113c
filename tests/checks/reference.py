#!/usr/bin/env python3
"""docs/reference/*.md: every public name with its signature and what its header says of it, and the public members of classes. docs/reference.md lists
the pages and all names.

reference.py --check   are the pages what the headers say, is no other there, and has every public name a comment?
reference.py --write   writes the pages, and removes others

Public is what stands in namespace meshtf or meshtf::nn at the beginning of a line; namespaces for the library itself (detail, task, kernel and others) are
left out, and so are deprecated names. A declaration belongs to the comment of `///` lines above it; an overload without one, to the first of its name in its file. A block of `///`
lines with an empty line below it is said of each function that follows, up to the next such block or a line of `// ----`.
"""
import functools
import re
import sys
from pathlib import Path

root = Path(__file__).parents[2]
index, folder = root / "docs/reference.md", root / "docs/reference"
headers = root / "include/meshtf"
# (page, title, the folders and headers that it has): a header is on the page that names it, or else on that of its folder.
groups = [
    ("core", "Dimensions, meshes and layouts", "core"),
    ("core_elements", "Elements, texts and errors", "core/bfloat16.hpp core/element.hpp core/error.hpp core/function.hpp core/odometer.hpp core/philox.hpp "
     "core/small_array.hpp core/text.hpp core/threads.hpp"),
    ("tensor", "Tensors, parameters, partial sums, gradients", "tensor"),
    ("ops_product", "Operations: products", "ops/product"),
    ("ops_pointwise", "Operations: elementwise", "ops/pointwise"),
    ("ops_reduce", "Operations: along dimensions", "ops/reduce"),
    ("ops_normalise", "Operations: softmax, losses and norms", "ops/normalise"),
    ("ops_index", "Operations: by index", "ops/index"),
    ("ops_window", "Operations: convolutions, pooling and other windows", "ops/window"),
    ("ops_shape", "Operations: shapes and placements", "ops/shape"),
    ("ops_random", "Operations: random numbers", "ops/random"),
    ("ops_function", "Operations: functions of functions", "ops/function"),
    ("nn", "Layers", "nn"),
    ("nn_sequences", "Layers: from sequences to sequences", "nn/beam_search.hpp nn/blocks_with_norm.hpp nn/decoder.hpp nn/encoder.hpp nn/generation.hpp nn/incremental.hpp "
     "nn/sampling.hpp nn/segments.hpp nn/seq2seq.hpp nn/sequence_pairs.hpp"),
    ("nn_experts", "Layers: mixtures of experts", "nn/expert_capacity.hpp nn/expert_choice.hpp nn/gating.hpp nn/mixture_of_experts.hpp nn/routed.hpp nn/blocks_in_turn.hpp nn/experts_in_blocks.hpp"),
    ("optim", "Optimizers and schedules", "optim"),
    ("price", "Prices", "price"),
    ("search", "The best layout", "search"),
    ("explain", "In words", "explain"),
    ("runtime", "Processes", "runtime"),
    ("io", "Checkpoints and whole tensors", "io"),
    ("data", "Data", "data"),
    ("plan", "Verdicts", "plan"),
]
not_public = {"kernel", "detail", "."}  # folders of which programs name nothing; "." is include/meshtf itself
max_lines = 1500  # of a page
of_the_library = {"detail", "task", "kernel", "function", "fusion", "work_of", "math"}


# In the class's place where no runtime is included: there the class is a specialisation, which here is what its users see.
stand_in = "price/no_processes.hpp"


def name_of(declaration):
    """What is declared, or None: a deduction guide, a specialisation, a macro's use."""
    text = re.sub(r"^\s*template\s*<", "template<", declaration)
    if re.search(r"requires (?:meshtf::)?detail::AnyRejected<|\(rejected", text):
        return None  # for the compiler alone: what follows from an operation that it has refused
    while text.startswith("template<"):
        depth, i = 0, len("template")
        for i in range(len("template"), len(text)):
            depth += {"<": 1, ">": -1}.get(text[i], 0) if text[i - 1 : i + 1] != "->" else 0
            if depth == 0:
                break
        text = text[i + 1 :].strip()
        text = re.sub(r"^requires\s*(\((?:[^()]|\([^()]*\))*\)|[\w:]+(?:<[^<>]*>)?(?:\s*(?:&&|\|\|)\s*[\w:]+(?:<[^<>]*>)?)*)\s*", "", text)
    if match := re.match(r"(?:struct|class|enum class|enum|concept|using)\s+(\w+)\s*([^\w\s]|$)", text):
        if match[2] == ":" and text[match.end(2) :].startswith(":"):
            return None  # a member, defined outside of its class
        return None if match[2] == "<" and not text.startswith("class process_mesh<M>") else match[1]
    if match := re.match(r"(?:inline |static |constexpr |consteval )*[\w:<>,\s*&]*?\b(\w+)\s*(=|\{)", text):
        if "(" not in text[: match.start(2)]:
            return match[1] if "<" not in text[match.end(1) : match.start(2)] else None
    if match := re.search(r"(operator\S+?|\b\w+)\s*\(", text):
        if text[: match.start(1)].endswith("::"):
            return None  # a member, defined outside of its class
        return None if match[1] in {"if", "static_assert", "decltype", "requires"} or match[1].isupper() else match[1]
    return None


def without_comment(line):
    """A line without the // comment at its end, which is not within a text."""
    return re.sub(r'^((?:[^"/]|"(?:[^"\\\\]|\\\\.)*"|/(?!/))*)//.*$', r"\1", line)


def signature_of(declaration):
    """What stands before a body or the end of a declaration. Braces between brackets are of default arguments: `how = {.descending = true}`."""
    if re.match(r"(?:inline |static |constexpr )*[\w:]+ \w+ = [^;]*;", declaration):
        return declaration[: declaration.index(";")]  # a variable with its value
    depth = 0
    for i, c in enumerate(declaration):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth == 0 and (c == ";" or (c == "{" and not declaration[:i].endswith("= ") and declaration[i : i + 2] != "{}")):
            return declaration[:i]
    return declaration


def depth_of(line):
    line = re.sub(r'"(?:[^"\\\\]|\\\\.)*"|\'(?:[^\'\\\\]|\\\\.)\'', "", without_comment(line))
    return line.count("{") - line.count("}"), line.count("(") - line.count(")")


def members(body, public):
    """The public members of a class, as lines of C++: their comments and their signatures. `body` begins after the class's own brace."""
    out, comment, shown, i = [], [], True, 0
    while i < len(body):
        line = body[i].strip()
        i += 1
        if match := re.match(r"(public|private|protected):", line):
            public, shown, comment = match[1] == "public", True, []
        elif line.startswith("//") and not line.startswith("///"):
            of_the_rest = re.match(r"// (?:---- )?[Ff]or (?:operations|checkpoints|machines|the search)\b", line)
            shown, comment = (False if of_the_rest else shown or line.startswith("// ----")), []
        elif line.startswith("///"):
            comment.append(("// " + line[4:]).rstrip())
        elif line == "" or line.startswith(("#", "}", "MESHTF_")):
            comment = []
        else:
            behind = body[i - 1][len(without_comment(body[i - 1])) :].strip()
            declaration, (braces, brackets) = without_comment(line), depth_of(line)
            constraint = 0  # braces of a requires within the declaration
            while i < len(body) and (brackets > 0 or not re.search(r"[;{]|\}$", declaration) or re.search(r"requires[^;{]*\{[^}]*$", declaration)):
                more = body[i]
                i += 1
                behind = more[len(without_comment(more)) :].strip() or behind
                declaration += " " + without_comment(more).strip()
                braces, brackets = braces + depth_of(more)[0], brackets + depth_of(more)[1]
            while braces > 0 and i < len(body):  # its body
                braces += depth_of(body[i])[0]
                i += 1
            text = re.sub(r"requires requires\b[^{]*\{(?:[^{}]|\{[^{}]*\})*\}", "", declaration)
            nested = re.match(r"(?:template<.*> )?(?:struct|class|enum class|enum) \w+", text)
            signature = signature_of(text)
            signature = re.sub(r"(\)(?: const| noexcept)*)\s*:\s*[\w:]+(?:[({<].*|$)", r"\1", signature)  # members that a constructor makes
            signature = shortened(re.sub(r"\s+", " ", re.sub(r"\s*\{\}$", "", signature)).strip())
            unwanted = re.match(r"(friend|static_assert|using|explicit operator|~|operator=)", signature) or re.search(r"= (delete|default)$", signature)
            if public and shown and not unwanted and "deprecated" not in declaration and signature and not re.match(r"(?:template<.*> )?\w*~", signature) and (not nested or comment):
                out += comment + [signature + ";" + ("  " + behind if behind.startswith("//") and not comment else "")]
            comment = []
    return out


def is_lost_text(lines, i):
    """Does a block of `//` lines that ends here stand before the comment of a declaration, with an empty line between? A line of `// ----` is a heading."""
    if not re.match(r"//(?!/)", lines[i]) or lines[i + 1 : i + 2] != [""] or not "".join(lines[i + 2 : i + 3]).startswith("///"):
        return False
    return not lines[i].startswith("// ----")


def too_short(comment, before):
    """Does it only point at a neighbour, as "Both." does, or "The same ..." where nothing stands before?"""
    return len(" ".join(comment).split()) < 2 or (comment[0].startswith("The same") and not before)


def entries(path, lost):
    """[(name, signature, comment lines, lines of members)] of the public declarations in a header. `lost`: what the page would not say is put there."""
    found, comment, shared, spaces, seen = [], [], [], [], set()
    lines = path.read_text().splitlines()
    i = 0
    while i < len(lines):
        line = lines[i]
        if (match := re.match(r"(?:inline )?namespace\b *([\w:]*)", line)) and line.count("{") > line.count("}"):
            spaces.append(match[1])
            comment, shared = [], []
        elif re.match(r"}\s*// namespace", line):
            if not spaces:
                sys.exit(f"{path}:{i + 1}: this closes a namespace that was not seen to open")
            spaces.pop()
            comment, shared = [], []
        elif line.startswith("///"):
            comment.append(line[4:])
        elif line.strip() == "" or line.startswith(("//", "#", "}", " ", "static_assert", "MESHTF_", "extern", "{", "namespace")):
            if line.strip() == "" and comment:
                shared = comment
            if is_lost_text(lines, i) and spaces and not set(spaces) & of_the_library:
                lost.append(f"{path.relative_to(root)}:{i + 1}: this is said of what follows, but `//` is not in the reference: write `///`")
            if line.startswith("// ----"):
                shared = []
            comment = []
        elif spaces and not set(spaces) & of_the_library:
            declaration = line

            def unconstrained(text):
                return re.sub(r"\brequires requires\b[^{]*\{(?:[^{}]|\{[^{}]*\})*\}", "", text)

            while not re.search(r"[;{]\s*(//.*)?$|\{", unconstrained(declaration).replace("{}", "")) and i + 1 < len(lines):
                i += 1
                declaration += " " + re.sub(r"^//.*", "", lines[i].strip())
            declaration = unconstrained(declaration)
            signature = signature_of(declaration)
            signature = re.sub(r"\s+", " ", re.sub(r"//.*", "", signature)).strip()
            name = None if "[[deprecated" in declaration else name_of(declaration)
            is_class = re.search(r"\b(struct|class)\s+\w+(<M>)?( final)?( : [^;]*)?$", signature) and "{" in declaration and not declaration.rstrip().endswith("};")
            body = []
            forward = "{" not in declaration and re.search(r"\b(struct|class)\s+\w+\s*$", signature)
            if name and (comment or not forward):
                if comment or name not in seen:
                    if comment and too_short(comment, found):
                        lost.append(f"{path.relative_to(root)}: {name} is said to be \"{comment[0]}\", which tells a reader of the reference nothing")
                    found.append((name, signature, comment + ([""] + shared if comment and shared else []), body))
                elif found:
                    same = next(e for e in reversed(found) if e[0] == name)
                    found[found.index(same)] = (name, same[1] + "\n" + signature, same[2], same[3])
                seen.add(name)
            comment = []
            open_braces = declaration.count("{") - declaration.count("}")
            first = i + 1
            while open_braces > 0 and i + 1 < len(lines):  # its body
                i += 1
                open_braces += lines[i].count("{") - lines[i].count("}")
            if is_class:
                body += members(lines[first:i], bool(re.search(r"\bstruct\b", signature)))
        i += 1
    return found


def shortened(signature):
    signature = signature.replace(" requires(sizeof(M) != 0) class process_mesh<M>", " class process_mesh")
    signature = re.sub(r",?\s*std::source_location at = std::source_location::current\(\)", "", signature)
    return re.sub(r"\[\[gnu::[^]]*\]\]\s*|\b(constexpr|inline|detail::)\s*", "", signature).strip()


def verdict_names():
    """Empty struct templates: what objections are made of."""
    found = set()
    for path in (root / "include/meshtf").rglob("*.hpp"):
        found |= set(re.findall(r"^struct (\w+) \{\};", path.read_text(), re.M))
    return found


def slug(heading):
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w -]", "", heading.replace("`", "").lower()).replace(" ", "-")


def group_of(header):
    """The page of a header, given as a path below include/meshtf; None if it has none."""
    pages = {member: page for page, _, members in groups for member in members.split()}
    place = pages.get(str(header))
    while place is None and header != header.parent:
        header = header.parent
        place = pages.get(str(header))
    return place


class page_text:
    """The lines of a page, and the names on it."""

    def __init__(self, title):
        self.lines = [f"# {title}", "", "A part of the [reference](../reference.md).", ""]
        self.names = []  # (name, header, anchor)
        self.anchors = {}

    def heading(self, level, text):
        """Adds a heading and returns its anchor: of several alike, GitHub numbers those after the first."""
        self.lines += [f"{'#' * level} `{text}`", ""]
        anchor = slug(text)
        number = self.anchors.get(anchor, 0)
        self.anchors[anchor] = number + 1
        return f"{anchor}-{number}" if number else anchor

    def add(self, header, name, signature, comment, body):
        self.names.append((name, header, self.heading(3, name)))
        self.lines += ["```c++"] + [shortened(s) for s in signature.split("\n")] + ["```", ""]
        block = False
        for line in comment:
            code = line.startswith("    ")
            if code != block:
                self.lines.append("```c++" if code else "```")
                block = code
            self.lines.append(line[4:] if code else line)
        if block:
            self.lines.append("```")
        self.lines.append("")
        if body:
            self.lines += ["Members:", "", "```c++"] + body + ["```", ""]

    def text(self):
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self.lines)).rstrip() + "\n"


@functools.lru_cache(maxsize=None)
def pages():
    """(page -> its text and names, what is wrong with the headers)."""
    verdicts = verdict_names()
    found = {page: page_text(title) for page, title, _ in groups}
    missing, lost = [], []
    for path in sorted(headers.rglob("*.hpp")):
        header = path.relative_to(headers)
        in_plan = header.parts[0] == "plan"
        place = group_of(header)
        if place is None:
            is_of_folder = path.with_suffix("").is_dir()  # ops/shape.hpp includes what is in ops/shape
            if not is_of_folder and (header.parts[0] if len(header.parts) > 1 else ".") not in not_public:
                missing.append(f"include/meshtf/{header} is in none of the groups of reference.py")
            continue
        all_of_it = [] if str(header) == stand_in else entries(path, lost if not in_plan else [])
        if in_plan:  # the rules themselves are for those who work on the library
            all_of_it = [e for e in all_of_it if re.search(r"\bstruct \w+( \{\})?$", e[1]) and e[2] and e[0] in verdicts]
        if not all_of_it:
            continue
        found[place].heading(2, str(header))
        for name, signature, comment, body in all_of_it:
            if comment:
                found[place].add(header, name, signature, comment, [] if in_plan else body)
            else:
                missing.append(f"include/meshtf/{header}: {name} has no comment")
    return found, missing + lost


def link_to(header, name):
    """The link to the first declaration of a name in a header, from docs/."""
    page = group_of(header)
    return f"reference/{page}.md#" + next(anchor for n, h, anchor in pages()[0][page].names if (n, h) == (name, header))


def names_text():
    """All names in the order of the alphabet, with links."""
    found = {}  # name -> header -> the link to the first of its declarations there
    for page, written in pages()[0].items():
        for name, header, anchor in written.names:
            found.setdefault(name, {}).setdefault(header, f"reference/{page}.md#{anchor}")
    out, letter = [], None
    for name in sorted(found, key=lambda n: (not n.startswith("operator"), n.lower(), n)):
        first = "Operators" if name.startswith("operator") else name[0].upper()
        if first != letter:
            out += ["", f"### {first}", ""]
            letter = first
        if len(found[name]) == 1:
            out += [f"[`{name}`]({link})," for link in found[name].values()]
        else:
            out.append(f"`{name}` of " + " and of ".join(f"[{header}]({link})" for header, link in found[name].items()) + ",")
    return [line.removesuffix(",") if i + 1 == len(out) or out[i + 1] == "" else line for i, line in enumerate(out)]


def text():
    """Path -> text of the pages and of the index, and what is wrong."""
    written, wrong = pages()
    rows = []
    for page, title, members in groups:
        count = len(written[page].names)
        where = ", ".join(f"`{member}`" for member in members.split())
        rows.append(f"| [{title}](reference/{page}.md) | {where} | {count} |")
    out = ["# Reference", "", "Every public name, and the public members of classes, made by `tests/checks/reference.py --write` from the headers, whose comments these are. An",
           "operation's comment says what it computes, what it sends, what its gradient is, and which errors it knows. Files are in `include/meshtf/`. Verdicts are",
           "in [errors.md](errors.md) too, with the compilers' words.", "", "## Pages", "", "| page | headers | names |", "|---|---|---:|", *rows, "", "## Names", *names_text()]
    made = {index: "\n".join(out) + "\n", **{folder / f"{page}.md": written[page].text() for page in written}}
    wrong = wrong + [f"{path.relative_to(root)} has {n} lines, expected at most {max_lines}: split its group" for path, t in made.items() if (n := t.count("\n")) > max_lines]
    return made, wrong


def main():
    if sys.argv[1:] not in (["--check"], ["--write"]):
        sys.exit(__doc__)
    made, wrong = text()
    for line in wrong:
        print(line)
    others = set(folder.glob("*.md")) - set(made)
    if sys.argv[1] == "--write":
        folder.mkdir(exist_ok=True)
        for path in others:
            path.unlink()
        for path, written in made.items():
            path.write_text(written)
        return 1 if wrong else 0
    for path in sorted(others):
        print(f"{path.relative_to(root)} is no page of the reference: run tests/checks/reference.py --write")
    old = [path for path, written in made.items() if not path.exists() or path.read_text() != written]
    for path in old:
        print(f"{path.relative_to(root)} is not what the headers say: run tests/checks/reference.py --write")
    return 1 if wrong or others or old else 0


if __name__ == "__main__":
    sys.exit(main())
