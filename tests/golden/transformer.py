#!/usr/bin/env python3
"""The Transformer language model in PyTorch: what tests/nn/golden.cpp compares meshtf with.

  transformer.py           writes transformer.safetensors next to this script
  transformer.py --check   computes all anew, compares with that file, writes nothing

The model is written twice, by einsum in the shapes that meshtf gives its weights, and with torch.nn's modules; both must agree.
"""
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

from goldens import demand, distance, main

BATCH, LENGTH, VOCAB, MODEL, HEADS, KEY, HIDDEN, LAYERS = 4, 16, 32, 16, 4, 4, 64, 2
EPSILON = 1e-5
ADAMW = dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1, foreach=False)  # decays all parameters, as torch does
STEPS = 3


def shapes(tied):
    """Names and shapes of the parameters, in meshtf's order: weights are [in..., out...]."""
    s = {"tokens": (VOCAB, MODEL), "positions": (LENGTH, MODEL)}
    for n in range(LAYERS):
        b = f"blocks.{n}."
        s |= {b + "norm1.scale": (MODEL,), b + "norm1.bias": (MODEL,)}
        for part in ("query", "key", "value"):
            s |= {b + f"attention.{part}.weight": (MODEL, HEADS, KEY), b + f"attention.{part}.bias": (HEADS, KEY)}
        s |= {b + "attention.output.weight": (HEADS, KEY, MODEL), b + "attention.output.bias": (MODEL,)}
        s |= {b + "norm2.scale": (MODEL,), b + "norm2.bias": (MODEL,)}
        s |= {b + "feed_forward.up.weight": (MODEL, HIDDEN), b + "feed_forward.up.bias": (HIDDEN,)}
        s |= {b + "feed_forward.down.weight": (HIDDEN, MODEL), b + "feed_forward.down.bias": (MODEL,)}
    s |= {"norm.scale": (MODEL,), "norm.bias": (MODEL,)}
    if not tied:
        s |= {"output.weight": (MODEL, VOCAB)}
    return s


