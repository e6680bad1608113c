"""A layer of experts, forward and backward, in PyTorch, in meshtf and by hand: one thread each, in turns, medians of the processor's time.

experts.py PROGRAM [--rounds N] [--rows FILE]   PROGRAM is the benchmark `experts`; --rows adds the figures to a file that report.py reads
"""
import argparse
import statistics
import subprocess
import time

import numpy as np
import torch
import torch.nn.functional as F

import common

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("program")
parser.add_argument("--rounds", type=int, default=11)
parser.add_argument("--rows")
options = parser.parse_args()

# the sizes of expert_layer.cpp
GROUPS, TOKENS, EXPERTS, MODEL, HIDDEN, BALANCE = 4, 512, 8, 256, 1024, 0.01
PLACES = TOKENS * 5 // 4 // EXPERTS

torch.set_num_threads(1)
torch.set_flush_denormal(True)  # as meshtf does
program = subprocess.Popen([options.program, "--only", "turns"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def random_at(stream, shape, scale):
    """The numbers of examples/by_hand/kernels.hpp."""
    with np.errstate(over="ignore"):
        z = np.uint64(stream << 40) + np.arange(np.prod(shape), dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    numbers = (z >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)
    return torch.from_numpy((np.float32(scale) * numbers).reshape(shape))


ALL = GROUPS * TOKENS
x, dz, router, up, down = (
    random_at(n + 1, shape, scale)
    for n, (shape, scale) in enumerate(
        [((ALL, MODEL), 1), ((ALL, MODEL), 0.01), ((MODEL, EXPERTS), 0.2), ((EXPERTS, MODEL, HIDDEN), 0.05), ((EXPERTS, HIDDEN, MODEL), 0.05)]
    )
)
up_bias, down_bias = torch.zeros(EXPERTS, 1, HIDDEN), torch.zeros(EXPERTS, 1, MODEL)
learned = [p.requires_grad_() for p in (x, router, up, down, up_bias, down_bias)]
group = torch.arange(GROUPS)[:, None, None]
token = torch.arange(ALL).view(GROUPS, 1, TOKENS).expand(GROUPS, 2, TOKENS).reshape(-1)


def loss():
    probability = F.softmax(x @ router, -1).view(GROUPS, TOKENS, EXPERTS)
    best, expert = probability.topk(2, -1)
    weight = (best / best.sum(-1, keepdim=True)).transpose(1, 2)  # [groups, 2, tokens]
    expert = expert.transpose(1, 2)
    hot = F.one_hot(expert.reshape(GROUPS, 2 * TOKENS), EXPERTS)
    position = (hot.cumsum(1) - hot).gather(2, expert.reshape(GROUPS, -1, 1)).view(GROUPS, 2, TOKENS)
    fits = position < PLACES
    row = (torch.where(fits, (expert * GROUPS + group) * PLACES + position, EXPERTS * GROUPS * PLACES)).reshape(-1)
    source = torch.zeros(EXPERTS * GROUPS * PLACES + 1, dtype=torch.long).scatter(0, row, token)[:-1]
    inside = x[source].view(EXPERTS, GROUPS * PLACES, MODEL)
    inside = F.gelu(torch.baddbmm(up_bias, inside, up), approximate="tanh")
    out = torch.baddbmm(down_bias, inside, down).view(-1, MODEL)
    rows = out[torch.where(fits.view(-1), row, 0)].view(GROUPS, 2, TOKENS, MODEL)
    value = torch.einsum("gktm,gkt->gtm", rows, weight * fits).reshape(ALL, MODEL)
    first = hot[:, :TOKENS].sum(1) / TOKENS
    return (value * dz).sum() + BALANCE * EXPERTS * (first * probability.mean(1)).sum(-1).mean()


def theirs():
    start = time.process_time()
    value = loss()
    torch.autograd.grad(value, learned)
    return time.process_time() - start, value.item()


def ours(which):
    print(which, file=program.stdin, flush=True)
    seconds, value = program.stdout.readline().split()
    return float(seconds), float(value)


name = "PyTorch " + torch.__version__.split("+")[0]
ways = {"by hand": lambda: ours("by_hand"), "meshtf": lambda: ours("meshtf"), name: theirs}
seconds = {way: [] for way in ways}
for turn in range(options.rounds + 1):
    losses = []
    for way, step in ways.items():
        spent, value = step()
        losses.append(value)
        if turn > 0:  # the first warms up
            seconds[way].append(spent)
    if max(losses) - min(losses) > 1e-4 * abs(losses[0]):
        raise SystemExit(f"expected one loss of all, got {losses}")
program.stdin.close()
median = {way: statistics.median(times) for way, times in seconds.items()}
for way in ways:
    ratios = [a / b for a, b in zip(seconds[way], seconds["by hand"])]
    print(f"{way:16} {1e3 * median[way]:9.2f} ms  {median[way] / median['by hand']:6.3f} of by hand  ({min(ratios):.3f}-{max(ratios):.3f})", flush=True)
ratios = [b / a for a, b in zip(seconds[name], seconds["meshtf"])]
common.keep(options.rows, table="experts", what="layer of experts", cores=1, peer=name, peer_s=median[name], ours_s=median["meshtf"],
            ratio=median["meshtf"] / median[name], lowest=min(ratios), highest=max(ratios))
