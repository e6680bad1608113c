#!/usr/bin/env python3
"""Three steps of Adafactor as Mesh TensorFlow takes them, in single precision as it has it. tests/optim/adafactor_golden.cpp compares meshtf with them.

  adafactor.py           writes adafactor.safetensors beside this script
  adafactor.py --check   computes all anew, compares with that file, writes nothing
"""
import math
import pathlib
import random
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import ops as tf_ops, tensor_conversion_registry

tf_ops.register_tensor_conversion_function = tensor_conversion_registry.register_tensor_conversion_function  # where mesh-tensorflow looks for it
import mesh_tensorflow as mtf  # noqa: E402
from mesh_tensorflow import optimize  # noqa: E402

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
GOLDEN = pathlib.Path(__file__).with_name("adafactor.safetensors")

SIZES = {"in": 6, "hidden": 16, "out": 8}
WEIGHTS = {"w": ("in", "out"), "deep": ("hidden", "in", "out"), "b": ("out",)}
STEPS = 3
OPTIMIZERS = {
    "plain": dict(min_dim_size_to_factor=2),
    "some": dict(min_dim_size_to_factor=7),
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
    tf.reset_default_graph()
    graph = mtf.Graph()
    mesh = mtf.Mesh(graph, "mesh")
    now = tf.train.get_or_create_global_step()
    optimizer = optimize.AdafactorOptimizer(**options)
    places, updates = {}, []
    for name, dims in WEIGHTS.items():
        shape = mtf.Shape([mtf.Dimension(d, SIZES[d]) for d in dims])
        mtf.get_variable(mesh, name, shape, initializer=tf.constant_initializer(given[name]))
        places[name] = tf.placeholder(tf.float32, [SIZES[d] for d in dims])
        variable = next(v for v in graph.trainable_variables if v.name == name)
        updates += optimizer.apply_grad(mtf.import_tf_tensor(mesh, places[name], shape), variable)
    lowering = mtf.Lowering(graph, {mesh: mtf.placement_mesh_impl.PlacementMeshImpl(mtf.Shape([]), [], [""])})
    step = tf.group([lowering.lowered_operation(u) for u in updates])
    with tf.control_dependencies([step]):
        step = tf.group(step, tf.assign_add(now, 1))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(lowering.copy_masters_to_slices())
        for t in range(STEPS):
            session.run(step, {places[name]: given[f"{name}.gradient.{t}"] for name in WEIGHTS})
        session.run(lowering.copy_slices_to_masters())
        masters = {v.name.removesuffix(":0"): v for v in tf.global_variables()}
        return {name: session.run(masters[name]) for name in WEIGHTS}


def goldens():
    made = arrays()
    for name, options in OPTIMIZERS.items():
        for weights, after in steps_of(options, made).items():
            made[f"{name}.{weights}"] = after
    return {k: np.ascontiguousarray(v) for k, v in made.items()}


def main():
    made = goldens()
    if sys.argv[1:] == ["--check"]:
        kept = load_file(GOLDEN)
        if kept.keys() != made.keys():
            sys.exit(f"other arrays: {kept.keys() ^ made.keys()}")
        for k, v in made.items():
            if not np.allclose(kept[k], v, rtol=0, atol=1e-6):
                sys.exit(f"{k} differs")
        print(f"{len(OPTIMIZERS)} optimizers agree with {GOLDEN.name}")
    else:
        save_file(made, GOLDEN)
        print(f"{STEPS} steps of {len(OPTIMIZERS)} optimizers")


if __name__ == "__main__":
    main()
