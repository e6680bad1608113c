"""Runs the points of the curves and writes the page: see benchmarks/growth, which calls it."""
import argparse
import collections
import datetime
import itertools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import textwrap

root = pathlib.Path(__file__).resolve().parent.parent
programs = root / "build" / "release" / "benchmarks"

Point = collections.namedtuple("Point", "length width vocabulary batch layers split processes")
base = Point(length=128, width=128, vocabulary=256, batch=4, layers=2, split="nothing", processes=1)
curves = {
    "length": (128, 256, 512, 1024, 2048, 4096),
    "width": (128, 256, 512, 1024),
    "vocabulary": (256, 1024, 4096, 16384, 50257),
    "layers": (2, 4, 8, 16, 24),
    "batch": (1, 4, 16, 64),
}
base_of_processes = base._replace(width=512, batch=8)  # 8 heads
processes = (1, 2, 4, 8)
large = Point(length=256, width=768, vocabulary=20480, batch=4, layers=12, split="tensor", processes=2)

splits = {"data": "the batch", "tensor": "heads, hidden units, vocabulary"}


def stop(words):
    print(f"meshtf: {words}", file=sys.stderr)
    sys.exit(70)


# ---- what one expects --------------------------------------------------------------------------------------------------------------------


def tokens(p):
    return p.batch * p.length


def parameters(p):
    """Embeddings of ids and positions; of each layer four matrices of attention, two of the feed-forward part, biases and norms; the last norm."""
    return (p.vocabulary + p.length + 2) * p.width + p.layers * (12 * p.width + 13) * p.width


def products(p):
    """Flops of all products but attention's: each is done once forward, and twice for the gradients."""
    return 3 * 2 * tokens(p) * p.width * (12 * p.width * p.layers + p.vocabulary)


def attention(p):
    """Two products forward; five for the gradients, which compute the scores anew. The mask leaves half of the scores."""
    return 7 * 2 * tokens(p) * p.length * p.width * p.layers / 2


def flops(p):
    return products(p) + attention(p)


def memory(p):
    """Of one process: parameters and two moments, and then the larger of all gradients and what is kept for them: by each layer for each token 4
    vectors of the width (two sums and their norms), and 12 that are split with the heads and hidden units (query, key, value, mixture, the hidden
    units twice); after the layers a sum and its norm, the vocabulary's scores and their gradient."""
    parts = p.processes if p.split == "tensor" else 1
    here = tokens(p) / (p.processes if p.split == "data" else 1)
    kept = here * (p.width * p.layers * (4 + 12 / parts) + 2 * p.width + 2 * p.vocabulary / parts)
    return 4 * (3 * parameters(p) / parts + max(kept, parameters(p) / parts))


def sent_for_data(p):
    """The gradients are added up: of each process's n-th part, n - 1 others' come in, and the sums of the other parts."""
    return 2 * (p.processes - 1) / p.processes * 4 * parameters(p)


def sent_for_tensor(p):
    """An activation is added up over the processes after attention and after the feed-forward part, in the backward pass as well; once for the
    embedding, and once for the gradient of what the scores are made of."""
    return 2 * (p.processes - 1) / p.processes * 4 * tokens(p) * p.width * (4 * p.layers + 2)


def parts_of_time(p, row):
    """What takes the time of a step, at a rate of its own each: flops of products, flops of attention, bytes of all other passes."""
    return products(p), attention(p), row["passes_bytes"]


def seconds_by(rates, p, row):
    return sum(r * x for r, x in zip(rates, parts_of_time(p, row)))


def fitted(found):
    """Seconds a flop of products, a flop of attention, a byte: the three that fit all points best, by least squares of the relative errors."""
    rows = [[x / f["median_s"] for x in parts_of_time(p, f)] for p, f in found.items()]
    used = [0, 1, 2]
    while True:
        matrix = [[sum(r[i] * r[k] for r in rows) for k in used] + [sum(r[i] for r in rows)] for i in used]
        for i in range(len(used)):  # Gauss and Jordan
            matrix[i] = [x / matrix[i][i] for x in matrix[i]]
            for k in range(len(used)):
                if k != i:
                    matrix[k] = [x - matrix[k][i] * y for x, y in zip(matrix[k], matrix[i])]
        rates = {i: r[-1] for i, r in zip(used, matrix)}
        if min(rates.values()) > 0:
            return [rates.get(i, 0.0) for i in range(3)]
        used.remove(min(rates, key=rates.get))  # no rate is negative


