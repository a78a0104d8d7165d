#!/usr/bin/python3
"""record_eam.py - records what two small EAM classifiers compute, by PyTorch in double precision.

Written from the equations of "Efficient Sequence Pooling Model for Sparse Attention with Mixture of
Experts" (sparse attention, token pooling, the sum over experts, the output), one sequence, one
token and one expert at a time, knowing nothing of the engine but the names of its parameters.
Gradients come from PyTorch's autograd. test_golden.c compares the engine with what is recorded; it
needs the two files, not this script.

    record_eam.py [DIRECTORY]     writes eam.safetensors and eam_top1.safetensors there, or beside
                                  itself: every expert for every token as published; and the expert
                                  with the largest gate alone, priced for imbalance, with norms and
                                  residuals

Needs python3-torch (recorded with 1.13). All numbers follow from the seeds below.
"""
import math
from functools import partial

import torch

from golden import case, draw, draw_texts, main, norm, norm_of_all

VOCAB, CLASSES, LENGTHS = 17, 3, (24, 1, 9, 16)
SHAPE = {"width": 16, "heads": 2, "ffn_width": 12, "experts": 3, "pool_size": 2, "context_length": 24,
         "dropout": 0.0, "attention_pattern": 0}
TOP1 = {"experts_per_token": 1, "load_balancing_weight": 0.05, "pre_norm": 1}
# The best expert of every token leads by MARGIN in its gate's logit, so rounding decides nothing,
# and every expert is the best of at least LEAST tokens.
MARGIN, LEAST = 0.15, 4
SEED = {False: 1, True: 1}  # the second is where a search for such gates begins


# ---- parameters: the names of the engine, the shapes of the paper ----------------------------


def shapes(pre_norm):
    """Every parameter by name, in order; one dimension for biases and norms."""
    d, f, k = SHAPE["width"], SHAPE["ffn_width"], SHAPE["experts"]
    out = {"token_embedding.weight": (VOCAB, d)}
    for part, rows in (("query", d), ("key_value", 2 * d), ("project", d)):
        out[f"attention.{part}.weight"], out[f"attention.{part}.bias"] = (rows, d), (rows,)
    out["experts.gate.weight"], out["experts.gate.bias"] = (k, d), (k,)
    out["experts.up.weight"], out["experts.up.bias"] = (k * f, d), (k * f,)
    out["experts.down.weight"], out["experts.down.bias"] = (d, k * f), (d, k)
    out["output.weight"], out["output.bias"] = (CLASSES, d), (CLASSES,)
    if pre_norm:
        for name in ("attention_norm", "experts_norm"):
            out[name + ".weight"] = out[name + ".bias"] = (d,)
    return out


def scaled(name, x):
    """So large that every parameter matters and gates disagree among tokens."""
    if name.endswith("bias") or x.dim() == 1:
        return 0.3 * x
    if name.startswith("embedding"):
        return x
    return (3.0 if "gate" in name else 1.0) * x / math.sqrt(x.shape[-1])


# ---- the model ------------------------------------------------------------------------------


