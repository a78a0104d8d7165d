"""completions.py - texts generated at the same time: ours over HTTP beside llama.cpp without it."""

import sys

import forward
import turns
from contender import Contender

NAME, UNIT, BETTER, PLOT = "completions", "tokens/s", "higher", "bars"
TITLE = "Completions"
ABOUT = (
    "Each stream generates 100 tokens, after a prompt of 4. Sluice: `sluicectl bench` against the daemon over "
    "HTTP, client and daemon on the same processors, at temperature 1, in the precision that the daemon chooses. "
    "llama.cpp, by llama-cpp-python: in one process, without HTTP, all streams in one batch, greedy. `decoder` is the "
    "decoder of the forward pass; llama.cpp has it as a GPT-2 with the same weights, and is compared with it in every "
    "precision; in q8_0 without its AMX products, which fail with an illegal instruction. `shakespeare` is the "
    "bundled model of the same size, which skips layers."
)
CASES = {"1 stream": 1, "8 streams": 8, "64 streams": 64, "256 streams": 256}
TOKENS, PROMPT = 100, "The "
KINDS = ("f32", "bf16", "q8_0")


def store(setup):
    directory = setup.cache / "store"
    forward.checkpoint(setup)
    setup.copy(setup.cache / "decoder", directory / "decoder")
    setup.copy(setup.top / "models/shakespeare", directory / "shakespeare")
    return directory


def contenders(setup, streams):
    for model in ("decoder", "shakespeare"):
        command = [sys.executable, setup.here / "daemon_ours.py", setup.build, store(setup), setup.threads]
        command += ["tokens_per_second", "--model", model, "--connections", streams, "--tokens", TOKENS]
        command += ["--prompt", PROMPT, "--requests", max(40, 3 * streams)]
        yield Contender("Sluice", model, command)
    for kind in KINDS:
        command = [setup.python, setup.here / "completions_peer.py", kind, forward.checkpoint(setup), streams]
        yield Contender("llama-cpp-python", kind, command + [TOKENS, setup.threads, setup.cache], "Sluice decoder")


def measure(setup, case):
    return turns.take(list(contenders(setup, CASES[case])), setup.cache / "completions", setup, BETTER)
