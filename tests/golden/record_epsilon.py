#!/usr/bin/python3
"""record_epsilon.py - records what two small Epsilon classifiers compute, by PyTorch in double
precision.

Written from "Epsilon: A Transformer with Adaptive Computation and Quantized Attention", sections 3
and 4, and from the choices that its head comment in the engine lists; one text after another, one
head after another, knowing nothing of the engine but the names of its parameters. Gradients come
from PyTorch's autograd, through the minimum that halts and through the quotient that spectral
normalisation is. test_golden.c compares the engine with what is recorded; it needs the two files,
not this script.

    record_epsilon.py [DIRECTORY]     writes epsilon.safetensors and epsilon_published.safetensors
                                      there, or beside itself: with padding out of the bins and both
                                      prices, midway in a training; and with padding in them, as
                                      published, with the price on depth alone

Needs python3-torch (recorded with 1.13). All numbers follow from the seeds below.
"""
import math
from functools import partial

import torch

from golden import case, draw, draw_texts, least_gradient, main, norm_of_all

# More rows than a tile of the engine, exactly as many, and one.
VOCAB, CLASSES, LENGTHS = 17, 3, (150, 1, 64, 23)
# Tokens at the end of the first text, in the second record of every text but the shortest.
PADDING = 6
SHAPE = {"width": 12, "heads": 2, "ffn_width": 20, "depth": 4, "bins": 5, "latent_dim": 3, "context_length": 150,
         "dropout": 0.0, "residual_scale": 0.5, "ponder_prior_mean": 2.5, "kl_weight": 0.5}
USUAL = {"mask_padding": 1, "entropy_weight": 0.05, "progress": 0.3}
PUBLISHED = {"mask_padding": 0, "entropy_weight": 0.0, "progress": 0.0}
ROUNDS = 30  # power iterations
SEED = {1: 5775, 0: 1562}  # by mask_padding; searches for telling values that begin at 1 end there
# First tokens are not as near as MARGIN_FIRST to halting otherwise, others not as near as MARGIN;
# some first tokens halt early; of all tokens a share within EARLY halts before the last step, and a
# share of at least NEVER does not halt. No parameter's gradient is less than LEAST, a rest of
# larger terms.
MARGIN_FIRST, MARGIN, EARLY, NEVER, LEAST = 0.03, 0.005, (0.3, 0.8), 0.15, 0.003


# ---- parameters: the names of the engine, the shapes of the paper ----------------------------


