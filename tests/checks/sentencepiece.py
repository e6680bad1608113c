#!/usr/bin/env python3
"""The library's SentencePiece tokenizer is SentencePiece's: sentencepiece.py PROGRAM FOLDER (tests/checks/sentencepiece.cpp, built)

Trains a vocabulary on the documents with spm_train, in each of its ways to make one. For lines of them, and for lines that no vocabulary likes, PROGRAM
prints the ids that spm_encode prints, and the texts that spm_decode prints. A model that was altered is refused with status 65 or is another vocabulary:
PROGRAM never ends by a signal. And examples/translation/vocabulary.py makes the same bytes twice, of the training pairs alone. Without spm_train: skipped (77).
"""
import random
import shutil
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]
program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
pieces = 600
wrong = []


def run(command, text=b""):
    return subprocess.run(command, input=text, capture_output=True, cwd=folder)


def compare(model, options, text):
    train = run(["spm_train", "--input=text", f"--model_prefix={model}", f"--vocab_size={pieces}", "--num_threads=1", *options])
    if train.returncode:
        sys.exit(f"spm_train {options}: {train.stderr.decode()[-500:]}")
    theirs = run(["spm_encode", f"--model={model}.model", "--output_format=id"], text)
    ours = run([program, f"{model}.model", str(pieces)], text)
    if ours.stdout != theirs.stdout or not ours.stdout:
        for line, a, b in zip(text.split(b"\n"), ours.stdout.split(b"\n"), theirs.stdout.split(b"\n")):
            if a != b:
                wrong.append(f"{model}: ids of {line!r}: expected {b!r}, got {a!r}")
                break
        else:
            wrong.append(f"{model}: expected {len(theirs.stdout)} bytes of ids, got {len(ours.stdout)}: {ours.stderr.decode()}")
    texts = [run([command, *rest], theirs.stdout).stdout for command, rest in
             (("spm_decode", [f"--model={model}.model", "--input_format=id"]), (program, [f"{model}.model", str(pieces), "--decode"]))]
    if texts[0] != texts[1]:
        wrong.append(f"{model}: expected the texts of spm_decode, got others")


def alter(model, count):
    """How many of the altered models were refused."""
    sound, by_chance, refused = (folder / f"{model}.model").read_bytes(), random.Random(1), 0
    for k in range(-1, count):
        data = bytearray(sound)
        if k < 0:  # all leads far out of the normalizer's trie, which follows its name and two sizes: of this the library dies
            first = data.index(b"nmt_nfkc") + 16
            for at in range(first, first + 100000, 4):
                data[at + 1] |= 0xfe
                data[at + 2] |= 0xff
                data[at + 3] |= 0x7f
        if k >= 0 and k % 4 == 0:
            del data[by_chance.randrange(len(data)):]
        for _ in range(1 + k % 3 if k >= 0 else 0):
            if data:
                data[by_chance.randrange(len(data))] ^= 1 << by_chance.randrange(8)
        (folder / "altered.model").write_bytes(data)
        done = run([program, "altered.model", str(pieces)], "A text, e.g. \u00e9t\u00e9 \ufb01 \u2167.\n".encode())
        refused += done.returncode == 65
        if done.returncode not in (0, 65):
            wrong.append(f"an altered model (number {k}) ends the program with {done.returncode}: {done.stderr.decode()[-300:]}")
    return refused


def vocabulary():
    rows = [line.replace("\t", " ") for line in (folder / "text").read_text().splitlines() if len(line.split()) > 3]
    made = []
    for name in ("once", "again"):
        where = folder / name
        where.mkdir(exist_ok=True)
        for file, some in (("train", rows[200:]), ("dev", rows[:100]), ("random", rows[100:200])):
            (where / f"{file}.tsv").write_text("".join(f"{row}\t{row.upper()}\there\tfile\n" for row in some))
        done = run([sys.executable, root / "examples/translation/vocabulary.py", where, str(pieces)])
        if done.returncode:
            sys.exit(f"vocabulary.py: {done.stderr.decode()[-500:]}")
        made.append((where / "joint.model").read_bytes())
    if (folder / "once/vocabulary.txt").read_text().splitlines() != [text for row in rows[200:] for text in (row, row.upper())]:
        wrong.append("expected both sides of the training pairs in the vocabulary's text, and nothing else")
    if made[0] != made[1]:
        wrong.append("expected the same bytes of the same text, got two models")


def main():
    if not shutil.which("spm_train"):
        print("skipped: no spm_train here: apt install sentencepiece")
        return 77
    if subprocess.run([program], capture_output=True).returncode == 77:
        print("skipped: the program was built with -D_GLIBCXX_DEBUG")
        return 77
    folder.mkdir(parents=True, exist_ok=True)
    documents = "\n".join((root / "docs" / f"{name}.md").read_text() for name in ("tutorial", "walk", "glossary", "limits"))
    (folder / "text").write_text(documents)
    text = documents.encode() + "\n\n a  b \u00a0c\t\u00e9t\u00e9 e\u0301t\u00e9 \ufb01ne \u2167 \U0001f600 \u4f60\u597d\u2581x <s> </s> <unk> \u200b.\n".encode() + b"\xff\xfe bad \xc3\n"
    compare("bpe", ["--model_type=bpe", "--byte_fallback=true", "--pad_id=0", "--unk_id=1", "--bos_id=2", "--eos_id=3"], text)
    compare("unigram", ["--model_type=unigram"], text)
    vocabulary()
    refused = alter("bpe", 300)
    if not 75 <= refused < 301:
        wrong.append(f"expected that of 301 altered models at least 75, which were cut off, are refused, and not all, got {refused}")
    print("\n".join(wrong) or f"{refused} of 301 altered models were refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
