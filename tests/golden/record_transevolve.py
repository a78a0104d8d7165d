#!/usr/bin/python3
"""record_transevolve.py - records what small TransEvolve models compute, by PyTorch and in double
precision: two classifiers, a language model and a translator, with logits, losses and all
gradients.

Written from the equations of "Redesigning the Transformer Architecture with Insights from
Multi-particle Dynamical Systems" as published: all four terms of the scores, full rotations, one
sequence at a time. Gradients come from PyTorch's autograd. test_golden.c compares the engine with
what is recorded; it needs the files, not this script.

    record_transevolve.py [DIRECTORY]      writes transevolve_*.safetensors there, or beside itself

Needs python3-torch (recorded with 1.13). All numbers follow from the seeds below; the frozen random
numbers of rotations are those of the engine, which are a function of a name.
"""
import math
from functools import partial

import torch

from golden import case, draw, draw_texts, main, norm

SIZES = {"width": 32, "heads": 4, "ffn_width": 64, "context_length": 24, "dropout": 0.0}
VOCAB, LENGTHS = 17, (24, 5, 1, 19)
SOURCES = (7, 24, 13, 1)  # lengths of texts to translate
EPSILON = 1e-3  # of all norms
MODELS = {
    "full_2": {"classes": 2, "depth": 4, "blocks": 2, "feed_forward": 0, "time_encoding": 0},
    "random_1": {"classes": 3, "depth": 3, "blocks": 1, "feed_forward": 1, "time_encoding": 1},
    "causal": {"classes": 0, "depth": 3, "blocks": 1, "feed_forward": 0, "time_encoding": 0},
    "translator": {"classes": 0, "depth": 2, "blocks": 1, "feed_forward": 0, "time_encoding": 0, "translates": True},
}
SEED = {"full_2": 11, "random_1": 12, "causal": 13, "translator": 14}


# ---- numbers that the engine draws: SplitMix64 by counter, keys by FNV-1a, Box and Muller --------

MASK, STEP = 2 ** 64 - 1, 0x9E3779B97F4A7C15


