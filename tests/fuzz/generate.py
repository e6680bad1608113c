#!/usr/bin/env python3
"""Random programs of 3 to 8 operations, each under a random layout: the same values and gradients as on one process, at the promised price.

generate.py --seed N... --count N --files N --out FOLDER   writes FOLDER/programs_0.cpp and so on, tests for `tests/fuzz/run.hpp`
generate.py --seed N --only N                              prints program number N alone, as a test that can be compiled

The tests run 200 of them: `tests/run --programs 1000 --seed 7` runs others, --long 1000 of five seeds. A test that fails prints its program.

Sizes are 1 to 9, so few of them divide by anything. Each axis of the mesh splits one dimension, or none; a program knows along which dimensions an
operation may work when they are split. Values stay moderate: what grows is followed by a tanh before it is used again.

Every fourth program also has ints and bools, which are exact under every layout; half of these programs have a dimension of which the elements are
counted. What it shows of a counted dimension is a sum, as there is nothing to compare past the count.
"""
import argparse
import pathlib
import random

MESHES = {  # as tests/zoo.hpp names them: processes, axes
    "pair": (2, {"line": 2}),
    "by_three": (3, {"third": 3}),
    "two_by_two": (4, {"rows": 2, "cols": 2}),
    "by_six": (6, {"rows": 2, "third": 3}),
}
DIMS = "abcde"


