#!/usr/bin/env python3
"""The networks of convolutions.cpp in PyTorch on the CPU, in turn with ours: medians of both and their ratio.

  images_with_pytorch.py PROGRAM [--threads N] [--rounds N] [--rows FILE]

PROGRAM is benchmarks/convolutions as it was built. With two threads ours has two processes; either is bound to as many cores. Images are in
channels-last memory, as PyTorch advises for convolutions on the CPU. --rows adds the figures to a file that report.py reads.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("program", type=pathlib.Path)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--rows")
options = parser.parse_args()
os.sched_setaffinity(0, set(range(options.threads)))

import torch
import torch.nn.functional as F
from torch import nn

import common

torch.set_num_threads(options.threads)
torch.set_flush_denormal(True)  # as meshtf does
torch.manual_seed(0)
LAST = torch.channels_last


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Conv2d(64, 64, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(64), nn.BatchNorm2d(64)

    def forward(self, x):
        return F.relu(self.norm2(self.second(F.relu(self.norm1(self.first(x))))) + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.third, self.last = nn.Linear(7 * 7 * 32, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        return self.last(F.relu(self.third(x.flatten(1))))


block, net = Block().to(memory_format=LAST), Net().to(memory_format=LAST)
x = torch.randn(8, 64, 56, 56).to(memory_format=LAST).requires_grad_()
images, labels = torch.randn(128, 1, 28, 28).to(memory_format=LAST), torch.zeros(128, dtype=torch.long)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)


def block_step():
    block(x).mean().backward()
    block.zero_grad(set_to_none=True)
    x.grad = None


def net_step():
    optimizer.zero_grad(set_to_none=True)
    F.cross_entropy(net(images), labels).backward()
    optimizer.step()


def theirs(step, n):
    for _ in range(3):
        step()
    seconds = []
    for _ in range(n):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return seconds


def ours(only, n):
    with tempfile.NamedTemporaryFile() as to:
        launch = pathlib.Path(__file__).resolve().parents[2] / "examples" / "processes"
        subprocess.run([launch, str(options.threads), options.program, "--only", only, "--rounds", str(n), "--json", to.name], check=True, stdout=subprocess.DEVNULL)
        return [row["median_s"] for row in json.load(open(to.name, encoding="utf-8"))]


for only, step, n in [("ResNet-18 block", block_step, 10), ("training step of examples/images", net_step, 20)]:
    mine, peer = [], []
    for _ in range(options.rounds):
        peer.append(statistics.median(theirs(step, n)))
        mine += ours(only, n)
    ratios = [a / b for a, b in zip(mine, peer)]
    print(f"{only}, {options.threads} cores: meshtf {1e3 * statistics.median(mine):.2f} ms, PyTorch {torch.__version__} "
          f"{1e3 * statistics.median(peer):.2f} ms, ratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})", flush=True)
    common.keep(options.rows, table="images", what=only, cores=options.threads, peer="PyTorch " + torch.__version__.split("+")[0],
                peer_s=statistics.median(peer), ours_s=statistics.median(mine), ratio=statistics.median(ratios), lowest=min(ratios), highest=max(ratios))
