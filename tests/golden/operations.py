#!/usr/bin/env python3
"""Operations as Mesh TensorFlow has them, or PyTorch where the original lacks one or gets it wrong. tests/ops/goldens_of_operations.cpp compares meshtf with them.

  operations.py           writes operations.safetensors next to this script
  operations.py --check   computes all anew, compares with that file, writes nothing

Every case is computed by PyTorch in double precision, and by the original if the case says how; both must agree. A case has a result, and
a gradient for each operand that has one: that of sum(result * weights), where the weights are an array of the result's shape.
"""
import math
import random
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import goldens
from original import lowering, mtf, new_mesh, tf

sys.path.insert(0, str(Path(__file__).parents[1] / "checks"))
import catalogue  # noqa: E402

SIZES = dict(batch=4, length=6, hidden=8, model=5, vocab=10, memory=6, key=4, pick=4)
D = {name: mtf.Dimension(name, size) for name, size in SIZES.items()}


class Source:
    """Numbers that are the same everywhere: Python promises the sequence of random()."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def array(self, low, high, *dims):
        """Multiples of 1/1024, none twice: maxima have no ties, and functions are smooth at them."""
        n, seen, values = math.prod(SIZES[d] for d in dims), set(), []
        while len(values) < n:
            v = round((low + (high - low) * self.random()) * 1024) / 1024
            if v not in seen and abs(v) > 0.01:
                seen.add(v)
                values.append(v)
        return np.array(values).reshape([SIZES[d] for d in dims])

    def ids(self, below, *dims):
        n = math.prod(SIZES[d] for d in dims)
        return np.array([int(self.random() * below) for _ in range(n)], dtype=np.int32).reshape([SIZES[d] for d in dims])


source = Source(1)
# operand: its array and dimensions
OPERANDS = {
    "x": ("batch", "hidden"), "y": ("batch", "hidden"), "positive": ("batch", "hidden"), "bias": ("hidden",),
    "sequence": ("batch", "length", "model"), "weight": ("model", "hidden"), "back": ("hidden", "model"), "table": ("vocab", "model"),
}
ARRAYS = {name: source.array(*((0.5, 2.5) if name == "positive" else (-2, 2)), *dims) for name, dims in OPERANDS.items()}
ARRAYS["ids"] = source.ids(SIZES["vocab"], "batch", "length")
OPERANDS["ids"] = ("batch", "length")

more = Source(4)
for name, dims in dict(extra="batch", centre="model", offset="model", rows="batch pick model", new_rows="pick model",
                       queries="batch length key").items():
    OPERANDS[name] = tuple(dims.split())
    ARRAYS[name] = more.array(-2, 2, *OPERANDS[name])
for name, dims in dict(coarse="batch hidden", coarse_bias="hidden").items():  # multiples of 1/2: zeros, and elements that are equal
    OPERANDS[name] = tuple(dims.split())
    ARRAYS[name] = more.ids(5, *OPERANDS[name]) / 2 - 1
for name, dims, below in [("places", "batch pick", SIZES["length"]), ("dividend", "batch length", 41), ("divisor", "length", 5)]:
    OPERANDS[name] = tuple(dims.split())
    ARRAYS[name] = more.ids(below, *OPERANDS[name])
ARRAYS["dividend"] -= 20
ARRAYS["divisor"] = (ARRAYS["divisor"] + 1) * np.array([1, -1, 1, -1, 1, -1], dtype=np.int32)
ARRAYS["picked"], OPERANDS["picked"] = np.array([7, 2, 7, 0], dtype=np.int32), ("pick",)

CASES = {}


def case(name, operands, by_torch, by_mtf=None):
    assert name not in CASES
    CASES[name] = (operands.split(), by_torch, by_mtf)


def along(x, dim, names):
    return names.index(dim)


def is_true(x):
    return mtf.not_equal(x, 0.0)


def to_all(x, best):
    """`best` of each row, which gives its gradient to all elements that are equal to it, as the original's maxima do."""
    return best.detach() + ((x - x.detach()) * (x == best[:, None])).sum(1)


def exclusive_cumprod(x):
    return torch.cat([torch.ones_like(x[:, :1]), x[:, :-1]], 1).cumprod(1)


def pieces_joined(piece):
    return piece[1] * piece[5] - piece[0] * piece[3] + piece[2] - piece[4]


