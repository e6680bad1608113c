#!/usr/bin/env python3
"""Random programs of 3 to 8 operations, each under a random layout: the same values and gradients as on one process, at the promised price.

generate.py --seed N... --count N --files N --out FOLDER   writes FOLDER/programs_0.cpp and so on, tests for `tests/fuzz/run.hpp`
generate.py --seed N --only N                              prints program number N alone, as a test that can be compiled

The tests run 200 of them: `tests/run --programs 1000 --seed 7` runs others, --long 1000 of five seeds. A test that fails prints its program.

The mesh has 1 to 8 processes and up to three axes, of one process too. Sizes are 1 to 12, so few of them divide by anything; in three programs of
eight, processes hold none of a dimension of which others hold one element. A dimension may be split over any axes, also one that an operation makes;
one axis never splits two dimensions of an operation. A program knows along which dimensions an operation may work when they are split.

Half of the parameters hold whole numbers, of which sums and products are exact, and so are values made of these. Only exact values enter operations
that jump, or of which the gradient does: no rounding may move an element across a jump. Values stay moderate: what may grow is scaled down and
followed by a sine, since a gradient that has vanished shows nothing.

Every fourth program also has ints and bools; half of these programs have a dimension of which the elements are counted. What it shows of a counted
dimension is a sum, as there is nothing to compare past the count. Every eighth program is a step of two or three micro-batches. Every fourth has
norms, biases and losses of classes, whose gradients are sums of rows.
"""
import argparse
import math
import pathlib
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "checks"))
import catalogue  # noqa: E402

DIMS = "abcde"
AXES = ["first", "second", "third"]  # as tests/fuzz/run.hpp names them
PROCESSES = [1, 2, 2, 3, 3, 4, 4, 4, 5, 6, 6, 6, 7, 8, 8, 8]


