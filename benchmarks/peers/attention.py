"""Attention beside PyTorch's scaled_dot_product_attention: one thread each, in turns, medians of the processor's time.

attention.py PROGRAM [ROUNDS]   PROGRAM is the benchmark `attention`
"""
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.set_flush_denormal(True)  # as meshtf does
program = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 11


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
                pairs = [(theirs(shape, causal, gradient), ours(shape, causal, gradient)) for _ in range(rounds)]
                by_torch, here = (statistics.median(x) for x in zip(*pairs))
                words = f"{batch}, {heads}, {length}, {depth}{', causal' if causal else ''}{', gradients' if gradient else ''}"
                print(f"{words:34} {1e3 * by_torch:12.2f} ms {1e3 * here:9.2f} ms {here / by_torch:7.2f}", flush=True)
program.stdin.close()
