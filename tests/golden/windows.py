#!/usr/bin/env python3
"""Convolutions and pooling as PyTorch has them, and TensorFlow where it pads by itself. tests/ops/window/goldens.cpp compares meshtf with them.

  windows.py           writes windows.safetensors next to this script
  windows.py --check   computes all anew, compares with that file, writes nothing

Channels are last, as in meshtf's test; filters are [kernel..., in, out]. A case has a result, and a gradient for each operand: that of
sum(result * weights). Results of "SAME" windows are also those of TensorFlow.
"""
import sys

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

from goldens import main

random = np.random.RandomState(7)  # its sequence is promised not to change
arrays = {}


def operand(name, *shape):
    n = int(np.prod(shape))
    arrays[name] = ((random.permutation(2 * n)[:n] - n + 0.5) / n * 2).reshape(shape)  # no two are equal


operand("x", 2, 8, 6, 4)
operand("filter", 3, 2, 4, 6)
operand("odd", 2, 5, 7, 4)
operand("square", 3, 3, 4, 6)
operand("groups", 3, 2, 2, 2, 3)
operand("each", 3, 2, 4)
operand("halves", 2, 4, 3, 6)
operand("solid", 2, 3, 8, 6, 2)
operand("cube", 2, 3, 2, 2, 3)


def same(n, k, s=1, d=1):
    zeros = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
    return zeros // 2, zeros - zeros // 2


def pads(pairs):
    return [n for pair in reversed(pairs) for n in pair]


def last(z):
    return z.movedim(1, -1)


def conv(x, w, ends, stride=1, dilation=1, groups=1):
    f = {2: F.conv2d, 3: F.conv3d}[w.ndim - 2]
    return last(f(F.pad(x.movedim(-1, 1), pads(ends)), w.movedim(-1, 0).movedim(-1, 1), stride=stride, dilation=dilation, groups=groups))


def conv_same(x, w, stride=1, dilation=1, **more):
    ends = [same(n, k, stride, dilation) for n, k in zip(x.shape[1:-1], w.shape)]
    return conv(x, w, ends, stride, dilation, **more)


def grouped(x, w):  # [k, k, group, member, out] -> [k, k, member, group * out]
    return conv_same(x, w.permute(0, 1, 3, 2, 4).reshape(3, 2, 2, 6), groups=2).reshape(2, 8, 6, 2, 3)


def transposed(z, w):
    full = F.conv_transpose2d(z.movedim(-1, 1), w.permute(3, 2, 0, 1), stride=2)
    (top, _), (left, _) = same(8, 3, 2), same(6, 2, 2)
    full = F.pad(full, (0, 8, 0, 8))
    return last(full[:, :, top:top + 8, left:left + 6])


def pool(x, f, k, s, beyond):
    ends = [same(n, k, s) for n in x.shape[1:-1]]
    return last(f(F.pad(x.movedim(-1, 1), pads(ends), value=beyond), k, s))


def average(x):
    return pool(x, F.avg_pool2d, 3, 2, 0.0) / pool(torch.ones_like(x), F.avg_pool2d, 3, 2, 0.0)


SAME = "SAME"
CASES = {  # operands, PyTorch's way, TensorFlow's way
    "same": ("x filter", conv_same, lambda x, w: tf.nn.conv2d(x, w, 1, SAME)),
    "strided": ("x filter", lambda x, w: conv_same(x, w, 2), lambda x, w: tf.nn.conv2d(x, w, 2, SAME)),
    "valid": ("x filter", lambda x, w: conv(x, w, [(0, 0)] * 2, 2), lambda x, w: tf.nn.conv2d(x, w, 2, "VALID")),
    "dilated": ("x filter", lambda x, w: conv_same(x, w, dilation=2), None),
    "padded": ("x filter", lambda x, w: conv(x, w, [(1, 1)] * 2, 2), None),
    "odd": ("odd square", lambda x, w: conv_same(x, w, 2), lambda x, w: tf.nn.conv2d(x, w, 2, SAME)),
    "odd_valid": ("odd square", lambda x, w: conv(x, w, [(0, 0)] * 2, 2), lambda x, w: tf.nn.conv2d(x, w, 2, "VALID")),
    "grouped": ("x groups", grouped, None),
    "depthwise": ("x each", lambda x, w: conv_same(x, w[:, :, None, :], groups=4), lambda x, w: tf.nn.depthwise_conv2d(x, w[..., None], [1] * 4, SAME)),
    "transposed": ("halves filter", transposed, lambda z, w: tf.nn.conv2d_transpose(z, w, [2, 8, 6, 4], 2, SAME)),
    "solid": ("solid cube", conv_same, lambda x, w: tf.nn.conv3d(x, w, [1] * 5, SAME)),
    "max_pool": ("x", lambda x: pool(x, F.max_pool2d, 3, 2, float("-inf")), lambda x: tf.nn.max_pool2d(x, 3, 2, SAME)),
    "avg_pool": ("x", average, lambda x: tf.nn.avg_pool2d(x, 3, 2, SAME)),
}


def computed():
    made = dict(arrays)
    for name, (names, by_torch, by_tf) in CASES.items():
        values = [torch.tensor(arrays[n], requires_grad=True) for n in names.split()]
        z = by_torch(*values)
        if by_tf:
            other = by_tf(*[tf.constant(arrays[n]) for n in names.split()]).numpy()
            if other.shape != tuple(z.shape) or not np.allclose(other, z.detach().numpy(), rtol=0, atol=1e-12):
                sys.exit(f"{name}: TensorFlow and PyTorch differ")
        weights = np.random.RandomState(len(made)).permutation(z.numel()).reshape(z.shape) / z.numel() - 0.5
        (z * torch.tensor(weights)).sum().backward()
        made |= {f"{name}.result": z.detach().numpy(), f"{name}.weights": weights}
        made |= {f"{name}.gradient.{n}": v.grad.numpy() for n, v in zip(names.split(), values)}
    print(f"{len(CASES)} operations, {sum(t is not None for _, _, t in CASES.values())} of them as TensorFlow has them too")
    return made


if __name__ == "__main__":
    main(__file__, computed, within=1e-12)
