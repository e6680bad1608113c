"""What the scripts here share: how arrays are drawn and compared, and the end of each script, which writes its file or compares it."""
import math
import pathlib
import random
import sys

import numpy as np
from safetensors.numpy import load_file, save_file


def numbers(seed, *shape, steps=512):
    """Multiples of 1/steps from -1 to 1. They are the same everywhere: Python promises the sequence of random(), for words as seed too."""
    draw = random.Random(seed).random
    return np.array([round((2 * draw() - 1) * steps) / steps for _ in range(math.prod(shape))]).reshape(shape)


def array_of(value):
    """A tensor of PyTorch, or anything that NumPy takes, in the order in which a file has it."""
    return np.array(value.detach() if hasattr(value, "detach") else value, order="C")


def distance(ours, theirs):
    """The largest difference between arrays of the same names, relative to the largest entry of all together."""
    assert ours.keys() == theirs.keys(), "other names"
    ours, theirs = ({k: array_of(v) for k, v in arrays.items()} for arrays in (ours, theirs))
    for k, v in theirs.items():
        assert ours[k].shape == v.shape, f"{k}: {ours[k].shape}, expected {v.shape}"
    return max(np.abs(ours[k].astype(float) - v).max() for k, v in theirs.items()) / max(np.abs(v).max() for v in theirs.values())


def demand(what, got, most):
    print(f"{what:60} {got:8.1e}  (at most {most:.0e})")
    if not got <= most:
        sys.exit(f"{what}: {got:.1e}, expected at most {most:.0e}")


def file_of(script):
    return pathlib.Path(script).with_suffix(".safetensors")


def load(script):
    return load_file(file_of(script))


def save(script, made, made_by=None):
    """`made_by` names what has computed the arrays; it is written into the file."""
    path = file_of(script)
    save_file({k: array_of(v) for k, v in made.items()}, path, {"made_by": f"tests/golden/{path.stem}.py, {made_by}"} if made_by else None)
    print(f"{path.name}: {len(made)} arrays, {path.stat().st_size} bytes")


def check(script, made, within):
    """Ends the script unless the file has these arrays. `within`: by how much a number may differ, or a function that says so of an array's name."""
    path, kept = file_of(script), load(script)
    if kept.keys() != made.keys():
        sys.exit(f"{path.name} has other arrays: {sorted(kept.keys() ^ made.keys())}")
    largest = 0.0
    for name, value in made.items():
        now, then = array_of(value), kept[name]
        if (now.dtype, now.shape) != (then.dtype, then.shape):
            sys.exit(f"{path.name}: {name} is {then.dtype} {then.shape}, this run has {now.dtype} {now.shape}")
        apart, most = np.abs(now.astype(float) - then).max(initial=0), within(name) if callable(within) else within
        if not apart <= most:
            sys.exit(f"{path.name}: {name} differs by {apart:.1e} from this run, expected at most {most:.0e}")
        largest = max(largest, apart)
    print(f"{path.name}: {len(made)} arrays, of which no number differs by more than {largest:.1e} from this run")


def main(script, computed, within, made_by=None):
    """The end of a script: `computed` makes the arrays of the file next to it."""
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(f"expected no argument or --check, got {' '.join(sys.argv[1:])}")
    made = computed()
    if sys.argv[1:]:
        check(script, made, within)
    else:
        save(script, made, made_by)
