"""The steps in JAX, one jitted function each. Cases: `one` device with all cores it may have; `data` and `tensor`, two devices of one process,
the arrays sharded along the batch, or along heads, hidden units and vocabulary, and the collectives left to XLA."""
import os
import sys
import time

if len(sys.argv) > 2 and sys.argv[2] != "one":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
start = time.perf_counter()
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding, PartitionSpec

import common
from common import BATCH, DECAY, HEADS, HIDDEN, KEY, LAYERS, LENGTH, MODEL, RATE, STDDEV, VOCAB

options = common.arguments()
case = options.case
name = f"JAX {jax.__version__}"
cores = len(os.sched_getaffinity(0))
mesh = jax.make_mesh((1 if case == "one" else 2,), ("all",), axis_types=(jax.sharding.AxisType.Auto,))
split_name = {"one": "nothing"}.get(case, case)
words = f"{cores} threads" if cores > 1 else "1 thread"
words = words if case == "one" else f"2 devices, {case} sharded"


def placed(x, *axes):
    """`axes` of a tensor-parallel array: 'all' where it is split."""
    return jax.device_put(x, NamedSharding(mesh, PartitionSpec(*(axes if case == "tensor" else ()))))


def batched(x):
    return jax.device_put(x, NamedSharding(mesh, PartitionSpec("all" if case == "data" else None)))


def language_model():
    random = np.random.default_rng(0)

    def normal(*shape, axes=()):
        return placed(jnp.asarray(random.normal(0, STDDEV, shape), jnp.float32), *axes)

    def linear(shape, axes, bias, bias_axes=()):
        return normal(*shape, axes=axes), placed(jnp.zeros(bias), *bias_axes)

    def norm():
        return placed(jnp.ones(MODEL)), placed(jnp.zeros(MODEL))

    def block():
        heads = (None, "all", None)
        return dict(norm1=norm(), norm2=norm(), **{n: linear((MODEL, HEADS, KEY), heads, (HEADS, KEY), ("all",)) for n in ("query", "key", "value")},
                    output=linear((HEADS, KEY, MODEL), ("all",), MODEL), up=linear((MODEL, HIDDEN), (None, "all"), HIDDEN, ("all",)),
                    down=linear((HIDDEN, MODEL), ("all",), MODEL))

    weights = dict(tokens=normal(VOCAB, MODEL, axes=("all",)), positions=normal(LENGTH, MODEL), norm=norm(), blocks=[block() for _ in range(LAYERS)])

    def normed(x, scale_shift):
        mean = x.mean(-1, keepdims=True)
        variance = x.var(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale_shift[0] + scale_shift[1]

    def loss_of(w, ids, targets):
        x = w["tokens"][ids] + w["positions"]
        for b in w["blocks"]:
            y = normed(x, b["norm1"])
            query, key, value = (jnp.einsum("btm,mhk->bthk", y, b[n][0]) + b[n][1] for n in ("query", "key", "value"))
            y = jax.nn.dot_product_attention(query, key, value, is_causal=True)
            x = x + jnp.einsum("bthk,hkm->btm", y, b["output"][0]) + b["output"][1]
            y = jax.nn.gelu(normed(x, b["norm2"]) @ b["up"][0] + b["up"][1])
            x = x + y @ b["down"][0] + b["down"][1]
        scores = normed(x, w["norm"]) @ w["tokens"].T
        return optax.softmax_cross_entropy_with_integer_labels(scores, targets).mean()

    # matrices decay, vectors do not
    vectors = lambda w: dict(tokens=True, positions=True, norm=(False, False),
                             blocks=[{n: (not n.startswith("norm"), False) for n in b} for b in w["blocks"]])
    optimizer = optax.adamw(RATE, weight_decay=DECAY, mask=vectors)
    count = sum(x.size for x in jax.tree.leaves(weights))
    state = optimizer.init(weights)
    ids, targets = (batched(jnp.asarray(random.integers(0, VOCAB, (BATCH, LENGTH)))) for _ in range(2))

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def jitted(w, s, ids, targets):
        loss, gradient = jax.value_and_grad(loss_of)(w, ids, targets)
        change, s = optimizer.update(gradient, s, w)
        return optax.apply_updates(w, change), s, loss

    losses = []

    def step():
        nonlocal weights, state
        weights, state, loss = jitted(weights, state, ids, targets)
        jax.block_until_ready(weights)
        losses.append(float(loss))

    step()
    ready = time.perf_counter() - start
    seconds = common.samples(step, options.rounds, warm=1)
    common.say(common.LANGUAGE_MODEL_STEP, split_name, 2 if case != "one" else cores, f"{name}, {words}", seconds, parameters=count,
               first_loss=losses[0], until_first_step_s=ready, resident_MB=common.resident_bytes() / 1e6)


def mlp():
    random = np.random.default_rng(0)

    def perceptron(sizes):
        up = placed(jnp.asarray(random.normal(0, 0.04, sizes[1:3]), jnp.float32), None, "all")
        return up, placed(jnp.asarray(random.normal(0, 0.02, sizes[2:4]), jnp.float32), "all")

    def forward(w, x):
        return jax.nn.relu(x @ w[0]) @ w[1]

    def say(what, seconds):
        common.say(what, split_name, 2 if case != "one" else cores, f"{name}, {words}", seconds)

    weights = perceptron(common.MLP)
    batch, size_in, _, classes = common.MLP
    x = batched(jnp.asarray(random.uniform(-1, 1, (batch, size_in)), jnp.float32))
    labels = batched(jnp.asarray(random.integers(0, classes, batch)))

    @functools.partial(jax.jit, donate_argnums=0)
    def jitted(w, x, labels):
        loss = lambda w: optax.softmax_cross_entropy_with_integer_labels(forward(w, x), labels).mean()
        value, gradient = jax.value_and_grad(loss)(w)
        return jax.tree.map(lambda a, b: a - common.MLP_RATE * b, w, gradient), value

    def step():
        nonlocal weights
        weights, value = jitted(weights, x, labels)
        jax.block_until_ready(weights)
        return float(value)

    say(common.MLP_STEP, common.samples(step, 4 * options.rounds, warm=5, repeat=3))
    if case != "data":
        small, few = perceptron(common.SMALL), placed(jnp.asarray(random.normal(0, 1, common.SMALL[:2]), jnp.float32))
        whole = jax.jit(forward, out_shardings=NamedSharding(mesh, PartitionSpec()))
        say(common.SMALL_FORWARD, common.samples(lambda: whole(small, few).block_until_ready(), 2 * options.rounds, warm=20, repeat=100))


{"language_model": language_model, "mlp": mlp}[options.program]()
