"""The steps in PyTorch on the CPU. Cases: `one` process with all threads it may have; `mixed`, the same under autocast(bfloat16); `data`, two processes, DistributedDataParallel over gloo;
`tensor`, two processes, DTensor over gloo; for the MLP also `by_hand`: two processes, the sums as all_reduce of torch.distributed."""
import os
import socket
import subprocess
import sys
import time

start = time.perf_counter()
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import common
from common import DECAY, RATE, STDDEV

options = common.arguments()
LAYERS, _, KEY, MODEL, HIDDEN, LENGTH, BATCH, VOCAB = options.sizes
case, together = options.case, options.case not in ("one", "mixed")
name = f"PyTorch {torch.__version__.split('+')[0]}"
torch.set_flush_denormal(True)  # as meshtf does
torch.manual_seed(0)
rank = 0
if together:
    if options.join is None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        second = subprocess.Popen([sys.executable, *sys.argv, "--join", str(port)])
    else:
        rank, port = 1, options.join
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo")
processes = 2 if together else 1
cores = 2 if together else torch.get_num_threads()
wait = dist.barrier if together else lambda: None


def of_all(number):
    """Summed over the processes."""
    total = torch.tensor(float(number), dtype=torch.float64)
    if together:
        dist.all_reduce(total)
    return total.item()


def say(what, split, variant, seconds, **more):
    resident = of_all(common.resident_bytes())
    if rank == 0:
        common.say(what, split, cores, f"{name}, {variant}", seconds, resident_MB=resident / 1e6, **more)


def on_two(module, plan):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    kinds = {"columns": ColwiseParallel, "rows": RowwiseParallel}
    return parallelize_module(module, init_device_mesh("cpu", (2,)), {part: kinds[kind]() for part, kind in plan.items()})


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(MODEL), nn.LayerNorm(MODEL)
        self.query, self.key, self.value = (nn.Linear(MODEL, MODEL) for _ in range(3))
        self.output, self.up, self.down = nn.Linear(MODEL, MODEL), nn.Linear(MODEL, HIDDEN), nn.Linear(HIDDEN, MODEL)

    def forward(self, x):
        normed = self.norm1(x)
        query, key, value = (f(normed).unflatten(-1, (-1, KEY)).transpose(1, 2) for f in (self.query, self.key, self.value))
        x = x + self.output(F.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions, self.norm = nn.Embedding(VOCAB, MODEL), nn.Embedding(LENGTH, MODEL), nn.LayerNorm(MODEL)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        for part in self.modules():
            if isinstance(part, (nn.Linear, nn.Embedding)):
                nn.init.normal_(part.weight, std=STDDEV)
            if isinstance(part, nn.Linear):
                nn.init.zeros_(part.bias)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(F.linear(self.norm(x), self.tokens.weight).flatten(0, 1), targets.flatten())


def adamw(parameters):
    """Matrices decay, vectors do not; DTensors and tensors can't be in one list."""
    from torch.distributed.tensor import DTensor

    groups = {}
    for p in parameters:
        groups.setdefault((isinstance(p, DTensor), p.dim() > 1), []).append(p)
    return [torch.optim.AdamW(ps, lr=RATE, weight_decay=DECAY if matrix else 0, fused=not split) for (split, matrix), ps in groups.items()]


def language_model():
    net = LanguageModel()
    count = sum(p.numel() for p in net.parameters())
    ids, targets = torch.randint(0, VOCAB, (BATCH, LENGTH)), torch.randint(0, VOCAB, (BATCH, LENGTH))
    if case == "data":
        net = nn.parallel.DistributedDataParallel(net)
        ids, targets = (x.chunk(2)[rank] for x in (ids, targets))
    elif case == "tensor":
        for block in net.blocks:
            on_two(block, {"query": "columns", "key": "columns", "value": "columns", "output": "rows", "up": "columns", "down": "rows"})
    optimizers = adamw(net.parameters())
    losses = []

    def step():
        for o in optimizers:
            o.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=case == "mixed"):
            loss = net(ids, targets)
        loss.backward()
        for o in optimizers:
            o.step()
        losses.append(loss.item())

    step()
    ready = time.perf_counter() - start
    seconds = common.samples(step, options.rounds, warm=1, before=wait, clock=time.process_time if options.processor else time.perf_counter)
    first = of_all(losses[0]) / processes
    threads = f"{cores} threads" if cores > 1 else "1 thread"
    words = {"one": threads, "mixed": f"autocast(bfloat16), {threads}", "data": "DistributedDataParallel, gloo", "tensor": "DTensor, gloo"}[case]
    what = common.MIXED_STEP if case == "mixed" else common.LANGUAGE_MODEL_STEP
    say(what, {"one": "nothing", "mixed": "nothing"}.get(case, case), words, seconds, parameters=count, first_loss=first, until_first_step_s=ready)


class Perceptron(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.up, self.down = nn.Linear(sizes[1], sizes[2], bias=False), nn.Linear(sizes[2], sizes[3], bias=False)

    def forward(self, x):
        return self.down(self.up(x).relu())


class sum_forward(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(_, g):
        return g


class HalfPerceptron(Perceptron):
    """Half of the hidden units, summed by hand. x needs no gradient, so there is nothing to sum for it."""

    def __init__(self, sizes):
        super().__init__((sizes[0], sizes[1], sizes[2] // 2, sizes[3]))

    def forward(self, x):
        return sum_forward.apply(super().forward(x))


def perceptron(sizes):
    if case == "by_hand":
        return HalfPerceptron(sizes)
    net = Perceptron(sizes)
    return on_two(net, {"up": "columns", "down": "rows"}) if case == "tensor" else net


def mlp():
    words = {"one": "1 process", "data": "DistributedDataParallel, gloo", "tensor": "DTensor, gloo", "by_hand": "all_reduce by hand, gloo"}[case]
    split = {"by_hand": "tensor", "one": "nothing"}.get(case, case)
    batch, size_in, _, classes = common.MLP
    net, x, labels = perceptron(common.MLP), torch.rand(batch, size_in) * 2 - 1, torch.randint(0, classes, (batch,))
    if case == "data":
        net = nn.parallel.DistributedDataParallel(net)
        x, labels = (v.chunk(2)[rank] for v in (x, labels))
    optimizer = torch.optim.SGD(net.parameters(), lr=common.MLP_RATE)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    say(common.MLP_STEP, split, words, common.samples(step, 4 * options.rounds, warm=5, repeat=3, before=wait))
    if case != "data":
        net, x = perceptron(common.SMALL), torch.randn(common.SMALL[0], common.SMALL[1])
        with torch.no_grad():
            say(common.SMALL_FORWARD, split, words, common.samples(lambda: net(x), 2 * options.rounds, warm=20, repeat=100, before=wait))


{"language_model": language_model, "mlp": mlp}[options.program]()
if together:
    dist.destroy_process_group()
    if rank == 0:
        sys.exit(second.wait())
