#!/usr/bin/python3
"""bench_train_torch.py - a training step of Sluice beside PyTorch's, in the same minutes.

Both train the vanilla or the TSA decoder at the TSA paper's sizes: forward, backward, clipping and
AdamW over 64 windows of 128 tokens. PyTorch runs eagerly with bf16 autocast, its fused softmax and
GELU, on the same number of threads. The two take turns, so that whatever else the machine does meets
both, and the medians are compared.

    bench_train_torch.py SLUICE [--arch vanilla|tsa] [--turns N] [--json]

SLUICE is the program (build/release/sluice). Needs python3-torch.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import time

import torch
from torch import nn
from torch.nn import functional as f

VOCAB, WIDTH, DEPTH, HEADS, HIDDEN, ROUTER = 65, 256, 6, 8, 1024, 64
BATCH, CONTEXT, DROPOUT, PRICE = 64, 128, 0.1, 0.05
STEPS = 3  # of each, per turn


class Block(nn.Module):
    def __init__(self, routed):
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.project = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.router = nn.Sequential(nn.Linear(WIDTH, ROUTER), nn.ReLU(), nn.Linear(ROUTER, 1)) if routed else None

    def attention(self, x, future):
        b, t, _ = x.shape
        q, k, v = self.query_key_value(x).view(b, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH / HEADS) + future
        weights = f.dropout(torch.softmax(scores, -1), DROPOUT)
        return self.project((weights @ v).transpose(1, 2).reshape(b, t, WIDTH))

    def forward(self, h, gate, future):
        h = h + gate * f.dropout(self.attention(self.attention_norm(h), future), DROPOUT)
        return h + gate * f.dropout(self.down(f.dropout(f.gelu(self.up(self.mlp_norm(h))), DROPOUT)), DROPOUT)


class Decoder(nn.Module):
    def __init__(self, routed):
        super().__init__()
        self.tokens = nn.Parameter(0.02 * torch.randn(VOCAB, WIDTH))
        self.positions = nn.Parameter(0.02 * torch.randn(CONTEXT, WIDTH))
        self.blocks = nn.ModuleList(Block(routed and i + 1 < DEPTH) for i in range(DEPTH))
        self.norm = nn.LayerNorm(WIDTH)
        self.register_buffer("future", torch.full((CONTEXT, CONTEXT), -1e9).triu(1))

    def forward(self, tokens):
        h = f.dropout(self.tokens[tokens] + self.positions, DROPOUT)
        gate, price = 1.0, 0.0
        for block in self.blocks:
            h = block(h, gate, self.future)
            if block.router is not None:
                gate = 1.0 - torch.sigmoid(block.router(h))
                price = price + PRICE / (DEPTH - 1) * gate.mean()
        return self.norm(h) @ self.tokens.T, price


class Torch:
    def __init__(self, routed, threads):
        torch.manual_seed(1)
        torch.set_num_threads(threads)
        self.model = Decoder(routed)
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=3e-4, betas=(0.9, 0.95))

    def step(self):
        tokens = torch.randint(VOCAB, (BATCH, CONTEXT + 1))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits, price = self.model(tokens[:, :-1])
            loss = f.cross_entropy(logits.reshape(-1, VOCAB).float(), tokens[:, 1:].reshape(-1)) + price
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()

    def measure(self):
        """Milliseconds per step."""
        start = time.monotonic()
        for _ in range(STEPS):
            self.step()
        return (time.monotonic() - start) * 1e3 / STEPS


def sluice(program, arch, threads):
    command = [program, "bench", "train", "--arch", arch, "--steps", str(STEPS), "--threads", str(threads), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["milliseconds_median"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("sluice")
    arguments.add_argument("--arch", choices=("vanilla", "tsa"), default="tsa")
    arguments.add_argument("--turns", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--json", action="store_true")
    a = arguments.parse_args()
    peer = Torch(a.arch == "tsa", a.threads)
    peer.measure()  # warm
    turns = [(sluice(a.sluice, a.arch, a.threads), peer.measure()) for _ in range(a.turns)]
    ours, theirs = (statistics.median(t[i] for t in turns) for i in (0, 1))
    ratio = statistics.median(t[1] / t[0] for t in turns)
    if a.json:
        print(json.dumps({"arch": a.arch, "threads": a.threads, "turns": a.turns, "sluice_ms": ours,
                          "torch_ms": theirs, "ratio": ratio, "torch": torch.__version__}))
    else:
        print(f"{a.arch}, {BATCH} x {CONTEXT}, {a.threads} threads, median of {a.turns} turns: Sluice {ours:.0f} ms, "
              f"PyTorch {torch.__version__} {theirs:.0f} ms per step: {ratio:.2f} times as fast")


if __name__ == "__main__":
    main()
