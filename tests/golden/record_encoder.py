#!/usr/bin/python3
"""record_encoder.py - records what three small transformer encoders compute, by PyTorch in double
precision: the baselines that papers on classifiers compare themselves with.

Written from the equations of "Attention Is All You Need" (sections 3.2, 3.3 and 3.5) with the norms
before the layers, and of "Decoupled Weight Decay Regularization" (AdamW) without the correction of
its first steps; one text after another, one head after another, knowing nothing of the engine but
the names of its parameters. Gradients come from PyTorch's autograd. test_golden.c compares the
engine with what is recorded; it needs the three files, not this script.

    record_encoder.py [DIRECTORY]     writes encoder.safetensors, encoder_matched.safetensors and
                                      encoder_relu.safetensors there, or beside itself: GELU and the
                                      mean of normed tokens, with steps of AdamW that decays
                                      everything; scaled embeddings and the first token; ReLU and
                                      the mean of tokens as they are

Needs python3-torch (recorded with 1.13). All numbers follow from the seeds below.
"""
import math
from functools import partial

import torch

from golden import case, draw, draw_texts, least_gradient, main, norm, norm_of_all, prefixed

# More rows than a tile of the engine, one, one more than half a tile, and few.
VOCAB, CLASSES, LENGTHS = 19, 3, (40, 1, 17, 9)
SHAPE = {"width": 24, "ffn_width": 40, "depth": 2, "context_length": 40, "dropout": 0.0,
         "embedding_dropout": 0.0}
GELU, RELU = 0, 1  # choices, by number
MEAN, FIRST = 0, 1
MODELS = {
    "encoder": {"heads": 2, "activation": GELU, "pooling": MEAN, "scale_embedding": 0,
                "final_norm": 1},
    "encoder_matched": {"heads": 4, "activation": GELU, "pooling": FIRST, "scale_embedding": 1,
                        "final_norm": 1},
    "encoder_relu": {"heads": 4, "activation": RELU, "pooling": MEAN, "scale_embedding": 0,
                     "final_norm": 0},
}
SEED = 1  # where searches for telling values begin
# No parameter's gradient is less than LEAST, and some logit is as large as LARGE: what is left of
# larger terms is noise in bf16.
LEAST, LARGE = 0.02, 2.0
# Decay counts as much as the gradient. A bias of keys moves nothing, so its gradient is rounding,
# which epsilon keeps small beside the others.
STEPPED, STEPS = "encoder", 3
HYPERPARAMETERS = {"learning_rate": 1e-2, "min_learning_rate": 1e-2, "warmup_steps": 0, "beta1": 0.9, "beta2": 0.95,
          "adam_eps": 1e-3, "weight_decay": 1.0, "weight_decay_all": 1, "bias_correction": 0, "max_grad_norm": 0.5}


# ---- parameters: the names of the engine, the shapes of the paper ----------------------------


def shapes(model):
    """Every parameter by name; one dimension for biases and norms."""
    d, f = SHAPE["width"], SHAPE["ffn_width"]
    out = {"token_embedding.weight": (VOCAB, d)}
    for i in range(SHAPE["depth"]):
        block = f"layers.{i}."
        for name in ("attention_norm", "mlp_norm"):
            out[f"{block}{name}.weight"] = out[f"{block}{name}.bias"] = (d,)
        for name, outs, ins in (("attention.query", d, d), ("attention.key_value", 2 * d, d),
                                ("attention.output", d, d), ("mlp.up", f, d), ("mlp.down", d, f)):
            out[f"{block}{name}.weight"], out[f"{block}{name}.bias"] = (outs, ins), (outs,)
    if model["final_norm"]:
        out["final_norm.weight"] = out["final_norm.bias"] = (d,)
    out["classifier.weight"], out["classifier.bias"] = (CLASSES, d), (CLASSES,)
    return out


def scaled(name, x):
    """So large that every parameter matters."""
    if x.dim() == 1:
        return 0.3 * x
    return 0.4 * x if name.startswith("embedding") else x / math.sqrt(x.shape[-1])


# ---- the model ------------------------------------------------------------------------------


