#!/usr/bin/env python3
"""An encoder and decoder in PyTorch, of pairs of sequences that are packed into rows: what tests/nn/seq2seq.cpp compares meshtf with.

  seq2seq.py           writes seq2seq.safetensors next to this script
  seq2seq.py --check   computes all anew, compares with that file, writes nothing

The model is written twice, by einsum in the shapes that meshtf gives its weights, and with torch.nn's TransformerEncoder and TransformerDecoder; both
must agree.
"""
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

from goldens import demand, distance, main

BATCH, SOURCE, TARGET, VOCAB, MODEL, HEADS, KEY, HIDDEN, LAYERS = 4, 8, 6, 18, 8, 2, 4, 16, 2
EPSILON, SMOOTHING, Z_LOSS = 1e-5, 0.1, 1e-2

# the pair of each position, 0 where there is padding: in the third row on both sides, in the fourth of the targets alone
OF_SOURCE = torch.tensor([[1, 1, 1, 2, 2, 2, 2, 2], [1, 1, 2, 2, 3, 3, 3, 3], [1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 2, 2, 2, 2]], dtype=torch.int32)
OF_TARGET = torch.tensor([[1, 1, 2, 2, 2, 2], [1, 2, 2, 3, 3, 3], [1, 1, 1, 0, 0, 0], [1, 1, 2, 2, 2, 0]], dtype=torch.int32)


def attention_shapes(name):
    s = {}
    for part in ("query", "key", "value"):
        s |= {f"{name}.{part}.weight": (MODEL, HEADS, KEY), f"{name}.{part}.bias": (HEADS, KEY)}
    return s | {f"{name}.output.weight": (HEADS, KEY, MODEL), f"{name}.output.bias": (MODEL,)}


def norm_shapes(name):
    return {f"{name}.scale": (MODEL,), f"{name}.bias": (MODEL,)}


def feed_shapes(name):
    return {f"{name}.up.weight": (MODEL, HIDDEN), f"{name}.up.bias": (HIDDEN,), f"{name}.down.weight": (HIDDEN, MODEL), f"{name}.down.bias": (MODEL,)}


def shapes():
    """Names and shapes of the parameters, in meshtf's order: weights are [in..., out...]."""
    s = {"tokens": (VOCAB, MODEL), "source_positions": (SOURCE, MODEL), "target_positions": (TARGET, MODEL)}
    for n in range(LAYERS):
        b = f"encoder.blocks.{n}."
        s |= norm_shapes(b + "norm1") | attention_shapes(b + "attention") | norm_shapes(b + "norm2") | feed_shapes(b + "feed_forward")
    s |= norm_shapes("encoder.norm")
    for n in range(LAYERS):
        b = f"decoder.blocks.{n}."
        s |= norm_shapes(b + "norm1") | attention_shapes(b + "attention") | norm_shapes(b + "norm2") | attention_shapes(b + "cross")
        s |= norm_shapes(b + "norm3") | feed_shapes(b + "feed_forward")
    return s | norm_shapes("decoder.norm")


def drawn():
    """Weights, ids, targets. Python promises the sequence of random(), torch promises none of its own."""
    draw = random.Random(2017).random
    span = 0.3 * math.sqrt(3)
    w = {}
    for name, shape in shapes().items():
        mean = 1.0 if name.endswith(".scale") else 0.0
        values = [mean + round((2 * draw() - 1) * span * 1024) / 1024 for _ in range(math.prod(shape))]
        w[name] = torch.tensor(values, dtype=torch.float64).reshape(shape)
    ids = [torch.tensor([int(draw() * VOCAB) for _ in range(BATCH * n)], dtype=torch.int32).reshape(BATCH, n) for n in (SOURCE, TARGET)]
    return w, *ids


