"""The steps in the original Mesh TensorFlow, graphs of TensorFlow 1 on the CPU. Cases: `one` device; `data` and `tensor`, two devices of one
process."""
import importlib.metadata
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
start = time.perf_counter()
from tensorflow.python.framework import ops, tensor_conversion_registry

# TensorFlow moved this function, which Mesh TensorFlow calls when it is imported.
ops.register_tensor_conversion_function = tensor_conversion_registry.register_tensor_conversion_function
import mesh_tensorflow as mtf
import numpy as np
import tensorflow.compat.v1 as tf

import common
from common import BATCH, DECAY, HEADS, HIDDEN, KEY, LAYERS, LENGTH, MODEL, RATE, STDDEV, VOCAB

options = common.arguments()
case = options.case
name = f"Mesh TensorFlow {importlib.metadata.version('mesh-tensorflow')} on TensorFlow {tf.__version__}"
tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
cores = len(os.sched_getaffinity(0))
split_name = {"one": "nothing"}.get(case, case)
words = "1 device" if case == "one" else f"2 devices, {case} split"
graph = mtf.Graph()
mesh = mtf.Mesh(graph, "mesh")
rules = {"one": "", "data": "batch:all", "tensor": "heads:all;hidden:all"}[case]
variables = mtf.VariableDType(tf.float32, tf.float32, tf.float32)


def lowered():
    shape = mtf.convert_to_shape(f"all:{1 if case == 'one' else 2}")
    machine = mtf.placement_mesh_impl.PlacementMeshImpl(shape, mtf.convert_to_layout_rules(rules), [""] * shape.size)
    return mtf.Lowering(graph, {mesh: machine})


def session(lowering):
    limits = tf.ConfigProto(intra_op_parallelism_threads=cores, inter_op_parallelism_threads=cores)
    s = tf.Session(config=limits)
    s.run(tf.global_variables_initializer())
    s.run(lowering.copy_masters_to_slices())
    return s


def dimension(name, size):
    return mtf.Dimension(name, size)


def initial(stddev=STDDEV):
    return tf.random_normal_initializer(stddev=stddev)


def say(what, seconds, **more):
    common.say(what, split_name, cores, f"{name}, {words}", seconds, **more)


def language_model():
    ids, targets = (tf.placeholder(tf.int32, [BATCH, LENGTH]) for _ in range(2))
    batch, length, vocab, model = dimension("batch", BATCH), dimension("length", LENGTH), dimension("vocab", VOCAB), dimension("model", MODEL)
    heads, key, hidden = dimension("heads", HEADS), dimension("key", KEY), dimension("hidden", HIDDEN)
    x_ids, y_ids = (mtf.import_tf_tensor(mesh, x, mtf.Shape([batch, length])) for x in (ids, targets))
    memory = dimension("memory_length", LENGTH)

    def dense(x, new, reduced, name):
        return mtf.layers.dense(x, new, reduced_dims=reduced, kernel_initializer=initial(), name=name)

    def remembered(x):
        return mtf.rename_dimension(x, "length", "memory_length")

    tokens = mtf.layers.embedding_weights(mesh, vocab, model, variables, initializer=initial())
    x = mtf.gather(tokens, x_ids, vocab) + mtf.get_variable(mesh, "positions", mtf.Shape([length, model]), initializer=initial())
    mask = mtf.layers.attention_mask_autoregressive(mtf.range(mesh, length, tf.int32))
    for layer in range(LAYERS):
        with tf.variable_scope(f"layer{layer}"):
            h = mtf.layers.layer_norm(x, model, name="norm1")
            query, keys, values = (dense(h, [heads, key], [model], n) for n in ("query", "key", "value"))
            scores = mtf.einsum([query * KEY**-0.5, remembered(keys)], [batch, heads, length, memory]) + mask
            y = mtf.einsum([mtf.softmax(scores, memory), remembered(values)], [batch, length, heads, key])
            x = x + dense(y, [model], [heads, key], "output")
            h = mtf.layers.layer_norm(x, model, name="norm2")
            x = x + dense(mtf.gelu(dense(h, [hidden], [model], "up")), [model], [hidden], "down")
    scores = mtf.einsum([mtf.layers.layer_norm(x, model, name="norm"), tokens], [batch, length, vocab])
    loss = mtf.reduce_mean(mtf.layers.softmax_cross_entropy_with_logits(scores, y_ids, vocab))
    trained = graph.trainable_variables
    gradients = mtf.gradients([loss], [v.outputs[0] for v in trained])
    updates = mtf.optimize.AdamWeightDecayOptimizer(RATE, weight_decay_rate=DECAY).apply_grads(gradients, trained)
    lowering = lowered()
    fetched = [lowering.export_to_tf_tensor(loss)] + [lowering.lowered_operation(u) for u in updates]
    s = session(lowering)
    random = np.random.RandomState(0)
    feed = {x: random.randint(0, VOCAB, (BATCH, LENGTH)) for x in (ids, targets)}
    losses = []

    def step():
        losses.append(float(s.run(fetched, feed)[0]))

    step()
    ready = time.perf_counter() - start
    seconds = common.samples(step, options.rounds, warm=1)
    say(common.LANGUAGE_MODEL_STEP, seconds, parameters=sum(v.shape.size for v in trained), first_loss=losses[0], until_first_step_s=ready,
        resident_MB=common.resident_bytes() / 1e6)


