#!/usr/bin/python3
"""record_translator.py - records what the plain encoder and decoder compute, by PyTorch and in double precision.

Written from the equations of "Attention Is All You Need", sections 3.1 to 3.4, with norms before each part and one
table of embeddings for both texts and the logits, knowing nothing of the engine but the names of its parameters.
Gradients come from PyTorch's autograd. test_golden.c compares the engine with what is recorded; it needs the file, not
this script.

    record_translator.py [DIRECTORY]     writes translator.safetensors there, or beside itself

Needs python3-torch (recorded with 2.15). All numbers follow from the seeds below.
"""
import math

import torch

from golden import case, draw, main, norm, norm_of_all

SHAPE = {"width": 32, "depth": 2, "heads": 4, "ffn_width": 64, "context_length": 24, "dropout": 0.0}
VOCAB, SMOOTHING = 17, 0.1
SOURCES, TARGETS = (24, 1, 7, 13), (9, 5, 24, 1)  # lengths


def block_shapes(block, from_source):
    d, f = SHAPE["width"], SHAPE["ffn_width"]
    out = {}
    for part in ("attention", "source_attention")[: 2 if from_source else 1]:
        name = "source_norm" if part == "source_attention" else "attention_norm"
        out[f"{block}{name}.weight"] = out[f"{block}{name}.bias"] = (d,)
        out[f"{block}{part}.query.weight"], out[f"{block}{part}.key_value.weight"] = (d, d), (2 * d, d)
        out[f"{block}{part}.output.weight"] = (d, d)
    out[block + "mlp_norm.weight"] = out[block + "mlp_norm.bias"] = (d,)
    out[block + "mlp.up.weight"], out[block + "mlp.up.bias"] = (f, d), (f,)
    out[block + "mlp.down.weight"], out[block + "mlp.down.bias"] = (d, f), (d,)
    return out


def shapes():
    """Every parameter by name; one dimension for biases and norms."""
    d = SHAPE["width"]
    out = {"token_embedding.weight": (VOCAB, d), "position_embedding.weight": (SHAPE["context_length"], d)}
    for i in range(SHAPE["depth"]):
        out.update(block_shapes(f"encoder.layers.{i}.", False))
    out["encoder.final_norm.weight"] = out["encoder.final_norm.bias"] = (d,)
    for i in range(SHAPE["depth"]):
        out.update(block_shapes(f"decoder.layers.{i}.", True))
    out["final_norm.weight"] = out["final_norm.bias"] = (d,)
    return out


def scaled(name, x):
    return 0.2 * x if x.dim() == 1 else x / math.sqrt(x.shape[-1])


def attention(p, part, x, of, causal):
    """softmax(Q K^T / sqrt(d / H) + mask) V, heads side by side, then the projection. Q of x, the others of `of`."""
    d, heads = x.shape[-1], SHAPE["heads"]

    def split(y):
        return y.reshape(len(y), heads, d // heads).transpose(0, 1)

    key_value = p[part + ".key_value.weight"]
    q = split(x @ p[part + ".query.weight"].T)
    k, v = split(of @ key_value[:d].T), split(of @ key_value[d:].T)
    scores = q @ k.transpose(-1, -2) / math.sqrt(d / heads)
    if causal:
        future = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    mixed = (torch.softmax(scores, -1) @ v).transpose(0, 1).reshape(len(x), d)
    return mixed @ p[part + ".output.weight"].T


def mlp(p, block, x):
    h = x @ p[block + "mlp.up.weight"].T + p[block + "mlp.up.bias"]
    h = 0.5 * h * (1.0 + torch.erf(h / math.sqrt(2.0)))
    return h @ p[block + "mlp.down.weight"].T + p[block + "mlp.down.bias"]


def embed(p, tokens):
    return p["token_embedding.weight"][tokens] + p["position_embedding.weight"][: len(tokens)]


def translate(p, source, target):
    """The logits after each token of one translation."""
    x = embed(p, source)
    for i in range(SHAPE["depth"]):
        block = f"encoder.layers.{i}."
        y = norm(p, block + "attention_norm", x)
        x = x + attention(p, block + "attention", y, y, causal=False)
        x = x + mlp(p, block, norm(p, block + "mlp_norm", x))
    x = norm(p, "encoder.final_norm", x)
    h = embed(p, target)
    for i in range(SHAPE["depth"]):
        block = f"decoder.layers.{i}."
        y = norm(p, block + "attention_norm", h)
        h = h + attention(p, block + "attention", y, y, causal=True)
        h = h + attention(p, block + "source_attention", norm(p, block + "source_norm", h), x, causal=False)
        h = h + mlp(p, block, norm(p, block + "mlp_norm", h))
    return norm(p, "final_norm", h) @ p["token_embedding.weight"].T


def loss_of(logits, targets):
    """The mean over all targets; the others share SMOOTHING."""
    log_probabilities = logits - torch.logsumexp(logits, -1, keepdim=True)
    right = log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    wrong = (log_probabilities.sum(-1) - right) / (VOCAB - 1)
    return -((1.0 - SMOOTHING) * right + SMOOTHING * wrong).mean()


def record():
    g = torch.Generator().manual_seed(0)
    sources = [torch.randint(VOCAB, (n,), generator=g) for n in SOURCES]
    targets = [torch.randint(VOCAB, (n + 1,), generator=g) for n in TARGETS]
    p = draw(shapes(), scaled, seed=1)
    logits = torch.cat([translate(p, s, t[:-1]) for s, t in zip(sources, targets)])
    loss = loss_of(logits, torch.cat([t[1:] for t in targets]))
    loss.backward()
    rows = [(torch.cat([s, t[:-1]]), torch.cat([torch.full_like(s, -1), t[1:]])) for s, t in zip(sources, targets)]
    facts = {"architecture": "vanilla", "vocab": VOCAB, "seed": 1, "sequences": len(SOURCES), "loss": float(loss.detach()),
             "aux_loss": 0.0, "norm": norm_of_all(p), "label_smoothing": SMOOTHING}
    tensors = {"tokens": torch.cat([r[0] for r in rows]), "targets": torch.cat([r[1] for r in rows]),
               "lengths": torch.tensor([len(r[0]) for r in rows]), "sources": torch.tensor(SOURCES),
               "logits.soft": logits}
    return case(p, SHAPE, facts, tensors)


if __name__ == "__main__":
    main({"translator": record})
