#!/usr/bin/env python3
"""An LSTM and a GRU over a batch, as PyTorch has them, in double precision: what tests/nn/recurrent.cpp compares loops of C++ with.

  recurrent.py           writes recurrent.safetensors next to this script
  recurrent.py --check   computes all anew, compares with that file, writes nothing

From turn 20 on the input stays the same. A loop ends after so many turns; in the case "stops", earlier: when no element of the state has changed by
more than a thousandth.
"""
import torch

from goldens import main, numbers as drawn

BATCH, IN, HIDDEN, CASES = 4, 3, 6, {"0": (0, 0), "1": (1, 0), "7": (7, 0), "500": (500, 0), "stops": (500, 1e-3)}
CONSTANT_FROM = 20


def numbers(seed, *shape):
    return torch.tensor(drawn(seed, *shape)) / 2


def lstm(x, state, w):
    """PyTorch's LSTMCell: gates i, f, g, o."""
    h, c = state
    cell = torch.nn.LSTMCell(IN, HIDDEN).double()
    h, c = torch.func.functional_call(cell, w, (x, (h, c)))
    return h, c


def gru(x, state, w):
    """PyTorch's GRUCell: gates r, z, n."""
    cell = torch.nn.GRUCell(IN, HIDDEN).double()
    return (torch.func.functional_call(cell, w, (x, state[0])),)


def run(name, cell, gates, states, label):
    turns, change = CASES[label]
    w = {k: numbers(f"{name} {k}", *s).requires_grad_() for k, s in
         [("weight_ih", (gates * HIDDEN, IN)), ("weight_hh", (gates * HIDDEN, HIDDEN)), ("bias_ih", (gates * HIDDEN,)), ("bias_hh", (gates * HIDDEN,))]}
    first = numbers("first", BATCH, HIDDEN).requires_grad_()
    inputs = numbers("inputs", CONSTANT_FROM, BATCH, IN).requires_grad_()
    state, taken = (first,) + tuple(torch.zeros(BATCH, HIDDEN, dtype=torch.float64) for _ in range(states - 1)), 0
    for turn in range(turns):
        before = state[0]
        state = cell(inputs[min(turn, CONSTANT_FROM - 1)], state, w)
        taken += 1
        if (state[0] - before).abs().max() < change:
            break
    loss = (state[0] * numbers("probe", BATCH, HIDDEN)).sum()
    leaves = {**w, "first": first, "inputs": inputs}
    gradients = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    out = {f"{name}.{label}.state": state[0].detach(), f"{name}.{label}.taken": torch.tensor([taken], dtype=torch.int32)}
    for (k, v), g in zip(leaves.items(), gradients):
        out[f"{name}.{label}.gradient.{k}"] = shaped(k, torch.zeros_like(v) if g is None else g, gates)
    return out, {f"{name}.{k}": shaped(k, v.detach(), gates) for k, v in w.items()}


def shaped(k, v, gates):
    """As meshtf has it: weights are [in or hidden, gate, hidden], biases [gate, hidden]."""
    if k.startswith("weight"):
        return v.T.reshape(v.shape[1], gates, HIDDEN).contiguous()
    return v.reshape(gates, HIDDEN).contiguous() if k.startswith("bias") else v.contiguous()


def computed():
    made = {"first": numbers("first", BATCH, HIDDEN), "inputs": numbers("inputs", CONSTANT_FROM, BATCH, IN), "probe": numbers("probe", BATCH, HIDDEN)}
    for name, cell, gates, states in [("lstm", lstm, 4, 2), ("gru", gru, 3, 1)]:
        for label in CASES:
            results, weights = run(name, cell, gates, states, label)
            made |= weights | results
    print({k: v.item() for k, v in made.items() if k.endswith("taken")})
    return made


if __name__ == "__main__":
    main(__file__, computed, within=1e-10)