def mixed(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def key_of(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return mixed(h ^ mixed(STEP))


def uniform(key, index):
    return (mixed((key + (index + 1) * STEP) & MASK) >> 11) * 2.0 ** -53


def normal(key, index):
    u, v = 1.0 - uniform(key, 2 * index), uniform(key, 2 * index + 1)
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


# ---- parameters: the names of the engine, the shapes of the paper --------------------------------


def depths(model):
    """How many depths each block has."""
    total, blocks = model["depth"], model["blocks"]
    return [total * (i + 1) // blocks - total * i // blocks for i in range(blocks)]


def block_shapes(model, scope, from_source=False):
    d, f = SIZES["width"], SIZES["ffn_width"]
    out = {}
    for i, count in enumerate(depths(model)):
        block = f"{scope}blocks.{i}."
        scores = [block] + [block + "source."] * from_source
        for of in scores:
            for name in ("query.weight", "key.weight", "time_projection.query", "time_projection.key"):
                out[of + name] = (2 * d, d)
        for l in range(count):
            layer = f"{block}layers.{l}."
            for of in scores:
                out[f"{of}time_projection.{l}.coefficients"] = (d,)
            out[layer + "attention.output.weight"] = (d, d)
            if from_source:
                out[layer + "source_attention.output.weight"] = (d, d)
            for name in ("attention_norm", "mlp_norm") + (("source_norm",) if from_source else ()):
                out[f"{layer}{name}.weight"] = out[f"{layer}{name}.bias"] = (d,)
            for name, outs, ins in (("up", f, d), ("down", d, f)):
                kind = ".scales" if model["feed_forward"] else ".weight"
                out[f"{layer}mlp.{name}{kind}"] = (ins,) if model["feed_forward"] else (outs, ins)
                out[f"{layer}mlp.{name}.bias"] = (outs,)
        out[block + "norm.weight"] = out[block + "norm.bias"] = (d,)
    return out


def shapes(model):
    d, translates = SIZES["width"], "translates" in model
    out = {"token_embedding.weight": (VOCAB, d)}
    if translates:
        out.update(block_shapes(model, "encoder."))
    out.update(block_shapes(model, "", translates))
    if model["classes"]:
        outs = 1 if model["classes"] == 2 else model["classes"]
        out["final_norm.weight"] = out["final_norm.bias"] = (d,)
        out["classifier.weight"], out["classifier.bias"] = (outs, d), (outs,)
    return out


def scaled(name, x):
    """So large that every parameter matters."""
    if "scales" in name:
        return 8.0 * x
    if "coefficients" in name:
        return 0.5 * x
    return 0.2 * x if x.dim() == 1 else x / math.sqrt(x.shape[-1])


# ---- the model, for one sequence -----------------------------------------------------------------


def positions(count):
    half = SIZES["width"] // 2
    rates = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / (half - 1))
    angles = torch.arange(count, dtype=torch.float64)[:, None] * rates
    return torch.cat((angles.sin(), angles.cos()), -1)


def split(x):
    return x.reshape(x.shape[0], SIZES["heads"], -1).transpose(0, 1)


def time_vector(p, model, block, l, count):
    """T of depth l, a row for each head."""
    half = SIZES["width"] // 2
    j = torch.arange(half, dtype=torch.float64)
    if model["time_encoding"]:
        angles = 2.0 * math.pi * (j + 1.0) * (l + 1) / (SIZES["width"] * count)
    else:
        angles = j * l * math.pi / 64.0
    waves = torch.cat((angles.sin(), angles.cos()))
    return (p[f"{block}time_projection.{l}.coefficients"] * waves).reshape(SIZES["heads"], -1)


def meet(p, block, h, x):
    """What does not depend on the depth: A0 of the queries of h and the keys of x, and the operators that meet T."""
    heads, d = SIZES["heads"], SIZES["width"]
    q, k = h @ p[block + "query.weight"].T, x @ p[block + "key.weight"].T
    of_query = p[block + "time_projection.query"].reshape(2 * d, heads, -1)
    of_key = p[block + "time_projection.key"].reshape(2 * d, heads, -1)
    a0 = split(q) @ split(k).transpose(-1, -2) / math.sqrt(2 * d / heads)
    a1q = torch.einsum("ia,aht->hit", q, of_key)
    a1k = torch.einsum("ja,aht->hjt", k, of_query)
    a3 = torch.einsum("aht,aht->ht", of_query, of_key)
    return a0, a1q, a1k, a3


def evolve(meeting, t, values, causal):
    a0, a1q, a1k, a3 = meeting
    scores = a0 + torch.einsum("hit,ht->hi", a1q, t)[:, :, None]
    scores = scores + torch.einsum("hjt,ht->hj", a1k, t)[:, None, :]
    scores = scores + (a3 * t * t).sum(-1)[:, None, None]
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.float64).triu(1)
        scores = scores - 1e9 * future
    mixed_values = torch.softmax(scores, -1) @ split(values)
    return mixed_values.transpose(0, 1).reshape(-1, values.shape[-1])


def rotation(name, span, time, outs):
    key = key_of(name)
    half = span // 2
    # The engine draws for the columns that it uses; the others meet zeros of the diagonal.
    c = torch.tensor([[span * normal(key, a * half + q) for q in range(half)] for a in range(span)],
                     dtype=torch.float64)
    angles = time * math.pi / span * torch.arange(half, dtype=torch.float64) * c
    return torch.cat((angles.sin(), angles.cos()), -1) / math.sqrt(outs)


def project(p, name, stream, x, outs, time):
    """x U S V + b; stream: what the engine draws U and V from."""
    scales, ins = p[name + ".scales"], x.shape[-1]
    u, v = rotation(stream + ".in", ins, time, outs), rotation(stream + ".out", outs, time, outs)
    s = torch.zeros(ins, outs, dtype=torch.float64)
    rank = min(ins, outs)
    s[:rank, :rank] = torch.diag(scales[:rank])
    return x @ u @ s @ v + p[name + ".bias"]


def mix(p, model, layer, l, x):
    if model["feed_forward"]:
        stream = f"block.{layer.split('.')[1]}.{l}.mixing."
        h = torch.relu(project(p, layer + "mlp.up", stream + "up", x, SIZES["ffn_width"], l + 1))
        return project(p, layer + "mlp.down", stream + "down", h, SIZES["width"], l + 1)
    h = torch.relu(x @ p[layer + "mlp.up.weight"].T + p[layer + "mlp.up.bias"])
    return h @ p[layer + "mlp.down.weight"].T + p[layer + "mlp.down.bias"]


def run_blocks(p, model, scope, tokens, causal, source=None):
    """The state after all blocks; the decoder of a translator also sees the state of its source."""
    x = math.sqrt(SIZES["width"]) * p["token_embedding.weight"][tokens] + positions(len(tokens))
    for i, count in enumerate(depths(model)):
        block = f"{scope}blocks.{i}."
        meeting = meet(p, block, x, x)
        of_source = None if source is None else meet(p, block + "source.", x, source)
        for l in range(count):
            layer = f"{block}layers.{l}."
            t = time_vector(p, model, block, l, count)
            seen = evolve(meeting, t, norm(p, layer + "attention_norm", x, EPSILON), causal)
            x = x + seen @ p[layer + "attention.output.weight"].T
            if source is not None:
                t = time_vector(p, model, block + "source.", l, count)
                seen = evolve(of_source, t, norm(p, layer + "source_norm", source, EPSILON), causal=False)
                x = x + seen @ p[layer + "source_attention.output.weight"].T
            x = x + mix(p, model, layer, l, norm(p, layer + "mlp_norm", x, EPSILON))
        x = norm(p, block + "norm", x, EPSILON)
    return x


def forward(p, model, tokens, source=None):
    """Logits of one sequence: of each token, or of its class."""
    causal = model["classes"] == 0
    if source is not None:
        source = run_blocks(p, model, "encoder.", source, causal=False)
    x = run_blocks(p, model, "", tokens, causal, source)
    if causal:
        return x @ p["token_embedding.weight"].T
    y = norm(p, "final_norm", x.mean(0, keepdim=True), EPSILON)
    logits = y @ p["classifier.weight"].T + p["classifier.bias"]
    return torch.cat((torch.zeros_like(logits), logits), -1) if model["classes"] == 2 else logits


# ---- what is recorded ----------------------------------------------------------------------------


def pair(sources, texts, targets):
    """Sequences of a text to translate and its translation, of which only the second has targets."""
    left, tokens, aims = list(targets), [], []
    for source, text in zip(sources, texts):
        tokens += source + text
        aims += [-1] * len(source) + left[: len(text)]
        left = left[len(text):]
    return {"tokens": tokens, "targets": aims, "lengths": [len(s) + len(t) for s, t in zip(sources, texts)],
            "sources": SOURCES}


def record(name):
    model, p = MODELS[name], draw(shapes(MODELS[name]), scaled, SEED[name])
    texts, targets = draw_texts(LENGTHS, VOCAB)
    labels = [i % max(model["classes"], 1) for i in range(len(LENGTHS))]
    translates, sources = "translates" in model, draw_texts(SOURCES, VOCAB, least=1)[0]
    logits = torch.cat([forward(p, model, text, source if translates else None)
                        for text, source in zip(texts, sources)])
    aims = torch.tensor(labels if model["classes"] else targets)
    loss = torch.nn.functional.cross_entropy(logits, aims)
    loss.backward()
    for key, x in p.items():
        if key.endswith("time_projection.key"):  # cancels in the softmax: what is left is rounding
            assert float(x.grad.abs().max()) < 1e-15
            x.grad = torch.zeros_like(x)
    sequences = {"tokens": sum(texts, []), "targets": targets, "lengths": LENGTHS}
    if translates:
        sequences = pair(sources, texts, targets)
    facts = {"architecture": "transevolve", "vocab": VOCAB, "sequences": len(LENGTHS),
             "loss": float(loss.detach()), "aux_loss": 0.0}
    if model["classes"]:
        facts["classes"] = model["classes"]
    hypers = {**SIZES, **{k: v for k, v in model.items() if k not in ("classes", "translates")}, "skip_time_zero": 1}
    tensors = {**sequences, "labels": labels, "logits.soft": logits}
    return case(p, hypers, facts, tensors)


if __name__ == "__main__":
    main({"transevolve_" + name: partial(record, name) for name in MODELS})
