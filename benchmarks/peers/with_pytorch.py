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


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(MODEL, MODEL) for _ in range(4))

    def forward(self, x, memory, mask):
        query, key, value = (f(v).unflatten(-1, (-1, KEY)).transpose(1, 2) for f, v in ((self.query, x), (self.key, memory), (self.value, memory)))
        return self.output(F.scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).flatten(2))


class PairBlock(nn.Module):
    """Of an encoder, or with `cross` of a decoder."""

    def __init__(self, cross):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(MODEL) for _ in range(3 if cross else 2))
        self.own, self.cross = Attention(), Attention() if cross else None
        self.up, self.down = nn.Linear(MODEL, HIDDEN), nn.Linear(HIDDEN, MODEL)

    def forward(self, x, mask, memory=None, cross_mask=None):
        normed = self.norms[0](x)
        x = x + self.own(normed, normed, mask)
        if self.cross is not None:
            x = x + self.cross(self.norms[1](x), memory, cross_mask)
        return x + self.down(F.gelu(self.up(self.norms[-1](x)), approximate="tanh"))


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, MODEL)
        self.encoder, self.decoder = (nn.ModuleList(PairBlock(cross) for _ in range(LAYERS)) for cross in (False, True))
        self.encoded, self.decoded = nn.LayerNorm(MODEL), nn.LayerNorm(MODEL)
        half = MODEL // 2
        rates = torch.exp(torch.arange(half) * (-9.210340371976182736 / (half - 1)))
        angles = torch.arange(LENGTH)[:, None] * rates
        self.register_buffer("sinusoids", torch.cat([angles.sin(), angles.cos()], 1))
        for part in self.modules():
            if isinstance(part, (nn.Linear, nn.Embedding)):
                nn.init.normal_(part.weight, std=0.7 * MODEL**-0.5 if isinstance(part, nn.Linear) else MODEL**-0.5)
            if isinstance(part, nn.Linear):
                nn.init.zeros_(part.bias)
        for blocks, branches in ((self.encoder, 2), (self.decoder, 3)):  # weights that end a branch, as meshtf's
            for block in blocks:
                for ends in (block.own.output, block.down, *([block.cross.output] if block.cross else [])):
                    nn.init.normal_(ends.weight, std=0.7 * (MODEL * branches * LAYERS) ** -0.5)

    def forward(self, pairs):
        x = self.tokens(pairs["source"]) * MODEL**0.5 + self.sinusoids[pairs["source_places"]]
        for block in self.encoder:
            x = block(x, pairs["source_mask"])
        memory = self.encoded(x)
        y = self.tokens(pairs["inputs"]) * MODEL**0.5 + self.sinusoids[pairs["target_places"]]
        for block in self.decoder:
            y = block(y, pairs["target_mask"], memory, pairs["cross_mask"])
        scores = F.linear(self.decoded(y), self.tokens.weight)
        losses = F.cross_entropy(scores.flatten(0, 1), pairs["target"].flatten(), reduction="none")
        counted = (pairs["of_target"] != 0).flatten()
        return (losses * counted).sum(), counted.sum()


def places_in(segments):
    """Each position's number in its own sequence."""
    at = torch.arange(segments.shape[1]).expand_as(segments)
    begins = torch.ones_like(segments, dtype=torch.bool)
    begins[:, 1:] = segments[:, 1:] != segments[:, :-1]
    return at - torch.cummax(torch.where(begins, at, 0), 1).values


def additive(mask):
    """As elements that are added to scores: PyTorch's fast attention takes these."""
    return torch.zeros(mask.shape).masked_fill_(~mask, float("-inf"))[:, None]


def packed_batch():
    source, of_source, target, of_target = (torch.tensor(part) for part in common.packed_pairs())
    if case == "data":
        source, of_source, target, of_target = (part.chunk(2)[rank] for part in (source, of_source, target, of_target))
    places = places_in(of_target)
    shifted = F.pad(target, (1, 0))[:, :-1]
    causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril()
    same = lambda a, b: a[:, :, None] == b[:, None, :]
    seen = same(of_target, of_source)
    seen[:, :, 0] |= ~seen.any(2)  # padding that sees nothing gives NaN
    return {"source": source, "target": target, "of_target": of_target, "inputs": torch.where(places == 0, 0, shifted),
            "source_places": places_in(of_source), "target_places": places, "source_mask": additive(same(of_source, of_source)),
            "target_mask": additive(same(of_target, of_target) & causal), "cross_mask": additive(seen)}


def translator():
    global LAYERS, KEY, MODEL, HIDDEN, LENGTH, VOCAB
    LAYERS, _, KEY, MODEL, HIDDEN, _, LENGTH, _, VOCAB = common.TRANSLATOR
    net = Translator()
    count = sum(p.numel() for p in net.parameters())
    pairs = packed_batch()
    if case == "data":
        net = nn.parallel.DistributedDataParallel(net)
    elif case == "tensor":
        for block in [*net.encoder, *net.decoder]:
            attentions = [part for part in ("own", "cross") if getattr(block, part) is not None]
            on_two(block, {"up": "columns", "down": "rows"} | {f"{a}.{m}": "columns" for a in attentions for m in ("query", "key", "value")}
                   | {f"{a}.output": "rows" for a in attentions})
    optimizers = adamw(net.parameters())
    losses = []

    def step():
        for o in optimizers:
            o.zero_grad(set_to_none=True)
        total, counted = net(pairs)
        terms = of_all(counted.item()) / processes if case == "data" else counted.item()  # DDP takes the mean of gradients
        loss = total / terms
        loss.backward()
        for o in optimizers:
            o.step()
        losses.append(loss.item())

    step()
    seconds = common.samples(step, options.rounds, warm=1, before=wait)
    first = of_all(losses[0]) / processes
    threads = f"{cores} threads" if cores > 1 else "1 thread"
    words = {"one": threads, "data": "DistributedDataParallel, gloo", "tensor": "DTensor, gloo"}[case]
    say(common.TRANSLATION_STEP, {"one": "nothing"}.get(case, case), words, seconds, parameters=count, first_loss=first)


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


{"language_model": language_model, "translator": translator, "mlp": mlp}[options.program]()
if together:
    dist.destroy_process_group()
    if rank == 0:
        sys.exit(second.wait())
