#!/usr/bin/env python3
"""A translation memory: what a sentence's nearest neighbour among the training pairs was translated to, and its BLEU.

memory.py FOLDER    the folder with train.tsv, random.tsv and held_out.tsv that text.py made

Writes FOLDER/random.memory.fr and FOLDER/held_out.memory.fr, one line for each pair of the set, and prints sacrebleu's score and signature.
A model that translates is better than this on both sets. sacrebleu comes from PyPI, into a virtual environment next to FOLDER.
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from bleu import bleu, lines, read_pairs, sacrebleu, scored_sets
from packages import stop
from sets import neighbours


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] == ["--help"] else 64
    folder = Path(sys.argv[1]).resolve()
    train = read_pairs(folder / "train.tsv")
    tested = {name: read_pairs(folder / f"{name}.tsv") for name in scored_sets}
    program = sacrebleu(folder.parent / "sacrebleu")
    memory = neighbours(train)
    print(f"the memory of {len(train)} pairs:")
    for name, pairs in tested.items():
        found = [memory.best(p.english) for p in pairs]
        hypotheses, references = folder / f"{name}.memory.fr", folder / f"{name}.fr"
        hypotheses.write_text(lines(train[at].french for _, at in found), encoding="utf-8")
        references.write_text(lines(p.french for p in pairs), encoding="utf-8")
        score, signature = bleu(program, hypotheses, references)
        mean = sum(index for index, _ in found) / max(len(found), 1)
        print(f"{name:10}{len(pairs):6} pairs  BLEU {score:5.2f}  mean Jaccard index {mean:.3f}  {signature}", flush=True)
        if name == "random" and len(train) > 50000 and score < 20:
            stop(70, f"expected a BLEU of at least 20 of the memory on the random pairs, got {score:.2f}: the memory, or the alignment of the pairs, is broken")
    return 0


if __name__ == "__main__":
    sys.exit(main())