def scattered(table, ids, updates):
    """Of several updates of one row the last counts."""
    rows = list(table.unbind(0))
    for at, row in zip(ids.tolist(), updates.unbind(0)):
        rows[at] = row
    return torch.stack(rows)


def halo(x, n):
    blocks, block = mtf.Dimension("blocks", n), mtf.Dimension("block", 6 // n)
    z = mtf.halo_exchange(mtf.reshape(x, mtf.Shape([D["batch"], blocks, block, D["model"]])), blocks, block, 1)
    return mtf.reshape(z, mtf.Shape([D["batch"], mtf.Dimension("haloed", 6 + 2 * n), D["model"]]))


def rotated(x, positions):
    first, second = x.chunk(2, -1)
    angles = positions[..., None] * 10000.0 ** (-torch.arange(2, dtype=torch.float64) / 2)
    return torch.cat([first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], -1)


# ---- pointwise
for function in catalogue.pointwise():  # as their headers say that others call them
    f, g = (eval(f"lambda x: {call}") if call else None for call in (catalogue.there(function.name)[1], catalogue.there(function.name)[0]))
    case(function.name, "positive" if function.kind == "smooth_of_positive" else "x", f, g)
for name, f, g in [("elu", F.elu, mtf.elu), ("leaky_relu", lambda x: F.leaky_relu(x, 0.2), mtf.leaky_relu), ("negative", torch.neg, mtf.negative),
                   ("clamp", lambda x: torch.clamp(x, -1, 1.5), None)]:
    case(name, "x", f, g)
case("pow", "positive y", torch.pow, mtf.pow)
case("add", "x bias", torch.add, mtf.add)
case("subtract", "x bias", torch.sub, mtf.sub)
case("multiply", "x bias", torch.mul, mtf.multiply)
case("divide", "x positive", torch.div, mtf.divide)
case("minimum", "x bias", torch.minimum)  # the original's gradient has the wrong shape
case("maximum", "x bias", torch.maximum)
case("logaddexp", "x y", torch.logaddexp)
case("where", "x y", lambda x, y: torch.where(x < y, x, y), lambda x, y: mtf.where(mtf.less(x, y), x, y))
case("sigmoid_cross_entropy", "x positive", lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"),
     mtf.layers.sigmoid_cross_entropy_with_logits)
case("bias_gelu", "x bias", lambda x, b: F.gelu(x + b, approximate="tanh"), lambda x, b: mtf.gelu(x + b))
case("maximum_of_ties", "coarse coarse_bias", torch.maximum)  # each gets half, as JAX has it too; the original gives both all
for name, f, g in [("less", torch.lt, mtf.less), ("less_equal", torch.le, mtf.less_equal), ("greater", torch.gt, mtf.greater),
                   ("greater_equal", torch.ge, mtf.greater_equal), ("equal", torch.eq, mtf.equal), ("not_equal", torch.ne, mtf.not_equal)]:
    case(name, "coarse coarse_bias", lambda x, y, f=f: f(x, y).double(), lambda x, y, g=g: mtf.cast(g(x, y), tf.float64))
for name, f, g in [("logical_and", torch.logical_and, mtf.logical_and), ("logical_or", torch.logical_or, mtf.logical_or)]:
    case(name, "coarse coarse_bias", lambda x, y, f=f: f(x, y).double(), lambda x, y, g=g: mtf.cast(g(is_true(x), is_true(y)), tf.float64))
case("logical_not", "coarse", lambda x: torch.logical_not(x).double(), lambda x: mtf.cast(mtf.logical_not(is_true(x)), tf.float64))
case("is_nan", "coarse", lambda x: torch.sqrt(x).isnan().double())
case("floor_divide", "dividend divisor", lambda x, y: torch.div(x, y, rounding_mode="floor"), mtf.floordiv)
case("modulo", "dividend divisor", torch.remainder, mtf.mod)
case("cast_to_int", "x", lambda x: x.int(), lambda x: mtf.cast(x, tf.int32))
for name, f, g in [("cast_to_float", torch.float32, tf.float32), ("cast_to_bfloat16", torch.bfloat16, tf.bfloat16)]:  # there and back
    case(name, "x", lambda x, f=f: (x * (1 / 3)).to(f).double(), lambda x, g=g: mtf.cast(mtf.cast(x * (1 / 3), g), tf.float64))

case("rotary", "queries ids", rotated)

# ---- along dimensions
case("sum", "sequence", lambda x: x.sum(1), lambda x: mtf.reduce_sum(x, reduced_dim=D["length"]))
case("mean", "sequence", lambda x: x.mean((0, 1)), lambda x: mtf.reduce_mean(x, output_shape=[D["model"]]))
case("max", "sequence", lambda x: x.amax(1), lambda x: mtf.reduce_max(x, reduced_dim=D["length"]))
case("min", "x", lambda x: x.amin(1), lambda x: mtf.reduce_min(x, reduced_dim=D["hidden"]))
case("weighted_mean", "x positive", lambda x, w: (x * w).sum(1) / w.sum(1),
     lambda x, w: mtf.reduce_sum(x * w, reduced_dim=D["hidden"]) / mtf.reduce_sum(w, reduced_dim=D["hidden"]))
case("product", "x", lambda x: x.prod(1))
case("logsumexp", "x", lambda x: x.logsumexp(1), lambda x: mtf.reduce_logsumexp(x, D["hidden"]))
case("variance", "x", lambda x: x.var(1, correction=0))
case("l2_norm", "x", lambda x: x.norm(dim=1))
case("softmax", "x", lambda x: x.softmax(1), lambda x: mtf.softmax(x, D["hidden"]))
case("log_softmax", "x", lambda x: x.log_softmax(1), lambda x: mtf.log_softmax(x, D["hidden"]))
case("softmax_with_extra_logit", "x", lambda x: F.pad(x, (0, 1), value=0.5).softmax(1)[:, :-1],
     lambda x: mtf.softmax(x, D["hidden"], extra_logit=mtf.constant(x.mesh, 0.5, mtf.Shape([]), dtype=tf.float64)))
for name, f, g in [("logsumexp", torch.logsumexp, mtf.reduce_logsumexp), ("log_softmax", lambda x, d: x.log_softmax(d)[:, :-1], mtf.log_softmax)]:
    case(f"{name}_with_extra_logit", "x", lambda x, f=f: f(F.pad(x, (0, 1), value=0.5), 1),
         lambda x, g=g: g(x, D["hidden"], extra_logit=mtf.constant(x.mesh, 0.5, mtf.Shape([]), dtype=tf.float64)))
    case(f"{name}_with_extra_logits", "x extra", lambda x, e, f=f: f(torch.cat([x, e[:, None]], 1), 1))  # the original gives `extra` no gradient
case("softmax_with_extra_logits", "x extra", lambda x, e: torch.cat([x, e[:, None]], 1).softmax(1)[:, :-1])
case("max_of_ties", "coarse", lambda x: to_all(x, x.amax(1)), lambda x: mtf.reduce_max(x, reduced_dim=D["hidden"]))
case("min_of_ties", "coarse", lambda x: to_all(x, x.amin(1)), lambda x: mtf.reduce_min(x, reduced_dim=D["hidden"]))
case("product_of_zeros", "coarse", lambda x: x.prod(1))
case("max_and_argmax", "coarse", lambda x: x.max(1).values, lambda x: mtf.top_1(x, D["hidden"])[0])
case("min_and_argmin", "coarse", lambda x: x.min(1).values, lambda x: -mtf.top_1(-x, D["hidden"])[0])
case("argmax_of_ties", "coarse", lambda x: torch.tensor(x.detach().numpy().argmax(1).astype(np.int32)), lambda x: mtf.argmax(x, D["hidden"]))
case("argmin_of_ties", "coarse", lambda x: torch.tensor(x.detach().numpy().argmin(1).astype(np.int32)), lambda x: mtf.argmax(-x, D["hidden"]))
case("argmax_of_length", "sequence", lambda x: x.argmax(1).to(torch.int32), lambda x: mtf.argmax(x, D["length"]))
case("nth_element", "x", lambda x: x.sort(1).values[:, 2], lambda x: mtf.nth_smallest_element(x, 2, D["hidden"]))
case("nth_element_descending", "x", lambda x: x.sort(1, descending=True).values[:, 1], lambda x: mtf.nth_largest_element(x, 1, D["hidden"]))
case("nth_element_index", "coarse", lambda x: x.argsort(dim=1, stable=True).to(torch.int32)[:, 5])
case("argsort_of_ties", "coarse", lambda x: x.argsort(dim=1, stable=True).to(torch.int32))
case("any", "sequence", lambda x: (x > 1.5).any(1).double(),
     lambda x: mtf.cast(mtf.reduce_any(mtf.greater(x, 1.5), reduced_dim=D["length"]), tf.float64))
case("all", "sequence", lambda x: (x > -1.5).all(1).double(),
     lambda x: mtf.cast(mtf.reduce_all(mtf.greater(x, -1.5), reduced_dim=D["length"]), tf.float64))
case("argmax", "x", lambda x: x.argmax(1).to(torch.int32), lambda x: mtf.argmax(x, D["hidden"]))
case("cumsum", "sequence", lambda x: x.cumsum(1), lambda x: mtf.cumsum(x, D["length"]))
case("exclusive_cumsum", "sequence", lambda x: x.cumsum(1) - x, lambda x: mtf.cumsum(x, D["length"], exclusive=True))
case("reverse_cumsum", "sequence", lambda x: x.flip(1).cumsum(1).flip(1))
case("exclusive_reverse_cumsum", "sequence", lambda x: x.flip(1).cumsum(1).flip(1) - x)
case("cumprod", "sequence", lambda x: x.cumprod(1))
case("cumprod_of_zeros", "coarse", lambda x: x.cumprod(1))
case("exclusive_cumprod", "coarse", exclusive_cumprod)
case("reverse_cumprod", "coarse", lambda x: x.flip(1).cumprod(1).flip(1))
case("exclusive_reverse_cumprod", "coarse", lambda x: exclusive_cumprod(x.flip(1)).flip(1))
case("sort", "sequence", lambda x: x.sort(1).values)
case("argsort_descending", "sequence", lambda x: x.argsort(1, descending=True).to(torch.int32))
case("top_k", "x", lambda x: x.topk(3, 1).values, lambda x: mtf.top_k(x, D["hidden"], mtf.Dimension("three", 3))[0])
case("top_k_indices", "x", lambda x: x.topk(3, 1).indices.to(torch.int32), lambda x: mtf.top_k(x, D["hidden"], mtf.Dimension("three", 3))[1])
case("layer_norm", "x bias", lambda x, b: F.layer_norm(x, (8,), None, b, 1e-5))
case("rms_norm", "x bias", lambda x, w: F.rms_norm(x, (8,), w, 1e-5))
case("residual_layer_norm", "x y bias coarse_bias", lambda x, y, w, b: (x + y) * F.layer_norm(x + y, (8,), w, b, 1e-5))
case("batch_norm", "x bias coarse_bias", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True))
case("group_norm", "sequence centre offset", lambda x, w, b: F.layer_norm(x, (6, 5)) * w + b)

