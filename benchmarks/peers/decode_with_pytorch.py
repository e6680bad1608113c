"""benchmarks/decode.cpp in PyTorch: the same weights, keys and values kept, greedy decoding of one sentence and four beams of each of eight.

decode_with_pytorch.py FOLDER [--rounds N]     FOLDER: what `decode --save FOLDER` wrote

Beams share the keys and values of their source. The ids are compared with those in FOLDER: those that differ are counted, since a last bit may decide between two.
"""
import argparse
import json
import math
import statistics
import struct
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

LAYERS, MODEL, HEADS, KEY, SOURCE, TARGET, VOCAB, BEAMS = 6, 512, 8, 64, 32, 32, 8000, 4


def weights(folder):
    """The arrays by name."""
    data = (Path(folder) / "weights.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = (8 + size + place for place in entry["data_offsets"])
            found[name] = torch.from_numpy(np.frombuffer(data[first:last], dtype=np.float32).reshape(entry["shape"]).copy())
    return found


class Linear:
    """x w + b, whatever dimensions the weight has of each side."""

    def __init__(self, w, name, inputs):
        self.weight = w[f"{name}.weight"].reshape(inputs, -1).t().contiguous()
        self.bias = w[f"{name}.bias"].reshape(-1)

    def __call__(self, x):
        return F.linear(x, self.weight, self.bias)


class Norm:
    def __init__(self, w, name):
        self.scale, self.shift = w[f"{name}.scale"], w[f"{name}.bias"]

    def __call__(self, x):
        return F.layer_norm(x, (MODEL,), self.scale, self.shift, 1e-5)


class Attention:
    def __init__(self, w, name):
        self.query, self.key, self.value = (Linear(w, f"{name}.{part}", MODEL) for part in ("query", "key", "value"))
        self.output = Linear(w, f"{name}.output", MODEL)

    @staticmethod
    def heads(x):  # [batch, length, model] -> [batch, heads, length, key]
        return x.unflatten(-1, (HEADS, KEY)).transpose(1, 2)

    def attend(self, x, keys, values):
        z = F.scaled_dot_product_attention(self.heads(self.query(x)), keys, values)
        return self.output(z.transpose(1, 2).flatten(2))


class Feed:
    def __init__(self, w, name):
        self.up, self.down = Linear(w, f"{name}.up", MODEL), Linear(w, f"{name}.down", 4 * MODEL)

    def __call__(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class Block:
    def __init__(self, w, name, has_memory):
        self.norms = [Norm(w, f"{name}.norm{i}") for i in range(1, 4 if has_memory else 3)]
        self.attention = Attention(w, f"{name}.attention")
        self.cross = Attention(w, f"{name}.cross") if has_memory else None
        self.feed = Feed(w, f"{name}.feed_forward")


class Model:
    def __init__(self, w):
        self.table = w["tokens"]
        self.encoder = [Block(w, f"encoder.blocks.{i}", False) for i in range(LAYERS)]
        self.decoder = [Block(w, f"decoder.blocks.{i}", True) for i in range(LAYERS)]
        self.encoder_norm, self.decoder_norm = Norm(w, "encoder.norm"), Norm(w, "decoder.norm")
        half = MODEL // 2
        angle = torch.arange(max(SOURCE, TARGET), dtype=torch.float64)[:, None] * torch.exp(-math.log(10000) * torch.arange(half) / (half - 1))
        self.positions = torch.cat([angle.sin(), angle.cos()], 1).float()

    def encode(self, source):
        x = self.table[source] * math.sqrt(MODEL) + self.positions[:SOURCE]
        for b in self.encoder:
            y = b.norms[0](x)
            x = x + b.attention.attend(y, *(b.attention.heads(part(y)) for part in (b.attention.key, b.attention.value)))
            x = x + b.feed(b.norms[1](x))
        return self.encoder_norm(x)

    def start(self, source, beams):
        """Keys and values: of the sources, and room for those of the targets."""
        memory, n = self.encode(source), source.shape[0]
        self.memory = [(b.cross.heads(b.cross.key(memory)), b.cross.heads(b.cross.value(memory))) for b in self.decoder]
        self.own = [[torch.zeros(n * beams, HEADS, TARGET, KEY) for _ in range(2)] for _ in self.decoder]

    def logits(self, before, i):
        """Of position i, where `before` [batch, beams] are the ids before it."""
        n, beams = before.shape
        x = self.table[before.reshape(-1, 1)] * math.sqrt(MODEL) + self.positions[i]
        for b, own, memory in zip(self.decoder, self.own, self.memory):
            y = b.norms[0](x)
            for kept, part in zip(own, (b.attention.key, b.attention.value)):
                kept[:, :, i:i + 1] = b.attention.heads(part(y))
            x = x + b.attention.attend(y, own[0][:, :, :i + 1], own[1][:, :, :i + 1])
            y = b.norms[1](x).view(n, beams, MODEL)  # the beams are the queries
            x = x + b.cross.attend(y, *memory).view(n * beams, 1, MODEL)
            x = x + b.feed(b.norms[2](x))
        return F.linear(self.decoder_norm(x)[:, 0], self.table).view(n, beams, VOCAB)

    def greedy(self, source):
        self.start(source, 1)
        before, found = torch.zeros(len(source), 1, dtype=torch.int64), []
        for i in range(TARGET):
            before = self.logits(before, i).argmax(-1)
            found.append(before)
        return torch.cat(found, 1)

    def beam_search(self, source):
        """No hypothesis ends, so nothing is kept apart."""
        n = len(source)
        self.start(source, BEAMS)
        scores = torch.full((n, BEAMS), -math.inf)
        scores[:, 0] = 0
        ids = torch.zeros(n, BEAMS, TARGET, dtype=torch.int64)
        before, first = torch.zeros(n, BEAMS, dtype=torch.int64), torch.arange(n)[:, None] * BEAMS
        for i in range(TARGET):
            sums = scores[:, :, None] + self.logits(before, i).log_softmax(-1)
            scores, place = sums.view(n, -1).topk(BEAMS)
            parent, before = place // VOCAB, place % VOCAB
            ids = ids.gather(1, parent[:, :, None].expand(-1, -1, TARGET))
            ids[:, :, i] = before
            rows = (first + parent).view(-1)
            for own in self.own:  # of the positions that are written
                for kept in own:
                    kept[:, :, :i + 1] = kept[rows, :, :i + 1]
        return ids


def sources(n):
    return (torch.arange(n)[:, None] * 1009 + torch.arange(SOURCE) * 2503) % 7000 + 100


def measure(what, tokens, rounds, decodes):
    seconds, processor = [], []
    for _ in range(rounds + 1):
        start, cpu = time.perf_counter(), time.process_time()
        decodes()
        processor.append(time.process_time() - cpu)
        seconds.append(time.perf_counter() - start)
    median = statistics.median(seconds[1:])
    print(f"{what:28} {1e3 * median:8.2f} ms  {1e3 * statistics.median(processor[1:]):8.2f} ms processor  {tokens / median:8.1f} tokens/s  (best {tokens / min(seconds[1:]):.1f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    with torch.inference_mode():
        net = Model(weights(options.folder))
        for name, ids in (("greedy", net.greedy(sources(1))), ("beams", net.beam_search(sources(8)))):
            there = torch.tensor([int(line) for line in (Path(options.folder) / f"{name}.txt").read_text().split()])
            print(f"{name}: {(there != ids.reshape(-1)).sum().item()} of {len(there)} ids differ")
        measure("greedy, one sentence", TARGET, options.rounds, lambda: net.greedy(sources(1)))
        measure("beam search, 8 x 4 beams", 8 * BEAMS * TARGET, options.rounds, lambda: net.beam_search(sources(8)))


main()
