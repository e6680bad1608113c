#!/usr/bin/env python3
"""A Chakra trace has what the ledger counts: chakra.py PLAN FOLDER

PLAN is meshtf-plan; the trace is read by Google's protobuf, from the fields of Chakra's schema/protobuf/et_def.proto. Status 77, skipped: without it.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):  # Debian's package is for Debian's Python
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print("needs python3-protobuf")
    sys.exit(77)

plan, folder = sys.argv[1], Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)

schema = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="ChakraProtoMsg", syntax="proto3")
kinds = {"string": 9, "uint64": 4, "int64": 3, "int32": 5, "bool": 8, "message": 11}


def message(name, *fields):
    made = schema.message_type.add(name=name)
    for field, number, kind, *repeated in fields:
        known = kind in kinds
        made.field.add(name=field, number=number, label=3 if repeated else 1, type=kinds[kind if known else "message"],
                       type_name=None if known else ".ChakraProtoMsg." + kind)


message("BoolList", ("values", 1, "bool", "repeated"))
message("AttributeProto", ("name", 1, "string"), ("int32_val", 7, "int32"), ("int64_val", 9, "int64"), ("uint64_val", 13, "uint64"),
        ("bool_val", 27, "bool"), ("bool_list", 28, "BoolList"), ("string_val", 29, "string"))
message("GlobalMetadata", ("version", 1, "string"), ("attr", 2, "AttributeProto", "repeated"))
message("Node", ("id", 1, "uint64"), ("name", 2, "string"), ("type", 3, "uint64"), ("data_deps", 5, "uint64", "repeated"),
        ("duration_micros", 7, "uint64"), ("attr", 10, "AttributeProto", "repeated"))
pool = descriptor_pool.DescriptorPool()
pool.Add(schema)


def parsed(name, data):
    found = pool.FindMessageTypeByName("ChakraProtoMsg." + name)
    made = message_factory.GetMessageClass(found)() if hasattr(message_factory, "GetMessageClass") else message_factory.MessageFactory(pool).GetPrototype(found)()
    made.ParseFromString(data)
    return made


def messages(data):
    while data:
        length = shift = at = 0
        while True:
            byte = data[at]
            length |= (byte & 127) << shift
            shift, at = shift + 7, at + 1
            if byte < 128:
                break
        yield data[at:at + length]
        data = data[at + length:]


bad = 0


def check(what, expected, actual):
    global bad
    if expected != actual:
        print(f"{what}: expected {expected}, got {actual}")
        bad = 1


for model in ("mlp", "transformer", "images"):
    for layout in ("replicated", "data_parallel", "mixed"):
        for rank in (0, 5):
            file = folder / f"{model}.{layout}.{rank}.et"
            said = subprocess.run([plan, "--trace", "chakra", file, "--model", model, "--layout", layout, "--rank", str(rank)], check=True,
                                  capture_output=True, text=True).stdout
            calls, payload, sent, flops, passed = map(int, re.search(r": (\d+) calls, (\d+) bytes handed over, (\d+) sent, (\d+) flops, (\d+) bytes", said).groups())
            first, *rest = messages(file.read_bytes())
            about = parsed("GlobalMetadata", first)
            check(f"{file}: mesh", "rows=2 cols=4", about.attr[0].string_val)
            nodes = [parsed("Node", data) for data in rest]
            check(f"{file}: numbers", list(range(len(nodes))), [n.id for n in nodes])
            check(f"{file}: each node waits for earlier ones", True, all(d < n.id for n in nodes for d in n.data_deps))
            check(f"{file}: all but the first wait", len(nodes) - 1, sum(1 for n in nodes if n.data_deps))
            attributes = [{a.name: a for a in n.attr} for n in nodes]
            collectives = [a for n, a in zip(nodes, attributes) if n.type == 7]
            sends = [a for n, a in zip(nodes, attributes) if n.type == 5]
            receives = [a for n, a in zip(nodes, attributes) if n.type == 6]
            check(f"{file}: calls", calls, len(collectives) + len(sends))
            check(f"{file}: receives", len(sends), len(receives))
            check(f"{file}: bytes sent", sent, sum(a["sent_bytes"].int64_val for a in collectives) + sum(a["comm_size"].int64_val for a in sends))
            if not sends:
                check(f"{file}: bytes handed over", payload, sum(a["comm_size"].int64_val for a in collectives))
            check(f"{file}: sent by this rank", {rank} if sends else set(), {a["comm_src"].int32_val for a in sends})
            check(f"{file}: kinds", set(), {a["comm_type"].int64_val for a in collectives} - {0, 2, 5, 6, 7})
            check(f"{file}: axes", {2} if collectives else set(), {len(a["involved_dim"].bool_list.values) for a in collectives})
            computed = [a for n, a in zip(nodes, attributes) if n.type == 4]
            check(f"{file}: flops", flops, sum(a["num_ops"].int64_val for a in computed))
            check(f"{file}: bytes passed over", passed, sum(a["tensor_size"].uint64_val for a in computed))
            if layout == "data_parallel":  # cols, the inner axis, joins nothing
                check(f"{file}: involved", {(False, True)}, {tuple(a["involved_dim"].bool_list.values) for a in collectives})
sys.exit(bad)
