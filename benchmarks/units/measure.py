"""Measures the compilation of the translation units next to this file: see benchmarks/compile_time, which calls it."""
import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

units_folder = pathlib.Path(__file__).resolve().parent
root = units_folder.parent.parent
baseline_file = units_folder.parent / "compile_time_baseline.json"

allowed_growth = 1.05  # of counts over the baseline
flat = 1.01  # of counts along a curve

Unit = collections.namedtuple("Unit", "name what runs levels ceiling")  # ceiling: seconds and MB, or None
units = [
    Unit("core", "a question about a layout: `core.hpp`", False, ("-O0",), (0.5, 150)),
    Unit("einsum", "the price of one product: `ops/product/einsum.hpp`", False, ("-O0",), None),
    Unit("planning", "the price of a perceptron's step: `planning.hpp`", False, ("-O0",), None),
    Unit("language_model_planning", "the price of a Transformer's step", False, ("-O0",), None),
    Unit("mlp", "a perceptron's step that runs, three layouts, their prices", True, ("-O0", "-O1", "-O3"), (5, 600)),
    Unit("language_model", "a Transformer's step that runs, one layout, its price", True, ("-O0", "-O1", "-O3"), (8, 1000)),
]
promise = (20, 2000)

Figures = collections.namedtuple("Figures", "functions classes")


def stop(words):
    print(f"meshtf: {words}", file=sys.stderr)
    sys.exit(70)


