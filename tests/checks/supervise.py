#!/usr/bin/env python3
"""A training under examples/supervise that is killed at random has the losses of one that is not, bit for bit, and what it says and ends with
is right: supervise.py SUPERVISE PROCESSES PROGRAM TEXT FOLDER [TRAININGS]

Each of TRAININGS trainings (1 if not said) has four kills of a random process at a random time: after a newer checkpoint, or, the second of
them, while the job starts. Then: told to end by TERM, INT and USR1 it saves first, and the same command goes on. With several TRAININGS also:
a launcher that hangs.
Exit status: 0, or 1 with what is wrong."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

supervise, processes, program, text, folder = sys.argv[1:6]
trainings = int(sys.argv[6]) if len(sys.argv) > 6 else 1
folder = pathlib.Path(folder)
limit = 120
signal.signal(signal.SIGINT, signal.default_int_handler)   # a shell that starts this in the background has it ignored, and what is started inherits that


def command(name: str, steps: int) -> list[str]:
    where = folder / name
    return ["2", program, "--steps", str(steps), "--write", "20", "--data", text, "--layout", "data", "--plain", "--save", f"{where}/saved", "--resume", f"{where}/saved",
            "--log", f"{where}/log"]


def losses(name: str) -> dict[int, float]:
    lines = [json.loads(line) for line in (folder / name / "log/log.jsonl").read_text().splitlines()]
    found = [(line["step"], line["value"]) for line in lines if line["name"] == "loss"]
    if len(found) != len(dict(found)):
        sys.exit(f"expected each step once in the log of {name}, got {[step for step, _ in found]}")
    return dict(found)


def newest(name: str) -> str:
    """Of those that are complete: what a save has not finished is called step-00000006.tmp-..."""
    return max((path.name for path in (folder / name / "saved").glob("step-*") if ".tmp-" not in path.name), default="")


def wait_for(what: str, condition, job: subprocess.Popen):
    end = time.monotonic() + limit
    while not (found := condition()):
        if job.poll() is not None:
            sys.exit(f"expected {what}, got the end of the job with status {job.returncode}")
        if time.monotonic() > end:
            sys.exit(f"expected {what} within {limit} s")
        time.sleep(0.02)
    return found


def ranks(name: str) -> list[int]:
    """The processes of the job: they are the program, with its folder among its arguments."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:   # it has just ended
            continue
        if words[0] == program.encode() and f"{folder / name}/saved".encode() in words:
            found.append(int(path.parent.name))
    return sorted(found)


def start(name: str, steps: int, *options: str) -> subprocess.Popen:
    out = open(folder / f"{name}.out", "ab")
    return subprocess.Popen([supervise, *options, *command(name, steps)], stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)


def said(name: str) -> str:
    return (folder / f"{name}.out").read_text(errors="replace")


def expect(name: str, job: subprocess.Popen, status: int):
    got = job.wait(limit)
    if got != status:
        sys.exit(f"expected status {status} of {name}, got {got} and\n{said(name)}")


shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
steps = 60
out = subprocess.run([processes, *command("whole", steps)], stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)
if out.returncode != 0:
    sys.exit(f"expected a training of {steps} steps, got status {out.returncode} and\n{out.stderr.decode()}")
whole = losses("whole")
if sorted(whole) != list(range(1, steps + 1)):
    sys.exit(f"expected losses of steps 1 to {steps}, got those of {sorted(whole)}")