class program:
    """Statements, and the values that they have made: name -> dimensions in order."""

    def __init__(self, seed, number):
        self.seed, self.number = seed, number
        self.r = random.Random(f"{seed} {number}")
        self.size = {d: self.r.choice([1, 2, 3, 4, 5, 6, 7, 8, 9]) for d in DIMS}
        self.extra = {}  # dimensions made on the way: never split
        self.mesh = self.r.choice(list(MESHES))
        self.processes, self.axes = MESHES[self.mesh]
        self.rules, self.other_rules = self.layout(), self.layout()
        self.lines, self.values, self.parameters, self.unused = [], {}, [], []
        self.ids = 0
        self.ints, self.bools, self.counted, self.count = {}, {}, None, 0
        self.operations = OPERATIONS
        if number % 4 == 3:
            self.operations = OPERATIONS + EXACT
            if self.r.random() < 0.5:
                self.counted = self.r.choice(DIMS)
                self.count = self.r.randint(1, self.size[self.counted])
                self.lines.append(f"counted<{self.counted}> const there{{m, {self.count}}};")
        for _ in range(self.r.randint(2, 4)):
            self.parameter()
        for _ in range(self.r.randint(3, 8)):
            self.operation()
        if number % 4 == 3:
            self.whole_numbers(), self.whole_numbers()

    # ---- layouts

    def layout(self):
        """dim -> its axes, outermost first."""
        rules, free = {}, list(self.axes)
        self.r.shuffle(free)
        if len(free) == 2 and self.r.random() < 0.2:
            return {self.r.choice(DIMS): free}
        for axis in free:
            if self.r.random() < 0.85:
                d = self.r.choice([d for d in DIMS if d not in rules])
                rules[d] = [axis]
        return rules

    def is_whole(self, d):
        return d not in self.rules and d != self.counted

    @staticmethod
    def rule(rules, d, size, axes):
        parts = 1
        for a in rules[d]:
            parts *= axes[a]
        kind = "split" if size % parts == 0 else "padded"
        return f"{kind}<{d}, {', '.join('zoo::' + a for a in rules[d])}>"

    # ---- statements

    def parameter(self):
        dims = self.r.sample(DIMS, self.r.randint(1, 3))
        name = f"w{len(self.parameters)}"
        self.lines.append(f"parameter<double, L, {', '.join(dims)}> {name}{{m, normal{{{len(self.parameters) + 1}}}}};")
        self.parameters.append(name)
        self.values[name] = dims
        self.unused.append(name)

    def new(self, expression, dims, *operands):
        name = f"t{len(self.values)}"
        self.lines.append(f"auto const {name} = {expression};")
        self.values[name] = list(dims)
        for o in operands:
            if o in self.unused:
                self.unused.remove(o)
        self.unused.append(name)

    def fresh(self, size):
        name = f"n{len(self.extra)}"
        self.extra[name] = size
        return name

    def size_of(self, d):
        return self.size.get(d) or self.extra[d]

    def pick(self):
        """A value, more often one that nobody has used."""
        pool = self.unused if self.r.random() < 0.7 else list(self.values)
        return self.r.choice(pool)

    def operation(self):
        for _ in range(50):
            if getattr(self, self.r.choice(self.operations))():
                return

    # ---- operations: each returns whether it found operands

    def pointwise(self):
        x = self.pick()
        f = self.r.choice(["tanh", "sin", "cos", "sigmoid", "silu", "softplus", "gelu", "erf", "relu", "abs", "elu", "exp(tanh", "square(tanh",
                           "log1p(square"])
        self.new(f"{f}({x}))" if "(" in f else f"{f}({x})", self.values[x], x)
        return True

    def with_number(self):
        x = self.pick()
        self.new(self.r.choice(["{} * 0.5", "1 - {}", "{} / 3", "clamp({}, -1, 1)", "maximum({}, 0.1)"]).format(x), self.values[x], x)
        return True

    def of_two(self):
        x = self.pick()
        others = [v for v in self.values if set(self.values[v]) <= set(self.values[x])]
        y = self.r.choice(others)
        form = self.r.choice(["{} + {}", "{} - {}", "{} * {}", "minimum({}, {})", "where(less({0}, {1}), {0}, tanh({0}))", "{} / (1 + square({}))"])
        self.new(form.format(x, y), self.values[x], x, y)
        return True

    def kept(self, dims, operands):
        """Dimensions of a product's result: all that one operand alone has, and some of the others."""
        out = [d for d in dims if sum(d in self.values[o] for o in operands) == 1 or self.r.random() < 0.4]
        self.r.shuffle(out)
        return out if len(out) <= 4 else None

    def einsum(self):
        operands = [self.pick(), self.r.choice(list(self.values))]
        if self.r.random() < 0.25:
            operands.append(self.r.choice(list(self.values)))
        dims = list(dict.fromkeys(d for o in operands for d in self.values[o]))
        if len(dims) > 5:
            return False
        out = self.kept(dims, operands)
        if out is None:
            return False
        self.new(f"tanh(einsum<{', '.join(out)}>({', '.join(operands)}))", out, *operands)
        return True

    def open_sum(self):
        x, y = self.pick(), self.r.choice(list(self.values))
        dims = list(dict.fromkeys(self.values[x] + self.values[y]))
        out = self.kept(dims, [x, y])
        if len(dims) > 5 or out is None:
            return False
        self.new(f"tanh(finish(0.5 * partial_einsum<{', '.join(out)}>({x}, {y})))", out, x, y)
        return True

    def reduce(self):
        x = self.pick()
        if not self.values[x]:
            return False
        over = self.r.sample(self.values[x], self.r.randint(1, len(self.values[x])))
        f = self.r.choice(["sum", "mean", "max", "min", "logsumexp", "variance", "l2_norm", "product"])
        if f == "variance" or f == "l2_norm":
            over = over[:1]
        self.new(f"tanh({f}<{', '.join(over)}>({x}))", [d for d in self.values[x] if d not in over], x)
        return True

    def along(self):
        x = self.pick()
        if not self.values[x]:
            return False
        d = self.r.choice(self.values[x])
        f = self.r.choice(["softmax<{}>({})", "log_softmax<{}>({})", "cumsum<{}>(tanh({}))", "cumprod<{}>({})", "flip<{}>({})", "sort<{}>({})",
                           "cumsum<{}>({}, {{.exclusive = true, .reverse = true}})"])
        if not f.startswith(("softmax", "log_softmax", "cumsum", "cumprod")) and not self.is_whole(d):
            return False
        self.new(f.format(d, x), self.values[x], x)
        return True

    def transpose(self):
        x = self.pick()
        if len(self.values[x]) < 2:
            return False
        out = self.r.sample(self.values[x], len(self.values[x]))
        self.new(f"transpose<{', '.join(out)}>({x})", out, x)
        return True

    def replaced(self, x, d, into):
        return [into if e == d else e for e in self.values[x]]

    def part(self):
        x = self.pick()
        whole = [d for d in self.values[x] if self.is_whole(d)]
        if not whole:
            return False
        d = self.r.choice(whole)
        size = self.size_of(d)
        if self.r.random() < 0.5:
            n = self.r.randint(1, size)
            to, first = self.fresh(n), self.r.randint(0, size - n)
            self.new(f"slice<{d}, {to}>({x}, {first})", self.replaced(x, d, to), x)
        else:
            to, before = self.fresh(size + self.r.randint(1, 3)), self.r.randint(0, 1)
            self.new(f"pad<{d}, {to}>({x}, {before})", self.replaced(x, d, to), x)
        return True

    def displaced(self):
        x = self.pick()
        if not self.values[x]:
            return False
        d = self.r.choice(self.values[x])
        parts = 1
        for a in self.rules.get(d, []):
            parts *= self.axes[a]
        size, f = self.size_of(d), self.r.choice(["shift", "roll"])
        if f == "roll" and (size % parts != 0 or d == self.counted and parts > 1):
            return False
        self.new(f"{f}<{d}>({x}, {self.r.choice([-1, 1]) * self.r.randint(0, size // parts)})", self.values[x], x)
        return True

    def repeated(self):
        x = self.pick()
        whole = [d for d in self.values[x] if self.is_whole(d)]
        if len(self.values[x]) > 3 or not whole:
            return False
        d = self.r.choice(whole)
        if self.r.random() < 0.5:
            n = self.fresh(2)
            self.new(f"stack<{n}>({x}, cos({x}))", [n] + self.values[x], x)
        else:
            to = self.fresh(self.size_of(d) * self.r.randint(1, 3))
            self.new(f"tile<{d}, {to}>({x})", self.replaced(x, d, to), x)
        return True

    def written(self):
        x = self.pick()
        whole = [d for d in self.values[x] if self.is_whole(d)]
        if not whole:
            return False
        d = self.r.choice(whole)
        n = self.r.randint(1, self.size_of(d))
        to, room = self.fresh(n), self.size_of(d) - n
        self.new(f"write<{d}>({x}, sin(slice<{d}, {to}>({x}, {self.r.randint(0, room)})), {self.r.randint(0, room)})", self.values[x], x)
        return True

    def top_k(self):
        x = self.pick()
        if not self.values[x]:
            return False
        d = self.r.choice(self.values[x])
        if d == self.counted:
            return False
        to = self.fresh(self.r.randint(1, self.size_of(d)))
        self.new(f"top_k<{d}, {to}>({x}).value", self.replaced(x, d, to), x)
        return True

    def concat(self):
        x = self.pick()
        whole = [d for d in self.values[x] if self.is_whole(d)]
        if not whole:
            return False
        d = self.r.choice(whole)
        twin, to = self.fresh(self.size_of(d)), self.fresh(2 * self.size_of(d))
        self.new(f"concat<{to}>({x}, rename<{d}, {twin}>(sin({x})))", self.replaced(x, d, to), x)
        return True

    def by_index(self):
        x = self.pick()
        if not self.values[x] or len(self.values[x]) > 3:
            return False
        d, n = self.r.choice(self.values[x]), self.fresh(self.r.randint(1, 5))
        if d == self.counted:
            return False
        rest = [e for e in self.values[x] if e != d]
        self.ids += 1
        ids = f"ids{self.ids}"
        drawn = f"random_uniform<double, L, {n}>(m, {{.seed = {100 + self.ids}}}, 0, {self.size_of(d)})"
        self.lines.append(f"auto const {ids} = cast<int>(floor({drawn}));")
        if self.r.random() < 0.5:
            self.new(f"gather<{d}>({x}, {ids})", [n] + rest, x)
        else:
            self.new(f"scatter_add<{d}>({x}, {ids}, cos(gather<{d}>({x}, {ids})))", self.values[x], x)
        return True

    def moved(self):
        x = self.pick()
        if not self.rules and not self.other_rules:
            return False
        self.new(f"reshard<L>(sin(reshard<fuzz::like<L, other, whole>>({x})))", self.values[x], x)
        return True

    def again(self):
        x = self.pick()
        if not self.values[x]:
            return False
        d = self.values[x][0]
        self.new(f"recompute([](auto const& v) {{ return sin(v) * softmax<{d}>(v); }}, {x})", self.values[x], x)
        return True

    # ---- ints and bools: exact, so no rounding may move them across a jump

    def exact(self, expression, dims, of):
        name = f"{'i' if of is self.ints else 'b'}{len(of)}"
        self.lines.append(f"auto const {name} = {expression};")
        of[name] = list(dims)
        return True

    def within(self, of, dims):
        return [v for v in of if set(of[v]) <= set(dims)]

    def whole_numbers(self):
        r = self.r
        if not self.ints or r.random() < 0.3:
            dims = r.sample(DIMS, r.randint(1, 3))
            self.ids += 1
            drawn = f"random_uniform<double, L, {', '.join(dims)}>(m, {{.seed = {100 + self.ids}}}, -8, 9)"
            return self.exact(f"cast<int>(floor({drawn}))", dims, self.ints)
        x = r.choice(list(self.ints))
        dims = self.ints[x]
        what = r.choice(["one", "two", "reduce", "along", "along", "moved", "compare", "joined", "used"])
        if what == "one":
            form = r.choice(["{} * 2 - 1", "floor_divide({}, 3)", "modulo({}, 4)", "-{}", "maximum({}, 0)"])
            return self.exact(form.format(x), dims, self.ints)
        if what == "two":
            form = r.choice(["modulo({} * {}, 9)", "modulo({} + {}, 9)", "modulo({} - {}, 9)", "minimum({}, {})", "where(less({0}, {1}), {0}, 0 - {0})"])
            return self.exact(form.format(x, r.choice(self.within(self.ints, dims))), dims, self.ints)
        if what == "compare":
            return self.exact(f"{r.choice(['less', 'equal', 'less_equal'])}({x}, {r.choice(self.within(self.ints, dims))})", dims, self.bools)
        if what == "used":
            y = self.pick()
            if not set(dims) <= set(self.values[y]):
                return False
            self.new(f"tanh({y} * cast<double>({x}))", self.values[y], y)
            return True
        if what == "joined":
            if not self.bools:
                return False
            b = r.choice(list(self.bools))
            form = r.choice(["any", "all", "logical_not", "logical_and", "logical_or", "where"])
            if form in ("any", "all"):
                over = r.sample(self.bools[b], r.randint(0, len(self.bools[b])))
                return bool(over) and self.exact(f"{form}<{', '.join(over)}>({b})", [d for d in self.bools[b] if d not in over], self.bools)
            if form == "logical_not":
                return self.exact(f"{form}({b})", self.bools[b], self.bools)
            if form == "where":
                y = self.pick()
                if not set(self.bools[b]) <= set(self.values[y]):
                    return False
                self.new(f"where({b}, {y}, sin({y}))", self.values[y], y)
                return True
            return self.exact(f"{form}({b}, {r.choice(self.within(self.bools, self.bools[b]))})", self.bools[b], self.bools)
        if not dims:
            return False
        d = r.choice(dims)
        rest = [e for e in dims if e != d]
        parts = 1
        for a in self.rules.get(d, []):
            parts *= self.axes[a]
        even = self.size_of(d) % parts == 0 and (d != self.counted or parts == 1)
        if what == "reduce":
            f = r.choice(["sum", "max", "min", "argmax"])
            return self.exact(f"{f}<{d}>({x})" if f == "argmax" else f"modulo({f}<{d}>({x}), 9)", rest, self.ints)
        if what == "along":
            f = r.choice(["modulo(cumsum<{}>({}, {{.reverse = true}}), 9)", "modulo(cumsum<{}>({}), 9)", "modulo(cumprod<{}>(modulo({}, 4)), 9)", "sort<{}>({})",
                          "argsort<{}>({}, {{.descending = true}})"])
            if f.startswith(("sort", "argsort")) and parts > 1:
                return False
            return self.exact(f.format(d, x), dims, self.ints)
        f = r.choice(["shift", "shift", "roll", "flip"])
        if f != "shift" and not even:
            return False
        by = r.randint(-self.size_of(d) - 1, self.size_of(d) + 1)
        args = {"shift": f", {by}" + r.choice(["", ", 3"]), "roll": f", {by}", "flip": ""}[f]
        return self.exact(f"{f}<{d}>({x}{args})", dims, self.ints)

    # ---- text

    def seen(self, v, dims, number):
        """What the program shows of a value: under a count only the sum over the counted dimension is the same everywhere."""
        if self.counted not in dims:
            return v
        return f"sum<{self.counted}>({v})" if number is None else f"sum<{self.counted}>({v} * fuzz::probe({v}, {number}))"

    def text(self, alone=False):
        """A test, which prints itself if it fails, unless it stands `alone`."""
        space = f"program_{self.number}_of_{self.seed}"
        out = [f"// Program {self.number} of seed {self.seed}, for {self.processes} processes.", f"namespace {space} {{"]
        out += [f"struct {d} : {'up_to' if d == self.counted else 'dim'}<{n}> {{}};" for d, n in (self.size | self.extra).items()]
        laid = [self.rule(self.rules, d, self.size[d], self.axes) for d in self.rules]
        moved = [self.rule(self.other_rules, d, self.size[d], self.axes) for d in self.other_rules]
        out.append("struct whole : layout<zoo::single> {};")
        out.append(f"struct cut : layout<{', '.join(['zoo::' + self.mesh] + laid)}> {{}};")
        out.append(f"struct other : layout<{', '.join(['zoo::' + self.mesh] + moved)}> {{}};")
        out += ["struct steps {", "  template<Layout L>", "  constexpr void operator()(machine<L>& m, zoo::witness const& see) const {"]
        out += ["    " + line for line in self.lines]
        # the last parameters must not be all that is left: a loss has a tape
        shown = [v for v in self.values if v not in self.parameters]
        out += [f"    see({self.seen(v, self.values[v], i)});" for i, v in enumerate(shown)]
        out += [f"    see({self.seen(v, dims, None)});" for v, dims in self.ints.items()]
        out += [f"    see({self.seen(f'cast<int>({v})', dims, None)});" for v, dims in self.bools.items()]
        left = [v for v in self.unused] or shown[-1:]
        terms = " + ".join(f"sum({v} * fuzz::probe({v}, {i}))" for i, v in enumerate(left))
        out.append(f"    auto const loss = {terms};" if len(left) == 1 else "")
        if len(left) > 1:  # an expression has one operand that sends (DESIGN: handles in constant evaluation)
            out[-1] = f"    auto const loss0 = sum({left[0]} * fuzz::probe({left[0]}, 0));"
            for i, v in enumerate(left[1:], 1):
                out.append(f"    auto const part{i} = sum({v} * fuzz::probe({v}, {i}));")
                out.append(f"    auto const loss{i} = loss{i - 1} + part{i};")
            out.append(f"    auto const& loss = loss{len(left) - 1};")
        out.append("    backward(loss);")
        out += [f"    see(finish(gradient({w})));" for w in self.parameters]
        out += ["  }", "};", f"}}  // namespace {space}", ""]
        out.append(f'TEST_CASE("program {self.number} of seed {self.seed}", "[{self.processes}]") {{')
        call = f"  fuzz::check<{space}::whole, {space}::cut>({space}::steps{{}}"
        text = "\n".join(out + [call + ");", "}", ""])
        if alone:
            return text
        return "\n".join(out + [f'{call}, R"program({HEAD}{text}{TAIL})program");', "}", ""])


