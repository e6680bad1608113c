#!/usr/bin/env python3
"""The losses of 200 steps of Mesh TensorFlow's MNIST example (examples/mnist.py) on a few images of Fashion-MNIST, batch after batch and again from
the first. tests/nn/mnist.cpp compares meshtf with them.

  mnist.py [FOLDER]   writes mnist.safetensors next to this script; FOLDER has the IDX files
  mnist.py --check    computes all anew, compares with that file, writes nothing

The model is the original's: images in blocks of 7 x 7, two convolutions of 9 x 9 that exchange halos of 4, the mean over filters, two hidden layers.
What differs: double precision, fewer filters and hidden elements, weights by a formula, and plain gradient descent. PyTorch computes the same without
blocks.
"""
import gzip
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

import goldens
from original import lowering, mtf, new_mesh, tf

BATCH, BATCHES, FILTERS, HIDDEN, STEPS, RATE = 8, 4, 4, 32, 200, 0.05
# name: shape, and the number that the weights are scaled with
SHAPES = {
    "kernel1": ((9, 9, 1, FILTERS), 0.15), "kernel2": ((9, 9, FILTERS, FILTERS), 0.08), "hidden1": ((28, 28, HIDDEN), 0.06), "bias1": ((HIDDEN,), 0.1),
    "hidden2": ((HIDDEN, HIDDEN), 0.25), "bias2": ((HIDDEN,), 0.1), "logits": ((HIDDEN, 10), 0.25), "bias3": ((10,), 0.1),
}


def start():
    weights = {}
    for n, (name, (shape, scale)) in enumerate(SHAPES.items()):
        i = np.arange(np.prod(shape), dtype=np.float64)
        weights[name] = (scale * np.sin(n + 1 + 0.7 * i + 1e-3 * i * i % 6)).reshape(shape)
    return weights


def images(folder):
    def read(name, header):
        path = pathlib.Path(folder) / name
        opened = gzip.open(path.with_name(name + ".gz")) if not path.exists() else open(path, "rb")
        return np.frombuffer(opened.read(), np.uint8)[header:]
    x, y = read("t10k-images-idx3-ubyte", 16), read("t10k-labels-idx1-ubyte", 8)
    return x[:BATCHES * BATCH * 784].reshape(BATCHES, BATCH, 784).astype(np.int32), y[:BATCHES * BATCH].reshape(BATCHES, BATCH).astype(np.int32)


def by_torch(x, y, w):
    f = x.reshape(BATCH, 1, 28, 28)
    for k in "kernel1", "kernel2":
        f = F.relu(F.conv2d(f, w[k].permute(3, 2, 0, 1), padding=4))
    h = F.relu(torch.einsum("bij,ijh->bh", f.mean(1), w["hidden1"]) + w["bias1"])
    h = F.relu(h @ w["hidden2"] + w["bias2"])
    return F.cross_entropy(h @ w["logits"] + w["bias3"], y)


def curve_by_torch(x, y):
    w = {k: torch.tensor(v, requires_grad=True) for k, v in start().items()}
    losses = []
    for step in range(STEPS):
        loss = by_torch(torch.tensor(x[step % BATCHES] / 255), torch.tensor(y[step % BATCHES]).long(), w)
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, list(w.values()))
        w = {k: (v - RATE * g).detach().requires_grad_() for (k, v), g in zip(w.items(), gradients)}
    return losses


