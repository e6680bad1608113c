"""Debian packages as folders: fetched with apt-get download and unpacked with dpkg -x. Nothing is installed, and nothing of the machine's own files is read."""
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def stop(status, words):
    """Ends the program with a sentence and a status of sysexits.h."""
    print(f"meshtf: {words}", file=sys.stderr)
    sys.exit(status)


def run(command, folder, remedy):
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        stop(69, f"expected the program {command[0]}, got a system without it: run this on Debian 12, whose packages have the text "
                 "and the programs")
    if done.returncode:
        print(done.stderr.strip(), file=sys.stderr)
        stop(69, f"expected {' '.join(command[:4])} ... to succeed, got the error above: {remedy}")
    return done.stdout


def described(names):
    """{package: (file, bytes, SHA-256)} of the versions that apt would fetch."""
    with tempfile.TemporaryDirectory() as empty:  # apt says nothing of a file that is there
        lines = run(["apt-get", "--print-uris", "-qq", "download", *names], empty, "type as root: apt-get update; the names are those of Debian 12")
    found = {}
    for _, file, size, digest in re.findall(r"^'([^']+)' (\S+) (\d+) SHA256:(\w+)$", lines, re.M):
        found[file.split("_")[0]] = (file, int(size), digest)
    if missing := sorted(set(names) - set(found)):
        stop(69, f"expected apt to say where the packages are, got nothing of {', '.join(missing)}: type as root: apt-get update")
    return found


def is_whole(file, size, digest):
    return file.is_file() and file.stat().st_size == size and hashlib.sha256(file.read_bytes()).hexdigest() == digest


def fetch(names, folder):
    """The packages' files in `folder`, as `described`; those that are there with the right bytes are not fetched again."""
    folder.mkdir(parents=True, exist_ok=True)
    known = described(names)
    missing = [name for name, (file, size, digest) in known.items() if not is_whole(folder / file, size, digest)]
    if missing:
        megabytes = sum(known[name][1] for name in missing) / 1e6
        print(f"meshtf: fetches {len(missing)} packages, {megabytes:.1f} MB, to {folder}", flush=True)
        for name in missing:
            (folder / known[name][0]).unlink(missing_ok=True)
        run(["apt-get", "-q", "-o", "APT::Sandbox::User=", "download", *missing], folder, "look at the network, then type as root: apt-get update")
    for name, (file, size, digest) in known.items():
        if not is_whole(folder / file, size, digest):
            stop(69, f"expected {file} of {size} bytes with apt's SHA-256, got other bytes: delete {folder / file} and run this again")
    return known


def unpack(files, folder):
    """All of the packages' files below `folder`, which is made anew if it is of other packages or not whole."""
    stamp, wanted = folder / "unpacked", "\n".join(f.name for f in files)
    if not stamp.is_file() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in files:
            run(["dpkg", "-x", str(file), str(folder)], folder.parent, f"make room, or delete {file} and run this again")
        stamp.write_text(wanted)
    return folder
