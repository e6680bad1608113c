#!/usr/bin/env python3
"""A model in several files, as Hugging Face's packages write it: hugging_face.py FOLDER

Made with safetensors 0.8.0, huggingface_hub 2.4.0 and numpy 2.4.6. Element k of each array is k, but for `mask`, of which every third is true."""
import json
import pathlib
import sys

import huggingface_hub
import numpy
import safetensors.numpy
from huggingface_hub.serialization._base import split_state_dict_into_shards_factory as split

arrays = {
    "blocks.0.weight": numpy.arange(6 * 16, dtype=numpy.float32).reshape(6, 16),
    "blocks.0.bias": numpy.arange(16, dtype=numpy.float64),
    "head": numpy.arange(16 * 8, dtype=numpy.float32).reshape(16, 8),
    "mask": numpy.arange(16) % 3 == 0,
}
folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
made = split(
    arrays,
    get_storage_size=lambda array: array.nbytes,
    get_storage_id=lambda array: None,
    filename_pattern="model{suffix}.safetensors",
    max_shard_size=600,
)
for name, names in made.filename_to_tensors.items():
    safetensors.numpy.save_file({n: arrays[n] for n in names}, folder / name, metadata={"format": "pt"})
index = {"metadata": made.metadata, "weight_map": made.tensor_to_filename}
(folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")
print(huggingface_hub.__version__, safetensors.__version__, numpy.__version__)
