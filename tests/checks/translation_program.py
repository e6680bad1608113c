#!/usr/bin/env python3
"""The program that trains and translates: translation_program.py MPIRUN PROGRAM FOLDER [TEXT [STEPS]] (examples/translation.cpp, built as tiny)

Makes pairs of the documents, or takes those in TEXT if it is there, and a vocabulary by spm_train. Then: under data, model and mixed layouts the losses of
STEPS steps (50 if not said) are equal; a training that was cut off goes on as if it had not been, on another number of processes too, and so does one
that was killed in its saves; it translates a file; and what is bad gets one line. Without spm_train: skipped (77).
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

root = Path(__file__).resolve().parents[2]
mpirun, program, folder = sys.argv[1], *(Path(a).resolve() for a in sys.argv[2:4])
text = folder / "text"
compared = sys.argv[5] if len(sys.argv) > 5 else "50"
wrong = []


def run(processes, *options):
    return subprocess.run([mpirun, str(processes), program, *map(str, options)], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def good(words, processes, *options):
    done = run(processes, *options)
    if done.returncode:
        sys.exit(f"{words}: expected status 0, got {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def train(processes, *options, vocabulary="one"):
    return good("training", processes, "--folder", text, "--vocabulary", folder / f"{vocabulary}.model", *options)


def refused(words, status, says, processes, *options):
    done = run(processes, *options)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("meshtf:")]
    if done.returncode != status or len(said) != 1 or says not in said[0]:
        wrong.append(f"{words}: expected status {status} and one line with '{says}', got {done.returncode} and {said or done.stderr}")


def make_text():
    text.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 4 and (Path(sys.argv[4]) / "train.tsv").is_file():
        for name in ("train.tsv", "dev.tsv"):
            shutil.copy(Path(sys.argv[4]) / name, text / name)
        dev = (text / "dev.tsv").read_text().splitlines()[:40]
    else:
        found = re.findall(r"[A-Z][\w ,:()]{15,150}\.", "\n".join(p.read_text() for p in sorted((root / "docs").rglob("*.md"))))
        words = [line.split() for line in dict.fromkeys(found)]
        rows = [f"{' '.join(of)}\t{' '.join(of[:2] + of[::-1])}\there\tfile" for of in words]  # a French side is longer, too
        (text / "train.tsv").write_text("".join(row + "\n" for row in rows[40:]))
        dev = rows[:40]
    (text / "dev.tsv").write_text("".join(row + "\n" for row in dev))
    (folder / "words").write_text((text / "train.tsv").read_text().replace("\t", "\n"))
    for name, digits in (("one", "false"), ("other", "true")):
        done = subprocess.run(["spm_train", f"--input={folder / 'words'}", f"--model_prefix={folder / name}", "--vocab_size=2000", "--model_type=bpe",
                               f"--split_digits={digits}", "--byte_fallback=true", "--pad_id=0", "--unk_id=1", "--bos_id=2", "--eos_id=3", "--num_threads=1"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"spm_train: {done.stderr[-500:]}")


def check_layouts():
    said = train(4, "--compare", compared, "--steps", 1)
    if "The losses are equal under all layouts" not in said:
        wrong.append(f"expected equal losses under all layouts, got {said}")
    rows = re.findall(r"^(data|model|mixed) +([0-9.]+) ", said, re.M)
    if [name for name, _ in rows] != ["data", "model", "mixed"] or not 2 < float(rows[0][1]) < 8.5:
        wrong.append(f"expected a table of three layouts, and losses that fell from 9.1 below 8.5, got {rows}")
    wasted = re.search(r"([0-9.]+) % of which are wasted", said)
    if not wasted or not float(wasted[1]) <= 10:
        wrong.append(f"expected at most 10 % of wasted positions, got {said}")


def losses(said):
    """(step, loss, loss on dev.tsv) of each line, with None where it is not known."""
    found = re.findall(r"^step +([0-9]+) +loss ([0-9.]+) +dev +([0-9.]+|-)", said, re.M)
    return [(int(step), float(loss), None if dev == "-" else float(dev)) for step, loss, dev in found]


def check_resumption():
    saved = folder / "saved"
    options = ["--steps", 4, "--pace", 2, "--every", 1, "--checkpoint", saved]
    whole = losses(train(1, *options))
    if [step for step, *_ in whole] != [1, 2, 3, 4] or whole[-1][2] is None:
        wrong.append(f"expected a line for each of 4 steps, and a loss on dev.tsv in the last, got {whole}")
        return
    for processes, tolerance in ((1, 0), (2, 2e-4)):
        for step in (saved / "step-00000004", saved / "best/step-00000004"):
            shutil.rmtree(step)
        resumed = losses(train(processes, *options))
        same = [step for step, *_ in resumed] == [3, 4] and resumed[-1][2] is not None
        same = same and max(*(abs(a[1] - b[1]) for a, b in zip(resumed, whole[2:])), abs(resumed[-1][2] - whole[-1][2])) <= tolerance
        if not same:
            wrong.append(f"expected to go on with the last two of {whole}, got {resumed} on {processes} processes")
    done = losses(train(2, *options))
    if done:
        wrong.append(f"expected nothing more to train, got {done}")


def ranks(saved):
    """The processes of the job that saves there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # it has just ended
            continue
        if words[0] == str(program).encode() and str(saved).encode() in words:
            found.append(int(path.parent.name))
    return found


def committed(there):
    return max((int(path.name[5:]) for path in there.glob("step-*") if path.name[5:].isdigit()), default=0)