def perceptron(sizes, name):
    """The input as a placeholder, and the scores."""
    batch, size_in, hidden, classes = (dimension(n, size) for n, size in zip(("batch", "in", "hidden", "out"), sizes))
    given = tf.placeholder(tf.float32, sizes[:2])
    x = mtf.import_tf_tensor(mesh, given, mtf.Shape([batch, size_in]))
    up = mtf.get_variable(mesh, name + "_up", mtf.Shape([size_in, hidden]), initializer=initial(0.04))
    down = mtf.get_variable(mesh, name + "_down", mtf.Shape([hidden, classes]), initializer=initial(0.02))
    return given, mtf.einsum([mtf.relu(mtf.einsum([x, up], [batch, hidden])), down], [batch, classes]), batch, classes


def mlp():
    x, scores, batch, classes = perceptron(common.MLP, "large")
    labels = tf.placeholder(tf.int32, common.MLP[:1])
    y = mtf.import_tf_tensor(mesh, labels, mtf.Shape([batch]))
    loss = mtf.reduce_mean(mtf.layers.softmax_cross_entropy_with_logits(scores, mtf.one_hot(y, classes), classes))
    trained = list(graph.trainable_variables)
    updates = mtf.optimize.SgdOptimizer(common.MLP_RATE).apply_grads(mtf.gradients([loss], [v.outputs[0] for v in trained]), trained)
    few, small, _, _ = perceptron(common.SMALL, "small") if case != "data" else (None,) * 4
    lowering = lowered()
    fetched = [lowering.export_to_tf_tensor(loss)] + [lowering.lowered_operation(u) for u in updates]
    result = lowering.export_to_tf_tensor(small) if small is not None else None
    s = session(lowering)
    random = np.random.RandomState(0)
    feed = {x: random.uniform(-1, 1, common.MLP[:2]), labels: random.randint(0, common.MLP[3], common.MLP[:1])}
    say(common.MLP_STEP, common.samples(lambda: s.run(fetched, feed), 4 * options.rounds, warm=5, repeat=3))
    if result is not None:
        compiled = s.make_callable(result, [few])
        values = random.normal(0, 1, common.SMALL[:2]).astype(np.float32)
        say(common.SMALL_FORWARD, common.samples(lambda: compiled(values), 2 * options.rounds, warm=20, repeat=100))


{"language_model": language_model, "mlp": mlp}[options.program]()