def position(row):
    """PE(row, 2i) = sin(row / 10000^(2i / d)), PE(row, 2i + 1) its cosine."""
    d = SHAPE["width"]
    out = torch.zeros(d, dtype=torch.float64)
    for i in range(d // 2):
        angle = row / 10000.0 ** (2 * i / d)
        out[2 * i], out[2 * i + 1] = math.sin(angle), math.cos(angle)
    return out


def linear(p, name, x):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def attention(p, model, block, x):
    """softmax(Q K^T / sqrt(d / heads)) V of every token with every token; heads side by side."""
    d = SHAPE["width"]
    each = d // model["heads"]
    q, kv = linear(p, block + "attention.query", x), linear(p, block + "attention.key_value", x)
    k, v = kv[:, :d], kv[:, d:]
    heads = []
    for h in range(model["heads"]):
        part = slice(h * each, (h + 1) * each)
        scores = q[:, part] @ k[:, part].T / math.sqrt(each)
        heads.append(torch.softmax(scores, -1) @ v[:, part])
    return linear(p, block + "attention.output", torch.cat(heads, -1))


def mlp(p, model, block, x):
    h = linear(p, block + "mlp.up", x)
    if model["activation"] == RELU:
        h = torch.relu(h)
    else:
        h = 0.5 * h * (1.0 + torch.erf(h / math.sqrt(2.0)))
    return linear(p, block + "mlp.down", h)


def classify(p, model, tokens):
    """Logits of one text."""
    scale = math.sqrt(SHAPE["width"]) if model["scale_embedding"] else 1.0
    h = torch.stack([scale * p["token_embedding.weight"][t] + position(i) for i, t in enumerate(tokens)])
    for i in range(SHAPE["depth"]):
        block = f"layers.{i}."
        h = h + attention(p, model, block, norm(p, block + "attention_norm", h))
        h = h + mlp(p, model, block, norm(p, block + "mlp_norm", h))
    if model["final_norm"]:
        h = norm(p, "final_norm", h)
    return linear(p, "classifier", h[0] if model["pooling"] == FIRST else h.mean(0))


def gradients(p, model, texts, labels):
    """The logits and the mean cross entropy; gradients are left in the parameters."""
    logits = torch.stack([classify(p, model, text) for text in texts])
    loss = -torch.log_softmax(logits, -1)[range(len(labels)), labels].mean()
    for x in p.values():
        x.grad = None
    loss.backward()
    return logits, loss


# ---- what is recorded -----------------------------------------------------------------------


def is_telling(p, logits):
    return least_gradient(p) > LEAST and float(logits.abs().max()) > LARGE


def train(p, model, texts, labels):
    """STEPS steps of AdamW on the same batch, in place:
        m = b1 m + (1 - b1) g;   v = b2 v + (1 - b2) g^2
        w = (1 - rate decay) w - rate m / (sqrt(v) + epsilon)
    """
    rate, b1, b2 = HYPERPARAMETERS["learning_rate"], HYPERPARAMETERS["beta1"], HYPERPARAMETERS["beta2"]
    m, v = {name: 0.0 for name in p}, {name: 0.0 for name in p}
    for _ in range(STEPS):
        gradients(p, model, texts, labels)
        size = norm_of_all(p)
        assert size > HYPERPARAMETERS["max_grad_norm"], "clipping would not be tested"
        for name, x in p.items():
            g = x.grad * HYPERPARAMETERS["max_grad_norm"] / (size + 1e-6)
            m[name] = b1 * m[name] + (1.0 - b1) * g
            v[name] = b2 * v[name] + (1.0 - b2) * g ** 2
            step = rate * m[name] / (torch.sqrt(v[name]) + HYPERPARAMETERS["adam_eps"])
            with torch.no_grad():
                x.copy_((1.0 - rate * HYPERPARAMETERS["weight_decay"]) * x - step)


def record(name):
    model, seed = MODELS[name], SEED
    # Token 0 is what others pad with.
    texts, labels = draw_texts(LENGTHS, VOCAB, CLASSES, least=1)
    p = draw(shapes(model), scaled, seed)
    logits, loss = gradients(p, model, texts, labels)
    while not is_telling(p, logits):
        seed += 1
        p = draw(shapes(model), scaled, seed)
        logits, loss = gradients(p, model, texts, labels)
    facts = {"architecture": "encoder", "vocab": VOCAB, "classes": CLASSES, "seed": seed,
             "sequences": len(LENGTHS), "loss": float(loss), "aux_loss": 0.0, "norm": norm_of_all(p)}
    tensors = {"lengths": LENGTHS, "labels": labels, "tokens": sum(texts, []),
               "logits.soft": logits}
    tensors, facts = case(p, {**SHAPE, **model}, facts, tensors)
    if name == STEPPED:
        facts.update({"steps": STEPS, **prefixed("training.", HYPERPARAMETERS)})
        train(p, model, texts, labels)
        tensors.update(prefixed("after.", p))
    return tensors, facts


if __name__ == "__main__":
    main({name: partial(record, name) for name in MODELS})
