#!/usr/bin/env python3
"""Three steps of Adafactor as Mesh TensorFlow takes them, in single precision as it has it. tests/optim/adafactor_golden.cpp compares meshtf with them.

  adafactor.py           writes adafactor.safetensors next to this script
  adafactor.py --check   computes all anew, compares with that file, writes nothing
"""
import math
import random

import numpy as np

from goldens import main
from original import lowering, mtf, new_mesh, tf
from mesh_tensorflow import optimize  # noqa: E402


SIZES = {"in": 6, "hidden": 16, "out": 8}
WEIGHTS = {"w": ("in", "out"), "deep": ("hidden", "in", "out"), "b": ("out",)}
STEPS = 3
OPTIMIZERS = {
    "plain": dict(min_dim_size_to_factor=2),
    "some": dict(min_dim_size_to_factor=7),
    "constant": dict(min_dim_size_to_factor=2, decay_rate=0.95),
    "averaged": dict(min_dim_size_to_factor=2, learning_rate=0.03, beta1=0.9, multiply_by_parameter_scale=False, clipping_threshold=0.5),
}


def arrays():
    draw = random.Random(1).random  # Python promises its sequence
    made = {}
    for name, dims in WEIGHTS.items():
        for what in [name] + [f"{name}.gradient.{t}" for t in range(STEPS)]:
            shape = [SIZES[d] for d in dims]
            made[what] = np.array([round((4 * draw() - 2) * 1024) / 1024 for _ in range(math.prod(shape))], dtype=np.float32).reshape(shape)
    return made


def steps_of(options, given):
    """The weights after the last step."""
    graph, mesh = new_mesh()
    now = tf.train.get_or_create_global_step()
    optimizer = optimize.AdafactorOptimizer(**options)
    places, updates = {}, []
    for name, dims in WEIGHTS.items():
        shape = mtf.Shape([mtf.Dimension(d, SIZES[d]) for d in dims])
        mtf.get_variable(mesh, name, shape, initializer=tf.constant_initializer(given[name]))
        places[name] = tf.placeholder(tf.float32, [SIZES[d] for d in dims])
        variable = next(v for v in graph.trainable_variables if v.name == name)
        updates += optimizer.apply_grad(mtf.import_tf_tensor(mesh, places[name], shape), variable)
    lowered = lowering(graph, mesh)
    step = tf.group([lowered.lowered_operation(u) for u in updates])
    with tf.control_dependencies([step]):
        step = tf.group(step, tf.assign_add(now, 1))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(lowered.copy_masters_to_slices())
        for t in range(STEPS):
            session.run(step, {places[name]: given[f"{name}.gradient.{t}"] for name in WEIGHTS})
        session.run(lowered.copy_slices_to_masters())
        masters = {v.name.removesuffix(":0"): v for v in tf.global_variables()}
        return {name: session.run(masters[name]) for name in WEIGHTS}


def computed():
    made = arrays()
    for name, options in OPTIMIZERS.items():
        for weights, after in steps_of(options, made).items():
            made[f"{name}.{weights}"] = after
    return made


if __name__ == "__main__":
    main(__file__, computed, within=1e-6)