restarts = 0
for seed in range(1, trainings + 1):
    chance = random.Random(seed)
    name = f"killed{seed}"
    # a save that was cut off before its folder got its name, and before there was another one: the training begins
    left = folder / name / "saved/step-00000003.tmp-0123456789abcdef"
    left.mkdir(parents=True)
    (left / "manifest.json").write_text("{}")
    job = start(name, steps)
    dead = []
    for kill in range(4):
        there = wait_for("two new processes", lambda: [p for p in ranks(name) if p not in dead][:2] if len([p for p in ranks(name) if p not in dead]) == 2 else [], job)
        before = newest(name)   # what these processes have begun from: supervise gives up after two restarts without a newer one
        if kill != 1:
            wait_for("a newer checkpoint", lambda: newest(name) if newest(name) > before else "", job)
        time.sleep(chance.uniform(0, 0.3))
        dead += there
        try:
            os.kill(chance.choice(there), signal.SIGKILL)
        except ProcessLookupError:   # the training was faster
            break
    expect(name, job, 0)
    if losses(name) != whole:
        different = [step for step in whole if losses(name).get(step) != whole[step]]
        sys.exit(f"expected the losses of a training without kills, got others at steps {different} (seed {seed})\n{said(name)}")
    restarts += said(name).count("is started again from")
print(f"{trainings} trainings with {restarts} restarts: the losses of {steps} steps are those of a training without kills, bit for bit")

for name, number, status in (("TERM", signal.SIGTERM, 143), ("INT", signal.SIGINT, 130), ("USR1", signal.SIGUSR1, 75)):
    job = start(name, 100000)
    wait_for("ten steps", lambda: (folder / name / "log/log.jsonl").exists() and len(losses(name)) >= 10, job)
    job.send_signal(number)
    expect(name, job, status)
    step = max(losses(name))
    if newest(name) != f"step-{step:08}.safetensors" and newest(name) != f"step-{step:08}":
        sys.exit(f"expected a checkpoint of the last step, {step}, got {newest(name)} and\n{said(name)}")
print("told to end by TERM, INT and USR1 it saved first: status 143, 130 and 75")

# What no restart mends, and a limit on restarts.
hopeless = folder / "hopeless"
hopeless.mkdir()
for options, arguments, status, words in (
        ((), ["2", "bash", "-c", "exit 65", "x", "--save", str(hopeless)], 65, ""),
        ((), ["2", "bash", "-c", "exit 75", "x", "--save", str(hopeless)], 75, "expected a newer checkpoint than none"),
        (("--max-restarts", "1"), ["2", "bash", "-c", "exit 75", "x", "--save", str(hopeless)], 75, "expected at most 1 restarts, got one more"),
        ((), ["2", "bash", "-c", "exit 75"], 64, "expected --checkpoints DIR, or a program with --save DIR"),
        (("--max-restart", "1"), ["2", "true"], 64, "got '--max-restart'"),
        (("--grace", "soon"), ["2", "true"], 64, "expected a whole number after --grace, got 'soon'"),
        ((), ["two", "true"], 64, "expected a number of processes and a program, got 'two true'")):
    out = subprocess.run([supervise, *options, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)
    if out.returncode != status or words not in out.stderr.decode():
        sys.exit(f"expected status {status} and '{words}' of {options} {arguments}, got {out.returncode} and\n{out.stderr.decode()}")
print("it ends where no restart helps")

# A launcher that hangs without a process, as Open MPI's did once while a job was started again. It takes a minute.
if trainings > 1:
    hung = folder / "hung"
    hung.mkdir()
    launcher = hung / "mpirun"
    launcher.write_text(f"""#!/bin/bash
[ ! -e {hung}/once ] || exec {shutil.which("mpirun")} "$@"
touch {hung}/once
mkfifo {hung}/pipe
read -r <>{hung}/pipe
""")
    launcher.chmod(0o755)
    out = subprocess.run([supervise, "--checkpoints", str(hung), "2", "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=limit,
                         env={**os.environ, "PATH": f"{hung}:{os.environ['PATH']}"})
    words = "expected 2 processes, got an mpirun that has had none for 60 s and does not end"
    if out.returncode != 0 or words not in out.stderr.decode():
        sys.exit(f"expected status 0 and '{words}', got {out.returncode} and\n{out.stderr.decode()}")
    print("a launcher without processes is ended, and the job started again")
