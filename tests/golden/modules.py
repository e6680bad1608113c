#!/usr/bin/env python3
"""Layers as the modules of torch.nn have them, in double precision: attention to a memory of its own, and a transposed
convolution. tests/nn/goldens_of_modules.cpp compares meshtf with them.

  modules.py           writes modules.safetensors next to this script
  modules.py --check   computes all anew, compares with that file, writes nothing

Each case is computed by PyTorch's module and, as it is defined, by NumPy; the script writes nothing unless both agree to
1e-12. `visible` is true where PyTorch's key_padding_mask is false.
"""
import math

import numpy as np
import torch
from torch import nn

import goldens
from goldens import main, numbers as drawn

BATCH, LENGTH, MEMORY, MODEL, WIDTH, HEADS, KEY = 4, 5, 7, 8, 6, 2, 4
ROWS, COLUMNS, IN, OUT = 4, 3, 4, 6


def numbers(seed, *shape):
    return torch.tensor(drawn(f"modules {seed}", *shape))


SHAPES = {
    "x": (BATCH, LENGTH, MODEL), "memory": (BATCH, MEMORY, WIDTH),
    "query.weight": (MODEL, HEADS, KEY), "query.bias": (HEADS, KEY), "key.weight": (WIDTH, HEADS, KEY), "key.bias": (HEADS, KEY),
    "value.weight": (WIDTH, HEADS, KEY), "value.bias": (HEADS, KEY), "output.weight": (HEADS, KEY, MODEL), "output.bias": (MODEL,),
}
# of cross attention: every sequence but the first is shorter; the segments of the queries and of the memory
VISIBLE = torch.arange(MEMORY) < torch.tensor([7, 5, 3, 6])[:, None]
OF_QUERIES = torch.tensor([[1, 1, 2, 2, 2], [1, 2, 2, 3, 3], [1, 1, 1, 1, 1], [1, 1, 1, 1, 2]], dtype=torch.int32)
OF_MEMORY = torch.tensor([[1, 1, 1, 2, 2, 2, 2], [1, 2, 2, 2, 3, 3, 3], [1, 1, 1, 1, 1, 1, 1], [1, 1, 2, 2, 2, 2, 2]], dtype=torch.int32)


def module(w):
    """torch's layer with these weights."""
    layer = nn.MultiheadAttention(MODEL, HEADS, batch_first=True, kdim=WIDTH, vdim=WIDTH).double()
    flat = lambda name, rows: w[name].reshape(rows, -1).T
    given = {
        "q_proj_weight": flat("query.weight", MODEL), "k_proj_weight": flat("key.weight", WIDTH), "v_proj_weight": flat("value.weight", WIDTH),
        "in_proj_bias": torch.cat([w[f"{n}.bias"].flatten() for n in ("query", "key", "value")]),
        "out_proj.weight": w["output.weight"].reshape(-1, MODEL).T, "out_proj.bias": w["output.bias"],
    }
    return lambda *args, **more: torch.func.functional_call(layer, given, args, more)[0]


def written_down(w, hidden):
    """Vaswani et al. (2017), 3.2, in NumPy."""
    a = {k: v.detach().numpy() for k, v in w.items()}
    q = np.einsum("blm,mhk->blhk", a["x"], a["query.weight"]) + a["query.bias"]
    k = np.einsum("bnm,mhk->bnhk", a["memory"], a["key.weight"]) + a["key.bias"]
    v = np.einsum("bnm,mhk->bnhk", a["memory"], a["value.weight"]) + a["value.bias"]
    scores = np.where(hidden[:, None], -np.inf, np.einsum("blhk,bnhk->bhln", q, k) / math.sqrt(KEY))
    e = np.exp(scores - scores.max(-1, keepdims=True))
    z = np.einsum("bhln,bnhk->blhk", e / e.sum(-1, keepdims=True), v)
    return np.einsum("blhk,hkm->blm", z, a["output.weight"]) + a["output.bias"]


def computed():
    made = {name: numbers(name, *shape) for name, shape in SHAPES.items()}

    def case(name, hidden, **masks):
        made[f"{name}.weights"] = numbers(name, BATCH, LENGTH, MODEL)
        w = {n: made[n].clone().requires_grad_() for n in SHAPES}
        z = module(w)(w["x"], w["memory"], w["memory"], need_weights=False, **masks)
        (z * made[f"{name}.weights"]).sum().backward()
        goldens.demand(f"{name}, beside NumPy", np.abs(z.detach().numpy() - written_down(w, hidden.numpy())).max(), 1e-12)
        made[f"{name}.result"] = z.detach()
        made.update({f"{name}.gradient.{n}": v.grad.contiguous() for n, v in w.items()})

    nothing = torch.zeros(BATCH, LENGTH, MEMORY, dtype=torch.bool)
    case("cross", nothing)
    case("cross_padded", nothing | ~VISIBLE[:, None], key_padding_mask=~VISIBLE)
    other = OF_QUERIES[:, :, None] != OF_MEMORY[:, None]
    case("cross_packed", other | ~VISIBLE[:, None], key_padding_mask=~VISIBLE, attn_mask=other.repeat_interleave(HEADS, 0))
    made |= {"visible": VISIBLE.int(), "of_queries": OF_QUERIES, "of_memory": OF_MEMORY}

    # twice as many rows and columns, the kernel 3 x 3, as meshtf's filter has it: [k_h, k_w, OUT, IN]
    made |= {"image": numbers("image", BATCH, ROWS, COLUMNS, IN), "filter": numbers("filter", 3, 3, OUT, IN), "bias": numbers("bias", OUT)}
    made["transposed.weights"] = numbers("transposed", BATCH, 2 * ROWS, 2 * COLUMNS, OUT)
    w = {n: made[n].clone().requires_grad_() for n in ("image", "filter", "bias")}
    layer = nn.ConvTranspose2d(IN, OUT, 3, stride=2, padding=1, output_padding=1).double()
    given = {"weight": w["filter"].permute(3, 2, 0, 1), "bias": w["bias"]}
    z = torch.func.functional_call(layer, given, w["image"].movedim(-1, 1)).movedim(1, -1)
    (z * made["transposed.weights"]).sum().backward()
    beside = np.zeros(z.shape)
    a = {k: v.detach().numpy() for k, v in w.items()}
    for i, j, p, q in np.ndindex(ROWS, COLUMNS, 3, 3):
        if 0 <= 2 * i + p - 1 < 2 * ROWS and 0 <= 2 * j + q - 1 < 2 * COLUMNS:
            beside[:, 2 * i + p - 1, 2 * j + q - 1] += a["image"][:, i, j] @ a["filter"][p, q].T
    goldens.demand("transposed, beside NumPy", np.abs(z.detach().numpy() - beside - a["bias"]).max(), 1e-12)
    made["transposed.result"] = z.detach()
    made.update({f"transposed.gradient.{n}": v.grad.contiguous() for n, v in w.items()})
    return made


if __name__ == "__main__":
    main(__file__, computed, within=1e-12, made_by=f"torch {torch.__version__.partition('+')[0]}")