class Compiler:
    def __init__(self, command, flags):
        self.command, self.flags = command, flags
        text = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
        self.clang = "clang" in text
        version = re.search(r"version (\d+\.\d+\.\d+)", text) or re.search(r"(\d+\.\d+\.\d+)\s*$", text.splitlines()[0])
        self.name = ("clang++ " if self.clang else "g++ ") + version.group(1)

    def arguments(self, unit, definitions=()):
        found = [self.command, "-std=c++20", "-ftemplate-depth=64", "-DNDEBUG", f"-I{root}/include", *definitions]
        # The steps of a constant evaluation: the defaults end near 40 layers. The CMake target gives clang this one; g++ counts otherwise.
        found.append("-fconstexpr-steps=100000000" if self.clang else "-fconstexpr-ops-limit=1000000000")
        return found + (self.flags if unit.runs else []) + [str(units_folder / (unit.name + ".cpp"))]

    def run(self, arguments):
        """Seconds of processor time and MB at the peak."""
        child = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        errors = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said = "\n".join([line for line in errors.splitlines() if "error" in line][:5])
            stop(f"expected {self.name} to compile a unit, got these words:\n{said}\nthe command: {shlex.join(arguments)}")
        return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6, errors

    def cost(self, unit, level, definitions=(), samples=1):
        with tempfile.TemporaryDirectory() as folder:
            call = self.arguments(unit, [*definitions, level, "-march=native", "-c", "-o", folder + "/unit.o"])
            runs = [self.run(call) for _ in range(samples)]
        return min(r[0] for r in runs), max(r[1] for r in runs)

    def cost_of_part(self, level, part):
        """One of the sources of the compiled library, as the target meshtf::compiled builds it."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, part + ".cpp")
            source.write_text(f"#define MESHTF_COMPILED_PART_{part}\n#include <meshtf/compiled.hpp>\n")
            call = self.arguments(next(unit for unit in units if unit.runs), [level, "-march=native", "-c", "-o", folder + "/part.o"])
            return self.run(call[:-1] + [str(source)])[:2]

    def edits(self, level):
        """A small language model is changed and run again: the name of the change; the compiler's seconds header-only and with the compiled library;
        the seconds that linking it and ten steps take on the clock."""
        unit = next(u for u in units if u.name == "language_model")
        libraries = ["-lboost_mpi", "-lboost_serialization", "-lopenblas", "-lmpi"]
        libraries += [library for name, library in (("ONEDNN", "-ldnnl"), ("JANSSON", "-ljansson"), ("ZLIB", "-lz"), ("XXHASH", "-lxxhash"),
                                                  ("SENTENCEPIECE", "-lsentencepiece"))
                      if any(flag.startswith(f"-DMESHTF_WITH_{name}") and not flag.endswith("=0") for flag in self.flags)]
        with tempfile.TemporaryDirectory() as folder:
            objects = []
            for part in ("float", "double", "bfloat16", "start"):
                source = pathlib.Path(folder, part + ".cpp")
                source.write_text(f"#define MESHTF_COMPILED_PART_{part}\n#include <meshtf/compiled.hpp>\n")
                objects.append(f"{folder}/{part}.o")
                self.run(self.arguments(unit, [level, "-march=native", "-c", "-o", objects[-1]])[:-1] + [str(source)])
            for what, batch, width, layers, processes in (("the batch: 8 to 16", 16, 128, 2, 1), ("the width: 128 to 192", 8, 192, 2, 1),
                                                          ("the layers: 2 to 4", 8, 128, 4, 1), ("the mesh: 1 process to 2", 8, 128, 2, 2)):
                edited = [f"-DBATCH={batch}", f"-DWIDTH={width}", *on(processes, 1, layers)]
                alone, _ = self.cost(unit, level, edited)
                object_, program = folder + "/unit.o", folder + "/program"
                cost = self.run(self.arguments(unit, [*edited, "-DMESHTF_COMPILED", level, "-march=native", "-c", "-o", object_]))[0]
                clock = [time.perf_counter()]
                self.run([self.command, object_, *objects, "-o", program, "-pthread", *libraries])
                clock.append(time.perf_counter())
                self.run([str(root / "examples" / "processes"), str(processes), program])
                clock.append(time.perf_counter())
                yield what, alone, cost, clock[1] - clock[0], clock[2] - clock[1]

    def cost_precompiled(self, units_, level, definitions=()):
        """As CMake does it for meshtf_precompile: the cost of the header, and of each unit with it, the best of two."""
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder, "precompiled.hpp")
            header.write_text("#include <meshtf/meshtf.hpp>\n")
            made = f"{header}.{'pch' if self.clang else 'gch'}"
            flags = [*definitions, level, "-march=native"]
            call = self.arguments(units_[0], flags)[:-1] + ["-x", "c++-header", "-o", made, str(header)]
            costs = [self.run(call)[:2]]
            use = ["-include-pch", made] if self.clang else ["-include", str(header)]
            for unit in units_:
                runs = [self.run(self.arguments(unit, [*flags, *use, "-c", "-o", folder + "/unit.o"])) for _ in range(2)]
                costs.append((min(r[0] for r in runs), max(r[1] for r in runs)))
        return costs

    def counts(self, unit, definitions=()):
        """Instantiated functions and classes. For one processor, since the widths of vectors are types; -O1, since C headers look at it."""
        call = self.arguments(unit, [*definitions, "-O1", "-march=x86-64-v3", "-fsyntax-only"])
        if not self.clang:
            words = self.run(call + ["-fstats"])[2]
            count = [int(re.search(kind + r"_specializations: size \d+, (\d+) elements", words).group(1)) for kind in ("decl", "type")]
            return Figures(*count)
        with tempfile.TemporaryDirectory() as folder:
            trace = folder + "/trace.json"
            self.run(call + ["-Xclang", "-ftime-trace=" + trace, "-Xclang", "-ftime-trace-granularity=0"])
            with open(trace, encoding="utf-8") as file:
                events = collections.Counter(e["name"] for e in json.load(file)["traceEvents"] if e.get("ph") == "X")
        return Figures(events["InstantiateFunction"], events["InstantiateClass"])


def flags_of_cmake(file):
    """Where CMake found the libraries of meshtf::runtime."""
    with open(file, encoding="utf-8") as opened:
        for entry in json.load(opened):
            if entry["file"].endswith("benchmarks/step.cpp"):
                words = shlex.split(entry["command"])
                found = []
                for i, word in enumerate(words):
                    if word == "-isystem":
                        found += [word, words[i + 1]]
                    elif word.startswith(("-I", "-D")) and word != f"-I{root}/include":
                        found.append(word)
                return found
    return stop(f"expected benchmarks/step.cpp in {file}, got none: configure with -DMESHTF_BENCHMARKS=ON")


def together(calls):
    """The results of functions, as many at once as there are cores: for counts, never for times."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [f.result() for f in [pool.submit(call) for call in calls]]