# ---- products
case("einsum", "sequence weight", lambda x, w: torch.einsum("blm,mh->blh", x, w),
     lambda x, w: mtf.einsum([x, w], output_shape=[D["batch"], D["length"], D["hidden"]]))
case("einsum_of_three", "sequence weight back", lambda x, w, v: torch.einsum("blm,mh,hm->bl", x, w, v),
     lambda x, w, v: mtf.einsum([x, w, v], output_shape=[D["batch"], D["length"]]))
case("matmul", "x weight", lambda x, w: x @ w.T, lambda x, w: mtf.matmul(x, w, reduced_dims=[D["hidden"]]))
case("outer_product", "bias centre", torch.outer, lambda x, y: mtf.multiply(x, y, output_shape=mtf.Shape([D["hidden"], D["model"]])))

# ---- shapes and indices
case("transpose", "sequence", lambda x: x.permute(1, 0, 2), lambda x: mtf.transpose(x, mtf.Shape([D["length"], D["batch"], D["model"]])))
case("slice", "sequence", lambda x: x[:, 2:5], lambda x: mtf.slice(x, 2, 3, "length"))
case("pad", "sequence", lambda x: F.pad(x, (0, 0, 1, 2)), lambda x: mtf.pad(x, [1, 2], "length"))
case("pad_with_value", "sequence", lambda x: F.pad(x, (0, 0, 1, 2), value=0.5))
case("pad_model", "sequence", lambda x: F.pad(x, (0, 1)), lambda x: mtf.pad(x, [0, 1], "model"))
case("slice_of_five", "sequence", lambda x: x[:, 1:], lambda x: mtf.slice(x, 1, 5, "length"))
case("flip", "sequence", lambda x: x.flip(1))
case("roll", "sequence", lambda x: x.roll(2, 1), lambda x: mtf.shift(x, 2, D["length"], wrap=True))
case("shift", "sequence", lambda x: F.pad(x, (0, 0, 1, 0))[:, :-1], lambda x: mtf.shift(x, 1, D["length"], wrap=False))
case("shift_back", "sequence", lambda x: F.pad(x, (0, 0, 0, 2))[:, 2:], lambda x: mtf.shift(x, -2, D["length"], wrap=False))
case("shift_with_value", "sequence", lambda x: F.pad(x, (0, 0, 2, 0), value=0.5)[:, :-2])
case("tile", "sequence", lambda x: x.repeat(1, 2, 1))
case("concat", "sequence", lambda x: torch.cat([x, x], 1), lambda x: mtf.concat([x, x], "length"))
case("stack", "x y", lambda x, y: torch.stack([x, y], 0), lambda x, y: mtf.stack([x, y], "two"))
case("unstack", "sequence", lambda x: pieces_joined(x.unbind(1)), lambda x: pieces_joined(mtf.unstack(x, D["length"])))
case("split_into", "sequence", lambda x: torch.cat([x[:, 2:], x[:, :2]], 1),
     lambda x: mtf.concat(mtf.split(x, D["length"], [2, 4])[::-1], "length"))