OPERATIONS = ["pointwise", "pointwise", "with_number", "of_two", "of_two", "einsum", "einsum", "open_sum", "reduce", "reduce", "along", "along",
              "transpose", "part", "displaced", "repeated", "written", "top_k", "concat", "by_index", "moved", "again"]
EXACT = ["whole_numbers"] * 20

HEAD = """// Random programs, made by tests/fuzz/generate.py.
#include "fuzz/run.hpp"

using namespace meshtf;

namespace {

"""
TAIL = "}  // namespace\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="with several seeds, as many programs of each")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--only", type=int)
    a = parser.parse_args()
    if a.only is not None:
        print(HEAD + program(a.seed[0], a.only).text(alone=True) + TAIL, end="")
        return
    if a.out is None or a.count < 1 or a.files < 1:
        parser.error("expected --out FOLDER, and a count and a number of files of at least 1")
    a.out.mkdir(parents=True, exist_ok=True)
    each = -(-a.count // len(a.seed))
    programs = [(seed, n) for seed in a.seed for n in range(each)][: a.count]
    for f in range(a.files):
        text = HEAD + "\n".join(program(seed, n).text() for seed, n in programs[f :: a.files]) + TAIL
        file = a.out / f"programs_{f}.cpp"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


if __name__ == "__main__":
    main()