class Baseline:
    def __init__(self):
        self.counts = json.loads(baseline_file.read_text()) if baseline_file.exists() else {}
        self.objections = []

    def judge(self, compiler, unit, found):
        """Words for the table; an objection is kept for the end."""
        if compiler.name not in self.counts:
            return "no baseline of this compiler"
        if unit.name not in self.counts[compiler.name]:
            return "no baseline of this unit"
        accepted = Figures(**self.counts[compiler.name][unit.name])
        for kind, now, then in zip(Figures._fields, found, accepted):
            if now > allowed_growth * then:
                self.objections.append(f"expected at most 5 % more than the {then} {kind} of the baseline instantiated in units/{unit.name}.cpp by "
                                       f"{compiler.name}, got {now}: see which (clang++ -ftime-trace), or accept them: "
                                       "benchmarks/compile_time --accept")
        change = 100 * (sum(found) / sum(accepted) - 1)
        return f"{change:+.1f} % on the baseline"

    def judge_flat(self, compiler, curve, counts):
        least, most = min(map(sum, counts)), max(map(sum, counts))
        if most > flat * least:
            self.objections.append(f"expected as many instantiations for every {curve}, got {least} to {most} by {compiler.name}: something is "
                                   "instantiated once a process or once a layer")

    def accept(self, compiler, unit, found):
        self.counts.setdefault(compiler.name, {})[unit.name] = found._asdict()

    def write(self):
        baseline_file.write_text(json.dumps(self.counts, indent=2) + "\n")

    def end(self):
        for objection in self.objections:
            print(f"meshtf: {objection}", file=sys.stderr)
        sys.exit(1 if self.objections else 0)


planned = next(u for u in units if u.name == "language_model_planning")


def on(rows, cols, layers):
    return [f"-DROWS={rows}", f"-DCOLS={cols}", f"-DLAYERS={layers}"]


def check_counts(compilers, baseline, accept):
    """The quick part: what a test looks at."""
    for compiler in compilers:
        print(compiler.name)
        for unit in units:
            if not unit.runs:
                found = compiler.counts(unit)
                if accept:
                    baseline.accept(compiler, unit, found)
                words = baseline.judge(compiler, unit, found)
                print(f"  {unit.name:26} {found.functions:7} functions {found.classes:7} classes   {words}", flush=True)
                if unit is planned and compiler is compilers[0]:
                    large = compiler.counts(unit, on(32, 64, 12))
                    print(f"  {'  32x64, 12 layers':26} {large.functions:7} functions {large.classes:7} classes", flush=True)
                    baseline.judge_flat(compiler, "mesh and number of layers", [found, large])


def beside(figures, ceiling):
    """'ok', or which of seconds and MB is above its ceiling."""
    if ceiling is None:
        return ""
    above = [f"{100 * got / limit - 100:.0f} % above in {kind}" for got, limit, kind in zip(figures, ceiling, ("time", "memory")) if got > limit]
    return ", ".join(above) or "ok"


