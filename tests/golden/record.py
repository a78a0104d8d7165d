#!/usr/bin/python3
"""record.py - records what a vanilla and a TSA decoder compute, by PyTorch and in double precision.

Written from the equations of "Adaptive Computation Depth via Learned Token Routing in
Transformers", sections 2.2 to 2.5, knowing nothing of the engine but the names of its parameters.
Gradients come from PyTorch's autograd and steps from its AdamW. test_golden.c compares the engine
with what is recorded; it needs the two files, not this script.

    record.py [DIRECTORY]     writes vanilla.safetensors and tsa.safetensors there, or beside itself

Needs python3-torch (recorded with 1.13). All numbers follow from the seeds below.
"""
import math
from functools import partial

import torch

from golden import case, draw, main, norm, norm_of_all, prefixed

SHAPE = {"width": 32, "depth": 3, "heads": 4, "ffn_width": 64, "context_length": 24, "dropout": 0.0}
VOCAB, SEQUENCES = 17, 4
TSA = {"compute_weight": 0.05, "router_width": 16}
GATE_LIMIT = 0.6  # of the mixed mode
HYPERPARAMETERS = {"learning_rate": 1e-2, "min_learning_rate": 1e-2, "warmup_steps": 0, "beta1": 0.9, "beta2": 0.95,
          "adam_eps": 1e-8, "weight_decay": 0.1, "weight_decay_all": 0, "bias_correction": 1, "max_grad_norm": 1.0}
STEPS = 3
# No router's logit is as near as MARGIN to where its token would change sides, and every router
# opens for a share of the tokens within OPEN: rounding decides nothing, and both sides are well
# filled.
MARGIN, OPEN = 0.05, (0.3, 0.7)
SEED = {False: 1, True: 6840}  # a search for such routers that begins at 1 ends at the second


# ---- parameters: the names of the engine, the shapes of the paper ----------------------------


def shapes(tsa):
    """Every parameter by name, in order; one dimension for biases and norms."""
    d, f, r = SHAPE["width"], SHAPE["ffn_width"], TSA["router_width"]
    out = {"token_embedding.weight": (VOCAB, d), "position_embedding.weight": (SHAPE["context_length"], d)}
    for i in range(SHAPE["depth"]):
        block = f"layers.{i}."
        for norm in ("attention_norm", "mlp_norm"):
            out[f"{block}{norm}.weight"] = out[f"{block}{norm}.bias"] = (d,)
        out[block + "attention.query.weight"] = (d, d)
        out[block + "attention.key_value.weight"] = (2 * d, d)
        out[block + "attention.output.weight"] = (d, d)
        out[block + "mlp.up.weight"], out[block + "mlp.up.bias"] = (f, d), (f,)
        out[block + "mlp.down.weight"], out[block + "mlp.down.bias"] = (d, f), (d,)
        if tsa and i + 1 < SHAPE["depth"]:
            out[block + "router.up.weight"], out[block + "router.up.bias"] = (r, d), (r,)
            out[block + "router.down.weight"], out[block + "router.down.bias"] = (1, r), (1,)
    out["final_norm.weight"] = out["final_norm.bias"] = (d,)
    return out


def scaled(name, x):
    """So large that every parameter matters and routers disagree among tokens."""
    if name.startswith("embedding"):
        return 0.4 * x
    if x.dim() == 1:
        return 0.2 * x
    return (4.0 if "router.down.weight" in name else 1.0) * x / math.sqrt(x.shape[-1])


# ---- the model ------------------------------------------------------------------------------