def killed_in_save(there, saved, command):
    """What a job says whose processes are all killed while it saves in `there`, where a step is committed."""
    job = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
    end = time.monotonic() + 60
    while job.poll() is None and not (committed(there) and any(there.glob("step-*.tmp-*"))):
        if time.monotonic() > end:
            wrong.append(f"expected a save in {there} within 60 s, got none")
            break
        time.sleep(0.001)
    for process in ranks(saved):
        os.kill(process, signal.SIGKILL)
    said = job.communicate()[0]
    if job.returncode == 0 or not any(there.glob("step-*.tmp-*")):
        wrong.append(f"expected to kill a training in its save in {there}, got status {job.returncode} and {sorted(there.glob('*'))}: {said}")
    return said


def check_killed_saves():
    """The saves of a training are killed, one of what it goes on from and one of the best parameters, and the same command is given again."""
    saved, whole_saved, steps = folder / "killed", folder / "not_killed", 4
    options = ["--folder", text, "--vocabulary", folder / "one.model", "--steps", steps, "--pace", 1, "--every", 1, "--checkpoint"]
    whole = losses(good("training", 2, *options, whole_saved))
    for there in (saved, saved / "best"):
        begun = committed(saved) + 1
        said = killed_in_save(there, saved, [mpirun, 2, program, *options, saved])
        if f"steps {begun} to {steps} of" not in said:
            wrong.append(f"expected to go on with step {begun}, got {said}")
    (folder / "one_sentence").write_text("The first sentence\n")
    good("translating after two kills", 1, *options[:4], "--checkpoint", saved, "--translate", folder / "one_sentence", "--to", folder / "to")
    begun = committed(saved) + 1
    rest = losses(good("training after two kills", 2, *options, saved))
    if not 1 < begun <= steps or rest != whole[begun - 1:]:
        wrong.append(f"expected the losses from step {begun} on of {whole} after two kills, got {rest}")
    if committed(saved / "best") != committed(whole_saved / "best") or any(saved.rglob("*.tmp-*")):
        wrong.append(f"expected the best step {committed(whole_saved / 'best')} and nothing of the saves that were killed, got {sorted(saved.rglob('step-*'))}")


def check_translation():
    vocabulary = ["--folder", text, "--vocabulary", folder / "one.model"]
    saved = ["--checkpoint", folder / "saved"]
    sentences = {"good": "The first sentence\nA second one, longer than that\n", "long": "A word\n" + "many words " * 100 + "\n", "empty": "One\n \nTwo\n",
                 "no_utf8": b"One\nTw\xf0\x28o\n", "none": ""}
    for name, lines in sentences.items():
        (folder / name).write_bytes(lines if isinstance(lines, bytes) else lines.encode())

    def translate(name, *options):
        return [*vocabulary, *saved, "--translate", folder / name, "--to", folder / "to", *options]

    for processes in (1, 4):
        good("translating", processes, *translate("good"))
        if (folder / "to").read_text().count("\n") != 2:
            wrong.append(f"expected two lines, got {(folder / 'to').read_text()!r}")
    said = good("a long sentence", 1, *translate("long"))
    if "1 of 2 sentences have more than" not in said or "line 2 of" not in said:
        wrong.append(f"expected a notice that line 2 is cut, got {said}")
    refused("a long sentence, --strict", 65, "--strict", 2, *translate("long", "--strict"))
    refused("an empty sentence", 65, "line 2 of", 1, *translate("empty"))
    refused("not UTF-8", 65, "the byte 0xf0 after 2 others", 2, *translate("no_utf8"))
    refused("an empty file", 65, "an empty file", 1, *translate("none"))
    refused("no file", 66, "nowhere", 1, *translate("nowhere"))
    refused("no --to", 64, "--to FILE together", 1, *vocabulary, *saved, "--translate", folder / "good")
    refused("no checkpoint", 66, "nothing", 1, *vocabulary, "--checkpoint", folder / "nothing", "--translate", folder / "good", "--to", folder / "to")
    refused("a folder that is not there", 69, "expected to write", 1, *vocabulary, *saved, "--translate", folder / "good", "--to", "/nowhere/to")
    refused("another vocabulary's checkpoint", 65, "expected a checkpoint of the vocabulary", 2, "--folder", text, "--vocabulary", folder / "other.model", *saved,
            "--translate", folder / "good", "--to", folder / "to")
    refused("to train on with another vocabulary", 65, "expected a checkpoint of the vocabulary", 1, "--folder", text, "--vocabulary", folder / "other.model", *saved,
            "--steps", 9)
    damaged = folder / "damaged.model"
    damaged.write_bytes((folder / "one.model").read_bytes()[:-1000])
    refused("a damaged vocabulary", 65, "damaged.model", 2, "--folder", text, "--vocabulary", damaged, "--steps", 1)


def check_pairs():
    bad = folder / "bad"
    bad.mkdir(exist_ok=True)
    for words, line, says in (("no tab", b"English alone\n", "got no tab"), ("an empty French side", b"English\t\tx\ty\n", "got an empty one"),
                              ("not UTF-8", b"English\tFran\xe7ais\tx\ty\n", "the byte 0xe7 after 4 others")):
        (bad / "train.tsv").write_bytes(line)
        refused(words, 65, says, 2, "--folder", bad, "--vocabulary", folder / "one.model", "--steps", 1)


def main():
    if not shutil.which("spm_train"):
        print("skipped: no spm_train here: apt install sentencepiece")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    make_text()
    check_layouts()
    check_resumption()
    check_killed_saves()
    check_translation()
    check_pairs()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
