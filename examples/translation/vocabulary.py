#!/usr/bin/env python3
"""Trains one vocabulary for both languages, on the training pairs alone.

vocabulary.py FOLDER [PIECES [NAME]]    the folder with train.tsv that text.py made; 8000 pieces and the name joint, if not said

Writes FOLDER/vocabulary.txt, the text that spm_train sees, and FOLDER/NAME.model and NAME.vocab: byte pair encoding, and bytes where no piece fits. The ids
0 to 3 are <pad>, <unk>, <s> and </s>. Prints how many tokens a sentence has, and the model's SHA-256: the same text gives the same bytes.
"""
import hashlib
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from bleu import lines, read_pairs
from packages import run, stop


def main():
    if not 2 <= len(sys.argv) <= 4 or sys.argv[1].startswith("-") or not all(a.isdigit() for a in sys.argv[2:3]):
        print(__doc__)
        return 0 if sys.argv[1:] == ["--help"] else 64
    folder = Path(sys.argv[1]).resolve()
    pieces, name = sys.argv[2:] + ["8000", "joint"][len(sys.argv) - 2:]
    pairs = read_pairs(folder / "train.tsv")
    (folder / "vocabulary.txt").write_text(lines(text for p in pairs for text in (p.english, p.french)), encoding="utf-8")
    # names without folders and one thread: the model keeps both
    run(["spm_train", "--input=vocabulary.txt", f"--model_prefix={name}", f"--vocab_size={pieces}", "--model_type=bpe", "--character_coverage=1.0",
         "--byte_fallback=true", "--pad_id=0", "--unk_id=1", "--bos_id=2", "--eos_id=3", "--num_threads=1"], folder,
        "of few pairs, train fewer pieces")
    for language, side in (("English", 0), ("French", 1)):
        done = subprocess.run(["spm_encode", f"--model={folder / f'{name}.model'}", "--output_format=id"], input=lines(p[side] for p in pairs),
                              capture_output=True, text=True)
        if done.returncode:
            stop(70, f"expected spm_encode to encode the training pairs, got its error: {done.stderr[-300:]}")
        counts = [len(line.split()) for line in done.stdout.splitlines()]
        print(f"{language:8}{sum(counts):9} tokens, {sum(counts) / len(counts):.1f} a sentence, at most {max(counts)}")
    print(f"{name}.model  {hashlib.sha256((folder / f'{name}.model').read_bytes()).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
