"""forward.py - the dense forward pass: the TSA paper's decoder, the logits of all tokens.

All compute the same function of the same tokens. Their logits are compared with PyTorch's in fp32, relative to the
standard deviation of these, before anything is timed.
"""

import array
import random
import statistics

import turns
from contender import Contender

NAME, UNIT, BETTER, PLOT = "forward", "ms", "lower", "bars"
TITLE = "Dense forward pass"
ABOUT = (
    "Decoder of 6 layers, width 256, 8 heads, 1,024 hidden units and 65 tokens, with the logits of all tokens. "
    "A row is a batch: texts x tokens."
)
CASES = {"1 x 256": (1, 256), "8 x 256": (8, 256), "64 x 256": (64, 256), "64 x 128": (64, 128)}
PRECISIONS = ("fp32", "bf16", "int8")
PEERS = (  # program, precision, name, and which of ours it is compared with
    ("torch", "fp32", "PyTorch", "fp32", "Sluice fp32"),
    ("torch-compiled", "fp32", "PyTorch", "fp32 compiled", "Sluice fp32"),
    ("onnxruntime", "fp32", "ONNX Runtime", "fp32", "Sluice fp32"),
    ("openvino", "fp32", "OpenVINO", "fp32", "Sluice fp32"),
    ("torch", "bf16", "PyTorch", "bf16", "Sluice bf16"),
    ("torch-compiled", "bf16", "PyTorch", "bf16 compiled", "Sluice bf16"),
    ("openvino", "bf16", "OpenVINO", "bf16", "Sluice bf16"),
    ("onnxruntime", "int8", "ONNX Runtime", "int8", "Sluice int8"),
)
FAR = {"fp32": 1e-3, "bf16": 0.15, "int8": 0.5}  # largest difference, in standard deviations of the logits
VOCAB, CONTEXT, SEED = 65, 256, 1


def characters():
    return "".join(chr(ord("z") - i) for i in range(VOCAB - 1)) + " "


def checkpoint(setup):
    """Random weights: the time does not depend on them."""
    directory = setup.cache / "decoder" / "1"
    if not directory.exists():
        corpus = setup.cache / "characters.txt"
        corpus.write_text(characters() * 40, "utf-8")
        setup.run(
            setup.build / "sluice", "init", "vanilla", "--corpus", corpus, "--output", directory,
            "--context-length", CONTEXT, "--seed", SEED,
        )  # fmt: skip
    return directory


def contenders(setup, texts, length):
    at = setup.cache / f"forward-{texts}x{length}"
    at.mkdir(exist_ok=True)
    tokens = at / "tokens"
    draw = random.Random(SEED)
    tokens.write_bytes(array.array("i", [draw.randrange(VOCAB) for _ in range(texts * length)]).tobytes())
    model, out = checkpoint(setup), []
    for precision in PRECISIONS:
        command = [setup.build / "tests/bench_forward", model, texts, length, precision, setup.threads, tokens]
        out.append(Contender("Sluice", precision, command + [at / f"Sluice-{precision}"]))
    for program, precision, who, how, against in PEERS:
        command = [setup.python, setup.here / "forward_peer.py", program, precision, model, texts, length]
        command += [setup.threads, tokens, at / f"{program}-{precision}", setup.cache]
        out.append(Contender(who, how, command, against))
    return out, at


def floats(path):
    out = array.array("f")
    out.frombytes(path.read_bytes())
    return out


def differences(ready, at):
    """The largest difference of each from the first of PEERS, in standard deviations."""
    reference = floats(at / "torch-fp32")
    scale = statistics.pstdev(reference[: VOCAB * 256])
    out = {}
    for contender in ready:
        logits = floats(at / contender.logits)
        same = len(logits) == len(reference)
        out[contender.name] = max(map(abs, map(float.__sub__, logits, reference))) / scale if same else float("inf")
    return out


def measure(setup, case):
    texts, length = CASES[case]
    loaded, at = contenders(setup, texts, length)
    for contender in loaded:
        contender.logits = contender.command[-1] if contender.who == "Sluice" else contender.command[-2]
    ready, refused = turns.open_all(loaded, at)
    try:
        far = differences(ready, at)
        trusted = [c for c in ready if far[c.name] <= FAR[c.how.split()[0]]]
        refused += [
            turns.skipped(c, f"differs by {far[c.name]:.3g} standard deviations") for c in ready if c not in trusted
        ]
        results = turns.measure(trusted, setup.turns, setup.seconds, BETTER)
    finally:
        for contender in loaded:
            contender.close()
    for result in results:
        result["difference"] = float(f"{far[result['who'] + ' ' + result['how']]:.2g}")
    return results + refused