def slope(xs, ys):
    """Of the line through the logarithms, by least squares."""
    x, y = [math.log(v) for v in xs], [math.log(v) for v in ys]
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)


# ---- measuring ---------------------------------------------------------------------------------------------------------------------------


def program_of(p):
    return "_".join(str(x) for x in (p.length, p.width, p.vocabulary, p.batch, p.split, p.processes))


def steps_of(p, seconds=2.0):
    return max(3, min(40, int(seconds * 60e9 / flops(p))))


def measured(p, steps=None):
    command = [root / "examples" / "processes", p.processes, programs / f"growth_{program_of(p)}", p.layers, steps or steps_of(p)]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    rows = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not rows:
        stop(f"expected a row of figures from {program_of(p)}, got status {done.returncode}: {done.stderr.strip()[-500:]}")
    found = json.loads(rows[-1])
    if p.processes == 1:
        found["median_s"] = found["processor_s"]
    print(f"  {program_of(p)}, {p.layers} layers: {1e3 * found['median_s']:.2f} ms, peak {found['counted_peak'] / 1e6:.1f} MB", flush=True)
    return found


def in_pytorch(environment, p):
    """One thread, as ours has. None if it fails."""
    sizes = (p.layers, p.width // 64, 64, p.width, 4 * p.width, p.length, p.batch, p.vocabulary)
    command = ["taskset", "-c", "0", f"{environment}/bin/python", root / "benchmarks" / "peers" / "with_pytorch.py", "language_model", "one",
               "--processor", "--rounds", steps_of(p), "--sizes", *sizes]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    rows = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not rows:
        print(f"meshtf: PyTorch failed at {program_of(p)}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return None
    found = json.loads(rows[-1])
    print(f"  {found['variant']}: {1e3 * found['median_s']:.2f} ms", flush=True)
    return found


shapes_of_attention = ((4, 64, 256), (4, 16, 512), (4, 4, 1024), (4, 1, 2048), (1, 1, 4096))  # batch, heads, length: as many scores each


def attention_seconds(rounds=5):
    """Medians of the processor's seconds, by causal, gradient, length."""
    program = subprocess.Popen([str(programs / "attention")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    found = collections.defaultdict(list)
    for _ in range(rounds):
        for causal, gradient, (batch, heads, length) in itertools.product((0, 1), (0, 1), shapes_of_attention):
            print(batch, heads, length, 64, causal, gradient, file=program.stdin, flush=True)
            found[causal, gradient, length].append(float(program.stdout.readline()))
    program.stdin.close()
    return {key: statistics.median(seconds) for key, seconds in found.items()}


# ---- pictures ----------------------------------------------------------------------------------------------------------------------------

# The colours of explain_svg, which are told apart without red and green.
style = """svg{background:#fff}text{fill:#1b1d21}.h{font-weight:bold}.e{text-anchor:end}.m{text-anchor:middle}
path{fill:none;stroke:#5f6670}.t{stroke:#dde1e6}.d{stroke:#1b1d21;stroke-dasharray:3 5}.l{stroke-width:2}circle{stroke:none}
.c0{stroke:#0072b2}.c1{stroke:#e69f00}.c2{stroke:#009e73}.c3{stroke:#d55e00}.c4{stroke:#cc79a7}.c5{stroke:#56b4e9}
circle.c0{fill:#0072b2}circle.c1{fill:#e69f00}circle.c2{fill:#009e73}circle.c3{fill:#d55e00}circle.c4{fill:#cc79a7}circle.c5{fill:#56b4e9}
@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#e6e8eb}path{stroke:#9aa1ab}.t{stroke:#3a3f47}.d{stroke:#e6e8eb}
.c0{stroke:#3d9bdc}.c1{stroke:#e69f00}.c2{stroke:#00b886}.c3{stroke:#ee7733}.c4{stroke:#cc79a7}.c5{stroke:#9ad3f5}
circle.c0{fill:#3d9bdc}circle.c1{fill:#e69f00}circle.c2{fill:#00b886}circle.c3{fill:#ee7733}circle.c4{fill:#cc79a7}circle.c5{fill:#9ad3f5}}"""

Line = collections.namedtuple("Line", "words kind points")  # kind: c0 to c5, or d for dashes; points: (x, y)


def short(number):
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"


def panel(left, title, ticks, lines):
    """One plot with logarithmic axes, 240 x 200 inside."""
    width, top, height = 240, 44, 200
    xs, ys = [x for line in lines for x, _ in line.points], [y for line in lines for _, y in line.points]
    low, high = min(ys) / 1.15, max(ys) * 1.15
    if high < 4 * low:
        low, high = low / 1.5, high * 1.5
    begin, end = min(xs), max(xs)

    def at(x, y):
        along, up = math.log(x / begin) / math.log(end / begin), math.log(y / low) / math.log(high / low)
        return left + 12 + (width - 24) * along, top + height - height * up

    text = [f'<text x="{left}" y="{top - 12}" class="h">{title}</text>']
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1,) if high / low > 200 else (1, 2, 5)
    for value in (s * 10.0**d for d in decades for s in steps):
        if low <= value <= high:
            y = at(begin, value)[1]
            text += [f'<path class="t" d="M{left} {y:.1f}h{width}"/>', f'<text x="{left - 6}" y="{y + 4:.1f}" class="e">{short(value)}</text>']
    for x in (t for t in ticks if begin <= t <= end):
        here = f"{at(x, low)[0]:.1f}"
        text += [f'<path d="M{here} {top + height}v4"/>', f'<text x="{here}" y="{top + height + 18}" class="m">{x}</text>']
    text.append(f'<path d="M{left} {top}v{height}h{width}"/>')
    for line in sorted(lines, key=lambda line: line.kind == "d"):  # dashes last: what is expected is seen on what is measured
        points = [at(x, y) for x, y in line.points]
        d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        text.append(f'<path class="{"d" if line.kind == "d" else "l " + line.kind}" d="{d}"/>')
        if line.kind != "d":
            text += [f'<circle class="{line.kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points]
    return text


def picture(title, over, ticks, panels):
    """Panels side by side, and below them what the lines are."""
    apart = 320
    lines = []
    for line in (line for _, some in panels for line in some):
        if line.words and line.words not in [seen.words for seen in lines]:
            lines.append(line)
    rows = 1 + (len(lines) - 1) // 3
    size = (apart * len(panels) + 10, 296 + 20 * rows)
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" font-family="monospace" font-size="12" viewBox="0 0 {size[0]} {size[1]}">',
            f"<title>{title}</title>", f"<style>\n{style}\n</style>"]
    for i, (name, some) in enumerate(panels):
        text += panel(60 + apart * i, name, ticks, [line for line in some if line.points])
        text.append(f'<text x="{180 + apart * i}" y="280" class="m">{over}</text>')
    for i, line in enumerate(lines):
        x, y = 60 + apart * (i % 3), 304 + 20 * (i // 3)
        text.append(f'<path class="{"d" if line.kind == "d" else "l " + line.kind}" d="M{x} {y - 4}h24"/>')
        if line.kind != "d":
            text.append(f'<circle class="{line.kind}" cx="{x + 12}" cy="{y - 4}" r="3.5"/>')
        text.append(f'<text x="{x + 32}" y="{y}">{line.words}</text>')
    return "\n".join([*text, "</svg>"]) + "\n"


# ---- the page ----------------------------------------------------------------------------------------------------------------------------

lines, pictures = [], {}


def add(*text):
    for line in text:
        lines.append(line)
        print(line, flush=True)


def paragraph(text):
    if text:
        add("", *textwrap.wrap(text, 150, break_long_words=False, break_on_hyphens=False))


def table(*columns):
    add("", "| " + " | ".join(columns) + " |", "|" + "---:|" * len(columns))


def row(*cells):
    add("| " + " | ".join(str(c) for c in cells) + " |")


def mega(number):
    return f"{number / 1e6:.{0 if number >= 1e8 else 1 if number >= 1e7 else 2}f}"


def milli(seconds):
    return f"{1e3 * seconds:.{0 if seconds >= 1 else 1 if seconds >= 0.1 else 2}f}"


def slopes(xs, rows):
    """Each row: its name, what is expected at the points, what was measured there."""
    add("", "| slope of | expected | measured | expected, last two points | measured, last two points |", "|---|---:|---:|---:|---:|")
    for name, expected, found in rows:
        cells = [slope(xs, expected), slope(xs, found), slope(xs[-2:], expected[-2:]), slope(xs[-2:], found[-2:])]
        row(name, *(f"{c:.2f}" for c in cells))


def over(name, values, found, theirs, rates):
    """One curve: `found` and `theirs` are rows by point."""
    points = [base._replace(**{name: v}) for v in values]
    mine, peers = [found[p] for p in points], [theirs.get(p) for p in points]
    add("", f"## Over the {name}", "", f"![Time, memory and bytes sent over the {name}](growth/{name}.svg)")
    table(name, "step, ms", "Gflop/s", "PyTorch, ms", "peak, MB", "resident, MB", "PyTorch, resident, MB", "sent, batch split, MB",
          "sent, heads split, MB")
    for value, p, f, peer in zip(values, points, mine, peers):
        row(value, milli(f["median_s"]), f"{flops(p) / f['median_s'] / 1e9:.0f}", milli(peer["median_s"]) if peer else "", mega(f["counted_peak"]),
            mega(f["resident"]), f"{peer['resident_MB']:.0f}" if peer else "", mega(f["sent_data"]), mega(f["sent_tensor"]))
    times = [f["median_s"] for f in mine]
    by_flops = [flops(p) for p in points]
    by_rates = [seconds_by(rates, p, f) for p, f in zip(points, mine)]
    held, peaks = [memory(p) for p in points], [f["counted_peak"] for f in mine]
    data, tensor = ([formula(p._replace(processes=2)) for p in points] for formula in (sent_for_data, sent_for_tensor))
    slopes(values, [("the step's time: flops", by_flops, times), ("the step's time: flops and passes at three rates", by_rates, times),
                    ("memory at the peak", held, peaks), ("bytes sent, the batch split over two", data, [f["sent_data"] for f in mine]),
                    ("bytes sent, heads, hidden units and vocabulary split over two", tensor, [f["sent_tensor"] for f in mine])])
    both = [(v, t, peer["median_s"]) for v, t, peer in zip(values, times, peers) if peer]
    if len(both) > 1:
        xs, here, there = zip(*both)
        paragraph(f"From {name} {xs[0]} to {xs[-1]}, PyTorch's time has the slope {slope(xs, there):.2f} at its {len(xs)} points, ours there "
                  f"{slope(xs, here):.2f}.")
    paragraph(remarks.get(name, ""))
    pictures[name] = picture(f"Over the {name}", name, values, [
        ("step, ms", [Line("expected", "d", [(v, 1e3 * y * times[-1] / by_flops[-1]) for v, y in zip(values, by_flops)]),
                      Line("meshtf", "c0", [(v, 1e3 * t) for v, t in zip(values, times)]),
                      Line("PyTorch", "c1", [(v, 1e3 * t) for v, _, t in both])]),
        ("resident, and at the peak, MB", [Line("", "d", [(v, x / 1e6) for v, x in zip(values, held)]),
                        Line("at the peak: promised, counted", "c4", [(v, x / 1e6) for v, x in zip(values, peaks)]),
                        Line("", "c0", [(v, f["resident"] / 1e6) for v, f in zip(values, mine)]),
                        Line("", "c1", [(v, peer["resident_MB"]) for v, peer in zip(values, peers) if peer])]),
        ("sent by one of two, MB", [*(Line("", "d", [(v, x / 1e6) for v, x in zip(values, sent)]) for sent in (data, tensor)),
                                    Line("the batch is split", "c2", [(v, f["sent_data"] / 1e6) for v, f in zip(values, mine)]),
                                    Line("heads, hidden, vocabulary are", "c3", [(v, f["sent_tensor"] / 1e6) for v, f in zip(values, mine)])]),
    ])


def over_processes(numbers, found):
    add("", "## Over the processes")
    paragraph(f"Width {base_of_processes.width}, batch {base_of_processes.batch}. There are more processes than cores, so times would mean nothing: "
              "what one process sends, calls and holds.")
    add("", "![Bytes, calls and memory over the processes](growth/processes.svg)", "",
        "| split | processes | sent by one, MB | calls | peak of one, MB | parameters of one, million |", "|---|---:|---:|---:|---:|---:|")
    alone, more = found[base_of_processes], numbers[1:]
    row("nothing", 1, mega(alone["counted_sent"]), f"{alone['counted_calls']:.0f}", mega(alone["counted_peak"]), f"{alone['parameters'] / 1e6:.2f}")
    rows, panels = [], ([], [], [])
    for split, sent, kind, words in (("data", sent_for_data, "c2", "the batch is split"),
                                     ("tensor", sent_for_tensor, "c3", "heads, hidden, vocabulary are")):
        points = [base_of_processes._replace(split=split, processes=n) for n in more]
        mine = [found[p] for p in points]
        for n, f in zip(more, mine):
            row(splits[split], n, mega(f["counted_sent"]), f"{f['counted_calls']:.0f}", mega(f["counted_peak"]), f"{f['parameters'] / 1e6:.2f}")
        expected = [sent(p) for p in points]
        rows += [(f"bytes sent, {splits[split]} split", expected, [f["counted_sent"] for f in mine]),
                 (f"calls, {splits[split]} split", [1] * len(more), [f["counted_calls"] for f in mine]),
                 (f"memory at the peak, {splits[split]} split", [memory(p) for p in points], [f["counted_peak"] for f in mine])]
        panels[0].extend((Line("expected", "d", [(n, x / 1e6) for n, x in zip(more, expected)]),
                          Line(words, kind, [(n, f["counted_sent"] / 1e6) for n, f in zip(more, mine)])))
        panels[1].append(Line("", kind, [(n, f["counted_calls"]) for n, f in zip(more, mine)]))
        panels[2].append(Line("", kind, [(n, f["counted_peak"] / 1e6) for n, f in zip(numbers, [alone, *mine])]))
    slopes(more, rows)
    paragraph(remarks.get("processes", ""))
    names = ("sent by one, MB", "calls", "at the peak of one, MB")
    pictures["processes"] = picture("Over the processes", "processes", numbers, list(zip(names, panels)))


def hundred_million():
    found = measured(large, 4)
    add("", "## A hundred million parameters on two cores")
    of_loss = f"{found['first_loss']:.3f} to {found['last_loss']:.3f}"
    paragraph(f"{parameters(large) / 1e6:.1f} million parameters: {large.layers} layers of {large.width}, {large.width // 64} heads, "
              f"{large.vocabulary} ids, length {large.length}, batch {large.batch}, on two processes that split heads, hidden units and vocabulary. "
              f"In five steps the loss goes from {of_loss}. A step takes {found['median_s']:.2f} s on the clock, "
              f"{flops(large) / found['median_s'] / 2e9:.0f} Gflop/s a core. Each process holds {found['parameters'] / 1e6:.1f} million parameters; "
              f"its peak is promised as {mega(found['promised_peak'])} MB and counted as {mega(found['counted_peak'])} MB; "
              f"both together had {mega(found['resident'])} MB resident.")


def long_attention():
    lengths = tuple(length for _, _, length in shapes_of_attention)
    found = attention_seconds()
    add("", "## Attention alone")
    paragraph("One core; as many scores at each length: batch and heads are " + ", ".join(f"{b} x {h} at {n}" for b, h, n in shapes_of_attention) +
              ", depth 64. Milliseconds of the processor, medians of 5 rounds that visit all. The last column is the time for a flop at 4096 "
              "divided by that at 256; causal attention has (length + 1) / (2 length) of the flops.")
    add("", "| attention | " + " | ".join(str(n) for n in lengths) + " | a flop at 4096 / at 256 |", "|---|" + "---:|" * (len(lengths) + 1))
    for (causal, gradient), words in zip(((0, 0), (0, 1), (1, 0), (1, 1)), ("whole", "whole, and gradients", "causal", "causal, and gradients")):
        times = {n: found[causal, gradient, n] / ((n + 1) / (2 * n) if causal else 1) for n in lengths}
        row(words, *(milli(found[causal, gradient, n]) for n in lengths), f"{times[lengths[-1]] / times[lengths[0]]:.2f}")


def setting():
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    version = subprocess.run(["g++", "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    return f"{cpu.group(1) if cpu else os.uname().machine}, {os.cpu_count()} cores, {version}"


remarks = {
    "length": "The slope of the time grows from 1, where products with matrices take it, towards 2, where attention does. Memory stays linear, "
              "since no array has length x length elements.",
    "width": "The slope of the time is below 2 as far as attention, which is linear in the width, and passes over memory take part of it. That of "
             "memory grows from 1, the activations', towards 2, that of the parameters and moments.",
    "vocabulary": "A small vocabulary costs nothing compared with the layers; a large one costs what its scores cost, in time and in memory. If the "
                  "vocabulary is split, what is sent does not depend on it.",
    "layers": "The number of layers is no type: one program served the whole curve, and `repeat` promised it.",
    "batch": "What is sent when the batch is split is as long as the parameters, whatever the batch is.",
    "processes": "Calls do not depend on the number of processes. If the batch is split, memory comes down to parameters, gradients and two moments, "
                 "which each process holds whole. If heads, hidden units and vocabulary are split, the sums and norms of each layer remain whole. "
                 "The formula knows that, but not the arrays that live for a moment while gradients are computed, a few MB at any number of "
                 "processes: so the measured memory falls a little more slowly.",
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", action="store_true", help="print what is to be built, for CMake")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--peers")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()

    chosen = {name: (values[0], values[len(values) // 2], values[-1]) if options.quick else values for name, values in curves.items()}
    numbers = (1, 2, 8) if options.quick else processes
    several = [base_of_processes, *(base_of_processes._replace(split=s, processes=n) for s in splits for n in numbers[1:])]
    if options.points:
        points = [base._replace(**{name: v}) for name, values in chosen.items() for v in values]
        print(";".join(dict.fromkeys(program_of(p) for p in [*points, *several, *([] if options.quick else [large])])))
        return

    load = os.getloadavg()[0]
    found, theirs = {}, {}
    for name, values in chosen.items():
        for value in values:
            p = base._replace(**{name: value})
            if p not in found:
                found[p] = measured(p)
            if options.peers and p not in theirs and value in (values[0], values[len(values) // 2], values[-1]):
                theirs[p] = in_pytorch(options.peers, p)
    rates = fitted(found)
    on_several = {p: measured(p, 1) for p in several}
    if any(not f["same"] or f["promised_peak"] != f["counted_peak"] for f in [*found.values(), *on_several.values()]):
        stop("expected that what is promised is what is counted, got other figures")

    command = "benchmarks/growth" + " --quick" * options.quick + " --peers VENV" * bool(options.peers)
    command += " --write docs/growth.md" * bool(options.write)
    add("# How cost grows", "", f"`{command}`, {datetime.date.today().isoformat()}.", "", f"{setting()}.")
    for text in introduction(rates, found):
        paragraph(text)
    for name, values in chosen.items():
        over(name, values, found, theirs, rates)
    over_processes(numbers, on_several)
    if not options.quick:
        hundred_million()
        long_attention()
    add("", "## Limits of these figures")
    paragraph(limits + f" When this run began, {load:.1f} programs ran or waited on {os.cpu_count()} cores.")
    if options.write:
        folder = options.write.with_suffix("")
        folder.mkdir(exist_ok=True)
        for name, text in pictures.items():
            (folder / f"{name}.svg").write_text(text, encoding="utf-8")
        options.write.write_text("\n".join(lines) + "\n", encoding="utf-8")


def introduction(rates, found):
    yield ("The training step of a GPT-2 with AdamW in single precision on random ids (`benchmarks/growth.cpp`), while one size grows. The others "
           "are: 2 layers of width 128 (heads of 64, hidden units four times the width), length 128, batch 4, 256 ids; one process, one thread. "
           "PyTorch has the same model, with one thread, too, at three points of each curve. Times are medians of the processor's "
           "seconds: with one thread they are those of the clock if nothing else runs.")
    yield ("A slope is that of the line through the logarithms, by least squares: 1 means that twice the size costs twice as much. The expected "
           "values come from formulas that do not use the library (`benchmarks/growth.py`). Flops: three times those of the forward products, and "
           "seven products of attention (two, and five for the gradients, which compute the scores again), of which the causal mask leaves half. "
           "Memory: parameters and two moments, and the larger of the gradients and of the values kept for them. Bytes: a ring's 2 (n - 1) / n of the "
           "summed arrays: the gradients if the batch is split, 4 activations a layer and 2 more if heads, hidden units and vocabulary are.")
    of_fit = [seconds_by(rates, p, f) / f["median_s"] for p, f in found.items()]
    products_, attention_, passes = (f"{1e-9 / r:.0f}" if r else "any" for r in rates)
    yield (f"Not everything is a product: three rates, fitted to all points at once, are the second expectation of the time: {products_} Gflop/s for "
           f"products, {attention_} Gflop/s for attention, {passes} GB/s for all other passes over memory. By them a step takes {min(of_fit):.2f} to "
           f"{max(of_fit):.2f} of its measured time.")
    yield ("The peak is that of the tensors: promised by the compiler, counted while the first step runs, and the same number, as are the "
           "bytes and calls over the processes; otherwise the script ends with an error. Resident memory is that of the process with its libraries. "
           "The bytes that each of two processes would send are promised figures.")


limits = ("A core may be that of a virtual machine with unknown neighbours: times of whole runs differ by 10 % and more. Below a step of 20 ms "
          "much is fixed cost, and what a cache holds at one size it does not hold at the next. One machine uses no network.")

main()
