#!/usr/bin/env python3
"""Gatings of a mixture of experts as Mesh TensorFlow has them. tests/nn/goldens_of_gating.cpp compares meshtf with them.

  gating.py           writes gating.safetensors next to this script
  gating.py --check   computes all anew, compares with that file, writes nothing

The original computes in single precision. Each case is written down by loops over tokens too, in double precision with PyTorch's gradients; both must
agree to 1e-5, and the file has the latter. Random second experts get the draws of meshtf's generator, Philox4x32-10 of seed 3 and stream 4.
"""
import sys
import types

import numpy as np
import torch

import goldens
from original import lowering, mtf, new_mesh, tf

for unused in "tensorflow_datasets", "t5", "t5.data":  # the original's transformer wants to import its data sets
    sys.modules[unused] = types.ModuleType(unused)
import mesh_tensorflow.transformer.moe as moe  # noqa: E402

GROUPS, TOKENS, MODEL, EXPERTS = 2, 16, 6, 4


def uniform(index, seed=3, stream=4):
    """The number in [0, 1) that meshtf draws for the element `index` of a tensor of doubles."""
    word, mask = [index // 2, 0, stream, 0], 2**32 - 1
    for turn in range(10):
        p, q = 0xD2511F53 * word[0], 0xCD9E8D57 * word[2]
        word = [q >> 32 ^ word[1] ^ (seed + turn * 0x9E3779B9 & mask), q & mask, p >> 32 ^ word[3] ^ (turn * 0xBB67AE85 & mask), p & mask]
    low, high = word[2 * (index % 2):][:2]
    return ((low | high << 32) >> 11) * 2.0**-53


ARRAYS = dict(x=goldens.numbers("x", GROUPS, TOKENS, MODEL), even=2 * goldens.numbers("router", MODEL, EXPERTS))
ARRAYS["x"][:, :, 0] = 1
ARRAYS["crowded"] = ARRAYS["even"] + np.array([[3, 1, -1, -1]] + [[0] * EXPERTS] * (MODEL - 1))
DRAWS = np.array([[uniform((g * 2 + 1) * TOKENS + s) for s in range(TOKENS)] for g in range(GROUPS)])

# of each case: the gating, the router, the capacity, whether it is training, the policy of second experts and its threshold
CASES = {
    "switch": ("switch", "even", 5, True, None, 0), "switch_in_evaluation": ("switch", "even", 8, False, None, 0),
    "switch_crowded": ("switch", "crowded", 5, True, None, 0), "all": ("top_2", "even", 5, True, "all", 0),
    "all_crowded": ("top_2", "crowded", 5, True, "all", 0), "all_ample": ("top_2", "even", 16, True, "all", 0),
    "none": ("top_2", "even", 5, True, "none", 0), "threshold": ("top_2", "even", 5, True, "threshold", 0.2),
    "threshold_in_evaluation": ("top_2", "crowded", 8, False, "threshold", 0.1), "random": ("top_2", "even", 5, True, "random", 0.2),
    "random_crowded": ("top_2", "crowded", 5, True, "random", 0.5), "random_in_evaluation": ("top_2", "even", 8, False, "random", 0.5),
}


def total_of(combine, weights, balance, size):
    return (combine * weights).sum() + 3 * balance + 2 * size


def by_loops(gating, router, capacity, trains, policy, threshold):
    x, w = (torch.tensor(ARRAYS[name], requires_grad=True) for name in ("x", router))
    logits = x @ w
    probability = logits.softmax(-1)
    combine = torch.zeros(GROUPS, TOKENS, EXPERTS, capacity, dtype=torch.float64)
    balance, count = 0, 2 if gating == "top_2" else 1
    for g in range(GROUPS):
        used, first = [0] * EXPERTS, [0] * EXPERTS
        for k in range(count):
            for s in range(TOKENS):
                best = probability[g, s].detach().argsort(descending=True)[:2]
                e, weight = best[k], probability[g, s, best[k]]
                if count == 2:
                    weight = weight / (probability[g, s, best[0]] + probability[g, s, best[1]])
                if k == 0:
                    first[e] += 1
                elif policy == "none" or policy == "threshold" and weight <= threshold or policy == "random" and DRAWS[g, s] >= weight / threshold:
                    continue
                if used[e] < capacity:
                    combine[g, s, e, used[e]] = weight
                used[e] += 1
        balance = balance + EXPERTS * (torch.tensor(first) / TOKENS * probability[g].mean(0)).sum() / GROUPS
    size = (logits.logsumexp(-1) ** 2).mean()
    weights = torch.tensor(goldens.numbers("weights", GROUPS, TOKENS, EXPERTS, capacity))
    total_of(combine, weights, balance, size).backward()
    return dict(combine=combine, balance=balance, size=size, x=x.grad, router=w.grad)


def by_original(gating, router, capacity, trains, policy, threshold):
    graph, mesh = new_mesh()
    dims = [mtf.Dimension(name, n) for name, n in dict(groups=GROUPS, tokens=TOKENS, model=MODEL, experts=EXPERTS, capacity=capacity).items()]
    groups, tokens, model, experts, places = dims

    def given(array, *shape):
        return mtf.import_tf_tensor(mesh, tf.constant(array, tf.float32), mtf.Shape(shape))

    x, w = given(ARRAYS["x"], groups, tokens, model), given(ARRAYS[router], model, experts)
    ones, weights = given(np.ones((GROUPS, TOKENS)), groups, tokens), goldens.numbers("weights", GROUPS, TOKENS, EXPERTS, capacity)
    hparams = types.SimpleNamespace(
        moe_switch_policy_train="argmax", moe_switch_policy_eval="argmax", moe_word_embed_mode=None, moe_use_second_place_expert_prob=None,
        moe_use_second_place_loss=False, moe_z_loss=None, moe_second_policy_train=policy, moe_second_policy_eval=policy,
        moe_second_threshold_train=threshold, moe_second_threshold_eval=threshold)
    mtf.layers.dense = lambda inputs, new, **unused: mtf.einsum([inputs, w], mtf.Shape([groups, tokens, experts]))
    mtf.random_uniform = lambda *unused: given(DRAWS, groups, tokens)
    f = moe._top_2_gating if gating == "top_2" else moe._switch_gating
    _, combine, balance = f(x, None, experts, places, hparams, trains, None, importance=ones)
    size = moe._router_z_loss(mtf.einsum([x, w], mtf.Shape([groups, tokens, experts])), experts, 1, ones)
    total = mtf.reduce_sum(combine * given(weights, groups, tokens, experts, places)) + 3 * balance + 2 * size
    made = [combine, balance, size] + mtf.gradients([total], [x, w])
    lowered = lowering(graph, mesh)
    with tf.Session() as session:
        values = session.run([lowered.export_to_tf_tensor(z) for z in made])
    return dict(zip(("combine", "balance", "size", "x", "router"), values))


def computed():
    made = dict(ARRAYS)
    for name, of in CASES.items():
        ours, theirs = by_loops(*of), by_original(*of)
        goldens.demand(f"{name}: loops and the original", goldens.distance(ours, theirs), 1e-5)
        made |= {f"{name}.{part}": value for part, value in ours.items()}
        made[f"{name}.weights"] = goldens.numbers("weights", GROUPS, TOKENS, EXPERTS, of[2])
    return made


if __name__ == "__main__":
    goldens.main(__file__, computed, within=1e-12)