class Page:
    """Markdown, printed as it comes."""

    def __init__(self):
        self.lines = []

    def add(self, *lines):
        for line in lines:
            self.lines.append(line)
            print(line, flush=True)

    def table(self, *columns):
        self.add("", "| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1))

    def row(self, *cells):
        self.add("| " + " | ".join(str(c) for c in cells) + " |")


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    return model.group(1) if model else platform.machine()


def curve(page, compilers, baseline, what, points):
    """Each point: its name and the mesh and layers of it."""
    columns = [f"{c.name}, {kind}" for c in compilers for kind in ("seconds", "MB", "functions", "classes")]
    page.table(what, *columns)
    counted = together([lambda c=c, p=p: c.counts(planned, on(*p)) for _, p in points for c in compilers])
    per_compiler = [counted[i::len(compilers)] for i in range(len(compilers))]
    seconds = [[] for _ in compilers]
    for at, (name, point) in enumerate(points):
        cells = []
        for i, compiler in enumerate(compilers):
            spent, memory = compiler.cost(planned, "-O0", on(*point), samples=2)
            seconds[i].append(spent)
            cells += [f"{spent:.2f}", f"{memory:.0f}", *per_compiler[i][at]]
        page.row(name, *cells)
    page.add("", "```text")
    longest = max(map(max, seconds))
    for i, compiler in enumerate(compilers):
        for (name, _), spent in zip(points, seconds[i]):
            page.add(f"{compiler.name:15} {name:>6} {'#' * round(60 * spent / longest)} {spent:.2f} s")
    page.add("```")
    for i, compiler in enumerate(compilers):
        baseline.judge_flat(compiler, what, per_compiler[i])


def measure(compilers, baseline, accept):
    page = Page()
    page.add("# What a translation unit costs the compiler", "",
             "Generated by `benchmarks/compile_time --write docs/compile_time.md`. "
             f"{datetime.date.today().isoformat()}, {processor()}, {os.cpu_count()} cores; {', '.join(c.name for c in compilers)}.", "",
             "Seconds of processor time and peak memory of the compiler, with `-march=native`, without debug information, without precompiled",
             "headers. The figure is the best of three runs if one takes less than two seconds, of two runs below six seconds, otherwise of one",
             "run. The translation units are in `benchmarks/units/`. `-O0` is for debugging, `-O1` for debugging of long",
             "runs, `-O3` for production.", "",
             "The ceilings: 0.5 s and 150 MB for a question about a layout, 5 s and 600 MB for a perceptron in three layouts, 8 s and 1 GB for a",
             "Transformer's step. The library promises that no translation unit takes more than 20 s and 2 GB. The ceilings were set before the library was",
             "written; each is compared at every level of optimisation.")

    page.table("translation unit", "compiler", "level", "seconds", "MB", "ceiling", "against it", "against 20 s, 2 GB")
    for unit in units:
        for compiler in compilers:
            for level in unit.levels:
                cost = compiler.cost(unit, level)
                if cost[0] < 6:
                    again = compiler.cost(unit, level, samples=2 if cost[0] < 2 else 1)
                    cost = min(cost[0], again[0]), max(cost[1], again[1])
                limit = f"{unit.ceiling[0]} s, {unit.ceiling[1]} MB" if unit.ceiling else ""
                page.row(f"`{unit.name}`: {unit.what}", compiler.name, level, f"{cost[0]:.2f}", f"{cost[1]:.0f}", limit, beside(cost, unit.ceiling),
                         beside(cost, promise))

    page.add("", "## With a precompiled header", "",
             "`meshtf_precompile(program other...)` in a project's `CMakeLists.txt` compiles `<meshtf/meshtf.hpp>` and all that it includes once for the",
             "sources of these targets. The table has the same translation units after that, and what the header itself takes.")
    page.table("translation unit", "compiler", "level", "seconds", "MB", "ceiling", "against it")
    running = [unit for unit in units if unit.runs]
    for compiler in compilers:
        for level in ("-O0", "-O1", "-O3"):
            header, *costs = compiler.cost_precompiled(running, level)
            page.row("`include/meshtf/meshtf.hpp`, once", compiler.name, level, f"{header[0]:.2f}", f"{header[1]:.0f}", "", "")
            for unit, cost in zip(running, costs):
                page.row(f"`{unit.name}`", compiler.name, level, f"{cost[0]:.2f}", f"{cost[1]:.0f}", f"{unit.ceiling[0]} s, {unit.ceiling[1]} MB",
                         beside(cost, unit.ceiling))

    page.add("", "## With the kernels compiled once", "",
             "A program that links `meshtf::compiled` instead of `meshtf::meshtf` has `MESHTF_COMPILED`: its sources only declare the kernels, and sources",
             "that CMake writes, one for each floating-point type, have them. The table has the same translation units then, the ratio to header-only in the",
             "same run, and once each source of the library (for one architecture). Change the batch, the width, the layers or the mesh and compile again: this is what you",
             "wait for, and the second figure is what it would be with a precompiled header, too.")
    page.table("translation unit", "compiler", "level", "seconds", "MB", "of header-only", "precompiled", "of header-only, precompiled")
    for compiler in compilers:
        for level in ("-O0", "-O1", "-O3"):
            parts = {"float": "float and indices", "double": "double", "bfloat16": "bfloat16", "start": "what is no kernel"}
            for name, words in parts.items() if level == "-O3" else [("float", parts["float"])]:
                part = compiler.cost_of_part(level, name)
                page.row(f"the compiled library, {words}, once", compiler.name, level, f"{part[0]:.2f}", f"{part[1]:.0f}", "", "", "")
            precompiled = compiler.cost_precompiled(running, level)[1:]
            compiled_too = compiler.cost_precompiled(running, level, ["-DMESHTF_COMPILED"])[1:]
            for unit, before, after in zip(running, precompiled, compiled_too):
                alone = compiler.cost(unit, level)
                cost = compiler.cost(unit, level, ["-DMESHTF_COMPILED"])
                page.row(f"`{unit.name}`", compiler.name, level, f"{cost[0]:.2f}", f"{cost[1]:.0f}", f"{cost[0] / alone[0]:.2f}",
                         f"{after[0]:.2f}", f"{after[0] / before[0]:.2f}")

    page.add("", "## Edit, compile, run", "",
             "A language model of two layers of width 128, `benchmarks/units/language_model.cpp` with `WIDTH`, is changed, compiled at -O1, linked and run",
             "for ten steps. The compiler's seconds are of a processor, the others are on the clock; starting the processes is in the last one. The depth",
             "can also be left open (`nn::any_depth`): then the program is told how many layers there are when it starts, and nothing is compiled.")
    page.table("what is changed", "compiler", "compile, header-only", "compile, kernels compiled once", "link", "run")
    for compiler in compilers:
        for what, *seconds in compiler.edits("-O1"):
            page.row(what, compiler.name, *(f"{s:.2f}" for s in seconds))

    page.add("", "## Instantiations", "",
             "The number of instantiated templates, including those of the included libraries, does not depend on the machine, so it can be",
             "tested. The figures of g++ are the specialisations that it keeps (`-fstats`): of functions and variables, and of classes and",
             "aliases, including those only named. The figures of clang are the events of `-ftime-trace`. So the figures of the two compilers",
             "can't be compared with each other. `benchmarks/compile_time --counts` is the quick part, and one of the tests.")
    page.table("translation unit", "compiler", "functions", "classes", "change")
    counted = iter(together([lambda c=c, u=u: c.counts(u) for u in units for c in compilers]))
    for unit in units:
        for compiler in compilers:
            found = next(counted)
            if accept:
                baseline.accept(compiler, unit, found)
            page.row(f"`{unit.name}`", compiler.name, *found, baseline.judge(compiler, unit, found))

    page.add("", "## Curves", "",
             "The price of a Transformer's training step, `benchmarks/units/language_model_planning.cpp`, at `-O0`. Templates depend neither on",
             "the size of the mesh nor on the number of layers: their number stays the same within a handful. The compiler evaluates the step, so",
             "its time grows with the layers, but not with the mesh.",
             "", "Six layers, over the size of the mesh:")
    curve(page, compilers, baseline, "mesh", [(f"{r}x{c}", (r, c, 6)) for r, c in ((2, 2), (4, 4), (8, 8), (16, 16), (32, 32), (32, 64))])
    page.add("", "A mesh of 2x2, over the number of layers:")
    curve(page, compilers, baseline, "layers", [(n, (2, 2, n)) for n in (1, 2, 4, 8, 16, 32, 48)])
    return page


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("--flags-from")
    options = parser.parse_args()

    flags = flags_of_cmake(options.flags_from) if options.flags_from else []
    compilers = [Compiler(c, flags) for c in ("g++", "clang++-19") if shutil.which(c)]
    if not compilers:
        print("meshtf: neither g++ nor clang++-19 is installed: nothing to measure")
        sys.exit(77)
    baseline = Baseline()
    if options.counts:
        check_counts(compilers, baseline, options.accept)
        if options.accept:
            baseline.write()
    else:
        page = measure(compilers, baseline, options.accept)
        if options.write:
            pathlib.Path(options.write).write_text("\n".join(page.lines) + "\n", encoding="utf-8")
        if options.accept:
            baseline.write()
    baseline.end()


main()
