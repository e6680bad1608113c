"""Attention compared with PyTorch's scaled_dot_product_attention: one thread each, in turns, medians of the processor's time.

attention.py PROGRAM [--rounds N] [--rows FILE]   PROGRAM is the benchmark `attention`; --rows adds the figures to a file that report.py reads
"""
import argparse
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F

import common

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("program")
parser.add_argument("--rounds", type=int, default=11)
parser.add_argument("--rows")
options = parser.parse_args()

torch.set_num_threads(1)
torch.set_flush_denormal(True)  # as meshtf does
program = subprocess.Popen([options.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ours(shape, causal, gradient):
    print(*shape, int(causal), int(gradient), file=program.stdin, flush=True)
    return float(program.stdout.readline())


def theirs(shape, causal, gradient):
    q, k, v = (torch.randn(shape, requires_grad=gradient) for _ in range(3))
    dz = torch.randn(shape)

    def run():
        z = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return torch.autograd.grad(z, (q, k, v), dz) if gradient else z

    run()
    start = time.process_time()
    run()
    return time.process_time() - start


print(f"{'batch, heads, length, depth':34} {'PyTorch ' + torch.__version__.split('+')[0]:>15} {'meshtf':>12} {'ratio':>7}")
for batch, heads, length in (4, 4, 256), (1, 1, 4096):
    for depth in 32, 64, 128:
        for causal in False, True:
            for gradient in False, True:
                shape = (batch, heads, length, depth)
                pairs = [(theirs(shape, causal, gradient), ours(shape, causal, gradient)) for _ in range(options.rounds)]
                by_torch, here = (statistics.median(x) for x in zip(*pairs))
                words = f"{batch}, {heads}, {length}, {depth}{', causal' if causal else ''}{', gradients' if gradient else ''}"
                print(f"{words:34} {1e3 * by_torch:12.2f} ms {1e3 * here:9.2f} ms {here / by_torch:7.2f}", flush=True)
                ratios = [b / a for a, b in pairs]
                common.keep(options.rows, table="attention", what=words, cores=1, peer="PyTorch " + torch.__version__.split("+")[0], peer_s=by_torch,
                            ours_s=here, ratio=here / by_torch, lowest=min(ratios), highest=max(ratios))
program.stdin.close()
