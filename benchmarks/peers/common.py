"""What the scripts for the peers share: the sizes of benchmarks/*.cpp, timing, and the rows that benchmarks/run reads."""
import argparse
import json
import statistics
import sys
import time

# The language model of language_model_step.cpp.
LAYERS, HEADS, KEY, MODEL, HIDDEN, LENGTH, BATCH, VOCAB = 6, 6, 64, 384, 1536, 256, 8, 256
RATE, DECAY, STDDEV = 3e-4, 0.1, 0.02

# The translator of translation_step.cpp: layers on each side, heads, key, model, hidden, rows, source, target, vocabulary.
TRANSLATOR = (6, 8, 64, 512, 2048, 16, 112, 128, 8000)

# The perceptron of mlp.hpp, (batch, in, hidden, out), and its small forward pass.
MLP = (256, 512, 2048, 512)
SMALL = (8, 64, 256, 64)
MLP_RATE = 0.01

LANGUAGE_MODEL_STEP = "language model step"
TRANSLATION_STEP = "translation step"
MIXED_STEP = "mixed precision step"
TRACED_STEP = "traced step"
MLP_STEP = "MLP step"
SMALL_FORWARD = "small forward"


def arguments():
    """PROGRAM CASE [--rounds N] [--sizes ...], where the case is one of those that the script's own words name."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("program", choices=("language_model", "translator", "mlp"))
    parser.add_argument("case")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs=8, default=(LAYERS, HEADS, KEY, MODEL, HIDDEN, LENGTH, BATCH, VOCAB),
                        metavar=("LAYERS", "HEADS", "KEY", "MODEL", "HIDDEN", "LENGTH", "BATCH", "VOCAB"), help="of the language model (PyTorch's alone)")
    parser.add_argument("--processor", action="store_true", help="the language model's seconds are those of the processor (PyTorch's alone)")
    parser.add_argument("--join", type=int, help="the port of the first process, for the second")
    return parser.parse_args()


def packed_pairs():
    """The rows of packed_pairs.hpp: ids and numbers of pairs of the sources, and of the targets."""
    _, _, _, _, _, rows, source, target, vocabulary = TRANSLATOR
    state = 1

    def below(n):
        nonlocal state
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        return (state >> 16) % n

    lengths = [(s, s + below(7)) for s in (8 + below(19) for _ in range(104))]
    found = [([], [], [], []) for _ in range(rows)]
    for s, t in sorted(lengths, key=lambda pair: -pair[1]):
        row = next((r for r in found if len(r[0]) + s <= source and len(r[2]) + t <= target), None)
        if row is None:
            continue
        pair = max(row[1], default=0) + 1
        for ids, numbers, n in ((row[0], row[1], s), (row[2], row[3], t)):
            ids.extend(1 + below(vocabulary - 1) for _ in range(n))
            numbers.extend([pair] * n)
    padded = [[part + [0] * (length - len(part)) for part, length in zip(row, (source, source, target, target))] for row in found]
    return [list(part) for part in zip(*padded)]


def samples(step, rounds, warm=2, repeat=1, before=lambda: None, clock=time.perf_counter):
    """Seconds of a step: so many samples, each of `repeat` steps after `before()`."""
    for _ in range(warm):
        step()
    found = []
    for _ in range(rounds):
        before()
        start = clock()
        for _ in range(repeat):
            step()
        found.append((clock() - start) / repeat)
    return found


def resident_bytes():
    """The most memory that this process has had."""
    with open("/proc/self/status", encoding="ascii") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def say(what, split, cores, variant, seconds, **more):
    """One row. `split` is what is divided: data, tensor or nothing."""
    print(json.dumps({"what": what, "split": split, "cores": cores, "variant": variant, "raw": False, "samples": len(seconds),
                      "median_s": statistics.median(seconds), "best_s": min(seconds)} | more), flush=True)


def keep(file, **row):
    """Adds a row of a comparison that the script itself makes to a file of such rows, if one is named."""
    if file:
        with open(file, "a", encoding="utf-8") as to:
            to.write(json.dumps(row) + "\n")
