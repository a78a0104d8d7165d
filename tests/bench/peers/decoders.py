"""decoders.py - a pretrained language model, texts generated at the same time: ours over HTTP beside llama.cpp without it.

All have the weights of one GGUF file. What each generates, greedily, is compared with llama.cpp in fp32 before anything
is timed.
"""

import functools
import json
import sys

import turns
from contender import Contender

NAME, UNIT, BETTER, PLOT = "decoders", "tokens/s", "higher", "bars"
TITLE = "Language model"
ABOUT = (
    "SmolLM2-135M-Instruct (30 layers, width 576, 49,152 tokens), of which a package on PyPI has Q4_1. Each stream generates "
    "64 tokens. Sluice: `sluicectl bench` against the daemon over HTTP, client and daemon on the same processors, as imported "
    "by `sluice import`. llama.cpp, by llama-cpp-python: in one process, without HTTP, all streams in one batch; its files "
    "are converted from the same weights. Ratios of its quantized files are against Sluice in int8. Before it is timed, each "
    "continues 20 prompts greedily by 5 tokens; it is left out if fewer than 10 continuations are those of fp32."
)
CASES = {"1 stream": 1, "8 streams": 8, "64 streams": 64}
TOKENS, PROMPT = 64, "The history of the sea"
PRECISIONS = ("fp32", "bf16", "int8")
KINDS = {"F32": "fp32", "F16": "bf16", "BF16": "bf16", "Q8_0": "int8", "Q4_1": "int8", "Q4_0": "int8"}  # and against whom
BEGINNINGS = ("The history of", "How to take care of", "I have never seen", "Yesterday we talked about")
TOPICS = ("cats", "the sea", "a small village in winter", "electricity", "mathematics")
SAME_LEAST, CHECKED = 10, 5  # of the prompts; tokens


def prompts():
    return [f"{beginning} {topic}" for beginning in BEGINNINGS for topic in TOPICS]


def gguf_file(setup):
    return next(iter(sorted(setup.decoder.glob("*.gguf"))), None) if setup.decoder else None


def imported(setup, file):
    """A store with the model as `sluice import` makes it, in fp32."""
    store = setup.cache / "decoders-store"
    version = store / "decoder/1"
    if not version.exists():
        version.parent.mkdir(parents=True, exist_ok=True)
        setup.run(setup.build / "sluice", "import", file, "--output", version)
    return store


@functools.cache  # all cases have the same ones
def continuations(setup, store, precision):
    """Ours, of each prompt."""
    found = []
    for prompt in prompts():
        command = [setup.build / "sluice", "generate", store / "decoder/1", "--prompt", prompt, "--temperature", "0"]
        out = setup.run(*command, "--max-tokens", CHECKED, "--precision", precision, "--json")
        found.append(json.loads(out)["text"].removeprefix(prompt))
    return found


def contenders(setup, streams, file):
    store = imported(setup, file)
    for precision in PRECISIONS:
        command = [sys.executable, setup.here / "daemon_ours.py", setup.build, store, setup.threads]
        command += ["tokens_per_second", "--model", "decoder", "--connections", streams, "--tokens", TOKENS]
        command += ["--prompt", PROMPT, "--requests", 2 * streams, "--temperature", "0", "--daemon", "--precision", precision]
        yield Contender("Sluice", precision, command)
    for kind, precision in KINDS.items():
        command = [setup.python, setup.here / "decoder_peer.py", kind, file, streams, TOKENS, setup.threads, setup.cache]
        yield Contender("llama-cpp-python", kind, [*command, PROMPT, CHECKED, *prompts()], f"Sluice {precision}")


def texts_of(contender, setup, store):
    if contender.who == "Sluice":
        return continuations(setup, store, contender.how)
    return contender.start["texts"]


def measure(setup, case):
    file = gguf_file(setup)
    if not file:
        return [{"who": "Sluice", "how": "fp32", "value": None, "why": "no DECODER was given; see `make pretrained`"}]
    at = setup.cache / "decoders"
    at.mkdir(exist_ok=True)
    loaded = list(contenders(setup, CASES[case], file))
    ready, refused = turns.open_all(loaded, at)
    try:
        store = imported(setup, file)
        texts = {c.name: texts_of(c, setup, store) for c in ready}
        reference = texts.get("llama-cpp-python F32", [])
        same = {name: sum(map(str.__eq__, found, reference)) for name, found in texts.items()}
        trusted = [c for c in ready if same[c.name] >= SAME_LEAST]
        refused += [turns.skipped(c, f"{same[c.name]} continuations are the same") for c in ready if c not in trusted]
        results = turns.measure(trusted, setup.turns, setup.seconds, BETTER)
    finally:
        for contender in loaded:
            contender.close()
    for result in results:
        result["same"] = same[f"{result['who']} {result['how']}"]
    return results + refused