def position(row):
    """Sine and cosine of a frequency side by side."""
    d = SHAPE["width"]
    angles = [row / 10000.0 ** (2 * (c // 2) / d) for c in range(d)]
    return torch.tensor([math.cos(a) if c % 2 else math.sin(a) for c, a in enumerate(angles)],
                        dtype=torch.float64)


def looks_at(i, j):
    """The pattern `log`: the query itself, and keys a power of two away."""
    return i == j or abs(i - j) in (1, 2, 4, 8, 16, 32)


def attention(p, x):
    """softmax(Q K^T / sqrt(d / heads) + M) V with a mask of 0 and -inf; heads side by side."""
    n, d = x.shape
    each = d // SHAPE["heads"]
    q = x @ p["attention.query.weight"].T + p["attention.query.bias"]
    kv = x @ p["attention.key_value.weight"].T + p["attention.key_value.bias"]
    mask = torch.tensor([[0.0 if looks_at(i, j) else -math.inf for j in range(n)]
                         for i in range(n)], dtype=torch.float64)
    heads = []
    for h in range(SHAPE["heads"]):
        part = slice(h * each, (h + 1) * each)
        scores = q[:, part] @ kv[:, :d][:, part].T / math.sqrt(each) + mask
        heads.append(torch.softmax(scores, -1) @ kv[:, d:][:, part])
    mixed = torch.cat(heads, -1)
    return mixed @ p["attention.output.weight"].T + p["attention.output.bias"]


def pooled(a):
    """Means of neighbours; the last window may be short."""
    return torch.stack([a[i:i + SHAPE["pool_size"]].mean(0) for i in range(0, len(a), SHAPE["pool_size"])])


def expert(p, k, x):
    f = SHAPE["ffn_width"]
    part = slice(k * f, (k + 1) * f)
    hidden = torch.relu(p["experts.up.weight"][part] @ x + p["experts.up.bias"][part])
    return p["experts.down.weight"][:, part] @ hidden + p["experts.down.bias"][:, k]


def gates(p, x):
    return torch.softmax(x @ p["experts.gate.weight"].T + p["experts.gate.bias"], -1)


def mixture(p, x, gamma, used):
    """sum_k gamma_k E_k(x); of the chosen alone when they are fewer than all, gamma as it is."""
    chosen = torch.topk(gamma, used).indices.tolist() if used else range(SHAPE["experts"])
    return sum(gamma[k] * expert(p, k, x) for k in chosen)


def forward(p, sequences, pre_norm, used):
    """Logits of every sequence, and the gates of every pooled token."""
    logits, all_gates = [], []
    for tokens in sequences:
        h = torch.stack([p["token_embedding.weight"][t] + position(i) for i, t in enumerate(tokens)])
        a = h + attention(p, norm(p, "attention_norm", h)) if pre_norm else attention(p, h)
        x = pooled(a)
        inner = norm(p, "experts_norm", x) if pre_norm else x
        gamma = gates(p, inner)
        y = torch.stack([mixture(p, inner[r], gamma[r], used) for r in range(len(x))])
        y = x + y if pre_norm else y
        logits.append(p["output.weight"] @ y.mean(0) + p["output.bias"])
        all_gates.append(gamma)
    return torch.stack(logits), torch.cat(all_gates)


def losses(p, sequences, labels, pre_norm, used, price):
    """The mean cross entropy, and the price of uneven use: K sum_k (share of tokens sent to k, a
    constant) (mean gate of k)."""
    logits, gamma = forward(p, sequences, pre_norm, used)
    loss = -torch.log_softmax(logits, -1)[range(len(labels)), labels].mean()
    sent = torch.nn.functional.one_hot(gamma.argmax(-1), SHAPE["experts"]).double().mean(0)
    return loss, price * SHAPE["experts"] * (sent * gamma.mean(0)).sum()


# ---- what is recorded -----------------------------------------------------------------------


def is_telling(p, sequences):
    gamma = forward(p, sequences, True, 1)[1]
    best = torch.topk(torch.log(gamma), 2, -1).values
    counts = torch.bincount(gamma.argmax(-1), minlength=SHAPE["experts"])
    return float((best[:, 0] - best[:, 1]).min()) > MARGIN and int(counts.min()) >= LEAST


def record(top1):
    sequences, labels = draw_texts(LENGTHS, VOCAB, CLASSES)
    seed, extra = SEED[top1], TOP1 if top1 else {}
    p = draw(shapes(top1), scaled, seed)
    while top1 and not is_telling(p, sequences):
        seed += 1
        p = draw(shapes(top1), scaled, seed)
    used, price = extra.get("experts_per_token", 0), extra.get("load_balancing_weight", 0.0)
    loss, imbalance = losses(p, sequences, labels, top1, used, price)
    (loss + imbalance).backward()
    facts = {"architecture": "eam", "vocab": VOCAB, "classes": CLASSES, "seed": seed,
             "sequences": len(LENGTHS), "loss": float(loss), "aux_loss": float(imbalance),
             "norm": norm_of_all(p)}
    tensors = {"lengths": LENGTHS, "labels": labels, "tokens": sum(sequences, []),
               "logits.soft": forward(p, sequences, top1, used)[0]}
    return case(p, {**SHAPE, **extra}, facts, tensors)


if __name__ == "__main__":
    main({"eam": partial(record, False), "eam_top1": partial(record, True)})
