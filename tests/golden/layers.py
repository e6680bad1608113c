#!/usr/bin/env python3
"""Layers as Mesh TensorFlow has them, and as PyTorch computes the same. tests/nn/goldens_of_layers.cpp compares meshtf with them.

  layers.py           writes layers.safetensors next to this script
  layers.py --check   computes all anew, compares with that file, writes nothing

Cases are made and compared as in operations.py: both must agree, and each has a result and the gradients of its operands.
"""
import math
import sys
import types

import goldens
import operations as made
from original import mtf, tf
import torch
import torch.nn.functional as F

for unused in "tensorflow_datasets", "t5", "t5.data":  # the original's transformer wants to import its data sets
    sys.modules[unused] = types.ModuleType(unused)
import mesh_tensorflow.transformer.attention as original_attention
import mesh_tensorflow.transformer.transformer as original_transformer
import mesh_tensorflow.transformer.transformer_layers as original_layers
import mesh_tensorflow.transformer.vocab_embeddings as embeddings

made.SIZES |= dict(heads=2, key=4, buckets=6, inner=2, frequent=6, rare=4)
D = made.D
D |= {name: mtf.Dimension(name, size) for name, size in made.SIZES.items()}
source = made.Source(2)
made.OPERANDS.clear(), made.ARRAYS.clear(), made.CASES.clear()
for name, dims in dict(
        sequence="batch length model", many="length model heads key", offset="heads key", gate="model hidden", up="model hidden", down="hidden model",
        left_factor="vocab inner", right_factor="inner model", frequent_table="frequent model", rare_table="rare inner", rare_up="inner model",
        q="batch length heads key", k="batch memory heads key", v="batch memory heads key", one="batch memory key", of_buckets="heads key buckets",
).items():
    made.OPERANDS[name] = tuple(dims.split())
    made.ARRAYS[name] = source.array(-1, 1, *made.OPERANDS[name])
for name in "ids", "segments", "targets":
    made.OPERANDS[name] = ("batch", "length")
    made.ARRAYS[name] = source.ids(made.SIZES["vocab"], "batch", "length")
made.ARRAYS["targets"] *= made.np.where(made.ARRAYS["ids"] < 3, -1, 1).astype(made.np.int32)  # some losses are masked
made.ARRAYS["segments"] = made.np.sort(made.ARRAYS["segments"] % 3, axis=1) + 1
made.ARRAYS["ids"] %= 4  # the end of a sequence, 1, comes often


def dense(x, w, reduced, new):
    return mtf.layers.dense(x, [D[d] for d in new.split()], [D[d] for d in reduced.split()], kernel_weights=w, use_bias=False)


case = made.case
case("dense", "sequence many offset", lambda x, w, b: torch.einsum("blm,lmhk->bhk", x, w) + b,
     lambda x, w, b: dense(x, w, "length model", "heads key") + b)
for name, f, g in [("glu", torch.sigmoid, mtf.sigmoid), ("geglu", lambda x: F.gelu(x, approximate="tanh"), mtf.gelu), ("swiglu", F.silu, mtf.swish)]:
    case(name, "sequence gate up down", lambda x, g1, u, d, f=f: (f(x @ g1) * (x @ u)) @ d,
         lambda x, g1, u, d, g=g: dense(g(dense(x, g1, "model", "hidden")) * dense(x, u, "model", "hidden"), d, "hidden", "model"))


def embedding(cls, **members):
    e = object.__new__(cls)  # without variables of its own
    e.__dict__.update(_output_dim=D["model"], _scale_variable_like_classifier_weights=False, **members)
    return e


def factorised(a, b, words="vocab"):
    return embedding(embeddings.FactorizedVocabEmbedding, _vocab_dim=D[words], _inner_dim=D["inner"], _factor1=a, _factor2=b)


def adaptive(table, a, b):
    frequent = embedding(original_transformer.VocabEmbedding, _vocab_dim=D["frequent"], _embedding_weights=table)
    clusters = [embeddings._Cluster(frequent, 0, 6), embeddings._Cluster(factorised(a, b, "rare"), 6, 10)]
    return embedding(embeddings.AdaptiveVocabEmbedding, _vocab_dim=D["vocab"], _clusters=clusters)


def logits_of_clusters(x, table, a, b):  # the original's clusters have one name; here the dimensions of words have two
    parts = [c.hidden_to_logits(x, None) for c in adaptive(table, a, b)._clusters]
    return mtf.concat([mtf.rename_dimension(p, p.shape.dims[-1].name, "vocab") for p in parts], "vocab")


