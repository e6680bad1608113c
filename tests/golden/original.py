"""Mesh TensorFlow, for the scripts here: mtf and tf, as today's TensorFlow runs them."""
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import ops as tf_ops, tensor_conversion_registry

tf_ops.register_tensor_conversion_function = tensor_conversion_registry.register_tensor_conversion_function  # where mesh-tensorflow looks for it
import mesh_tensorflow as mtf  # noqa: E402

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)


def new_mesh():
    """A graph of its own, and its mesh."""
    tf.reset_default_graph()
    graph = mtf.Graph()
    return graph, mtf.Mesh(graph, "mesh")


def lowering(graph, mesh, mesh_shape="", layout=""):
    """On one device, unless `mesh_shape` and `layout` say otherwise, in the original's words."""
    shape = mtf.convert_to_shape(mesh_shape)
    return mtf.Lowering(graph, {mesh: mtf.placement_mesh_impl.PlacementMeshImpl(shape, mtf.convert_to_layout_rules(layout), [""] * shape.size)})
