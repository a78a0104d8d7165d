"""train.py - a training step: forward with dropout, backward, clipping, AdamW.

Each side draws its own tokens and dropout masks. That the model is the same is compared by forward.py, and gradients
are compared with PyTorch's by test_golden.
"""

import sys

import forward
import turns
from contender import Contender

NAME, UNIT, BETTER, PLOT = "train", "ms", "lower", "bars"
TITLE = "Training step"
ABOUT = (
    "64 texts of 128 tokens, the same decoder with dropout 0.1: forward, backward, clipping and AdamW. `tsa` has "
    "routers besides, and computes every layer."
)
CASES = ("vanilla", "tsa")
PRECISIONS = ("fp32", "bf16")


def contenders(setup, arch):
    for precision in PRECISIONS:
        command = [sys.executable, setup.here / "each_turn.py", "milliseconds_min", setup.build / "tests/bench_train"]
        command += ["--arch", arch, "--steps", 3, "--precision", precision]
        command += ["--threads", setup.threads, "--json"]
        yield Contender("Sluice", precision, command)
    model = forward.checkpoint(setup)
    for precision in PRECISIONS:
        for how in ("", "compiled"):
            command = [setup.python, setup.here / "train_peer.py", arch, precision, model, setup.threads, setup.cache]
            yield Contender("PyTorch", f"{precision} {how}".strip(), command + [how], f"Sluice {precision}")


def measure(setup, case):
    return turns.take(list(contenders(setup, case)), setup.cache / f"train-{case}", setup, BETTER)