root = made.SIZES["model"] ** -0.5
case("factorised", "left_factor right_factor ids", lambda a, b, i: (a @ b)[i.long()], lambda a, b, i: factorised(a, b).ids_to_embedding(i, None))
case("factorised_logits", "sequence left_factor right_factor", lambda x, a, b: x * root @ (a @ b).T,
     lambda x, a, b: factorised(a, b).hidden_to_logits(x, None))
case("adaptive", "frequent_table rare_table rare_up targets", lambda t, a, b, i: torch.cat([t, a @ b])[i.abs().long()],
     lambda t, a, b, i: adaptive(t, a, b).ids_to_embedding(mtf.abs(i), None))
case("adaptive_logits", "sequence frequent_table rare_table rare_up", lambda x, t, a, b: x * root @ torch.cat([t, a @ b]).T, logits_of_clusters)


def shifted(t):
    return F.pad(t, (1, 0))[:, :-1]


case("autoregressive_inputs", "targets", lambda t: shifted(t).abs(), original_transformer.autoregressive_inputs)
case("autoregressive_inputs_of_segments", "targets segments", lambda t, s: torch.where(s == shifted(s), shifted(t).abs(), 0).int(),
     original_transformer.autoregressive_inputs)
case("delimited_lm_inputs_mask", "ids", lambda i: (((i == 1).cumsum(1) - (i == 1).int()) % 2 == 0).int(),
     lambda i: mtf.to_int32(original_transformer.delimited_lm_inputs_mask(i)))


def attend(q, k, v, bias=0.0):
    scores = torch.einsum("blhk,bmhk->bhlm", q, k) + bias
    return torch.einsum("bhlm,bmhk->blhk", scores.softmax(-1), v)


def original_attend(q, k, v, bias=None):
    context = types.SimpleNamespace(train=False, model=types.SimpleNamespace(layout=None))
    return original_attention.attention(q, k, v, D["memory"], D["key"], D["key"], bias, dropout_broadcast_dims=[], context=context, float32_logits=False)


def bucket(distance, buckets=6, most=128):  # of T5, of the query's position less the memory's
    half = buckets // 2
    exact, n = half // 2, abs(distance)
    grown = n if n < exact else min(half - 1, exact + int(math.log(n / exact) / math.log(most / exact) * (half - exact) + 1e-9))
    return grown + (half if distance < 0 else 0)


BUCKETS = torch.tensor([[bucket(l - m) for m in range(6)] for l in range(6)])


def contextual(q, k, v, table):
    return attend(q, k, v, torch.einsum("blhk,hkc->bhlc", q, table).gather(3, BUCKETS.expand(4, 2, 6, 6)))


def original_contextual(q, k, v, table):
    positions = mtf.range(q.mesh, D["memory"], tf.int32) - mtf.range(q.mesh, D["length"], tf.int32)
    buckets = original_layers._relative_position_bucket(positions, bidirectional=True, num_buckets=6)
    return original_attend(q, k, v, mtf.gather(dense(q, table, "key", "buckets"), buckets, D["buckets"]))


def of_segments(q, k, v, segments):  # and what comes later is not seen
    hidden = (segments[:, :, None] != segments[:, None]) | (torch.arange(6)[:, None] < torch.arange(6))
    return attend(q, k, v, torch.where(hidden, -math.inf, 0.0)[:, None])


def original_of_segments(q, k, v, segments):
    positions = [mtf.range(q.mesh, D[d], tf.int32) for d in ("length", "memory")]
    visible = mtf.logical_and(mtf.equal(segments, mtf.rename_dimension(segments, "length", "memory")), mtf.greater_equal(*positions))
    return original_attend(q, k, v, (1 - mtf.cast(visible, tf.float64)) * -1e9)


case("attention", "q k v", attend, original_attend)
case("multi_query", "q one", lambda q, k: attend(q, k[:, :, None].expand(4, 6, 2, 4), k[:, :, None].expand(4, 6, 2, 4)),
     lambda q, k: original_attend(q, k, k))
case("attention_of_segments", "q k v segments", of_segments, original_of_segments)
case("contextual", "q k v of_buckets", contextual, original_contextual)

if __name__ == "__main__":
    goldens.main(__file__, made.computed, within=1e-6)
