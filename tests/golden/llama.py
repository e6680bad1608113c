#!/usr/bin/env python3
"""A language model of the Llama family in PyTorch: what tests/nn/llama.cpp compares meshtf with.

  llama.py           writes llama.safetensors next to this script
  llama.py --check   computes all anew, compares with that file, writes nothing

The model is written twice, by einsum in the shapes that meshtf gives its weights, and with torch.nn's modules; both must agree.
"""
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

from goldens import demand, distance, main

BATCH, LENGTH, VOCAB, MODEL, GROUPS, EACH, KEY, HIDDEN, LAYERS = 4, 16, 32, 16, 2, 2, 4, 24, 2
EPSILON, BASE = 1e-5, 10000.0


def shapes():
    """Names and shapes of the parameters, in meshtf's order: weights are [in..., out...]."""
    s = {"tokens": (VOCAB, MODEL)}
    for n in range(LAYERS):
        b = f"blocks.{n}."
        s |= {b + "norm1.scale": (MODEL,)}
        s |= {b + "attention.query.weight": (MODEL, GROUPS, EACH, KEY)}
        s |= {b + f"attention.{part}.weight": (MODEL, GROUPS, KEY) for part in ("key", "value")}
        s |= {b + "attention.output.weight": (GROUPS, EACH, KEY, MODEL)}
        s |= {b + "norm2.scale": (MODEL,)}
        s |= {b + "feed_forward.gate.weight": (MODEL, HIDDEN), b + "feed_forward.up.weight": (MODEL, HIDDEN)}
        s |= {b + "feed_forward.down.weight": (HIDDEN, MODEL)}
    return s | {"norm.scale": (MODEL,), "output.weight": (MODEL, VOCAB)}


def drawn():
    """Weights, ids, targets. Python promises the sequence of random(), torch promises none of its own."""
    draw = random.Random(2023).random
    span = 0.3 * math.sqrt(3)
    w = {}
    for name, shape in shapes().items():
        mean = 1.0 if name.endswith(".scale") else 0.0
        values = [mean + round((2 * draw() - 1) * span * 1024) / 1024 for _ in range(math.prod(shape))]
        w[name] = torch.tensor(values, dtype=torch.float64).reshape(shape)
    ids = [torch.tensor([int(draw() * VOCAB) for _ in range(BATCH * LENGTH)], dtype=torch.int32).reshape(BATCH, LENGTH) for _ in range(2)]
    return w, *ids


# ---- by einsum: b batch, l length, m memory, d model, g groups, e each, k key, f hidden, v vocab


def norm(x, scale):
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + EPSILON) * scale


