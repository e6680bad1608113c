#!/usr/bin/env python3
"""Whoever means the replicas of a tensor says `replica_axes<L, S>`, and not all axes that join processes.

    joining_axes.py ROOT

`joining_axes<M>` are the axes along which processes work together at all. Most of what is done along "all axes" is
done among the processes that hold the same elements, which are fewer as soon as an axis has another purpose (the
stages of a pipeline): a norm or a shard along too many axes gives other numbers, and says nothing. So outside core/,
plan/ and search/, the name stands only in the places below, each with its reason.
"""
import re
import sys
from pathlib import Path

# file: how often, and why all processes are meant
EXCEPTIONS = {
    "optim/global_norm.hpp": (2, "the norm of all gradients: each process adds those that it has; whether stages are joined"),
    "io/checkpoint_parts.hpp": (1, "those that hold the same elements share them: all but the axes that split the array, "
                                   "or on which it is on one stage"),
    "io/asynchronous_saves.hpp": (1, "a save that fails on one process fails on all"),
    "io/log.hpp": (2, "histograms: each process adds the tensors that it has; the slowest process is one of all"),
    "runtime/messages.hpp": (5, "broadcast from the first process; which sets of axes get a communicator; "
                                "gather_on_first"),
    "runtime/agreements.hpp": (1, "what is agreed on is agreed on by all"),
    "ops/function/reproducible.hpp": (1, "gradients are added up over all processes as whole arrays"),
    "runtime/process_mesh.hpp": (1, "room in the file of spilled arrays is reserved by all processes of a stage together"),
    "runtime/stop_on_signal.hpp": (1, "a process that is asked to stop stops all"),
    "ops/function/twice.hpp": (1, "what differs on one process is an error on all"),
    "price/ledger.hpp": (2, "the price of that broadcast"),
}
FOLDERS = ["optim", "io", "nn", "ops", "tensor", "runtime", "price", "data"]


def main():
    root = Path(sys.argv[1]) / "include" / "meshtf"
    bad = []
    found = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.hpp")):
            name = str(path.relative_to(root))
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for _ in re.finditer(r"\bjoining_axes<", line.split("//")[0]):
                    found.setdefault(name, []).append(number)
    for name, lines in found.items():
        allowed, reason = EXCEPTIONS.get(name, (0, ""))
        if len(lines) > allowed:
            bad.append(f"include/meshtf/{name}:{lines[-1]}: joining_axes<> stands {len(lines)} times, expected {allowed}"
                       f"{' (' + reason + ')' if reason else ''}: the replicas of a tensor are replica_axes<L, S>; if all "
                       "processes are meant, say why in tests/checks/joining_axes.py")
    for name, (allowed, _) in EXCEPTIONS.items():
        if (root / name).is_file() and len(found.get(name, [])) < allowed:
            bad.append(f"tests/checks/joining_axes.py: expected {allowed} in {name}, got {len(found.get(name, []))}: "
                       "lower the number")
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


sys.exit(main())
