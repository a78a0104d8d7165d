#!/usr/bin/python3
"""record_early_exit.py - records what a small decoder computes whose tokens may leave it early, by
PyTorch in double precision.

Written from section 3.5 of "Adaptive Computation Depth via Learned Token Routing in Transformers"
and, for what later tokens see of one that has left, from "Depth-Adaptive Transformer"; the blocks
are those of record.py. One text after another, knowing nothing of the engine but the names of its
parameters. Gradients come from PyTorch's autograd. test_golden.c compares the engine with what is
recorded; it needs the file, not this script.

    record_early_exit.py [DIRECTORY]     writes early_exit.safetensors there, or beside itself: the
                                         mean loss of all blocks' predictions; logits of the last
                                         block; and logits of tokens that leave, which others see
                                         as they left (copy) or as they would have gone on (oracle)

Needs python3-torch (recorded with 1.13). All numbers follow from the seeds below.
"""
import math

import torch

import record as decoder
from golden import case, draw, draw_texts, least_gradient, main, norm, norm_of_all
from record import attention, mlp

VOCAB, LENGTHS = 17, (16, 1, 9)
SHAPE = {**decoder.SHAPE, "depth": 5, "context_length": 16}
LAST = SHAPE["depth"] - 1
THRESHOLD = 0.625  # exact in fp32
# No token that could leave is as near as MARGIN to deciding otherwise, in log-odds, so rounding
# decides nothing, that of bf16 included. A share of at least EAGER is sure after the first block,
# where no token may exit; at least EACH leaves at every other block. Copy and oracle differ by at
# least APART, of the largest logit, and some token leaves elsewhere. No parameter's gradient is
# less than LEAST.
MARGIN, EAGER, EACH, APART, LEAST = 0.2, 0.2, 0.1, 0.3, 0.01
SEED = 1  # where a search for such values begins


# ---- parameters: the names of the engine, the shapes of the paper ----------------------------


def shapes():
    """Every parameter by name; one dimension for biases and norms."""
    d, f = SHAPE["width"], SHAPE["ffn_width"]
    out = {"token_embedding.weight": (VOCAB, d), "position_embedding.weight": (SHAPE["context_length"], d)}
    for i in range(SHAPE["depth"]):
        block = f"layers.{i}."
        for name in ("attention_norm", "mlp_norm", "exit_norm"):
            out[f"{block}{name}.weight"] = out[f"{block}{name}.bias"] = (d,)
        out[block + "attention.query.weight"] = (d, d)
        out[block + "attention.key_value.weight"] = (2 * d, d)
        out[block + "attention.output.weight"] = (d, d)
        out[block + "mlp.up.weight"], out[block + "mlp.up.bias"] = (f, d), (f,)
        out[block + "mlp.down.weight"], out[block + "mlp.down.bias"] = (d, f), (d,)
    return out


def scaled(name, x):
    """So large that every parameter matters and tokens are sure at different blocks."""
    if name.startswith("embedding"):
        return 0.4 * x
    if x.dim() == 1:
        return 0.2 * x
    return (1.25 if "attention" in name else 1.0) * x / math.sqrt(x.shape[-1])


# ---- the model, for one text -----------------------------------------------------------------


def embedded(p, tokens):
    return p["token_embedding.weight"][tokens] + p["position_embedding.weight"][: len(tokens)]


def run_block(p, i, h):
    block, x = f"layers.{i}.", h[None]
    x = x + attention(p, block, norm(p, block + "attention_norm", x))
    x = x + mlp(p, block, norm(p, block + "mlp_norm", x))
    return x[0]


def predict(p, i, h):
    return norm(p, f"layers.{i}.exit_norm", h) @ p["token_embedding.weight"].T


def predictions(p, tokens):
    """Logits after each block, when no token exits."""
    h, out = embedded(p, tokens), []
    for i in range(SHAPE["depth"]):
        h = run_block(p, i, h)
        out.append(predict(p, i, h))
    return out