def sinusoids(length):
    """Sines, then cosines: Mesh TensorFlow's order."""
    angle = torch.arange(length, dtype=torch.float64)[:, None] * 10000.0 ** (-torch.arange(MODEL // 2, dtype=torch.float64) / (MODEL // 2 - 1))
    return torch.cat((angle.sin(), angle.cos()), -1)


def places(segments):
    """The number of each position in its own sequence."""
    result = torch.zeros(segments.shape, dtype=torch.int64)
    for row, numbers in zip(segments.tolist(), result):
        for i in range(1, len(row)):
            numbers[i] = numbers[i - 1] + 1 if row[i] == row[i - 1] else 0
    return result


def inputs_of(targets):
    """The targets one position later, with 0 in front of each sequence."""
    before, of_before = (F.pad(x, (1, 0))[:, :-1] for x in (targets, OF_TARGET))
    return torch.where(of_before == OF_TARGET, before, torch.zeros_like(before))


def hidden(queries, memory, causal):
    """-1e30 where a query does not see a position: [batch, queries, memory]. A query of padding that sees nothing stays a number."""
    seen = queries[:, :, None] == memory[:, None]
    if causal:
        seen = seen & torch.ones(TARGET, TARGET, dtype=torch.bool).tril()
    return torch.where(seen, 0.0, -1e30).double()


def loss_of(logits, targets):
    """The mean of the losses of the targets that are no padding."""
    losses = F.cross_entropy(logits.transpose(1, 2), targets.long(), reduction="none", label_smoothing=SMOOTHING)
    losses = losses + Z_LOSS * torch.logsumexp(logits, -1).square()
    counts = (OF_TARGET != 0).to(losses.dtype)
    return (losses * counts).sum() / counts.sum()


def written_loss_of(logits, targets):
    log_total = torch.logsumexp(logits, -1)
    picked = logits.gather(-1, targets.long()[..., None])[..., 0]
    losses = log_total - (1 - SMOOTHING) * picked - SMOOTHING * logits.mean(-1) + Z_LOSS * log_total**2
    return losses[OF_TARGET != 0].mean()


# ---- by einsum: b batch, l length, m memory, d model, h heads, k key, f hidden, v vocab


def norm(x, w, name):
    x = x - x.mean(-1, keepdim=True)
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + EPSILON) * w[name + ".scale"] + w[name + ".bias"]


def attention(x, memory, mask, w, name):
    q, k, v = (torch.einsum("bld,dhk->blhk", y, w[f"{name}.{part}.weight"]) + w[f"{name}.{part}.bias"]
               for part, y in (("query", x), ("key", memory), ("value", memory)))
    scores = torch.einsum("blhk,bmhk->bhlm", q, k) / math.sqrt(KEY) + mask[:, None]
    seen = torch.einsum("bhlm,bmhk->blhk", torch.softmax(scores, -1), v)
    return torch.einsum("blhk,hkd->bld", seen, w[name + ".output.weight"]) + w[name + ".output.bias"]


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def feed_forward(x, w, name):
    h = gelu(torch.einsum("bld,df->blf", x, w[name + ".up.weight"]) + w[name + ".up.bias"])
    return torch.einsum("blf,fd->bld", h, w[name + ".down.weight"]) + w[name + ".down.bias"]


def embedded(w, ids, segments, side):
    table = w[side + "_positions"] if side + "_positions" in w else sinusoids(ids.shape[1])
    return w["tokens"][ids] * math.sqrt(MODEL) + table[places(segments)]


def loss_by_einsum(w, source, target):
    x = embedded(w, source, OF_SOURCE, "source")
    mask = hidden(OF_SOURCE, OF_SOURCE, causal=False)
    for n in range(LAYERS):
        b = f"encoder.blocks.{n}."
        y = norm(x, w, b + "norm1")
        x = x + attention(y, y, mask, w, b + "attention")
        x = x + feed_forward(norm(x, w, b + "norm2"), w, b + "feed_forward")
    encoded = norm(x, w, "encoder.norm")
    x = embedded(w, inputs_of(target), OF_TARGET, "target")
    own, cross = hidden(OF_TARGET, OF_TARGET, causal=True), hidden(OF_TARGET, OF_SOURCE, causal=False)
    for n in range(LAYERS):
        b = f"decoder.blocks.{n}."
        y = norm(x, w, b + "norm1")
        x = x + attention(y, y, own, w, b + "attention")
        x = x + attention(norm(x, w, b + "norm2"), encoded, cross, w, b + "cross")
        x = x + feed_forward(norm(x, w, b + "norm3"), w, b + "feed_forward")
    return written_loss_of(torch.einsum("bld,vd->blv", norm(x, w, "decoder.norm"), w["tokens"]), target)


# ---- with torch.nn's modules


class Seq2seq(nn.Module):
    def __init__(self):
        super().__init__()
        how = dict(dim_feedforward=HIDDEN, dropout=0.0, activation=lambda x: F.gelu(x, approximate="tanh"), batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(MODEL, HEADS, **how), LAYERS, nn.LayerNorm(MODEL, EPSILON), enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(MODEL, HEADS, **how), LAYERS, nn.LayerNorm(MODEL, EPSILON))

    def forward(self, x, y):
        of_heads = lambda mask: mask.repeat_interleave(HEADS, 0)
        encoded = self.encoder(x, mask=of_heads(hidden(OF_SOURCE, OF_SOURCE, causal=False)))
        return self.decoder(y, encoded, tgt_mask=of_heads(hidden(OF_TARGET, OF_TARGET, causal=True)),
                            memory_mask=of_heads(hidden(OF_TARGET, OF_SOURCE, causal=False)))


def modules_of(w):
    """The parameters of the modules, made of meshtf's."""
    p = {}

    def put_norm(name, ours):
        p.update({name + ".weight": w[ours + ".scale"], name + ".bias": w[ours + ".bias"]})

    def put_attention(name, ours):
        parts = ("query", "key", "value")
        p[name + ".in_proj_weight"] = torch.cat([w[f"{ours}.{part}.weight"].reshape(MODEL, -1).T for part in parts])
        p[name + ".in_proj_bias"] = torch.cat([w[f"{ours}.{part}.bias"].flatten() for part in parts])
        p[name + ".out_proj.weight"] = w[ours + ".output.weight"].reshape(-1, MODEL).T
        p[name + ".out_proj.bias"] = w[ours + ".output.bias"]

    def put_feed(name, ours):
        for theirs, part in (("linear1", "up"), ("linear2", "down")):
            p[f"{name}.{theirs}.weight"], p[f"{name}.{theirs}.bias"] = w[f"{ours}.{part}.weight"].T, w[f"{ours}.{part}.bias"]

    for side in ("encoder", "decoder"):
        for n in range(LAYERS):
            name, ours = f"{side}.layers.{n}", f"{side}.blocks.{n}"
            put_norm(name + ".norm1", ours + ".norm1")
            put_attention(name + ".self_attn", ours + ".attention")
            put_norm(name + ".norm2", ours + ".norm2")
            if side == "decoder":
                put_attention(name + ".multihead_attn", ours + ".cross")
                put_norm(name + ".norm3", ours + ".norm3")
            put_feed(name, ours + ".feed_forward")
        put_norm(side + ".norm", side + ".norm")
    return p


def loss_by_modules(w, source, target):
    model = Seq2seq().double()
    given = modules_of(w)
    assert given.keys() == dict(model.named_parameters()).keys(), "other parameters"
    x = embedded(w, source, OF_SOURCE, "source")
    y = embedded(w, inputs_of(target), OF_TARGET, "target")
    return loss_of(F.linear(torch.func.functional_call(model, given, (x, y)), w["tokens"]), target)


# ---- runs


def run(loss_of_weights, w, source, target):
    w = {name: value.clone().requires_grad_() for name, value in w.items()}
    loss = loss_of_weights(w, source, target)
    loss.backward()
    return loss.item(), {name: value.grad for name, value in w.items()}


def computed():
    """The tensors of the golden file."""
    torch.set_num_threads(1)
    w, source, target = drawn()
    result = {"source": source, "target": target, "of_source": OF_SOURCE, "of_target": OF_TARGET}
    result |= {f"w.{name}": value for name, value in w.items()}
    told = {name: value for name, value in w.items() if not name.endswith("_positions")}
    for prefix, weights in (("", told), ("learned.", w)):
        loss, gradients = run(loss_by_einsum, weights, source, target)
        loss_nn, gradients_nn = run(loss_by_modules, weights, source, target)
        demand(f"{prefix}loss by einsum and by torch.nn", abs(loss - loss_nn) / loss_nn, 1e-12)
        demand(f"{prefix}gradients by einsum and by torch.nn", distance(gradients, gradients_nn), 1e-12)
        result[prefix + "loss"] = torch.tensor(loss, dtype=torch.float64)
        result |= {f"{prefix}g.{name}": value for name, value in gradients.items()}
    return result


if __name__ == "__main__":
    main(__file__, computed, within=1e-11, made_by=f"torch {torch.__version__.split('+')[0]}")