def curve_by_original(x, y, mesh_shape, layout):
    graph, mesh = new_mesh()
    d = {n: mtf.Dimension(n, s) for n, s in dict(batch=BATCH, row_blocks=4, col_blocks=4, rows_size=7, cols_size=7, one_channel=1, fh=9, fw=9,
                                                 filters1=FILTERS, filters2=FILTERS, hidden1=HIDDEN, hidden2=HIDDEN, classes=10).items()}
    space = "row_blocks col_blocks rows_size cols_size"
    dims = {"kernel1": "fh fw one_channel filters1", "kernel2": "fh fw filters1 filters2", "hidden1": space + " hidden1", "bias1": "hidden1",
            "hidden2": "hidden1 hidden2", "bias2": "hidden2", "logits": "hidden2 classes", "bias3": "classes"}

    def blocks(a):
        return a.reshape(*a.shape[:-3], 4, 7, 4, 7, a.shape[-1]).swapaxes(-4, -3) if a.shape[-3:-1] == (28, 28) else a

    fed, w = {}, {}
    for k, v in start().items():
        v = blocks(v)
        fed[k] = tf.placeholder(tf.float64, v.shape)
        w[k] = mtf.import_tf_tensor(mesh, fed[k], mtf.Shape([d[n] for n in dims[k].split()]))
    image, label = tf.placeholder(tf.float64, (BATCH, 4, 4, 7, 7, 1)), tf.placeholder(tf.int32, (BATCH,))
    f = mtf.import_tf_tensor(mesh, image, mtf.Shape([d[n] for n in ("batch " + space + " one_channel").split()]))
    for k in "kernel1", "kernel2":
        for blocks_dim, size_dim in ("row_blocks", "rows_size"), ("col_blocks", "cols_size"):  # conv2d_with_blocks, of weights that are given
            f = mtf.halo_exchange(f, d[blocks_dim], d[size_dim], 4)
        f = mtf.relu(mtf.Conv2dOperation(f, w[k], [1, 1, 1, 1], "VALID").outputs[0])
    h = mtf.reduce_mean(f, reduced_dim=d["filters2"])
    for k, b, n in ("hidden1", "bias1", "hidden1"), ("hidden2", "bias2", "hidden2"), ("logits", "bias3", "classes"):
        h = mtf.einsum([h, w[k]], output_shape=[d["batch"], d[n]]) + w[b]
        h = mtf.relu(h) if n != "classes" else h
    labels = mtf.import_tf_tensor(mesh, label, mtf.Shape([d["batch"]]))
    loss = mtf.reduce_mean(mtf.layers.softmax_cross_entropy_with_logits(h, mtf.one_hot(labels, d["classes"], dtype=tf.float64), d["classes"]))
    updated = [v - g * RATE for v, g in zip(w.values(), mtf.gradients([loss], list(w.values())))]
    lowered = lowering(graph, mesh, mesh_shape, layout)
    fetched = [lowered.export_to_tf_tensor(t) for t in [loss, *updated]]
    losses, values = [], [blocks(v) for v in start().values()]
    with tf.Session() as session:
        for step in range(STEPS):
            batch = {image: blocks(x[step % BATCHES].reshape(BATCH, 28, 28, 1) / 255), label: y[step % BATCHES]}
            now, *values = session.run(fetched, {**batch, **dict(zip(fed.values(), values))})
            losses.append(float(now))
    return losses


def main():
    arguments = sys.argv[1:]
    check = arguments == ["--check"]
    if check:
        kept = goldens.load(__file__)
        x, y = kept["images"], kept["labels"]
    else:
        x, y = images(arguments[0] if arguments else "/usr/share/datasets/fashion-mnist")
    losses = curve_by_torch(x, y)
    for mesh_shape, layout in ("", ""), ("b1:2;b2:2", "row_blocks:b1;col_blocks:b2"):
        theirs = curve_by_original(x, y, mesh_shape, layout)
        if not np.allclose(theirs, losses, rtol=0, atol=1e-6):
            sys.exit(f"the original on {mesh_shape or 'one device'} has {theirs}, PyTorch {losses}")
        print(f"the original on {mesh_shape or 'one device'} differs by {np.abs(np.subtract(theirs, losses)).max():.1e}")
    made = {"images": x, "labels": y, "losses": np.array(losses)}
    if check:
        goldens.check(__file__, made, within=1e-10)
    else:
        goldens.save(__file__, made)
    print("losses", *(f"{v:.6f}" for v in losses[::STEPS // 10]))


if __name__ == "__main__":
    main()