def shapes():
    """Every parameter by name; one dimension for biases, norms and temperatures."""
    d, f = SHAPE["width"], SHAPE["ffn_width"]
    out = {"token_embedding.weight": (VOCAB, d)}
    for part, rows in (("query", d), ("key_value", 2 * d), ("project", d)):
        out[f"attention.{part}.weight"], out[f"attention.{part}.bias"] = (rows, d), (rows,)
    out["attention.latent_projection"] = (SHAPE["latent_dim"], d // SHAPE["heads"])
    out["attention.bin_prototypes"] = (SHAPE["heads"] * SHAPE["latent_dim"], SHAPE["bins"])
    out["attention.log_temperature"] = (SHAPE["heads"],)
    for name in ("attention_norm", "mlp_norm"):
        out[name + ".weight"] = out[name + ".bias"] = (d,)
    out["mlp.up.weight"], out["mlp.up.bias"] = (f, d), (f,)
    out["mlp.down.weight"], out["mlp.down.bias"] = (d, f), (d,)
    for step in range(SHAPE["depth"]):
        out[f"halting.{step}.weight"], out[f"halting.{step}.bias"] = (1, d), (1,)
    out["classifier.weight"], out["classifier.bias"] = (CLASSES, d), (CLASSES,)
    return out


def scaled(name, x):
    """So large that every parameter matters and tokens halt at different steps."""
    if x.dim() == 1 or name.startswith("embedding"):
        return 0.3 * x
    return (1.5 if name.startswith("halting") else 1.0) * x / math.sqrt(x.shape[-1])


def singular_vectors(p, seed):
    """What spectral normalisation remembers of both weights: left and right, as good as converged,
    rounded to fp32."""
    g = torch.Generator().manual_seed(seed)
    buffers = {}
    for name in ("mlp.up", "mlp.down"):
        w = p[name + ".weight"].detach()
        u = torch.randn(w.shape[0], generator=g, dtype=torch.float64)
        for _ in range(ROUNDS):
            v = w.T @ u
            v = v / v.norm()
            u = w @ v
            u = u / u.norm()
        buffers[name + ".u"], buffers[name + ".v"] = u.float().double(), v.float().double()
    return buffers


# ---- the model ------------------------------------------------------------------------------


def position(row):
    """Sine and cosine of a frequency side by side."""
    d = SHAPE["width"]
    angles = [row / 10000.0 ** (2 * (c // 2) / d) for c in range(d)]
    return torch.tensor([math.cos(a) if c % 2 else math.sin(a) for c, a in enumerate(angles)],
                        dtype=torch.float64)


def embedded(p, tokens):
    """Padding has an embedding of zeros."""
    rows = [(math.sqrt(SHAPE["width"]) * p["token_embedding.weight"][t] if t else 0.0) + position(i)
            for i, t in enumerate(tokens)]
    return torch.stack(rows)


def centred(p, name, x):
    d = x.shape[-1]
    x = math.sqrt(d / (d - 1)) * (x - x.mean(-1, keepdim=True))
    return x * p[name + ".weight"] + p[name + ".bias"]


def linear(p, name, x):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def attention(p, x, kept):
    """The result, and the shares of every token and head in the bins. kept: a factor per token."""
    d, heads, latents = SHAPE["width"], SHAPE["heads"], SHAPE["latent_dim"]
    each = d // heads
    q, kv = linear(p, "attention.query", x), linear(p, "attention.key_value", x)
    contexts, shares = [], []
    for h in range(heads):
        part = slice(h * each, (h + 1) * each)
        keys, values = kv[:, :d][:, part], kv[:, d:][:, part]
        z = keys @ p["attention.latent_projection"].T
        tau = torch.clamp(torch.exp(p["attention.log_temperature"][h]), min=1e-3) + 1e-8
        prototypes = p["attention.bin_prototypes"][h * latents:(h + 1) * latents]
        a = torch.softmax(z @ prototypes / tau, -1)
        shares.append(a)
        a = a * kept[:, None]
        mass = a.sum(0)[:, None] + 1e-6
        scores = q[:, part] @ (a.T @ keys / mass).T / math.sqrt(each)
        contexts.append(torch.softmax(scores, -1) @ (a.T @ values / mass))
    return linear(p, "attention.output", torch.cat(contexts, -1)), shares


def divided(p, buffers, name):
    w = p[name + ".weight"]
    return w / (buffers[name + ".u"] @ w @ buffers[name + ".v"])


def mlp(p, buffers, x):
    h = x @ divided(p, buffers, "mlp.up").T + p["mlp.up.bias"]
    h = 0.5 * h * (1.0 + torch.erf(h / math.sqrt(2.0)))
    return h @ divided(p, buffers, "mlp.down").T + p["mlp.down.bias"]


def walk(p, buffers, tokens, mask_padding):
    """All steps of one text: the result of its first token; the probabilities of every token, a
    column per step; how near each decision was; the shares of the first step."""
    valid = torch.tensor([float(t != 0) for t in tokens], dtype=torch.float64)
    kept = valid if mask_padding else torch.ones_like(valid)
    h, first_shares = embedded(p, tokens), None
    running, left = valid > 0, torch.ones_like(valid)
    y, columns, margins = torch.zeros(SHAPE["width"], dtype=torch.float64), [], []
    for step in range(SHAPE["depth"]):
        a, shares = attention(p, centred(p, "attention_norm", h), kept)
        first_shares = first_shares or shares
        h = h + SHAPE["residual_scale"] * a
        h = h + SHAPE["residual_scale"] * mlp(p, buffers, centred(p, "mlp_norm", h))
        sigma = torch.sigmoid(linear(p, f"halting.{step}", h))[:, 0]
        margins.append(torch.where(running, (sigma - left).abs(), torch.ones_like(left)).detach())
        taken = torch.where(running, torch.minimum(sigma, left), torch.zeros_like(left))
        left = left - taken
        ends = running & (left <= 1e-6)
        y = y + taken[0] * h[0]
        if bool(ends[0]) or (step == SHAPE["depth"] - 1 and bool(running[0])):
            y = y + left[0] * h[0]
        running = running & ~ends
        columns.append(taken)
    return y, torch.stack(columns, -1), torch.stack(margins, -1), (valid, first_shares)


def divergence(taken):
    """KL of (every step, what is left) to the geometric distribution, for each token."""
    mean, steps = SHAPE["ponder_prior_mean"], SHAPE["depth"]
    prior = [(1.0 / mean) * (1.0 - 1.0 / mean) ** t for t in range(steps)]
    prior = torch.tensor(prior + [(1.0 - 1.0 / mean) ** steps], dtype=torch.float64)
    left = torch.clamp(1.0 - taken.sum(-1, keepdim=True), min=0.0)
    outcomes = torch.cat([taken, left], -1)
    return (outcomes * (torch.log(torch.clamp(outcomes, min=1e-9)) - torch.log(prior))).sum(-1)


def losses(p, buffers, sequences, labels, extra):
    """Logits; the mean cross entropy; both prices."""
    logits, divergences, entropies, count = [], [], [], 0.0
    for tokens in sequences:
        y, taken, _, (valid, shares) = walk(p, buffers, tokens, extra["mask_padding"])
        logits.append(p["classifier.weight"] @ y + p["classifier.bias"])
        divergences.append((valid * divergence(taken)).sum())
        for a in shares:
            entropies.append((valid[:, None] * a * torch.log(torch.clamp(a, min=1e-9))).sum())
        count += float(valid.sum())
    logits = torch.stack(logits)
    loss = -torch.log_softmax(logits, -1)[range(len(labels)), labels].mean()
    annealed = 0.1 + 0.45 * (1.0 + math.cos(math.pi * extra["progress"]))
    depth = SHAPE["kl_weight"] * annealed * sum(divergences) / count
    entropy = extra["entropy_weight"] * sum(entropies) / (SHAPE["heads"] * count)
    return logits, loss, depth, entropy


# ---- what is recorded -----------------------------------------------------------------------


def is_telling(p, buffers, sequences, mask_padding):
    early, never, count, firsts = 0, 0, 0, []
    for tokens in sequences:
        _, taken, margins, (valid, _) = walk(p, buffers, tokens, mask_padding)
        if float(margins[0].min()) < MARGIN_FIRST or float(margins.min()) < MARGIN:
            return False
        real, before_last = valid > 0, taken[:, :-1].sum(-1) > 1.0 - 1e-9
        early += int((real & before_last).sum())
        never += int((real & (taken.sum(-1) < 1.0 - 1e-6)).sum())
        count += int(real.sum())
        firsts.append(bool(before_last[0]))
    shares = EARLY[0] < early / count < EARLY[1] and never / count > NEVER
    return shares and any(firsts) and not all(firsts)


def draw_sequences(published):
    sequences, labels = draw_texts(LENGTHS, VOCAB, CLASSES, least=1)
    for i, tokens in enumerate(sequences):
        if i == 0 or (published and len(tokens) > PADDING):
            tokens[-PADDING:] = [0] * PADDING
    return sequences, labels


def search(sequences, labels, extra):
    """The first seed whose values are a good test; the values, and what comes of them."""
    seed = SEED[extra["mask_padding"]]
    while True:
        p = draw(shapes(), scaled, seed)
        buffers = singular_vectors(p, seed)
        if is_telling(p, buffers, sequences, extra["mask_padding"]):
            terms = losses(p, buffers, sequences, labels, extra)
            sum(terms[1:]).backward()
            if least_gradient(p) > LEAST:
                return seed, p, buffers, terms
        seed += 1


def record(published):
    extra = PUBLISHED if published else USUAL
    sequences, labels = draw_sequences(published)
    seed, p, buffers, (logits, loss, depth, entropy) = search(sequences, labels, extra)
    facts = {"architecture": "epsilon", "vocab": VOCAB, "classes": CLASSES, "seed": seed,
             "sequences": len(LENGTHS), "loss": float(loss), "aux_loss": float(depth + entropy),
             "norm": norm_of_all(p), "progress": extra["progress"]}
    hypers = {**SHAPE, **{k: v for k, v in extra.items() if k != "progress"}}
    tensors = {"lengths": LENGTHS, "labels": labels, "tokens": sum(sequences, []),
               "logits.soft": logits}
    return case(p, hypers, facts, tensors, buffers)


if __name__ == "__main__":
    main({"epsilon": partial(record, False), "epsilon_published": partial(record, True)})
