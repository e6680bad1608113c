#!/usr/bin/env python3
"""Every operation is compared with what others compute, and everything that others computed is compared. See tests/golden/README.md.

An operation is a public function of a header in ops/. It is called in a `compare(...)` of the tests below, or stands in `without` with the reason.
"""
import json
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import catalogue
import reference

root = Path(__file__).parents[2]
tests = {"operations": "ops/goldens_of_operations.cpp", "layers": "nn/goldens_of_layers.cpp", "windows": "ops/window/goldens.cpp",
         "modules": "nn/goldens_of_modules.cpp"}

users = "computes what a function of the user does"
moves = "hands elements on as they are, to another place or to no gradient"
draws = "draws random numbers, which nobody else draws alike"
without = {
    "accumulate": users, "micro_batch": users, "reproducible": users, "block_of": users, "custom_gradient": users, "recompute": users, "spill": users,
    "slicewise": users, "twice": users, "with_gathered_weights": users, "fused": users, "fused_max": users, "fused_sum": users,
    "as_partial": moves, "copy": moves, "hand_on": moves, "reshard": moves, "stop_gradient": moves,
    "dropout": draws, "random_normal": draws, "random_uniform": draws, "sample": draws,
}


def comparisons(test):
    """The texts between the brackets of `compare("...", ...)`."""
    text = re.sub(r"//.*", "", (root / "tests" / test).read_text())
    for match in re.finditer(r"\bcompare\((?=\s*[^;{]*\")", text):
        depth, at = 1, match.end()
        while depth > 0:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield text[match.end() : at - 1]


def results(name):
    """The names of the cases in a file of goldens, which begins with the length of a header in JSON."""
    data = (root / "tests/golden" / f"{name}.safetensors").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return [key.removesuffix(".result") for key in header if key.endswith(".result")]


def is_called(operation, text):
    if operation.startswith("operator"):
        return f" {operation.removeprefix('operator')} " in text
    return re.search(rf"\b{operation}\s*[<(]", text) is not None


compared = "\n".join(text for test in tests.values() for text in comparisons(test))
of_x = [name for name in catalogue.called_in((root / "tests" / tests["operations"]).read_text())]  # by a macro
compared += "".join(f"\n{name}(v)" for name in of_x)
missing = []
public = set()
for path in sorted((root / "include/meshtf/ops").rglob("*.hpp")):
    operations = {name for name, signature, *_ in reference.entries(path, []) if re.search(rf"{re.escape(name)}\s*\(", signature)}
    public |= operations
    header = path.relative_to(root)
    missing += [f"{header}: {name} is compared with no golden" for name in sorted(operations - without.keys()) if not is_called(name, compared)]
missing += [f"{name}, which stands here as an operation without goldens, is none of ops/" for name in sorted(without.keys() - public)]
for file, test in tests.items():
    quoted = set(re.findall(r'"(\w+)(?:\.result)?"', (root / "tests" / test).read_text())) | set(of_x)
    missing += [f"tests/golden/{file}.safetensors: {case} is not compared in tests/{test}" for case in results(file) if case not in quoted]
for line in missing:
    print(line)
if not public:
    sys.exit("no operation was found")
sys.exit(1 if missing else 0)