def attention(p, block, x):
    """softmax(Q K^T / sqrt(d / H) + causal mask) V, heads side by side, then the projection."""
    b, t, d = x.shape
    heads = SHAPE["heads"]

    def split(y):
        return y.reshape(b, t, heads, d // heads).transpose(1, 2)

    key_value = p[block + "attention.key_value.weight"]
    q = split(x @ p[block + "attention.query.weight"].T)
    k, v = split(x @ key_value[:d].T), split(x @ key_value[d:].T)
    scores = q @ k.transpose(-1, -2) / math.sqrt(d / heads)
    future = torch.ones(t, t, dtype=torch.bool).triu(1)
    weights = torch.softmax(scores.masked_fill(future, -math.inf), -1)
    mixed = (weights @ v).transpose(1, 2).reshape(b, t, d)
    return mixed @ p[block + "attention.output.weight"].T


def mlp(p, block, x):
    h = x @ p[block + "mlp.up.weight"].T + p[block + "mlp.up.bias"]
    h = 0.5 * h * (1.0 + torch.erf(h / math.sqrt(2.0)))
    return h @ p[block + "mlp.down.weight"].T + p[block + "mlp.down.bias"]


def skip_logit(p, block, h):
    """Of the raw residual stream; its logistic is the probability of skipping."""
    hidden = torch.relu(h @ p[block + "router.up.weight"].T + p[block + "router.up.bias"])
    return hidden @ p[block + "router.down.weight"].T + p[block + "router.down.bias"]


def gate_of(z, mode):
    skip = torch.sigmoid(z)
    if mode == "hard":
        return (skip < 0.5).double()
    if mode == "mixed":
        return (1.0 - skip) * (skip < GATE_LIMIT)
    return 1.0 - skip


def forward(p, tokens, mode="soft"):
    """Logits, and each router's logits."""
    h = p["token_embedding.weight"][tokens] + p["position_embedding.weight"][: tokens.shape[1]]
    g, routed = 1.0, []
    for i in range(SHAPE["depth"]):
        block = f"layers.{i}."
        if i > 0 and f"layers.{i - 1}.router.up.weight" in p:
            routed.append(skip_logit(p, f"layers.{i - 1}.", h))
            g = gate_of(routed[-1], mode)
        h = h + g * attention(p, block, norm(p, block + "attention_norm", h))
        h = h + g * mlp(p, block, norm(p, block + "mlp_norm", h))
    return norm(p, "final_norm", h) @ p["token_embedding.weight"].T, routed


def losses(p, tokens, targets):
    """The mean cross entropy, and the price on what the gates let through."""
    logits, routed = forward(p, tokens)
    log_probabilities = logits - torch.logsumexp(logits, -1, keepdim=True)
    loss = -log_probabilities.gather(-1, targets.unsqueeze(-1)).mean()
    price = torch.zeros((), dtype=torch.float64)
    for z in routed:
        price = price + TSA["compute_weight"] / len(routed) * (1.0 - torch.sigmoid(z)).mean()
    return loss, price


# ---- what is recorded -----------------------------------------------------------------------


def is_telling(p, tokens):
    """Whether the routers' choices are a good test, as MARGIN and OPEN say, in every mode."""
    for mode, limit in (("hard", 0.0), ("mixed", math.log(GATE_LIMIT / (1.0 - GATE_LIMIT)))):
        for z in forward(p, tokens, mode)[1]:
            share = float((z < limit).double().mean())
            if float((z - limit).abs().min()) < MARGIN or not OPEN[0] < share < OPEN[1]:
                return False
    return True


def draw_batch(seed):
    g = torch.Generator().manual_seed(seed)
    text = torch.randint(VOCAB, (SEQUENCES, SHAPE["context_length"] + 1), generator=g)
    return text[:, :-1], text[:, 1:]


def gradients(p, tokens, targets):
    loss, price = losses(p, tokens, targets)
    for x in p.values():
        x.grad = None
    (loss + price).backward()
    return loss, price


def train(p, tokens, targets):
    """STEPS steps of AdamW on the same batch, in place; decay on matrices only."""
    decays = [x for name, x in p.items() if x.dim() == 2 and not name.startswith("embedding")]
    others = [x for name, x in p.items() if x.dim() == 1 or name.startswith("embedding")]
    groups = [{"params": decays, "weight_decay": HYPERPARAMETERS["weight_decay"]},
              {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=HYPERPARAMETERS["learning_rate"], eps=HYPERPARAMETERS["adam_eps"],
                                  betas=(HYPERPARAMETERS["beta1"], HYPERPARAMETERS["beta2"]))
    for _ in range(STEPS):
        gradients(p, tokens, targets)
        norms = torch.nn.utils.clip_grad_norm_(list(p.values()), HYPERPARAMETERS["max_grad_norm"])
        assert norms > HYPERPARAMETERS["max_grad_norm"], "clipping would not be tested"
        optimiser.step()


def record(tsa):
    seed = SEED[tsa]
    tokens, targets = draw_batch(0)
    p = draw(shapes(tsa), scaled, seed)
    while tsa and not is_telling(p, tokens):
        seed += 1
        p = draw(shapes(tsa), scaled, seed)
    loss, price = gradients(p, tokens, targets)
    facts = {"architecture": "tsa" if tsa else "vanilla", "vocab": VOCAB, "seed": seed,
             "sequences": SEQUENCES, "loss": float(loss), "aux_loss": float(price),
             "norm": norm_of_all(p)}
    tensors = {"tokens": tokens, "targets": targets, "logits.soft": forward(p, tokens)[0]}
    tensors, facts = case(p, {**SHAPE, **(TSA if tsa else {})}, facts, tensors)
    if tsa:
        facts.update({"gate_limit": GATE_LIMIT, "steps": STEPS, **prefixed("training.", HYPERPARAMETERS)})
        for mode in ("hard", "mixed"):
            tensors["logits." + mode] = forward(p, tokens, mode)[0]
        train(p, tokens, targets)
        tensors.update(prefixed("after.", p))
    return tensors, facts


if __name__ == "__main__":
    main({"vanilla": partial(record, False), "tsa": partial(record, True)})
