"""weights.py - reads our checkpoints, for conversion to the peers' formats. Needs numpy."""

import json
import struct
from pathlib import Path

import numpy

KINDS = {"F32": numpy.float32, "BF16": numpy.uint16}


def read(checkpoint):
    """The configuration of a checkpoint, and its parameters by name, as fp32."""
    checkpoint = Path(checkpoint)
    raw = (checkpoint / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header, data, out = json.loads(raw[8 : 8 + size]), raw[8 + size :], {}
    for name, about in header.items():
        if name == "__metadata__" or about["dtype"] not in KINDS:  # such as position_ids
            continue
        begin, end = about["data_offsets"]
        values = numpy.frombuffer(data[begin:end], KINDS[about["dtype"]])
        if about["dtype"] == "BF16":
            values = (values.astype(numpy.uint32) << 16).view(numpy.float32)
        out[name] = values.reshape(about["shape"]).astype(numpy.float32)
    return json.loads((checkpoint / "config.json").read_text("utf-8")), out


def query_key_value(parameters, block):
    """One matrix, as the peers have it."""
    return numpy.concatenate(
        [parameters[f"{block}attention.query.weight"], parameters[f"{block}attention.key_value.weight"]]
    )
