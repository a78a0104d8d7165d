#!/usr/bin/env python3
"""train_peer.py - training steps of our decoders in PyTorch; one of the contenders of train.py.

    train_peer.py ARCHITECTURE PRECISION CHECKPOINT THREADS CACHE [compiled]

Forward with dropout, backward, clipping and AdamW, over 64 texts of 128 tokens. bf16: autocast, weights in fp32.
"""

import contextlib
import os
import sys
from pathlib import Path

BATCH, CONTEXT, DROPOUT, PRICE = 64, 128, 0.1, 0.05


def main():
    arch, precision, checkpoint, threads, cache = sys.argv[1:6]
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(cache) / "inductor"))
    import torch
    from torch.nn import functional as f

    import decoder_torch
    from contender import fastest, serve

    torch.manual_seed(1)
    torch.set_num_threads(int(threads))
    model = decoder_torch.load(checkpoint, dropout=DROPOUT, routed=arch == "tsa").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), fused=True)

    def loss_of(tokens):
        logits, gate = model.with_gates(tokens[:, :-1])
        return f.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten()) + PRICE * gate

    loss_of = torch.compile(loss_of) if "compiled" in sys.argv[6:] else loss_of
    last = [0.0]

    def step():
        tokens = torch.randint(model.tokens.num_embeddings, (BATCH, CONTEXT + 1))
        lower = torch.autocast("cpu", dtype=torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
        with lower:
            loss = loss_of(tokens)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        last[0] = loss.item()

    step()
    if not last[0] < 10:
        sys.exit(f"the loss is {last[0]}")
    serve({"version": torch.__version__.split("+")[0]}, lambda seconds: {"value": fastest(step, seconds)})


if __name__ == "__main__":
    main()