def loss_of(p, texts, targets):
    """The mean over blocks, the first included, of the mean cross entropy over tokens."""
    total = 0.0
    for i in range(SHAPE["depth"]):
        logits = torch.cat([predictions(p, tokens)[i] for tokens in texts])
        total = total - torch.log_softmax(logits, -1)[range(len(targets)), targets].mean()
    return total / SHAPE["depth"]


def log_odds(z):
    """Of the likeliest token, above those of the threshold."""
    best = z.argmax(-1, keepdim=True)
    others = z.scatter(-1, best, -math.inf)
    above = z.gather(-1, best)[:, 0] - torch.logsumexp(others, -1)
    return above - math.log(THRESHOLD / (1.0 - THRESHOLD))


def serve(p, tokens, oracle):
    """Logits of each token where it left and the block where it did; the log-odds by which it was
    decided, a row per block, NaN after it has left."""
    h, left = embedded(p, tokens), torch.zeros(len(tokens), dtype=torch.bool)
    logits = torch.zeros(len(tokens), VOCAB, dtype=torch.float64)
    block, odds = torch.zeros(len(tokens), dtype=torch.long), []
    for i in range(SHAPE["depth"]):
        new = run_block(p, i, h)
        h = new if oracle else torch.where(left[:, None], h, new)
        z = predict(p, i, h)
        odds.append(torch.where(left, torch.full((), math.nan, dtype=torch.float64), log_odds(z)))
        leaves = ~left & ((odds[i] > 0.0) if 0 < i < LAST else torch.tensor(i == LAST))
        logits = torch.where(leaves[:, None], z, logits)
        block = torch.where(leaves, torch.tensor(i), block)
        left = left | leaves
    return logits, block, torch.stack(odds)


def serve_all(p, texts, oracle):
    logits, blocks, odds = zip(*(serve(p, tokens, oracle) for tokens in texts))
    return torch.cat(logits), torch.cat(blocks), torch.cat(odds, -1)


# ---- what is recorded -----------------------------------------------------------------------


def is_telling(p, texts):
    logits, places = [], []
    for oracle in (False, True):
        z, blocks, odds = serve_all(p, texts, oracle)
        decided = odds[1:LAST][~odds[1:LAST].isnan()]
        if float(decided.abs().min()) < MARGIN:
            return False
        shares = torch.bincount(blocks, minlength=SHAPE["depth"]).double() / len(blocks)
        if float(shares[1:].min()) < EACH or float((odds[0] > MARGIN).double().mean()) < EAGER:
            return False
        logits.append(z)
        places.append(blocks)
    if torch.equal(*places):
        return False
    return float((logits[0] - logits[1]).abs().max() / logits[1].abs().max()) > APART


def search(texts, targets):
    """The first seed whose values are a good test, the values, and their loss."""
    seed = SEED
    while True:
        p = draw(shapes(), scaled, seed)
        with torch.no_grad():
            telling = is_telling(p, texts)
        if telling:
            loss = loss_of(p, texts, targets)
            loss.backward()
            if least_gradient(p) > LEAST:
                return seed, p, loss
        seed += 1


def record():
    texts, targets = draw_texts(LENGTHS, VOCAB)
    seed, p, loss = search(texts, targets)
    facts = {"architecture": "early_exit", "vocab": VOCAB, "seed": seed, "sequences": len(LENGTHS),
             "loss": float(loss), "aux_loss": 0.0, "exit_threshold": THRESHOLD,
             "norm": norm_of_all(p)}
    tensors = {"lengths": LENGTHS, "targets": targets, "tokens": sum(texts, []),
               "logits.soft": torch.cat([predictions(p, tokens)[LAST] for tokens in texts])}
    for name, oracle in (("copy", False), ("oracle", True)):
        tensors["logits.exit_" + name] = serve_all(p, texts, oracle)[0]
    return case(p, SHAPE, facts, tensors)


if __name__ == "__main__":
    main({"early_exit": record})
