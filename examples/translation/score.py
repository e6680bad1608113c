#!/usr/bin/env python3
"""The BLEU of a model's translations beside a translation memory's, and five of its sentences.

score.py --sources FOLDER TO    writes the English sides of the scored sets, random.en and held_out.en, to the folder TO
score.py FOLDER TO              scores TO/random.fr and TO/held_out.fr, which have a line for each pair of the sets in FOLDER

FOLDER is where text.py has put the pairs, and memory.py the memory's translations.
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from bleu import bleu, lines, read_pairs, sacrebleu, scored_sets
from packages import stop


def write_sources(folder, to):
    for name in scored_sets:
        (to / f"{name}.en").write_text(lines(p.english for p in read_pairs(folder / f"{name}.tsv")), encoding="utf-8")


def translations(file, count):
    if not file.is_file():
        stop(66, f"expected translations in {file}, got no such file: make it with --translate")
    made = file.read_text(encoding="utf-8").split("\n")[:-1]
    if len(made) != count:
        stop(65, f"expected {count} lines in {file}, a translation for each pair, got {len(made)}: translate the set anew")
    return made


def print_some(pairs, made, count=5):
    """Sentences from all over the set, with what was made of them and what should have been."""
    for at in range(0, len(pairs), max(len(pairs) // count, 1)):
        print(f"\n{pairs[at].english}\n  model      {made[at]}\n  reference  {pairs[at].french}")
        count -= 1
        if count == 0:
            return


def main():
    arguments = [a for a in sys.argv[1:] if a != "--sources"]
    if len(arguments) != 2 or arguments[0].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] == ["--help"] else 64
    folder, to = (Path(a).resolve() for a in arguments)
    if "--sources" in sys.argv:
        write_sources(folder, to)
        return 0
    program = sacrebleu(folder.parent / "sacrebleu")
    print(f"{'':10}{'pairs':>8}{'BLEU':>8}{'memory':>8}  signature")
    for name in scored_sets:
        pairs = read_pairs(folder / f"{name}.tsv")
        made = translations(to / f"{name}.fr", len(pairs))
        references = to / f"{name}.reference"
        references.write_text(lines(p.french for p in pairs), encoding="utf-8")
        score, signature = bleu(program, to / f"{name}.fr", references)
        memory, _ = bleu(program, folder / f"{name}.memory.fr", references)
        print(f"{name:10}{len(pairs):8}{score:8.2f}{memory:8.2f}  {signature}", flush=True)
    print_some(pairs, made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