case("rename", "sequence", lambda x: x * 1, lambda x: mtf.rename_dimension(x, "length", "memory"))
case("split_dim", "sequence", lambda x: x.reshape(4, 2, 3, 5),
     lambda x: mtf.reshape(x, mtf.Shape([D["batch"], mtf.Dimension("two", 2), mtf.Dimension("three", 3), D["model"]])))
case("merge_dims", "sequence", lambda x: x.reshape(24, 5), lambda x: mtf.reshape(x, mtf.Shape([mtf.Dimension("all", 24), D["model"]])))
case("broadcast", "centre", lambda x: x[:, None].expand(4, 5, 6), lambda x: mtf.broadcast(x, mtf.Shape([D["batch"], D["model"], D["length"]])))
case("write", "sequence rows", lambda x, part: torch.cat([x[:, :1], part, x[:, 5:]], 1))
case("windows", "x", lambda x: F.pad(x, (1, 1)).unfold(1, 3, 1).transpose(1, 2))
for blocks in 1, 2:  # of length; each gets a row of those next to it
    case(f"halo_in_{blocks}", "sequence", lambda x, n=blocks: F.pad(x, (0, 0, 1, 1)).unfold(1, 6 // n + 2, 6 // n).transpose(2, 3).reshape(4, -1, 5),
         lambda x, n=blocks: halo(x, n))
case("searchsorted", "centre x", lambda edges, x: torch.searchsorted(edges.sort().values, x).to(torch.int32))
case("searchsorted_right", "centre x", lambda edges, x: torch.searchsorted((2 * edges).round().sort().values, (2 * x).round(), right=True).to(torch.int32))
case("iota", "ids", lambda i: i + torch.arange(6, dtype=torch.int32), lambda i: i + mtf.range(i.mesh, D["length"], tf.int32))
case("batched_gather", "sequence places", lambda x, i: torch.stack([t[at.long()] for t, at in zip(x, i)]), lambda x, i: mtf.gather(x, i, D["length"]))
case("scatter", "table picked new_rows", scattered)
case("batched_scatter", "sequence places rows", lambda x, i, u: torch.stack([scattered(*of_one) for of_one in zip(x, i, u)]))
case("scatter_add_to_table", "table sequence ids", lambda t, u, i: t.index_add(0, i.long().flatten(), u.reshape(-1, 5)),
     lambda t, u, i: t + mtf.einsum([mtf.one_hot(i, D["vocab"], dtype=tf.float64), u], output_shape=[D["vocab"], D["model"]]))
case("batched_scatter_add", "sequence rows places", lambda x, u, i: torch.stack([t.index_add(0, at.long(), rows) for t, rows, at in zip(x, u, i)]),
     lambda x, u, i: x + mtf.einsum([mtf.one_hot(i, D["length"], dtype=tf.float64), u], output_shape=x.shape))
case("gather", "table ids", lambda t, i: t[i.long()], lambda t, i: mtf.gather(t, i, D["vocab"]))
case("one_hot", "ids", lambda i: F.one_hot(i.long(), 10).double(), lambda i: mtf.one_hot(i, D["vocab"], dtype=tf.float64))
case("scatter_add", "sequence ids", lambda u, i: torch.zeros(10, 5, dtype=u.dtype).index_add(0, i.long().flatten(), u.reshape(-1, 5)),
     lambda u, i: mtf.einsum([mtf.one_hot(i, D["vocab"], dtype=tf.float64), u], output_shape=[D["vocab"], D["model"]]))
case("softmax_cross_entropy", "logits ids", lambda x, i: F.cross_entropy(x.reshape(-1, 10), i.long().flatten(), reduction="none").reshape(4, 6)
     + 1e-2 * x.logsumexp(-1) ** 2,
     lambda x, i: mtf.layers.softmax_cross_entropy_with_logits(x, mtf.one_hot(i, D["vocab"], dtype=tf.float64), D["vocab"], z_loss=1e-2))
case("smoothed_cross_entropy", "logits ids",
     lambda x, i: F.cross_entropy(x.reshape(-1, 10), i.long().flatten(), reduction="none", label_smoothing=0.1).reshape(4, 6),
     lambda x, i: mtf.layers.softmax_cross_entropy_with_logits(x, mtf.one_hot(i, D["vocab"], 0.91, 0.01, dtype=tf.float64), D["vocab"]))
OPERANDS["logits"] = ("batch", "length", "vocab")
ARRAYS["logits"] = source.array(-2, 2, "batch", "length", "vocab")


def numbers(a):
    return a.detach().numpy() if isinstance(a, torch.Tensor) else np.asarray(a)


def by_torch(operands, f, weights):
    leaves = [torch.tensor(ARRAYS[o], requires_grad=ARRAYS[o].dtype == np.float64) for o in operands]
    z = f(*leaves)
    if not z.requires_grad:
        return numbers(z), {}
    gradients = torch.autograd.grad((z * torch.tensor(weights(z.shape))).sum(), [x for x in leaves if x.requires_grad])
    return numbers(z), dict(zip([o for o in operands if ARRAYS[o].dtype == np.float64], map(numbers, gradients)))


def by_original(operands, f, weights, wants_gradients):
    graph, mesh = new_mesh()
    leaves = [mtf.import_tf_tensor(mesh, tf.constant(ARRAYS[o]), mtf.Shape([D[d] for d in OPERANDS[o]])) for o in operands]
    z = f(*leaves)
    outputs = [z]
    if wants_gradients:
        w = mtf.import_tf_tensor(mesh, tf.constant(weights([d.size for d in z.shape.dims])), z.shape)
        floating = [x for x in leaves if x.dtype == tf.float64]
        outputs += [g if g is not None else mtf.zeros(mesh, x.shape, tf.float64)
                    for g, x in zip(mtf.gradients([mtf.reduce_sum(z * w)], floating), floating)]
    lowered = lowering(graph, mesh)
    with tf.Session() as session:
        computed = session.run([lowered.export_to_tf_tensor(o) for o in outputs])
    return computed[0], dict(zip([o for o in operands if ARRAYS[o].dtype == np.float64], computed[1:]))


def computed():
    arrays = dict(ARRAYS)
    for name, (operands, torch_f, mtf_f) in CASES.items():
        weights = lambda shape, name=name: goldens.numbers(name, *shape, steps=1024)
        z, gradients = by_torch(operands, torch_f, weights)
        if mtf_f is not None:
            original_z, original_gradients = by_original(operands, mtf_f, weights, bool(gradients))
            for what, a, b in [("result", original_z, z)] + [(f"gradient of {o}", original_gradients[o], g) for o, g in gradients.items()]:
                if a.shape != b.shape or not np.allclose(a, b, rtol=0, atol=1e-6):
                    sys.exit(f"{name}: the original's {what} is not PyTorch's: {a} and {b}")
            if np.allclose(original_z, z, rtol=0, atol=1e-12):  # else the original has computed in single precision
                z, gradients = original_z, {o: original_gradients[o] for o in gradients}
        arrays[f"{name}.result"] = z.astype(np.int32 if z.dtype.kind == "i" else np.float64)
        if gradients:
            arrays[f"{name}.weights"] = weights(z.shape)
        for o, g in gradients.items():
            arrays[f"{name}.gradient.{o}"] = g.astype(np.float64)
    print(f"{len(CASES)} cases, {sum(f is not None for _, _, f in CASES.values())} of them as the original has them")
    return arrays


if __name__ == "__main__":
    goldens.main(__file__, computed, within=1e-6)
