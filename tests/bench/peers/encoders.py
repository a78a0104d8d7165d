"""encoders.py - a pretrained sentence encoder: texts, as token ids, become embeddings.

All read the same directory and the same tokens. Their embeddings are compared with PyTorch's in fp32 before anything is
timed.
"""

import array
import math
import random

import turns
from contender import Contender

NAME, UNIT, BETTER, PLOT = "encoders", "ms", "lower", "bars"
TITLE = "Sentence encoder"
ABOUT = (
    "all-MiniLM-L6-v2 (6 layers, width 384), from token ids to the mean of the tokens. A row is a batch of texts x tokens; "
    "`ragged` is 512 lines of a text file (`TEXTS`, or this documentation), which Sluice takes as they are. The others get "
    "them sorted by length and in batches of 32, each padded to its longest; llama.cpp, by llama-cpp-python, in batches of at most 512 tokens without padding. ONNX "
    "Runtime has its fused attention and norms."
)
CASES = {"1 x 128": (1, 128), "8 x 128": (8, 128), "64 x 128": (64, 128), "ragged": None}
PRECISIONS = ("fp32", "bf16", "int8")
PEERS = (  # program, precision, name, and which of ours it is compared with
    ("torch", "fp32", "PyTorch", "Sluice fp32"),
    ("onnxruntime", "fp32", "ONNX Runtime", "Sluice fp32"),
    ("openvino", "fp32", "OpenVINO", "Sluice fp32"),
    ("torch", "bf16", "PyTorch", "Sluice bf16"),
    ("openvino", "bf16", "OpenVINO", "Sluice bf16"),
    ("onnxruntime", "int8", "ONNX Runtime", "Sluice int8"),
    ("openvino", "int8", "OpenVINO", "Sluice int8"),
    ("llama", "F16", "llama-cpp-python", "Sluice bf16"),
    ("llama", "Q8_0", "llama-cpp-python", "Sluice int8"),
)
NEAR = {"fp32": 0.99999, "bf16": 0.999, "F16": 0.999, "int8": 0.97, "Q8_0": 0.97}  # smallest mean cosine with PyTorch's in fp32
RAGGED, VOCABULARY = 512, range(2000, 30000)  # ids of words


def lines(setup):
    """Lines with some words."""
    files = [setup.texts] if setup.texts else sorted((setup.top / "docs").glob("*.md"))
    found = [line.strip() for file in files for line in file.read_text("utf-8").splitlines()]
    return [line for line in found if len(line.split()) >= 4][:RAGGED]


def ragged(setup):
    """A file of these lines."""
    path = setup.cache / "ragged.txt"
    path.write_text("".join(line + "\n" for line in lines(setup)), "utf-8")
    return path


def token_lists(setup, shape, encoder):
    if shape:
        draw = random.Random(1)
        return [[draw.choice(VOCABULARY) for _ in range(shape[1])] for _ in range(shape[0])]
    out = setup.run(setup.python, setup.here / "encoder_peer.py", "tokenize", encoder, ragged(setup))
    return [[int(word) for word in line.split()] for line in out.splitlines()]


def write_tokens(setup, shape, encoder, to):
    texts = token_lists(setup, shape, encoder)
    numbers = [len(texts), *map(len, texts), *(token for text in texts for token in text)]
    to.write_bytes(array.array("i", numbers).tobytes())


def ours(setup, encoder, at):
    """Contenders, and where they write their embeddings."""
    for precision in PRECISIONS:
        to = at / f"Sluice-{precision}"
        command = [setup.build / "tests/bench_encoder", encoder, at / "tokens", precision, setup.threads, to]
        yield Contender("Sluice", precision, command), to


def peers(setup, encoder, at, *unit):
    for program, precision, who, against in PEERS:
        to = at / f"{program}-{precision}"
        command = [setup.python, setup.here / "encoder_peer.py", program, precision, encoder, at / "tokens"]
        yield Contender(who, precision, [*command, setup.threads, to, setup.cache, *unit], against), to


def floats(path):
    out = array.array("f")
    out.frombytes(path.read_bytes())
    return out


def cosine(some, others, count):
    """The mean over `count` vectors."""
    width, total = len(others) // count, 0.0
    if len(some) != len(others):
        return 0.0
    for i in range(0, len(others), width):
        x, y = some[i : i + width], others[i : i + width]
        total += sum(map(float.__mul__, x, y)) / math.sqrt(sum(v * v for v in x) * sum(v * v for v in y))
    return total / count


def measure(setup, case):
    encoder = setup.encoder
    if not encoder:
        return [{"who": "Sluice", "how": "fp32", "value": None, "why": "no ENCODER was given"}]
    at = setup.cache / f"encoders-{case.replace(' ', '')}"
    at.mkdir(exist_ok=True)
    write_tokens(setup, CASES[case], encoder, at / "tokens")
    return compare(setup, [*ours(setup, encoder, at), *peers(setup, encoder, at)], at, BETTER)


def compare(setup, both, at, better):
    """Times those whose embeddings are near PyTorch's in fp32. both: contenders, and where their embeddings are."""
    loaded, places = [c for c, _ in both], {c.name: to for c, to in both}
    ready, refused = turns.open_all(loaded, at)
    try:
        reference = floats(at / "torch-fp32")
        texts = array.array("i")
        texts.frombytes((at / "tokens").read_bytes())
        near = {c.name: cosine(floats(places[c.name]), reference, texts[0]) for c in ready}
        trusted = [c for c in ready if near[c.name] >= NEAR[c.how]]
        refused += [turns.skipped(c, f"cosine of {near[c.name]:.4f}") for c in ready if c not in trusted]
        results = turns.measure(trusted, setup.turns, setup.seconds, better)
    finally:
        for contender in loaded:
            contender.close()
    for result in results:
        result["cosine"] = round(near[f"{result['who']} {result['how']}"], 6)
    return results + refused
