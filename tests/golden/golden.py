"""golden.py - what the PyTorch recorders beside it share: drawn numbers, the layer norm, what is
recorded of every model, and the files. The equations of a model are in its recorder."""
import json
import math
import os
import struct
import sys

import torch


def draw_texts(lengths, vocab, classes=0, least=0):
    """Texts of such lengths, of tokens from the least on; and what is right, a class for each text,
    or without classes a target for each token."""
    g = torch.Generator().manual_seed(0)
    texts = [torch.randint(least, vocab, (n,), generator=g).tolist() for n in lengths]
    end, count = (classes, len(lengths)) if classes else (vocab, sum(lengths))
    return texts, torch.randint(end, (count,), generator=g).tolist()


def draw(shapes, scaled, seed):
    """Parameters of such shapes: gains about one, others as scaled(name, normal numbers) has them.
    They are rounded to fp32 first: the engine starts from the same numbers."""
    g = torch.Generator().manual_seed(seed)
    parameters = {}
    for name, shape in shapes.items():
        x = torch.randn(shape, generator=g, dtype=torch.float64)
        x = 1.0 + 0.2 * x if name.endswith("norm.weight") else scaled(name, x)
        parameters[name] = x.float().double().requires_grad_()
    return parameters


def norm(p, name, x, epsilon=1e-5):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + epsilon) * p[name + ".weight"] + p[name + ".bias"]


def norm_of_all(p):
    """Of all gradients together."""
    return math.sqrt(sum(float((x.grad ** 2).sum()) for x in p.values()))


def least_gradient(p):
    return min(float(x.grad.norm()) for x in p.values())


def prefixed(prefix, values):
    return {prefix + name: value for name, value in values.items()}


def case(p, hypers, facts, tensors, buffers={}):
    """All tensors and facts to be recorded: those given, and what every model has."""
    parameters = {name: x.clone() for name, x in p.items()}  # training goes on in place
    gradients = {name: x.grad.clone() for name, x in p.items()}
    tensors = {**tensors, **prefixed("parameter.", parameters), **prefixed("buffer.", buffers),
               **prefixed("gradient.", gradients)}
    return tensors, {**facts, **prefixed("hyper.", hypers)}


def write(path, tensors, facts):
    """The safetensors format: the header's length, the header, fp32 values one after another."""
    header, data = {"__metadata__": {k: str(v) for k, v in facts.items()}}, b""
    for name, x in tensors.items():
        x = torch.as_tensor(x)
        values = x.detach().reshape(-1).tolist()
        raw = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(x.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    print(path, os.path.getsize(path), "bytes;", facts)


def main(records):
    """Writes what each function records as NAME.safetensors, into the directory on the command
    line, or beside this file."""
    directory = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    torch.set_num_threads(1)
    for name, record in records.items():
        write(os.path.join(directory, name + ".safetensors"), *record())
