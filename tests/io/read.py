#!/usr/bin/env python3
"""Python reads what meshtf saves: read.py COMMAND [ARGUMENT...] runs the command with a folder as its last argument (it is
tests/io/written.cpp on 4 processes), and compares the checkpoint in it with what must be there.

The file is read as the format is published (https://github.com/huggingface/safetensors), with nothing but the standard library, and, where
they are installed, with the packages safetensors and xxhash too. Exit status: 0 all is well, 1 it is not."""
import array
import itertools
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    import xxhash
except ImportError:
    xxhash = None


def read(path):
    """{name: (type, shape, elements)} and the metadata."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    about = header.pop("__metadata__")
    end = 0
    arrays = {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = entry["data_offsets"]
        elements = array.array({"F32": "f", "F64": "d"}[entry["dtype"]], data[first:last])
        assert first == end and first % elements.itemsize == 0, (name, entry)
        end = last
        arrays[name] = (entry["dtype"], entry["shape"], list(elements))
    assert end == len(data), (end, len(data))
    return arrays, about


def read_parts(folder):
    """The same of a checkpoint in parts: elements of boxes, and the hash of each chunk."""
    with open(os.path.join(folder, "manifest.json")) as file:
        manifest = json.load(file)
    wholes = [[None] * math.prod(array["shape"]) for array in manifest["arrays"]]
    for number, part in enumerate(manifest["parts"]):
        path = os.path.join(folder, f"part-{number:05}-of-{len(manifest['parts']):05}.safetensors")
        with open(path, "rb") as file:
            data = file.read()
        assert len(data) == part["bytes"], (path, len(data))
        chunks = [data[i:i + manifest["chunk"]] for i in range(0, len(data), manifest["chunk"])]
        if manifest["hash"] == "crc32":
            assert ["%08x" % zlib.crc32(chunk) for chunk in chunks] == part["hashes"], path
        if manifest["hash"] == "xxh3" and xxhash is not None:
            assert [xxhash.xxh3_64_hexdigest(chunk) for chunk in chunks] == part["hashes"], path
        held, _ = read(path)
        for entry in part["arrays"]:
            array, whole = manifest["arrays"][entry["array"]], wholes[entry["array"]]
            first, last = entry["elements"]
            kind, shape, elements = held[array["name"]]
            assert kind == array["dtype"] and math.prod(shape) == len(elements) == last - first, (path, entry)
            box = itertools.product(*(range(a, a + n) for a, n in zip(entry["first"], entry["extents"])))
            for at, element in zip(itertools.islice(box, first, last), elements):
                position = 0
                for index, size in zip(at, array["shape"]):
                    position = position * size + index
                assert whole[position] is None, (path, entry)
                whole[position] = element
    assert all(None not in whole for whole in wholes), wholes
    return {array["name"]: (array["dtype"], array["shape"], whole) for array, whole in zip(manifest["arrays"], wholes)}, manifest["metadata"]


def read_several(folder):
    """The same of a model in several files, as Hugging Face's loaders read it: each array from the file that the index names."""
    with open(os.path.join(folder, "model.safetensors.index.json")) as file:
        index = json.load(file)
    names = sorted(set(index["weight_map"].values()))
    assert names == [f"model-{k + 1:05}-of-{len(names):05}.safetensors" for k in range(len(names))], names
    assert sorted(os.listdir(folder)) == sorted(names + ["model.safetensors.index.json"]), os.listdir(folder)
    files = {name: read(os.path.join(folder, name)) for name in names}
    assert all(about["format"] == "pt" for _, about in files.values()), files
    assert index["weight_map"] == {array: name for name, (arrays, _) in files.items() for array in arrays}, index
    arrays = {array: files[name][0][array] for array, name in index["weight_map"].items()}
    assert index["metadata"]["total_size"] == sum({"F32": 4, "F64": 8}[kind] * len(x) for kind, _, x in arrays.values()), index
    return arrays


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(sys.argv[1:] + [folder], check=True)
        assert sorted(os.listdir(folder)) == [".lock", "net", "parts", "step-00000012.safetensors"], os.listdir(folder)
        path = os.path.join(folder, "step-00000012.safetensors")
        arrays, about = read(path)

        single = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
        quarters = lambda n: [k / 4 for k in range(n)]
        expected = {
            "layer.weight": ("F32", [6, 8], quarters(48)),
            "layer.bias": ("F64", [8], quarters(8)),
            "t": ("F32", [], [0.75]),
            # one step with the gradient 0.5: (1 - 0.9) * 0.5 and (1 - 0.999) * 0.5 * 0.5; 1 - beta is rounded once
            "optimizer.first.layer.weight": ("F32", [6, 8], [single(single(1 - 0.9) * 0.5)] * 48),
            "optimizer.second.layer.weight": ("F32", [6, 8], [single(single(1 - 0.999) * 0.25)] * 48),
        }
        assert sorted(arrays) == sorted(expected), sorted(arrays)
        for name, (kind, shape, elements) in expected.items():
            assert arrays[name][:2] == (kind, shape), (name, arrays[name])
            if name.startswith("optimizer."):
                assert all(abs(x - y) <= 1e-7 * y for x, y in zip(arrays[name][2], elements)), (name, arrays[name])
            else:
                assert arrays[name][2] == elements, (name, arrays[name])
        checksum = about.pop("crc32")
        if checksum != "none":   # where there is zlib: of all after the first 8 bytes, with zeros in its own place
            with open(path, "rb") as file:
                rest = file.read()[8:].replace(b'"crc32":"%s"' % checksum.encode(), b'"crc32":"00000000"', 1)
            assert "%08x" % zlib.crc32(rest) == checksum, checksum
        assert about == {"format": "meshtf 1", "step": "12", "seed": "34", "optimizer": "adam", "optimizer.power1": "0.9",
                         "optimizer.power2": "0.999"}, about

        in_parts, about_parts = read_parts(os.path.join(folder, "parts", "step-00000012"))
        assert in_parts == arrays, in_parts
        assert about_parts == about, about_parts

        net = {name: array for name, array in arrays.items() if not name.startswith("optimizer.")}
        assert read_several(os.path.join(folder, "net")) == net, net

        try:
            from safetensors import safe_open
            from safetensors.numpy import load_file
        except ImportError:
            print("read with the standard library; the package safetensors is not installed")
            return
        loaded = load_file(path)
        assert sorted(loaded) == sorted(expected), sorted(loaded)
        for name, (kind, shape, elements) in arrays.items():
            assert list(loaded[name].shape) == shape and loaded[name].reshape(-1).tolist() == elements, name
            assert str(loaded[name].dtype) == {"F32": "float32", "F64": "float64"}[kind], name
        with safe_open(path, "numpy") as file:
            assert file.metadata()["step"] == "12", file.metadata()
        several = {}
        for name in sorted(os.listdir(os.path.join(folder, "net"))):
            if name.endswith(".safetensors"):
                several.update(load_file(os.path.join(folder, "net", name)))
        assert {name: x.reshape(-1).tolist() for name, x in several.items()} == {name: x for name, (_, _, x) in net.items()}, several
        print("read with the standard library and with the package safetensors")


main()
