#!/usr/bin/env python3
"""docs/operations.md: one row for each operation, layer and optimizer: its name, what its header says in the first sentence, its header.

operations.py --check   is the page what the headers say?
operations.py --write   writes the page

The parser is that of reference.py, whose pages have the signatures and all of the comments.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import reference  # noqa: E402

root = Path(__file__).parents[2]
page = root / "docs/operations.md"
families = [
    ("ops/product", "Products"), ("ops/pointwise", "Elementwise"), ("ops/reduce", "Along dimensions"), ("ops/normalise", "Softmax, losses and norms"),
    ("ops/index", "By index"), ("ops/window", "Convolutions, pooling and other windows"), ("ops/shape", "Shapes and placements"),
    ("ops/random", "Random numbers"), ("ops/function", "Functions of functions"), ("nn", "Layers"), ("optim", "Optimizers and schedules"),
]

of_optimizers = {"replica_parts", "undecided_parts", "parts_of_replicas", "optimizer_states", "elementwise_steps"}  # what they are made of


def is_listed(family, signature):
    """Operations are functions; layers and optimizers are classes. Types of results and of verdicts are in the reference alone."""
    is_class = re.search(r"(^|> |\) )(struct|class) ", signature)
    is_function = "(" in signature and not is_class and not re.search(r"(^|> )(concept|using) ", signature)
    if family.startswith("ops/"):
        return is_function
    return is_function or (is_class and not signature.endswith("{}"))


def first_sentence(comment):
    text = []
    for line in comment:
        if line.startswith("    ") or (line == "" and text) or line.startswith(("Source:", "Errors:")):
            break
        text.append(line)
    text = re.sub(r"\s+", " ", " ".join(text)).strip()
    match = re.match(r"(.*?[^.\d]\.|.*?\d\.)(?= [A-Z`(]|$)", text)
    return (match[1] if match else text).rstrip(":.,;") + "."


def text():
    out = ["# Operations, layers and optimizers", "",
           "What there is, made by `tests/checks/operations.py --write` from the headers. Each name links to its place in the [reference](reference.md), which has",
           "the signatures, what is computed and sent, the gradients and the errors. Operations are in namespace `meshtf`, layers in `meshtf::nn`. Where a",
           "dimension has to be whole, or may be split, the reference says so too, and the compiler refuses what no operation does.", ""]
    for family, title in families:
        rows, seen = [], set()
        for path in sorted((root / "include/meshtf" / family).rglob("*.hpp")):
            header = path.relative_to(root / "include/meshtf")
            for name, signature, comment, _ in reference.entries(path, []):
                if name in seen | of_optimizers or not comment or not is_listed(family, signature.split("\n")[0]):
                    continue
                seen.add(name)
                rows.append(f"| [`{name}`]({reference.link_to(header, name)}) | " + first_sentence(comment).replace("|", "\\|") + " |")
        if not rows:
            sys.exit(f"no operation was found in include/meshtf/{family}")
        out += [f"## {title}", "", "| name | what it is |", "|---|---|"] + rows + [""]
    return "\n".join(out)


def main():
    if sys.argv[1:] not in (["--check"], ["--write"]):
        sys.exit(__doc__)
    made = text()
    if sys.argv[1] == "--write":
        page.write_text(made)
    elif not page.exists() or page.read_text() != made:
        print("docs/operations.md is not what the headers say: run tests/checks/operations.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
