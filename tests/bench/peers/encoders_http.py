"""encoders_http.py - a pretrained sentence encoder: ours over HTTP beside the peers of encoders.py without it."""

import array
import sys

import encoders
from contender import Contender

NAME, UNIT, BETTER, PLOT = "encoders_http", "texts/s", "higher", "bars"
TITLE = "Sentence encoder over HTTP"
ABOUT = (
    "all-MiniLM-L6-v2 and the 512 lines of the row `ragged` above. Sluice: `sluicectl bench --embed`, a text per request, "
    "client and daemon on the same processors, from text to JSON. The others: in one process, without HTTP and without a "
    "tokenizer, as above."
)
CASES = {"128 connections": 128}
SECONDS = 2


def embeddings(setup, encoder, texts, precision, to):
    """Ours, which the daemon gives, too."""
    out = setup.run(setup.build / "sluice", "embed", encoder, texts, "--precision", precision)
    rows = [line.split("\t")[0] for line in out.splitlines()]
    to.write_bytes(array.array("f", [float(number) for row in rows for number in row.split()]).tobytes())


def ours(setup, encoder, at, connections):
    store, texts = setup.cache / "encoders-store", encoders.ragged(setup)
    setup.copy(encoder, store / "encoder/1")
    for precision in encoders.PRECISIONS:
        to = at / f"Sluice-{precision}"
        embeddings(setup, encoder, texts, precision, to)
        command = [sys.executable, setup.here / "daemon_ours.py", setup.build, store, setup.threads, "texts_per_second"]
        command += ["--embed", texts, "--model", "encoder", "--connections", connections, "--seconds", SECONDS]
        yield Contender("Sluice", precision, [*command, "--daemon", "--precision", precision]), to


def measure(setup, case):
    encoder = setup.encoder
    if not encoder:
        return [{"who": "Sluice", "how": "fp32", "value": None, "why": "no ENCODER was given; see `make pretrained`"}]
    at = setup.cache / "encoders-http"
    at.mkdir(exist_ok=True)
    encoders.write_tokens(setup, None, encoder, at / "tokens")
    both = [*ours(setup, encoder, at, CASES[case]), *encoders.peers(setup, encoder, at, "texts")]
    return encoders.compare(setup, both, at, BETTER)