class Source:
    """Numbers that are the same everywhere and for ever: Python promises the sequence of random(), torch promises none of its own."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def weights(self, shape, mean):
        """Standard deviation 0.3, in steps of 1/1024: exact in float32 too, so that both precisions start from the same weights."""
        span = 0.3 * math.sqrt(3)
        values = [mean + round((2 * self.random() - 1) * span * 1024) / 1024 for _ in range(math.prod(shape))]
        return torch.tensor(values, dtype=torch.float64).reshape(shape)

    def ids(self):
        return torch.tensor([int(self.random() * VOCAB) for _ in range(BATCH * LENGTH)], dtype=torch.int32).reshape(BATCH, LENGTH)


def drawn():
    """Weights (output.weight, which only the untied model has, last), ids, targets."""
    source = Source(2018)
    w = {name: source.weights(shape, 1.0 if name.endswith(".scale") else 0.0) for name, shape in shapes(tied=False).items()}
    return w, source.ids(), source.ids()


# ---- by einsum: b batch, l length, m memory (the length that is attended to), d model, h heads, k key, f hidden, v vocab


def norm(x, w, name):
    x = x - x.mean(-1, keepdim=True)
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + EPSILON) * w[name + ".scale"] + w[name + ".bias"]


def attention(x, w, name):
    q, k, v = (torch.einsum("bld,dhk->blhk", x, w[f"{name}.{part}.weight"]) + w[f"{name}.{part}.bias"] for part in ("query", "key", "value"))
    scores = torch.einsum("blhk,bmhk->bhlm", q, k) / math.sqrt(KEY)
    hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    probability = torch.softmax(scores.masked_fill(hidden, -math.inf), -1)
    seen = torch.einsum("bhlm,bmhk->blhk", probability, v)
    return torch.einsum("blhk,hkd->bld", seen, w[name + ".output.weight"]) + w[name + ".output.bias"]


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def feed_forward(x, w, name):
    h = gelu(torch.einsum("bld,df->blf", x, w[name + ".up.weight"]) + w[name + ".up.bias"])
    return torch.einsum("blf,fd->bld", h, w[name + ".down.weight"]) + w[name + ".down.bias"]


def loss_by_einsum(w, ids, targets):
    x = w["tokens"][ids] + w["positions"]
    for n in range(LAYERS):
        x = x + attention(norm(x, w, f"blocks.{n}.norm1"), w, f"blocks.{n}.attention")
        x = x + feed_forward(norm(x, w, f"blocks.{n}.norm2"), w, f"blocks.{n}.feed_forward")
    x = norm(x, w, "norm")
    if "output.weight" in w:
        logits = torch.einsum("bld,dv->blv", x, w["output.weight"])
    else:
        logits = torch.einsum("bld,vd->blv", x, w["tokens"])
    log_probability = logits - torch.logsumexp(logits, -1, keepdim=True)
    return -log_probability.gather(-1, targets.long()[..., None]).mean()


# ---- with torch.nn's modules


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(MODEL, EPSILON), nn.LayerNorm(MODEL, EPSILON)
        self.query, self.key, self.value = (nn.Linear(MODEL, HEADS * KEY) for _ in range(3))
        self.output = nn.Linear(HEADS * KEY, MODEL)
        self.up, self.down = nn.Linear(MODEL, HIDDEN), nn.Linear(HIDDEN, MODEL)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (f(y).view(BATCH, LENGTH, HEADS, KEY).transpose(1, 2) for f in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(y.transpose(1, 2).reshape(BATCH, LENGTH, HEADS * KEY))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Transformer(nn.Module):
    def __init__(self, tied):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCAB, MODEL), nn.Embedding(LENGTH, MODEL)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(MODEL, EPSILON)
        self.output = nn.Linear(MODEL, VOCAB, bias=False)
        if tied:
            self.output.weight = self.tokens.weight

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions(torch.arange(LENGTH))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.output(self.norm(x)).view(-1, VOCAB), targets.long().view(-1))


def places(model, tied):
    """meshtf's names, each with the parameter of the module and whether that is a Linear's weight: [out, in], where meshtf has [in, out]."""
    p = {"tokens": (model.tokens.weight, False), "positions": (model.positions.weight, False)}

    def add_norm(name, module):
        p.update({name + ".scale": (module.weight, False), name + ".bias": (module.bias, False)})

    def add_linear(name, module):
        p.update({name + ".weight": (module.weight, True), name + ".bias": (module.bias, False)})

    for n, block in enumerate(model.blocks):
        b = f"blocks.{n}."
        add_norm(b + "norm1", block.norm1)
        for part in ("query", "key", "value", "output"):
            add_linear(b + "attention." + part, getattr(block, part))
        add_norm(b + "norm2", block.norm2)
        add_linear(b + "feed_forward.up", block.up)
        add_linear(b + "feed_forward.down", block.down)
    add_norm("norm", model.norm)
    if not tied:
        p["output.weight"] = (model.output.weight, True)
    return p


# ---- runs


def run_by_einsum(w, ids, targets, dtype=torch.float64):
    """Loss of each step, gradients of the first, weights after the last."""
    w = {name: value.to(dtype).clone().requires_grad_() for name, value in w.items()}
    optimizer = torch.optim.AdamW(w.values(), **ADAMW)
    return run(lambda: loss_by_einsum(w, ids, targets), optimizer, lambda: w, lambda: {name: value.grad for name, value in w.items()})


def run_by_modules(w, ids, targets, dtype=torch.float64):
    tied = "output.weight" not in w
    model = Transformer(tied).to(dtype)
    assert sum(p.numel() for p in model.parameters()) == sum(value.numel() for value in w.values())

    def ours(tensor, turned, name):
        return (tensor.T if turned else tensor).reshape(w[name].shape)

    with torch.no_grad():
        for name, (p, turned) in places(model, tied).items():
            if turned:
                p.copy_(w[name].reshape(p.shape[1], p.shape[0]).T)
            else:
                p.copy_(w[name].reshape(p.shape))
    optimizer = torch.optim.AdamW(model.parameters(), **ADAMW)
    weights = lambda: {name: ours(p, turned, name) for name, (p, turned) in places(model, tied).items()}
    gradients = lambda: {name: ours(p.grad, turned, name) for name, (p, turned) in places(model, tied).items()}
    return run(lambda: model(ids, targets), optimizer, weights, gradients)


def run(loss_of, optimizer, weights, gradients):
    losses, first = [], None
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        losses.append(loss.item())
        if first is None:
            first = {name: g.detach().clone() for name, g in gradients().items()}
        optimizer.step()
    losses.append(loss_of().item())
    return losses, first, {name: value.detach().clone() for name, value in weights().items()}


def computed():
    """The tensors of the golden file."""
    torch.set_num_threads(1)
    all_weights, ids, targets = drawn()
    result = {"ids": ids, "targets": targets}
    for tied in (True, False):
        kind = "tied" if tied else "untied"
        prefix = "" if tied else "untied."
        w = {name: all_weights[name] for name in shapes(tied)}
        losses, gradients, after = run_by_einsum(w, ids, targets)
        losses_nn, gradients_nn, after_nn = run_by_modules(w, ids, targets)
        demand(f"{kind}: losses by einsum and by torch.nn", max(abs(a - b) / b for a, b in zip(losses, losses_nn)), 1e-12)
        demand(f"{kind}: gradients by einsum and by torch.nn", distance(gradients, gradients_nn), 1e-12)
        demand(f"{kind}: weights after {STEPS} steps by einsum and by torch.nn", distance(after, after_nn), 1e-10)
        losses_float, gradients_float, _ = run_by_modules(w, ids, targets, torch.float32)
        demand(f"{kind}: losses in float32", max(abs(a - b) / b for a, b in zip(losses_float, losses)), 1e-4)
        demand(f"{kind}: gradients in float32", distance(gradients_float, gradients), 1e-5)
        result[prefix + "loss"] = torch.tensor(losses[0], dtype=torch.float64)
        result[prefix + "loss.float32"] = torch.tensor(losses_float[0], dtype=torch.float32)
        result |= {f"{prefix}g.{name}": g for name, g in gradients.items()}
        if tied:
            result |= {f"w.{name}": value for name, value in w.items()}
            result |= {f"w{STEPS}.{name}": value for name, value in after.items()}
            result["losses"] = torch.tensor(losses, dtype=torch.float64)
        else:
            result["untied.w.output.weight"] = w["output.weight"]
    return result


def within(name):
    """By how much numbers may differ from the file's: what is given, not at all."""
    if name in ("ids", "targets") or name.startswith(("w.", "untied.w.")):
        return 0
    return 1e-5 if name.endswith("float32") else 1e-10 if name.startswith(f"w{STEPS}.") else 1e-12


if __name__ == "__main__":
    main(__file__, computed, within, made_by=f"torch {torch.__version__.split('+')[0]}")
