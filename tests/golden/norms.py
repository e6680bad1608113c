#!/usr/bin/env python3
"""Batch and group norms of images as PyTorch has them, in double precision: what tests/nn/image_norms.cpp compares layers with.

  norms.py           writes norms.safetensors next to this script
  norms.py --check   computes all anew, compares with that file, writes nothing

Channels are last, as in meshtf's test. Running statistics are those after two steps, of `x` and of `again`, and `evaluated` is what they make of `x`.
"""
import torch
import torch.nn.functional as F

from goldens import main, numbers as drawn

BATCH, HEIGHT, WIDTH, CHANNELS, GROUPS = 4, 6, 5, 8, 4


def numbers(seed, *shape):
    return 2 * torch.tensor(drawn(seed, *shape))


def computed():
    images = (BATCH, HEIGHT, WIDTH, CHANNELS)
    made = {"x": numbers("x", *images) + 3, "again": numbers("again", *images) * 2, "weights": numbers("weights", *images)}
    made |= {"filter": numbers("filter", 3, 3, CHANNELS, CHANNELS) / 4, "scale": numbers("scale", CHANNELS), "bias": numbers("bias", CHANNELS)}
    first = lambda v: v.movedim(-1, 1)
    last = lambda v: v.movedim(1, -1).contiguous()

    def case(name, f, *operands):
        values = {n: made[n].clone().requires_grad_() for n in operands}
        z = last(f(first(values["x"]), *[v for n, v in values.items() if n != "x"]))
        (z * made["weights"]).sum().backward()
        made[f"{name}.result"] = z.detach()
        made.update({f"{name}.gradient.{n}": v.grad.contiguous() for n, v in values.items()})

    mean, variance = torch.zeros(CHANNELS).double(), torch.ones(CHANNELS).double()
    case("batch", lambda x, w, b: F.batch_norm(x, mean, variance, w, b, training=True), "x", "scale", "bias")
    F.batch_norm(first(made["again"]), mean, variance, training=True)
    made |= {"running_mean": mean.clone(), "running_variance": variance.clone()}
    made["evaluated"] = last(F.batch_norm(first(made["x"]), mean, variance, made["scale"], made["bias"]))
    case("group", lambda x, w, b: F.group_norm(x, GROUPS, w, b, 1e-3), "x", "scale", "bias")
    case("instance", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), "x", "scale", "bias")
    case("block", lambda x, k, w, b: F.relu(F.batch_norm(F.conv2d(x, k.permute(3, 2, 0, 1), padding=1), None, None, w, b, training=True)), "x",
         "filter", "scale", "bias")
    return made


if __name__ == "__main__":
    main(__file__, computed, within=1e-10)
