"""Tables of what benchmarks/run measured: the steps compared with the peers', and the page docs/benchmarks.md. benchmarks/run calls it."""
import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess

import common

parser = argparse.ArgumentParser()
parser.add_argument("--parts", type=pathlib.Path, required=True, help="the folder of the rows")
parser.add_argument("--command", required=True)
parser.add_argument("--write")
options = parser.parse_args()


def rows(pattern):
    found = []
    for file in sorted(options.parts.glob(pattern), key=lambda f: int(re.sub(r"\D", "", f.name) or 0)):
        found += json.loads(file.read_text())
    return found


lines = []


def add(*text):
    lines.extend(text)


def table(*columns):
    add("", "| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1))


def row(*cells):
    add("| " + " | ".join(str(c) for c in cells) + " |")


def said(*command):
    if not shutil.which(command[0]):
        return ""
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def processor():
    """The name that lscpu gives it, and what tells those of one name apart: virtual machines hide the rest of the name, and some of the instructions."""
    about, cpuinfo = said("lscpu"), pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    name = re.search(r"^Model name:\s*(.*)", about, re.M) or re.search(r"^model name\s*: (.*)", cpuinfo, re.M)
    more = [f"{word} {found[1]}" for word, found in ((w, re.search(rf"^{w}:\s*(\d+)", about, re.M)) for w in ("CPU family", "Model")) if found]
    if flags := re.search(r"^flags\s*: (.*)", cpuinfo, re.M):
        flags = flags[1].split()
        more += [words for flag, words in (("avx512f", "avx512"), ("avx512_bf16", "avx512_bf16"), ("amx_bf16", "amx")) if flag in flags] or ["no avx512"]
    return (name[1] if name else os.uname().machine) + (f" ({', '.join(more).lower()})" if more else "")


def setting():
    packages = []
    for name, package in (("oneDNN", "libdnnl-dev"), ("OpenBLAS", "libopenblas-pthread-dev"), ("xsimd", "libxsimd-dev"), ("xtensor", "libxtensor-dev"),
                          ("Boost", "libboost-dev")):
        version = said("dpkg-query", "-W", "-f=${Version}", package)
        if version:
            packages.append(f"{name} {re.sub(r'[-+~].*', '', version)}")
    return ", ".join(filter(None, [processor(), f"{os.cpu_count()} cores", said("g++", "--version").split("\n")[0],
                                   said("mpirun", "--version").split("\n")[0].replace("mpirun (", "").replace(")", ""), *packages]))


# ---- compared with the peers --------------------------------------------------------------------------------------------------------------------------------

Entry = collections.namedtuple("Entry", "variant split cores median best extra")


def entry(group):
    """One variant of several cycles: the median of their medians, and the best of all."""
    first = group[0]
    return Entry(first["variant"], first["split"], first["cores"], statistics.median(r["median_s"] for r in group), min(r["best_s"] for r in group),
                 group[-1])


def ours(cycle_rows):
    """Our rows as the peers' are: what, split, cores."""
    for r in cycle_rows:
        what = r["what"]
        mixed = what.startswith(common.MIXED_STEP)
        if r["raw"] and r["variant"] != "by hand" and not mixed:
            continue
        split = "data" if "data parallel" in what else "tensor" if "tensor parallel" in what or what.startswith("small forward") else "nothing"
        name = next((n for start, n in (("language model", common.LANGUAGE_MODEL_STEP), ("translation", common.TRANSLATION_STEP), ("mixed precision", common.MIXED_STEP),
                                        ("small forward", common.SMALL_FORWARD),
                                        ("data parallel", common.MLP_STEP), ("tensor parallel", common.MLP_STEP)) if what.startswith(start)), None)
        if name:
            words = r["variant"] if r["variant"].startswith("meshtf") else "raw MPI by hand"
            threads = re.search(r", 1 process(, \d+ threads)?", what)   # a process without threads has one core
            yield r | {"what": name, "split": split, "cores": 1 if threads and not threads[1] else 2, "variant": words + (threads[0] if threads else ", 2 processes")}


def compared():
    groups = collections.OrderedDict()
    theirs = options.parts / "peers.jsonl"
    for r in [*ours(rows("cycle*.json")), *(json.loads(line) for line in (theirs.read_text().splitlines() if theirs.exists() else []))]:
        groups.setdefault((r["what"], r["cores"], r["split"], r["variant"]), []).append(r)
    return [(key[0], entry(group)) for key, group in groups.items()]


splits = {"data": "the batch", "tensor": "hidden units", "nothing": "nothing"}


def beside_the_peers(entries):
    for what, title, unit, scale, digits in ((common.LANGUAGE_MODEL_STEP, "A training step of a Transformer", "ms", 1e3, 0),
                                             (common.TRANSLATION_STEP, "A training step of an encoder and decoder", "ms", 1e3, 0),
                                             (common.MIXED_STEP, "The same in mixed precision", "ms", 1e3, 0),
                                             (common.MLP_STEP, "A training step of a perceptron", "ms", 1e3, 2),
                                             (common.SMALL_FORWARD, "A small forward pass", "µs", 1e6, 1)):
        here = [e for w, e in entries if w == what]
        if not here:
            continue
        add("", f"### {title}", "", explanations[what])
        language_model = what in (common.LANGUAGE_MODEL_STEP, common.TRANSLATION_STEP)
        more = ("all processes, MB", "until the first step's end, s", "first loss") if language_model else ()
        table("program", "cores", "split", f"median, {unit}", f"best, {unit}", "times meshtf's", *more)
        for cores in sorted({e.cores for e in here}, reverse=True):
            for split in ("data", "tensor", "nothing"):
                for e in sorted((e for e in here if e.cores == cores and e.split == split), key=lambda e: e.median):
                    base = [x.median for x in here if x.variant.startswith("meshtf") and x.cores == cores and (x.split == split or split == "nothing")]
                    more = ()
                    if language_model:
                        more = tuple("" if e.extra.get(k) is None else f"{e.extra[k]:.{n}f}"
                                     for k, n in (("resident_MB", 0), ("until_first_step_s", 1), ("first_loss", 2)))
                    halved = "heads, hidden units" if split == "tensor" and language_model else splits[split]
                    row(e.variant, cores, halved, f"{scale * e.median:.{digits}f}", f"{scale * e.best:.{digits}f}",
                        f"{e.median / min(base):.2f}" if base else "", *more)
        if language_model:
            counts = {round(e.extra[k] / 1e6, 3) for e in here for k in ("parameters", "parameters_a_process")
                      if k in e.extra and (k == "parameters" or e.split != "tensor")}
            losses = [e.extra["first_loss"] for e in here if "first_loss" in e.extra]
            # our programs write six digits
            alike = max(counts) < 1.001 * min(counts) and max(losses) < 1.03 * min(losses)
            add("", f"Parameters: {f'{max(counts):.3f}' if alike else ', '.join(str(c) for c in sorted(counts))} million; first losses {min(losses):.2f} to {max(losses):.2f}: " +
                ("the same work." if alike else "**not the same work: something differs.**"))
    missing = options.parts / "missing"
    if missing.exists():
        add("", *(f"- {line}" for line in missing.read_text().splitlines()))


explanations = {
    common.LANGUAGE_MODEL_STEP:
        "6 layers of 384, 6 heads, length 256, batch 8, bytes, one AdamW step in single precision: forward, backward, update; 0.146 Tflop with\n"
        "attention counted in full. The same shapes, biases, initial spread, optimizer and tied softmax everywhere; random ids, so every program\n"
        "starts near the logarithm of 256. Memory is the most that the processes ever had resident, with their libraries: of meshtf's\n"
        "promised 249 MB a process, 12 for whole pages of its pool, 9 of the heap, and libraries, MPI's and the GEMM's most.",
    common.TRANSLATION_STEP:
        "6 and 6 layers of 512, 8 heads, hidden 2048, a vocabulary of 8,000, 16 rows of packed pairs, 2,048 target positions with their padding, one\n"
        "AdamW step in single precision. The same rows, shapes, initial spread and optimizer; PyTorch's attention gets masks that are made before.",
    common.MIXED_STEP:
        "Weights, their gradients and the optimizer in float, activations and products in bfloat16; PyTorch's autocast(bfloat16), and our step in\n"
        "float in the same run. The gain depends on the processor: one without instructions for bfloat16 multiplies floats.",
    common.MLP_STEP:
        "256 x 512 -> 2048 -> 512, relu, softmax cross entropy, plain gradient descent. By hand: the same step in raw MPI with the same GEMM\n"
        "library (`examples/by_hand/mlp_mpi.hpp`).",
    common.SMALL_FORWARD:
        "8 x 64 -> 256 -> 64 with the middle split in two, then one sum of 2 KB over the processes: the cost of a call, not that of arithmetic.",
}

# ---- the page ----------------------------------------------------------------------------------------------------------------------------------------


def groups_of(all_rows):
    found = collections.OrderedDict()
    for r in all_rows:
        found.setdefault(r["what"], []).append(r)
    return found


def seconds(s):
    return f"{1e3 * s:.2f} ms" if s >= 1e-2 else f"{1e6 * s:.1f} µs" if s >= 1e-6 else f"{1e9 * s:.0f} ns"


def figures(r, without):
    """What a row has besides, as words."""
    return ", ".join(f"{k.replace('_', ' ')} {v:.3g}" for k, v in r.items() if k not in without and isinstance(v, (int, float)))


def our_tables(all_rows):
    groups = groups_of([r for r in all_rows if "variant" in r])
    steps = {w: g for w, g in groups.items() if any("share_of_sgemm" in r for r in g)}
    if steps:
        add("", "## Steps against the cores' rate", "",
            "`of sgemm` is the nominal flops of the step divided by its time, as a share of the rate of 1024 x 1024 x 1024 products that was",
            "measured in the same rounds on all cores at once. `of the best sgemm` is the share of the best such product of the run. A ratio is",
            "to the fastest program by hand.")
        table("step", "program", "median", "ratio", "quartiles", "GF/s a core", "of sgemm", "of the best sgemm", "all processes, MB")
        for what, group in steps.items():
            for r in group:
                if "share_of_sgemm" in r:
                    by_hand = any(x["raw"] and x["variant"] == "by hand" for x in group)
                    ratio = (f"{r['ratio']:.3f}", f"{r['ratio_q1']:.3f}-{r['ratio_q3']:.3f}") if by_hand else ("", "")
                    row(what, r["variant"], seconds(r["median_s"]), *ratio,
                        f"{r['gflops_a_core']:.0f}", f"{100 * r['share_of_sgemm']:.1f} %", f"{100 * r['share_of_best_sgemm']:.1f} %",
                        f"{r['resident_MB']:.0f}" if "resident_MB" in r else "")
    traced = {w: g for w, g in groups.items() if w.startswith(common.TRACED_STEP)}
    if traced:
        add("", "## What a trace costs", "",
            "The Transformer's step with a trace of every step (`docs/traces_and_logs.md`) and without, in turn, in one run. The ratio is the median of",
            "the ratios round by round. A trace may cost 2 %.")
        table("step", "without", "with", "ratio", "quartiles", "calls a step")
        for what, group in traced.items():
            without, traces = group
            row(what, seconds(without["median_s"]), seconds(traces["median_s"]), f"{traces['ratio_of_rounds']:.3f}",
                f"{traces['ratio_q1']:.3f}-{traces['ratio_q3']:.3f}", f"{traces['calls']:.0f}")
    mixed = {w: g for w, g in groups.items() if w.startswith(common.MIXED_STEP)}
    if mixed:
        add("", "## Mixed precision", "", "The Transformer's step in float and in mixed precision, in turn, in one run. " + explanations[common.MIXED_STEP].split(";")[0] + ".")
        if not all(halves.get("multiplies_narrow", 1) for _, halves in mixed.values()):
            add("", "That mixed precision saves time is not shown: this processor, or this oneDNN, multiplies floats faster than bfloat16, so products of",
                "bfloat16 are done in float. The row shows that alone, and what the activations take.")
        table("step", "float", "mixed", "ratio", "quartiles", "activations at the peak, MB, float", "mixed")
        for what, group in mixed.items():
            floats, halves = group
            row(what, seconds(floats["median_s"]), seconds(halves["median_s"]), f"{halves['ratio_of_rounds']:.3f}",
                f"{halves['ratio_q1']:.3f}-{halves['ratio_q3']:.3f}", f"{floats['activations_MB']:.1f}", f"{halves['activations_MB']:.1f}")
    others = {w: g for w, g in groups.items() if w not in steps and w not in traced and w not in mixed}
    if others:
        add("", "## Calls and collectives", "",
            "Calls of meshtf and raw calls that do the same, interleaved in one process. The ratio is to the fastest raw variant. A size is that",
            "of the longer array of a process.")
        table("what", "variant", "median", "best", "ratio", "quartiles", "more")
        known = {"what", "variant", "raw", "samples", "median_s", "best_s", "ratio", "ratio_of_rounds", "ratio_q1", "ratio_q3"}
        for what, group in others.items():
            for r in group:
                quartiles = f"{r['ratio_q1']:.3f}-{r['ratio_q3']:.3f}"
                row(what, r["variant"], seconds(r["median_s"]), seconds(r["best_s"]), f"{r['ratio']:.3f}", quartiles, figures(r, known))
    operations = [r for r in all_rows if "mode" in r]
    if operations:
        add("", "## What an operation costs besides its kernels", "",
            "A chain of 100 `tanh`, forward and backward, compared with its 200 kernels alone: the difference is the cost of handles, gradient slots, the tape and the plan.",
            "The same program with the headers alone and with the compiled library, in turn; a figure is the median of the runs'. It may be 30 ns.")
        table("operation", "with", "an operation", "its kernels", "the rest")
        kinds = collections.OrderedDict()
        for r in sorted(operations, key=lambda r: int(re.search(r"\d+", r["what"])[0])):
            kinds.setdefault((r["what"], r["mode"]), []).append(r)
        for (what, mode), runs in kinds.items():
            row(what, mode, *(f"{1e9 * statistics.median(r[k] for r in runs):.1f} ns" for k in ("operation_s", "kernels_s", "rest_s")))
    kernels = [r for r in all_rows if "variant" not in r and "mode" not in r]
    if kernels:
        add("", "## Kernels of one process", "",
            "Each kernel compared with the plain loop that it replaces, built with the same flags and interleaved. `large` is more than the caches hold;",
            "there `share of triad` is the share of the bandwidth that a = b + s c reaches in the same rounds.", "",
            "A loop by hand knows how many dimensions it has and in which order they lie; a kernel learns both at run time. Where the work is small, that",
            "is what a ratio above 1.2 shows (as `perf record` divides their time):", "",
            "- 16 elements: a kernel sees that they are contiguous, that there is no observer, and that they are too few for threads: 1 to 3 ns.",
            "- `x + y` and `add up` of 64 x 64 and of what is larger than the caches: the same instructions as the loop's, except for the operand that is",
            "  loaded first. `copy` is the C library's, which on a Zen 4 may use `rep movsb`.",
            "- Sums of 8 x 8: rows fill half of a vector of 16, and their lanes are added up by turning eight rows into columns: two fifths of the",
            "  time. A fifth is planning: arrays of several rows are walked in blocks.",
            "- Dropout of 64: 0.3 of the time finds where the elements lie in the whole tensor. The rest is the loop by hand with a start that may lie",
            "  within a block of random numbers.",
            "- `a[row] + b[column]`, and other operands that are constant along a row: the value is read again for each vector, from a buffer where it",
            "  lies as often as a vector has lanes, and the loop by hand keeps it in a register. With rows of 16 elements a buffer is filled for",
            "  each vector, so 4194304 x 16 does not reach the bandwidth of memory.",
            "- A lambda of rows of 40 and 100: it gets numbers, not vectors, and its loop restarts in each row, which the last elements leave",
            "  one by one.",
            "- Transposes with a dimension of 2 to 10, of 1000 x 10 and `x + y` transposed of a few elements: a block is turned in registers and written",
            "  to the cache (0.6 of the time), from where the function of elements reads it (0.2), because only the loops around it know strides. The",
            "  rest finds where blocks begin. The loop by hand reads across, which costs nothing as long as all arrays fit into the first-level cache.",
            "- Writes, concatenations and tiles of a few rows: half of the time copies the rows; a plan of blocks is made for each part.",
            "- Rows of 4 elements, gathered or scattered: a vector with a mask moves each, and all ids are checked before anything is read. Rows of 10,",
            "  scattered, take 0.7 to 1.9 of the loop's time from run to run of one program: it depends on where the arrays lie.",
            "- `pick`: the same check of all labels takes a quarter of the time.",
            "- The largest element of rows of 16 and 64, and norms of rows of 10: the work done once for each row, joining the lanes of a vector, takes longer than the",
            "  row. Long rows take a fraction of the loop's time.",
            "- Rows of 1000 that share a bias: they begin within a cache line, so that of the 14 vectors of a turn most lie in two of them. Rows of",
            "  1008, which do not, take 0.72 of the loop's time (an Emerald Rapids).",
            "- Sums of columns that are larger than the caches, and of the middle: five rows are added up at a time, so that sums are written less often.",
            "  On an Emerald Rapids that takes 0.7 of the time of one row after the other; on a Zen 4, which is read in another order than memory's then,",
            "  the loop by hand is faster.")
        table("kernel", "plain loop", "meshtf", "ratio", "quartiles", "more")
        known = {"loop_s", "median_s", "ratio", "ratio_q1", "ratio_q3"}
        for r in kernels:
            row(r["what"], seconds(r["loop_s"]), seconds(r["median_s"]), f"{r['ratio']:.3f}", f"{r['ratio_q1']:.3f}-{r['ratio_q3']:.3f}", figures(r, known))


def convolution_tables():
    """Convolutions compared with oneDNN's primitives; then networks and attention compared with PyTorch's, from the scripts that take turns with it."""
    shapes = {w: g for w, g in groups_of(rows("images*.json")).items() if len(g) > 1}
    if shapes:
        add("", "## Convolutions", "",
            "A convolution of one process (images, size, channels, taps) and its gradients, compared with oneDNN's primitive called directly and by products of",
            "windows, interleaved. The primitive gets images with channels last, as ours are in memory, or all arrays in its preferred formats,",
            "already copied. A ratio is to the faster of the two. Above 1.05 are: where the filter is larger than the images (7x7), which is copied to",
            "oneDNN's format at each call; and 1x1 taps, groups, and 3 channels, for which oneDNN is faster with channels in blocks of 16 than last.")
        table("convolution", "meshtf", "products of windows", "oneDNN, channels last", "oneDNN, its formats", "ratio", "quartiles")
        for what, group in shapes.items():
            of = {r["variant"].split(":")[0]: r for r in group}
            here = of["meshtf"]
            row(what, *(seconds(of[v]["median_s"]) if v in of else "" for v in
                        ("meshtf", "by products of windows", "oneDNN, channels last", "oneDNN, formats that it likes")),
                f"{here['ratio']:.3f}", f"{here['ratio_q1']:.3f}-{here['ratio_q3']:.3f}")
    theirs = options.parts / "beside.jsonl"
    beside = [json.loads(line) for line in theirs.read_text().splitlines()] if theirs.exists() else []
    for name, title, words in (
            ("images", "Networks of convolutions", "A block of ResNet-18 (8 images, forward and back) and the training step of `examples/images` (128 images), "
             "in turn with\nPyTorch. On 2 cores, meshtf has 2 processes that split the batch, and PyTorch has 2 threads."),
            ("attention", "Attention", "One call of one thread: batch, heads, length, depth. PyTorch's is `scaled_dot_product_attention`; the time is that "
             "of\nthe processor."),
            ("experts", "A layer of experts", "Forward and backward, 2,048 tokens of 256, two of 8 experts of 1,024 for each: gather, products of each expert and "
             "scatter\nin `torch` operations, on the same values, one thread each; the time is that of the processor.")):
        here = [r for r in beside if r["table"] == name]
        if here:
            add("", f"## {title}", "", words + " A ratio is ours to PyTorch's.")
            table("what", "cores", here[0]["peer"], "meshtf", "ratio", "lowest and highest")
            for r in here:
                row(r["what"], r["cores"], seconds(r["peer_s"]), seconds(r["ours_s"]), f"{r['ratio']:.3f}", f"{r['lowest']:.3f}-{r['highest']:.3f}")
    alone = [r for g in groups_of(rows("images*.json")).values() if len(g) == 1 for r in g]
    if alone and not any(r["table"] == "images" for r in beside):
        add("", "## Networks of convolutions")
        table("what", "median", "best")
        for r in alone:
            row(r["what"], seconds(r["median_s"]), seconds(r["best_s"]))


entries = compared()
names = sorted({e.variant.split(",")[0] for _, e in entries if e.variant[0].isupper()})
add("# Benchmarks", "", f"`{options.command}`, {datetime.date.today().isoformat()}.", "", setting() + ".",
    *(["", f"Peers: {'; '.join(names) or 'none'}."] if entries else []))
if entries:
    begin = len(lines)
    add("", "## Compared with the peers", "",
        "The programs take turns: each one starts, warms up, is timed for a few steps and ends; then the next one starts. There are two such",
        "rounds. A median is that of the medians of both rounds. If a row says one core, the program may use only one. The splits are the",
        "same, but the programs differ:", "",
        "- meshtf and PyTorch split between two processes, one thread each, which exchange messages (MPI; gloo). JAX and Mesh TensorFlow run one",
        "  process that has two devices, and their sums are reads of each other's memory.",
        "- `nothing` split on two cores means one process of two threads. These rows are compared with the best of meshtf's rows on two cores.",
        "- Under tensor parallelism, meshtf and JAX also split the vocabulary; PyTorch's DTensor and Mesh TensorFlow keep the embedding",
        "  whole.",
        "- Mesh TensorFlow's AdamW has no bias correction, and its attention is a composition of einsum and softmax, because it has no other.",
        "  The others call the attention of their library.",
        "- Compilation: PyTorch runs eagerly (`torch.compile` was left out: it takes half a minute before the first step).",
        "  `until the first step's end` begins after the interpreter has started, and includes imports, tracing and compilation. meshtf is",
        "  compiled before; `docs/compile_time.md` says how long that takes.",
        "- A perceptron's step is so short that the interpreters of PyTorch and TensorFlow take a noticeable part of it.")
    beside_the_peers(entries)
    print("\n".join(lines[begin:]))
last_cycle = {(r["what"], r["variant"]): r for r in rows("cycle*.json") if r["what"].startswith((common.LANGUAGE_MODEL_STEP, common.TRANSLATION_STEP, common.MIXED_STEP))}
our_tables(rows("[0-9]*.json") + list(last_cycle.values()))
convolution_tables()
add("", "## Limits of these figures", "",
    "Two processes on one machine use no network. The cores may be those of a virtual machine with unknown neighbours: whole runs differ",
    "by 10 % and more, ratios within one run by less. Differences below a few per cent mean nothing. Other sizes are in",
    "[growth.md](growth.md).")
if options.write:
    pathlib.Path(options.write).write_text("\n".join(lines) + "\n", encoding="utf-8")
