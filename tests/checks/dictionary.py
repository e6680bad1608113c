#!/usr/bin/env python3
"""The tables of docs/from_mesh_tensorflow.md and docs/from_pytorch_and_jax.md, made from examples/from_mesh_tensorflow.cpp, whose first lines say how, and
from the lines `//=` in the headers of operations (catalogue.py), which come after those of their table.

Every operation, a public function of a header in ops/, is in a row, or stands in `only_here` with the reason.

dictionary.py --check | --write     (do the pages hold these tables? / put them in, between the marks <!-- table: HEADING --> and <!-- end -->)
"""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import catalogue
import reference

root = Path(__file__).parents[2]
source = root / "examples/from_mesh_tensorflow.cpp"
headings = {"pointwise": "Pointwise", "reduce": "Along dimensions", "normalise": "Along dimensions", "product": "Products",
            "function": "Functions of one's own"}  # of a folder of ops/; of others:
others = "Shapes, indices, placements"
fused = "does at once what others write as several calls"
only_here = {"as_partial": "partial sums are values here alone", "with_segments": "is an argument of attention, not a call of its own",
             "bias_gelu": fused, "residual_layer_norm": fused, "rotary": fused,
             "avg_pool": "is called as max_pool is"}
pages = {"docs/from_mesh_tensorflow.md": (["Mesh TensorFlow"], [0]), "docs/from_pytorch_and_jax.md": (["PyTorch", "JAX"], [1, 2])}


def entries():
    """[(heading, [words there, ...], [lines here])], in the order of the file."""
    found, heading, open_entry, indent = [], None, None, 0
    for line in source.read_text().splitlines():
        text = line.strip()
        if text.startswith("//# "):
            heading, open_entry = text[4:], None
        elif text.startswith("//= ") and heading is not None:
            words = [side.strip() for side in text[4:].split("||")]
            if open_entry is not None and not open_entry[2]:  # goes on
                open_entry[1][-1] = (open_entry[1][-1] + " " + words[0]).strip()
                open_entry[1].extend(words[1:])
            else:
                open_entry = (heading, words, [])
                found.append(open_entry)
                indent = len(line) - len(text)
        elif text == "" or (open_entry is not None and len(line) - len(text) < indent):
            open_entry = None
        elif open_entry is not None:
            open_entry[2].append(text)
    return found + [(headings.get(r.folder, others), r.there, [r.here]) for r in catalogue.rows()]


def code(text):
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def cell(lines):
    """The lines of one statement joined, statements apart."""
    joined = re.sub(r"\s+", " ", " ".join(lines).removeprefix("// ").replace("[[maybe_unused]] ", ""))
    for comment in re.findall(r"\s*//[^\n]*$", joined):
        joined = joined.removesuffix(comment)
    joined = re.sub(r"(?<=\()\s+|(?<=\w\{)\s+|(?<=\))\s+(?=\.\w)", "", joined)  # where a line was broken
    return code(joined)


def table(all_entries, heading, names, columns):
    rows = []
    for at, there, here in all_entries:
        words = [there[c] if c < len(there) else "" for c in columns]
        if at == heading and any(words):
            rows.append("| " + " | ".join([code(w) for w in words] + [cell(here)]) + " |")
    return ["| " + " | ".join(names + ["meshtf"]) + " |", "|" + "---|" * (len(names) + 1)] + rows


def written(text, all_entries, names, columns):
    out, skipping, wanted = [], False, {e[0] for e in all_entries}
    for line in text.splitlines():
        mark = re.fullmatch(r"<!-- table: (.*) -->", line)
        if line == "<!-- end -->":
            skipping = False
        if not skipping:
            out.append(line)
        if mark:
            skipping = True
            wanted.discard(mark[1])
            out += table(all_entries, mark[1], names, columns)
    if wanted:
        sys.exit(f"no table for {', '.join(sorted(wanted))}: put <!-- table: ... --> and <!-- end --> into the page")
    return "\n".join(out) + "\n"


def not_in_a_row(all_entries):
    here = "\n".join(" ".join(lines) for _, _, lines in all_entries)
    operations = {name for path in (root / "include/meshtf/ops").rglob("*.hpp") for name, signature, *_ in reference.entries(path, [])
                  if re.search(rf"\b{re.escape(name)}\s*\(", signature) and not name.startswith("operator")}
    if len(operations) < 80:
        sys.exit(f"found {len(operations)} operations, expected 80 or more")
    for name in sorted(operations - only_here.keys()):
        if not re.search(rf"\b{name}\s*[<(]", here):
            yield f"{name} is in no row: write `//= MESH TENSORFLOW || PYTORCH || JAX || CALL` above its comment"
    yield from (f"{name}, which stands here as an operation that others lack, is none of ops/" for name in sorted(only_here.keys() - operations))


def main():
    if sys.argv[1:] not in (["--check"], ["--write"]):
        sys.exit(__doc__)
    all_entries, status = entries(), 0
    if any(not here for _, _, here in all_entries):
        sys.exit("an entry without a line here: " + next(there[0] for _, there, here in all_entries if not here))
    for line in not_in_a_row(all_entries):
        print(line)
        status = 1
    for page, (names, columns) in pages.items():
        before = (root / page).read_text()
        now = written(before, all_entries, names, columns)
        if sys.argv[1] == "--write":
            (root / page).write_text(now)
        elif now != before:
            print(f"{page} is not what examples/from_mesh_tensorflow.cpp and the headers in ops/ say: run tests/checks/dictionary.py --write")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