def factors(n):
    """All ways to write `n` as a product of up to three numbers above 1, in order."""
    return [[n]] + [[a] + rest for a in range(2, n) if n % a == 0 for rest in factors(n // a) if len(rest) < 3]


class program:
    """Statements, and the values that they have made: name -> dimensions in order."""

    def __init__(self, seed, number):
        self.seed, self.number = seed, number
        self.r = random.Random(f"{seed} {number}")
        self.size = {d: self.r.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]) for d in DIMS}
        if self.r.random() < 0.3:
            self.size["b"] = self.size["a"]
        self.extra = {}  # dimensions made on the way
        self.processes = self.r.choice(PROCESSES)
        sizes = self.r.choice(factors(self.processes))
        if len(sizes) < 3 and self.r.random() < 0.06:
            sizes.insert(self.r.randint(0, len(sizes)), 1)
        self.axes = dict(zip(AXES, sizes))
        self.rules, self.other_rules = self.layout(), self.layout()
        self.held, self.lines = [], []  # what a step is given, and what it does with it
        self.values, self.parameters, self.unused = {}, [], []
        self.most, self.exact = {}, []  # how large the elements of a value are about; at most, where they are exact
        self.ids, self.names = 0, 0
        self.ints, self.bools, self.counted, self.count = {}, {}, None, 0
        self.turns = 1
        self.operations = OPERATIONS
        if number % 4 == 2:
            self.operations = OPERATIONS + OF_ROWS
        if number % 4 == 3:
            self.operations = OPERATIONS + EXACT
            if self.r.random() < 0.5:
                self.counted = self.r.choice(DIMS)
                self.count = self.r.randint(1, self.size[self.counted])
                self.held.append(f"counted<{self.counted}> const there{{m, {self.count}}};")
        for _ in range(self.r.randint(2, 4)):
            self.parameter()
        if number % 8 == 5:
            self.micro_batches()
        for _ in range(self.r.choice([3, 3, 4, 4, 5, 5, 6, 7, 8])):
            self.operation()
        if number % 4 == 3:
            self.whole_numbers(), self.whole_numbers()

    # ---- layouts

    def layout(self):
        """dim -> its axes, outermost first."""
        rules, free = {}, list(self.axes)
        self.r.shuffle(free)
        if len(free) > 1 and self.r.random() < 0.2:
            return {self.r.choice(DIMS): free}
        for axis in free:
            if self.r.random() < 0.85:
                d = self.r.choice([d for d in DIMS if d not in rules])
                rules[d] = [axis]
        return rules

    def parts(self, d, rules=None):
        return math.prod(self.axes[a] for a in (self.rules if rules is None else rules).get(d, []))

    def room(self, d):
        return -(-self.size_of(d) // self.parts(d))

    def is_whole(self, d):
        return self.parts(d) == 1 and d != self.counted

    def divides(self, d):
        return self.size_of(d) % self.parts(d) == 0 and (d != self.counted or self.parts(d) == 1)

    def fit(self, dims, rules=None):
        """Whether one tensor, or the loops of one operation, may have all these dimensions."""
        used = [a for d in set(dims) for a in (self.rules if rules is None else rules).get(d, [])]
        return len(used) == len(set(used)) and len(set(dims)) <= 5

    def distributes(self, whole, parts):
        """Whether the axes of a dimension go to the dimensions that it is split into: `distribute` of plan/reshard/reshape_moves.hpp."""
        sizes, cut, at = [self.size_of(p) for p in parts], [1] * len(parts), 0
        if self.size_of(whole) % self.parts(whole) != 0:
            return -(-sizes[0] // self.parts(whole)) * math.prod(sizes[1:]) == self.room(whole)
        for n in (self.axes[a] for a in self.rules.get(whole, [])):
            while at < len(parts) and cut[at] == sizes[at]:
                at += 1
            if at == len(parts):
                if n != 1:
                    return False
                continue
            if sizes[at] % (cut[at] * n) != 0:
                return False
            cut[at] *= n
        return True

    def rule(self, rules, d):
        kind = "split" if self.size_of(d) % self.parts(d, rules) == 0 else "padded"
        return f"{kind}<{d}, {', '.join(f'fuzz::{a}<{self.axes[a]}>' for a in rules[d])}>"

    # ---- statements

    def parameter(self, whole_numbers=None, dims=None):
        dims = dims or self.r.sample(DIMS, self.r.randint(1, 3))
        n = len(self.parameters) + 1
        name = f"w{n - 1}"
        if whole_numbers or whole_numbers is None and self.r.random() < 0.5:
            self.held.append(f"parameter<double, L, {', '.join(dims)}> {name}{{m}};")
            self.held.append(f"{name} = floor(random_uniform<double, L, {', '.join(dims)}>(m, {{.seed = {n}}}, -4, 5));")
            self.exact.append(name)
        else:
            self.held.append(f"parameter<double, L, {', '.join(dims)}> {name}{{m, normal{{{n}}}}};")
        self.most[name] = 4
        self.parameters.append(name)
        self.values[name] = dims
        self.unused.append(name)
        return name

    def named(self, expression):
        """The name of an intermediate result that is not shown: an expression has one operand that sends or allocates (DESIGN)."""
        self.names += 1
        self.lines.append(f"auto const s{self.names} = {expression};")
        return f"s{self.names}"

    def made(self, name, dims, operands, most, exact):
        """Notes a value that a statement makes."""
        self.values[name] = list(dims)
        self.most[name] = most
        if exact:
            self.exact.append(name)
        for o in operands:
            if o in self.unused:
                self.unused.remove(o)
        self.unused.append(name)

    def new(self, expression, dims, *operands, most=None, exact=None):
        """A value. Unless it is said otherwise, its elements are as large as those of the operands, and exact if these are."""
        most = max(self.most[o] for o in operands) if most is None else most
        exact = all(o in self.exact for o in operands) if exact is None else exact
        if most > (1000 if exact else 16):
            expression = f"sin({expression} * {2.0 ** -math.ceil(math.log2(most) - 3)})"
            most, exact = 1, False
        name = f"t{len(self.values)}"
        self.lines.append(f"auto const {name} = {expression};")
        self.made(name, dims, operands, most, exact)
        return True

    def fresh(self, size, beside=(), whole=False, like=None):
        """A new dimension of a tensor that has those `beside` it. It may be split, unless it must be `whole`; or it is split as another is."""
        name = f"n{len(self.extra)}"
        self.extra[name] = size
        for rules in (self.rules, self.other_rules):
            taken = [a for d in beside for a in rules.get(d, [])]
            free = [a for a in self.axes if a not in taken]
            if like is not None and like in rules and rules is self.rules:
                rules[name] = rules[like]
            elif free and not (whole and rules is self.rules) and self.r.random() < 0.5:
                rules[name] = self.r.sample(free, len(free) if self.r.random() < 0.2 else 1)
        return name

    def size_of(self, d):
        return self.size.get(d) or self.extra[d]

    def pick(self):
        """A value, more often one that nobody has used."""
        pool = self.unused if self.r.random() < 0.7 else list(self.values)
        return self.r.choice(pool)

    def pick_exact(self):
        pool = [v for v in self.unused if v in self.exact] if self.r.random() < 0.7 else []
        pool = pool or [v for v in self.values if v in self.exact]
        return self.r.choice(pool) if pool else self.parameter(whole_numbers=True)

    def pick_dim(self, x, fits=lambda d: True):
        """A dimension of a value, more often one that is split, or None."""
        dims = [d for d in self.values[x] if fits(d)]
        cut = [d for d in dims if self.parts(d) > 1]
        dims = cut if cut and self.r.random() < 0.5 else dims
        return self.r.choice(dims) if dims else None

    def among(self, dims, pool=None):
        """A value without other dimensions."""
        return self.r.choice([v for v in (pool or self.values) if set(self.values[v]) <= set(dims)])

    def operation(self):
        for _ in range(50):
            if getattr(self, self.r.choice(self.operations))():
                return

    def micro_batches(self):
        """The operations become a step that is done for each micro-batch of a parameter."""
        for x in self.r.sample(self.parameters, len(self.parameters)):
            for d in self.values[x]:
                for turns in (2, 3):
                    if d == self.counted or self.size[d] % turns != 0:
                        continue
                    micro = self.fresh(self.size[d] // turns, [e for e in self.values[x] if e != d])
                    turn = self.fresh(turns, whole=True)
                    if not self.distributes(d, [micro, turn]):
                        self.rules.pop(micro, None)
                        self.rules.update({micro: self.rules[d]} if d in self.rules else {})
                    if self.distributes(d, [micro, turn]):
                        self.turns = turns
                        self.new(f"micro_batch<{d}, {micro}>({x}, i)", self.replaced(x, d, micro), x)
                        return

    # ---- operations: each returns whether it found operands

    def pointwise(self):
        x = self.pick()
        f = self.r.choice(SMOOTH)
        return self.new(f"{f}({x}))" if "(" in f else f"{f}({x})", self.values[x], x, exact=False)

    def with_a_jump(self):
        x = self.pick_exact()
        if self.r.random() < 0.3:
            return self.new(f"{self.r.choice(['leaky_relu', 'elu', 'selu'])}({x})", self.values[x], x, exact=False)
        f = self.r.choice(["relu({})", "abs({})", "clamp({}, -2, 2)", "maximum({}, 1)", "minimum(2, {})", "{0} - floor({0} * 0.5)", "{0} * sign({0})",
                           "{0} + round({0} * 0.25)", "ceil({0} * 0.5) - {0}"])
        return self.new(f.format(x), self.values[x], x, most=2 * self.most[x])

    def with_number(self):
        x = self.pick()
        f, power, exact = self.r.choice([("1 - {}", 1, None), ("{} * 2 + 1", 1, None), ("{} * 0.5", 1, False), ("{} / 3", 1, False),
                                         ("pow({}, 2.)", 2, False), ("pow({}, 3.)", 3, False)])
        return self.new(f.format(x), self.values[x], x, most=2 * self.most[x] ** power + 1, exact=exact)

    def of_two(self):
        """Of which one has all dimensions, or they share none."""
        x = self.pick()
        y, dims = self.among(self.values[x]), self.values[x]
        apart = [v for v, have in self.values.items() if not set(have) & set(dims) and len(have) + len(dims) < 4 and self.fit(dims + have)]
        if apart and self.r.random() < 0.3:
            y = self.r.choice(apart)
            dims = dims + self.values[y]
        of_x, of_y = self.most[x], self.most[y]
        forms = [("{} + {}", of_x + of_y, None), ("{} - {}", of_x + of_y, None), ("{} * {}", of_x * of_y, None)]
        forms += [("logaddexp({}, {})", of_x + of_y, False)]
        if set(self.values[y]) <= set(self.values[x]):  # an expression has one operand that allocates (DESIGN: handles in constant evaluation)
            forms += [("{} / (1 + square({}))", of_x, False)] + [("pow(square({}) + 1, {})", 16, False)] * (max(of_x, of_y) <= 4)
        form, most, exact = self.r.choice(forms)
        return self.new(form.format(x, y), dims, x, y, most=most, exact=exact)

    def of_two_with_a_jump(self):
        x = self.pick_exact()
        y = self.among(self.values[x], self.exact)
        z = self.among(self.values[x])
        form = self.r.choice(["minimum({}, {})", "maximum({}, {})", "where", "where"])
        if form != "where":
            return self.new(form.format(x, y), self.values[x], x, y)
        other = self.named(f"sin({z})")
        test = self.named(f"{self.r.choice(['less', 'less_equal', 'equal'])}({x}, {y})")
        return self.new(f"where({test}, {x}, {other})", self.values[x], x, y, z, exact=False)

    def kept(self, dims, operands):
        """Dimensions of a product's result: all that one operand alone has, and some of the others."""
        out = [d for d in dims if sum(d in self.values[o] for o in operands) == 1 or self.r.random() < 0.4]
        self.r.shuffle(out)
        return out if len(out) <= 4 else None

    def terms(self, dims, out):
        return math.prod(self.size_of(d) for d in dims if d not in out)

    def product_of(self, operands, dims, out):
        return math.prod(self.most[o] for o in operands) * self.terms(dims, out)

    def union(self, *operands):
        return list(dict.fromkeys(d for o in operands for d in self.values[o]))

    def einsum(self):
        operands = [self.pick(), self.r.choice(list(self.values))]
        if self.r.random() < 0.25:
            operands.append(self.r.choice(list(self.values)))
        dims = self.union(*operands)
        out = self.kept(dims, operands)
        if not self.fit(dims) or out is None:
            return False
        return self.new(f"einsum<{', '.join(out)}>({', '.join(operands)})", out, *operands, most=self.product_of(operands, dims, out))

    def matrices(self):
        x, y = self.pick(), self.r.choice(list(self.values))
        dims, both = self.union(x, y), [d for d in self.values[x] if d in self.values[y]]
        if not self.fit(dims) or len(dims) > 4:
            return False
        if not both:
            return self.new(f"outer_product({x}, {y})", dims, x, y, most=self.most[x] * self.most[y])
        over = self.r.sample(both, self.r.randint(1, len(both)))
        out = [d for d in dims if d not in over]
        return self.new(f"matmul<{', '.join(over)}>({x}, {y})", out, x, y, most=self.product_of([x, y], dims, out))

    def partial_sum(self):
        x, y = self.pick(), self.r.choice(list(self.values))
        dims = self.union(x, y)
        out = self.kept(dims, [x, y])
        if not self.fit(dims) or out is None:
            return False
        return self.new(f"finish(0.5 * partial_einsum<{', '.join(out)}>({x}, {y}))", out, x, y, most=self.product_of([x, y], dims, out), exact=False)

    def reduce(self):
        f = self.r.choice(["sum", "mean", "max", "min", "logsumexp", "variance", "l2_norm", "product"])
        x = self.pick_exact() if f in ("max", "min") else self.pick()
        if not self.values[x]:
            return False
        over = self.r.sample(self.values[x], self.r.randint(1, len(self.values[x])))
        if f in ("variance", "l2_norm"):
            over = [self.pick_dim(x)]
        out, n = [d for d in self.values[x] if d not in over], math.prod(self.size_of(d) for d in over)
        if f == "product" and (n > 12 or self.most[x] > 4):
            return False
        of_x = self.most[x]
        most = {"sum": n * of_x, "l2_norm": n * of_x, "variance": of_x**2, "product": of_x**n}.get(f, of_x + 1)
        return self.new(f"{f}<{', '.join(over)}>({x})", out, x, most=most, exact=None if f in ("sum", "max", "min", "product") else False)

    def along(self):
        f = self.r.choice(["softmax<{}>({})", "log_softmax<{}>({})", "cumsum<{}>({})", "cumprod<{}>({})", "flip<{}>({})", "sort<{}>({})",
                           "sort<{}>({}, {{.descending = true}})", "cumsum<{}>({}, {{.exclusive = true, .reverse = true}})",
                           "cumprod<{}>({}, {{.exclusive = true}})"])
        name = f[: f.index("<")]
        x = self.pick_exact() if name == "sort" else self.pick()
        d = self.pick_dim(x, {"sort": self.is_whole, "flip": self.divides}.get(name, lambda d: True))
        if d is None or name == "cumprod" and self.most[x] > 4:
            return False
        n = self.size_of(d)
        most = {"cumsum": n * self.most[x], "cumprod": self.most[x] ** n, "softmax": 1, "log_softmax": 2 * self.most[x] + 3}.get(name)
        return self.new(f.format(d, x), self.values[x], x, most=most, exact=False if "soft" in f else None)

    def transpose(self):
        x = self.pick()
        if len(self.values[x]) < 2:
            return False
        out = self.r.sample(self.values[x], len(self.values[x]))
        return self.new(f"transpose<{', '.join(out)}>({x})", out, x)

    def replaced(self, x, d, *into):
        return [n for e in self.values[x] for n in (into if e == d else [e])]

    def beside(self, x, *d):
        return [e for e in self.values[x] if e not in d]

    def part(self):
        x = self.pick()
        d = self.pick_dim(x, lambda d: d != self.counted)
        if d is None:
            return False
        size, grows = self.size_of(d), self.r.random() < 0.5
        first, last = (size, size + 3) if grows else (1, size)
        alike = None
        if not self.is_whole(d):  # both are cut into parts of the same allocated extent
            first, last, alike = max(first, (self.room(d) - 1) * self.parts(d) + 1), min(last, self.room(d) * self.parts(d)), d
        if first > last:
            return False
        n = self.r.randint(first, last)
        to = self.fresh(n, self.beside(x, d), like=alike)
        if grows:
            beyond, most = self.r.choice([("", self.most[x]), (", 2.", max(2, self.most[x]))])
            return self.new(f"pad<{d}, {to}>({x}, {self.r.randint(0, n - size)}{beyond})", self.replaced(x, d, to), x, most=most)
        return self.new(f"slice<{d}, {to}>({x}, {self.r.randint(0, size - n)})", self.replaced(x, d, to), x)

    def displaced(self):
        x = self.pick()
        d = self.pick_dim(x)
        f = self.r.choice(["shift", "roll"])
        if d is None or f == "roll" and not self.divides(d):
            return False
        size = self.size_of(d)
        by = self.r.choice([-1, 1]) * self.r.randint(0, self.r.choice([self.room(d), size + 1]))
        beyond = ", 2." if f == "shift" and self.r.random() < 0.3 else ""
        return self.new(f"{f}<{d}>({x}, {by}{beyond})", self.values[x], x, most=max(self.most[x], 2))

    def stacked(self):
        x = self.pick()
        if len(self.values[x]) > 3:
            return False
        others = [x] + [v for v in self.values if self.values[v] == self.values[x]]
        all_of = [x] + self.r.choices(others, k=self.r.randint(1, 2))
        place = self.r.randint(0, len(self.values[x]))
        n = self.fresh(len(all_of), self.values[x])
        dims = self.values[x][:place] + [n] + self.values[x][place:]
        return self.new(f"stack<{n}, {place}>({', '.join(all_of)})", dims, *all_of)

    def unstacked(self):
        x = self.pick()
        d = self.pick_dim(x, lambda d: self.is_whole(d) and self.size_of(d) <= 4)
        if d is None:
            return False
        pieces, rest = self.named(f"unstack<{d}>({x})"), self.beside(x, d)
        if self.r.random() < 0.3:
            n, place = self.fresh(self.size_of(d), rest), self.r.randint(0, len(rest))
            return self.new(f"stack<{n}, {place}>({pieces})", rest[:place] + [n] + rest[place:], x)
        for i in self.r.sample(range(self.size_of(d)), min(self.size_of(d), self.r.randint(1, 2))):
            self.new(f"{pieces}[{i}]", rest, x)
        return True

    def cut(self):
        x = self.pick()
        d = self.pick_dim(x, lambda d: self.is_whole(d) and self.size_of(d) > 1)
        if d is None:
            return False
        ends = sorted(self.r.sample(range(1, self.size_of(d)), min(self.size_of(d) - 1, self.r.randint(1, 2)))) + [self.size_of(d)]
        names, pieces, begin = [], [], 0
        for end in ends:
            pieces.append(self.fresh(end - begin, self.beside(x, d)))
            begin = end
        for i in range(len(pieces)):
            names.append(f"t{len(self.values) + i}")
        self.lines.append(f"auto const [{', '.join(names)}] = split_into<{d}, {', '.join(pieces)}>({x});")
        for name, piece in zip(names, pieces):
            self.made(name, self.replaced(x, d, piece), [x], self.most[x], x in self.exact)
        if self.r.random() < 0.3:
            self.unused.remove(self.r.choice(names))  # it has no gradient
        return True

    def tiled(self):
        x = self.pick()
        d = self.pick_dim(x, self.is_whole)
        if len(self.values[x]) > 3 or d is None:
            return False
        to = self.fresh(self.size_of(d) * self.r.randint(1, 3), self.beside(x, d))
        return self.new(f"tile<{d}, {to}>({x})", self.replaced(x, d, to), x)

    def broadcast(self):
        x = self.pick()
        more = [d for d in DIMS if d not in self.values[x] and self.size[d] < 7]
        self.r.shuffle(more)
        out = list(self.values[x])
        for d in more[:1] if self.r.random() < 0.5 else []:
            out += [d] if self.fit(out + [d]) else []
        if len(out) == len(self.values[x]):
            out.append(self.fresh(self.r.randint(1, 4), out))
        if len(out) > 4:
            return False
        self.r.shuffle(out)
        return self.new(f"broadcast<{', '.join(out)}>({x})", out, x)

    def written(self):
        x = self.pick()
        d = self.pick_dim(x, lambda d: d != self.counted)
        if d is None:
            return False
        n = self.r.randint(1, self.size_of(d))
        to, room = self.fresh(n, self.beside(x, d), whole=True), self.size_of(d) - n
        if self.is_whole(d) and self.r.random() < 0.5:
            part, most = self.named(f"slice<{d}, {to}>({x}, {self.r.randint(0, room)})"), self.most[x]
        else:
            row, most = self.named(f"sum<{d}>({x})"), self.size_of(d) * self.most[x]
            part = self.named(f"broadcast<{', '.join(self.replaced(x, d, to))}>({row})")
        return self.new(f"write<{d}>({x}, {part}, {self.r.randint(0, room)})", self.values[x], x, most=most)

    def ranked(self):
        x = self.pick_exact()
        d = self.pick_dim(x, lambda d: d != self.counted)
        if d is None:
            return False
        f = self.r.choice(["top_k", "top_k", "nth_element", "max_and_argmax", "min_and_argmin"])
        rest = self.beside(x, d)
        if f == "top_k":
            to = self.fresh(self.r.randint(1, self.size_of(d)), rest, whole=True)
            names, rest, how = f"{d}, {to}", self.replaced(x, d, to), self.r.choice(["", ", {.descending = false}"])
        elif f == "nth_element":
            names, how = f"{d}, {self.r.randrange(self.size_of(d))}", self.r.choice(["", ", {.descending = true}"])
        else:
            names, how = d, ""
        value, index = f"t{len(self.values)}", f"i{len(self.ints)}"
        self.lines.append(f"auto const [{value}, {index}] = {f}<{names}>({x}{how});")
        self.made(value, rest, [x], self.most[x], True)
        self.ints[index] = rest
        return True

    def concat(self):
        x = self.pick()
        d = self.pick_dim(x, self.is_whole)
        if d is None:
            return False
        n, size = self.size_of(d), self.size_of(d)
        parts, beside = [x], self.beside(x, d)
        for _ in range(self.r.randint(1, 2)):
            first = self.r.randint(0, n - 1)
            twin = self.fresh(n if first == 0 else n - first, beside, whole=True)
            parts.append(self.named(f"rename<{d}, {twin}>({x})" if first == 0 else f"slice<{d}, {twin}>({x}, {first})"))
            size += self.size_of(twin)
        self.r.shuffle(parts)
        to = self.fresh(size, beside)
        return self.new(f"concat<{to}>({', '.join(parts)})", self.replaced(x, d, to), x)

    def by_index(self):
        x = self.pick()
        d = self.pick_dim(x, lambda d: d != self.counted)
        if d is None or len(self.values[x]) > 3:
            return False
        rest = self.beside(x, d)
        f = self.r.choice(["gather", "scatter_add", "scatter"])
        n = self.fresh(self.r.randint(1, 5), self.values[x], whole=f == "scatter")
        shared = self.r.sample(rest, self.r.randint(0, len(rest))) if self.r.random() < 0.5 else []
        of_ids = shared + [n]
        self.r.shuffle(of_ids)
        self.ids += 1
        drawn = f"random_uniform<double, L, {', '.join(of_ids)}>(m, {{.seed = {100 + self.ids}}}, 0, {self.size_of(d)})"
        self.lines.append(f"auto const ids{self.ids} = cast<int>(floor({drawn}));")
        rows = f"gather<{d}>({x}, ids{self.ids})"
        if f == "gather":
            return self.new(rows, of_ids + [e for e in rest if e not in shared], x)
        updates = self.named(rows)
        updates = updates if self.r.random() < 0.3 else self.named(f"{updates} * 2 - 1")
        most = (2 * self.most[x] + 1) * (self.size_of(n) + 1 if f == "scatter_add" else 1)
        return self.new(f"{f}<{d}>({x}, ids{self.ids}, {updates})", self.values[x], x, most=most)

    def moved(self):
        x = self.pick()
        if not self.fit(self.values[x], self.other_rules):
            return False
        there = f"reshard<fuzz::like<L, other, whole>>({x})"
        if self.r.random() < 0.5:
            return self.new(f"reshard<L>({there})", self.values[x], x)
        return self.new(f"reshard<L>(sin({there}))", self.values[x], x, most=1, exact=False)

    def renamed(self):
        x = self.pick()
        dims = self.beside(x, self.counted)
        alike = [(d, e) for d in dims for e in dims if d < e and self.size_of(d) == self.size_of(e)]
        if alike and self.r.random() < 0.7:
            d, e = self.r.choice(alike)
            names, new = f"{d}, {e}, {e}, {d}", {d: e, e: d}
        elif dims:
            old = self.r.sample(dims, self.r.randint(1, min(3, len(dims))))
            beside, new = self.beside(x, *old), {}
            for d in old:
                new[d] = self.fresh(self.size_of(d), beside)
                beside.append(new[d])
            names = ", ".join(f"{d}, {n}" for d, n in new.items())
        else:
            return False
        return self.new(f"rename<{names}>({x})", [new.get(d, d) for d in self.values[x]], x)

    def reshaped(self):
        x = self.pick()
        dims = self.values[x]
        if self.r.random() < 0.5:
            d = self.pick_dim(x, lambda d: d != self.counted)
            if d is None or len(dims) > 3:
                return False
            size, beside = self.size_of(d), self.beside(x, d)
            outer = self.r.choice([n for n in range(1, size + 1) if size % n == 0])
            new = []
            for n in (outer, size // outer):
                new.append(self.fresh(n, beside + new))
            if not self.distributes(d, new):
                return False
            return self.new(f"split_dim<{d}, {', '.join(new)}>({x})", self.replaced(x, d, *new), x)
        if len(dims) < 2:
            return False
        i = self.r.randrange(len(dims) - 1)
        d, e = dims[i : i + 2]
        size = self.size_of(d) * self.size_of(e)
        if self.counted in (d, e) or size > 48:
            return False
        to = self.fresh(size, self.beside(x, d, e), like=d if self.r.random() < 0.3 else None)
        if not self.distributes(to, [d, e]):
            self.rules.pop(to, None)
        return self.new(f"merge_dims<{d}, {e}, {to}>({x})", dims[:i] + [to] + dims[i + 2 :], x)

    # ---- operations on rows, which have sums of rows as gradients

    def normalised(self):
        x = self.pick()
        d = self.pick_dim(x, lambda d: d != self.counted and self.size_of(d) > 2)
        if d is None:
            return False
        of_row = [v for v, have in self.values.items() if have == [d]] or ([self.parameter(dims=[d])] if d in DIMS else [])
        if not of_row:
            return False
        scale, bias = self.r.choice(of_row), self.r.choice(of_row)
        most = self.most[scale] * math.sqrt(self.size_of(d)) + self.most[bias]
        if self.r.random() < 0.5:  # with a large epsilon: rows that hardly differ would be all rounding
            return self.new(f"rms_norm<{d}>({x}, {scale}, 0.5)", self.values[x], x, scale, most=most, exact=False)
        return self.new(f"layer_norm<{d}>({x}, {scale}, {bias}, 0.5)", self.values[x], x, scale, bias, most=most, exact=False)

    def biased(self):
        x = self.pick()
        b = self.among(self.values[x])
        return self.new(f"bias_gelu({x}, {b})", self.values[x], x, b, most=self.most[x] + self.most[b], exact=False)

    def classified(self):
        x = self.pick()
        d = self.pick_dim(x, lambda d: d != self.counted)
        if d is None or len(self.values[x]) < 2:
            return False
        rest = self.beside(x, d)
        self.ids += 1
        drawn = f"random_uniform<double, L, {', '.join(rest)}>(m, {{.seed = {100 + self.ids}}}, 0, {self.size_of(d)})"
        self.lines.append(f"auto const ids{self.ids} = cast<int>(floor({drawn}));")
        how = self.r.choice(["", "", ", {.label_smoothing = 0.1, .z_loss = 0.01}"])
        most = (2 * self.most[x] + 3) * (1 if how == "" else 2)
        return self.new(f"softmax_cross_entropy<{d}>({x}, ids{self.ids}{how})", rest, x, most=most, exact=False)

    def again(self):
        x = self.pick()
        if not self.values[x]:
            return False
        d = self.values[x][0]
        return self.new(f"recompute([](auto const& v) {{ return sin(v) * softmax<{d}>(v); }}, {x})", self.values[x], x, most=1, exact=False)

    def custom(self):
        """A function whose gradient the program gives."""
        x = self.pick()
        dims = ", ".join(self.values[x])
        if self.r.random() < 0.4:
            f = "[](auto const& v) { return sin(v); }, [](auto const& dz, auto const& v) { return dz * cos(v); }"
            return self.new(f"custom_gradient({f}, {x})", self.values[x], x, most=1, exact=False)
        y = self.among(self.values[x])
        to_y = f"{self.r.choice(['einsum', 'partial_einsum'])}<{', '.join(self.values[y])}>(dz, v)"
        f = "[](auto const& v, auto const& u) { return v * u; }, [](auto const& dz, auto const& v, auto const& u) { "
        f += f"auto const to_v = dz * u; auto const to_u = {to_y}; return std::tuple{{to_v, to_u}}; }}"
        return self.new(f"custom_gradient({f}, {x}, {y})", self.values[x], x, y, most=self.most[x] * self.most[y])

    def on_shards(self):
        x = self.pick()
        dims = ", ".join(self.values[x])
        d = self.pick_dim(x, self.is_whole)
        if not dims:
            return False
        if d is None or len(self.values[x]) < 2 or self.r.random() < 0.4:
            f = f"slicewise<shape<{dims}>, splittable<{dims}>>(fuzz::squares{{}}, [](auto const& dz, auto const& v) {{ return 2 * (dz * v); }}, {x})"
            return self.new(f, self.values[x], x, most=self.most[x] ** 2)
        rest = ", ".join(self.beside(x, d))
        back = f"[](auto const& dz, auto const&) {{ return broadcast<{dims}>(dz); }}"
        f = f"slicewise<shape<{rest}>, splittable<{rest}>>(fuzz::sums_along<{self.values[x].index(d)}>{{}}, {back}, {x})"
        return self.new(f, self.beside(x, d), x, most=self.size_of(d) * self.most[x])

    # ---- ints and bools: exact, so no rounding may move them across a jump

    def whole(self, expression, dims, of):
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
            return self.whole(f"cast<int>(floor({drawn}))", dims, self.ints)
        x = r.choice(list(self.ints))
        dims = self.ints[x]
        what = r.choice(["one", "two", "reduce", "along", "along", "moved", "compare", "joined", "used"])
        if what == "one":
            form = r.choice(["{} * 2 - 1", "floor_divide({}, 3)", "modulo({}, 4)", "-{}", "maximum({}, 0)"])
            return self.whole(form.format(x), dims, self.ints)
        if what == "two":
            form = r.choice(["modulo({} * {}, 9)", "modulo({} + {}, 9)", "modulo({} - {}, 9)", "minimum({}, {})",
                             "where(less({0}, {1}), {0}, 0 - {0})"])
            return self.whole(form.format(x, r.choice(self.within(self.ints, dims))), dims, self.ints)
        if what == "compare":
            return self.whole(f"{r.choice(['less', 'equal', 'less_equal'])}({x}, {r.choice(self.within(self.ints, dims))})", dims, self.bools)
        if what == "used":
            y = self.pick()
            if not set(dims) <= set(self.values[y]):
                return False
            return self.new(f"tanh({y} * cast<double>({x}))", self.values[y], y, exact=False)
        if what == "joined":
            if not self.bools:
                return False
            b = r.choice(list(self.bools))
            form = r.choice(["any", "all", "logical_not", "logical_and", "logical_or", "where"])
            if form in ("any", "all"):
                over = r.sample(self.bools[b], r.randint(0, len(self.bools[b])))
                return bool(over) and self.whole(f"{form}<{', '.join(over)}>({b})", [d for d in self.bools[b] if d not in over], self.bools)
            if form == "logical_not":
                return self.whole(f"{form}({b})", self.bools[b], self.bools)
            if form == "where":
                y = self.pick()
                if not set(self.bools[b]) <= set(self.values[y]):
                    return False
                return self.new(f"where({b}, {y}, sin({y}))", self.values[y], y, exact=False)
            return self.whole(f"{form}({b}, {r.choice(self.within(self.bools, self.bools[b]))})", self.bools[b], self.bools)
        if not dims:
            return False
        d = r.choice(dims)
        rest = [e for e in dims if e != d]
        if what == "reduce":
            f = r.choice(["sum", "max", "min", "argmax"])
            return self.whole(f"{f}<{d}>({x})" if f == "argmax" else f"modulo({f}<{d}>({x}), 9)", rest, self.ints)
        if what == "along":
            f = r.choice(["modulo(cumsum<{}>({}, {{.reverse = true}}), 9)", "modulo(cumsum<{}>({}), 9)", "modulo(cumprod<{}>(modulo({}, 4)), 9)",
                          "sort<{}>({})", "argsort<{}>({}, {{.descending = true}})"])
            if f.startswith(("sort", "argsort")) and self.parts(d) > 1:
                return False
            return self.whole(f.format(d, x), dims, self.ints)
        f = r.choice(["shift", "shift", "roll", "flip"])
        if f != "shift" and not self.divides(d):
            return False
        by = r.randint(-self.size_of(d) - 1, self.size_of(d) + 1)
        args = {"shift": f", {by}" + r.choice(["", ", 3"]), "roll": f", {by}", "flip": ""}[f]
        return self.whole(f"{f}<{d}>({x}{args})", dims, self.ints)

    # ---- text

    def seen(self, v, dims, number):
        """What the program shows of a value: under a count only the sum over the counted dimension is the same everywhere."""
        if self.counted not in dims:
            return v
        return f"sum<{self.counted}>({v})" if number is None else f"sum<{self.counted}>({v} * fuzz::probe({v}, {number}))"

    def step(self):
        """The operations, what is seen of their results, and the loss."""
        out = list(self.lines)
        # the last parameters must not be all that is left: a loss has a tape
        shown = [v for v in self.values if v not in self.parameters]
        out += [f"see({self.seen(v, self.values[v], i)});" for i, v in enumerate(shown)]
        out += [f"see({self.seen(v, dims, None)});" for v, dims in self.ints.items()]
        out += [f"see({self.seen(f'cast<int>({v})', dims, None)});" for v, dims in self.bools.items()]
        left = [v for v in self.unused] or shown[-1:]
        if len(left) == 1:
            return out + [f"auto const loss = sum({left[0]} * fuzz::probe({left[0]}, 0));"]
        out.append(f"auto const loss0 = sum({left[0]} * fuzz::probe({left[0]}, 0));")
        for i, v in enumerate(left[1:], 1):  # an expression has one operand that sends (DESIGN: handles in constant evaluation)
            out.append(f"auto const part{i} = sum({v} * fuzz::probe({v}, {i}));")
            out.append(f"auto const loss{i} = loss{i - 1} + part{i};")
        return out + [f"auto const& loss = loss{len(left) - 1};"]

    def text(self, alone=False):
        """A test, which prints itself if it fails, unless it stands `alone`."""
        space = f"program_{self.number}_of_{self.seed}"
        mesh = f"fuzz::grid<{', '.join(map(str, self.axes.values()))}>"
        out = [f"// Program {self.number} of seed {self.seed}, for {self.processes} processes.", f"namespace {space} {{"]
        out += [f"struct {d} : {'up_to' if d == self.counted else 'dim'}<{n}> {{}};" for d, n in (self.size | self.extra).items()]
        out.append("struct whole : layout<fixture::single> {};")
        out += [f"struct {name} : layout<{', '.join([mesh] + [self.rule(rules, d) for d in rules])}> {{}};"
                for name, rules in (("cut", self.rules), ("other", self.other_rules))]
        out += ["struct steps {", "  template<Layout L>", "  constexpr void operator()(machine<L>& m, fixture::value_recorder const& see) const {"]
        out += ["    " + line for line in self.held]
        if self.turns == 1:
            out += ["    " + line for line in self.step() + ["backward(loss);"]]
        else:
            out.append(f"    see(accumulate<{self.turns}>([&](extent i) {{")
            out += ["      " + line for line in self.step() + ["return loss;"]]
            out.append("    }));")
        out += [f"    see(finish(gradient({w})));" for w in self.parameters]
        out += ["  }", "};", f"}}  // namespace {space}", ""]
        out.append(f'TEST_CASE("program {self.number} of seed {self.seed}", "[{self.processes}]") {{')
        call = f"  fuzz::check<{space}::whole, {space}::cut>({space}::steps{{}}"
        text = "\n".join(out + [call + ");", "}", ""])
        if alone:
            return text
        return "\n".join(out + [f'{call}, R"program({HEAD}{text}{TAIL})program");', "}", ""])


# Smooth functions of x alone. Those that grow too fast, or are defined for positive numbers, are called with the value of another.
GROWING = {"exp": "exp(tanh", "square": "square(tanh", "expm1": "expm1(sin", "log1p": "log1p(square"}
SMOOTH = [GROWING.get(f.name) or (f"{f.name}(1 + square" if f.kind == "smooth_of_positive" else f.name)
          for f in catalogue.pointwise() if f.kind in ("smooth", "smooth_of_positive")]
OPERATIONS = 2 * [
    "pointwise", "pointwise", "with_a_jump", "with_number", "of_two", "of_two", "of_two_with_a_jump", "einsum", "einsum", "matrices", "partial_sum",
    "reduce", "reduce", "along", "along", "transpose", "part", "part", "displaced", "stacked", "unstacked", "cut", "tiled", "broadcast", "written", "ranked",
    "ranked", "concat", "by_index", "by_index", "moved", "renamed", "renamed", "reshaped", "reshaped",
]
OPERATIONS += ["again", "custom", "on_shards"]  # which take a compiler several times as long as others
OF_ROWS = ["normalised", "biased", "classified"] * 12
EXACT = ["whole_numbers"] * 60

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
    # those of one mesh together: what the compiler makes for a mesh, it makes once a file
    made = sorted((program(seed, n) for seed, n in programs), key=lambda p: (p.processes, list(p.axes.values())))
    for f in range(a.files):
        text = HEAD + "\n".join(p.text() for p in made[f * len(made) // a.files : (f + 1) * len(made) // a.files]) + TAIL
        file = a.out / f"programs_{f}.cpp"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


if __name__ == "__main__":
    main()