def rotated(x):
    """[b, l, ..., k]: as complex numbers, whose real parts are the first half."""
    angle = torch.arange(LENGTH, dtype=x.dtype)[:, None] * BASE ** (-torch.arange(KEY // 2, dtype=x.dtype) * 2 / KEY)
    turn = torch.polar(torch.ones_like(angle), angle).reshape(LENGTH, *[1] * (x.dim() - 3), KEY // 2)
    z = torch.complex(x[..., : KEY // 2], x[..., KEY // 2 :]) * turn
    return torch.cat((z.real, z.imag), -1)


def loss_by_einsum(w, ids, targets):
    x = w["tokens"][ids]
    hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    for n in range(LAYERS):
        b = f"blocks.{n}."
        y = norm(x, w[b + "norm1.scale"])
        q = rotated(torch.einsum("bld,dgek->blgek", y, w[b + "attention.query.weight"]))
        k = rotated(torch.einsum("bld,dgk->blgk", y, w[b + "attention.key.weight"]))
        v = torch.einsum("bld,dgk->blgk", y, w[b + "attention.value.weight"])
        scores = torch.einsum("blgek,bmgk->bgelm", q, k) / math.sqrt(KEY)
        z = torch.einsum("bgelm,bmgk->blgek", torch.softmax(scores.masked_fill(hidden, -math.inf), -1), v)
        x = x + torch.einsum("blgek,gekd->bld", z, w[b + "attention.output.weight"])
        y = norm(x, w[b + "norm2.scale"])
        gate = torch.einsum("bld,df->blf", y, w[b + "feed_forward.gate.weight"])
        up = torch.einsum("bld,df->blf", y, w[b + "feed_forward.up.weight"])
        x = x + torch.einsum("blf,fd->bld", gate / (1 + torch.exp(-gate)) * up, w[b + "feed_forward.down.weight"])
    logits = torch.einsum("bld,dv->blv", norm(x, w["norm.scale"]), w["output.weight"])
    log_probability = logits - torch.logsumexp(logits, -1, keepdim=True)
    return -log_probability.gather(-1, targets.long()[..., None]).mean()


# ---- with torch.nn's modules, and rotation by rotate_half as in Llama's code


def rotate_half(x):
    return torch.cat((-x[..., KEY // 2 :], x[..., : KEY // 2]), -1)


def rotary(x):
    """[b, heads, l, k]"""
    angle = torch.outer(torch.arange(LENGTH, dtype=x.dtype), 1 / BASE ** (torch.arange(0, KEY, 2, dtype=x.dtype) / KEY))
    angle = torch.cat((angle, angle), -1)
    return x * angle.cos() + rotate_half(x) * angle.sin()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(MODEL, EPSILON), nn.RMSNorm(MODEL, EPSILON)
        self.query = nn.Linear(MODEL, GROUPS * EACH * KEY, bias=False)
        self.key, self.value = (nn.Linear(MODEL, GROUPS * KEY, bias=False) for _ in range(2))
        self.output = nn.Linear(GROUPS * EACH * KEY, MODEL, bias=False)
        self.gate, self.up = (nn.Linear(MODEL, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, MODEL, bias=False)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (f(y).view(BATCH, LENGTH, -1, KEY).transpose(1, 2) for f in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(rotary(q), rotary(k), v, is_causal=True, enable_gqa=True)
        x = x + self.output(y.transpose(1, 2).reshape(BATCH, LENGTH, -1))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, MODEL)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(MODEL, EPSILON)
        self.output = nn.Linear(MODEL, VOCAB, bias=False)

    def forward(self, ids, targets):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.output(self.norm(x)).view(-1, VOCAB), targets.long().view(-1))


def places(model):
    """meshtf's names, each with the parameter of the module and whether that is a Linear's weight: [out, in], where meshtf has [in, out]."""
    p = {"tokens": (model.tokens.weight, False)}
    for n, block in enumerate(model.blocks):
        b = f"blocks.{n}."
        p[b + "norm1.scale"], p[b + "norm2.scale"] = (block.norm1.weight, False), (block.norm2.weight, False)
        p |= {f"{b}attention.{part}.weight": (getattr(block, part).weight, True) for part in ("query", "key", "value", "output")}
        p |= {f"{b}feed_forward.{part}.weight": (getattr(block, part).weight, True) for part in ("gate", "up", "down")}
    return p | {"norm.scale": (model.norm.weight, False), "output.weight": (model.output.weight, True)}


def run_by_einsum(w, ids, targets):
    w = {name: value.clone().requires_grad_() for name, value in w.items()}
    loss = loss_by_einsum(w, ids, targets)
    loss.backward()
    return loss.item(), {name: value.grad for name, value in w.items()}


def run_by_modules(w, ids, targets):
    model = Llama().double()
    assert sum(p.numel() for p in model.parameters()) == sum(value.numel() for value in w.values())
    with torch.no_grad():
        for name, (p, turned) in places(model).items():
            p.copy_(w[name].reshape(p.shape[1], p.shape[0]).T if turned else w[name].reshape(p.shape))
    loss = model(ids, targets)
    loss.backward()
    return loss.item(), {name: (p.grad.T if turned else p.grad).reshape(w[name].shape) for name, (p, turned) in places(model).items()}


def computed():
    """The tensors of the golden file."""
    torch.set_num_threads(1)
    w, ids, targets = drawn()
    loss, gradients = run_by_einsum(w, ids, targets)
    loss_nn, gradients_nn = run_by_modules(w, ids, targets)
    demand("loss by einsum and by torch.nn", abs(loss - loss_nn) / loss_nn, 1e-12)
    demand("gradients by einsum and by torch.nn", distance(gradients, gradients_nn), 1e-12)
    result = {"ids": ids, "targets": targets, "loss": torch.tensor(loss, dtype=torch.float64)}
    result |= {f"w.{name}": value for name, value in w.items()}
    result |= {f"g.{name}": value for name, value in gradients.items()}
    return result


if __name__ == "__main__":
    main(__file__, computed, within=1e-11, made_by=f"torch {torch.__version__.split('+')[0]}")
