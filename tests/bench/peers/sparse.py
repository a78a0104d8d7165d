"""sparse.py - what skipped layers save: no peer skips, so TSA is compared with our own dense decoder."""

import json

NAME, UNIT, BETTER, PLOT = "sparse", "times as fast as dense", "higher", "linear"
AXES = "alpha: part of the tokens that a router lets through", "times as fast as dense"
TITLE = "Sparse against dense"
ABOUT = (
    "TSA with hard gates beside the dense decoder of the same size, texts x 256 tokens, in turns. The biases of its "
    "routers are set so that each lets the part alpha of the tokens through. Before it is timed, its logits have to be "
    "those of computing every layer and multiplying by zero, bit for bit. With alpha 1 routers only cost time."
)
CASES = {f"{texts} x 256, {precision}": (texts, precision) for precision in ("bf16", "fp32") for texts in (1, 8, 64)}
SECONDS = {1: 0.05, 8: 0.1, 64: 0.3}

BUSY = 1.25  # times the fastest dense pass of the row


def checked(lines):
    """Results; without a value where the dense decoder was slow, too, because then the machine was busy."""
    fastest, out = min(line["dense_ms"] for line in lines), []
    for line in lines:
        ratio = line.pop("ratio")
        found = {"who": "alpha", "how": f"{line['alpha']:g}", "x": line["alpha"], "value": ratio, **line}
        if line["dense_ms"] > BUSY * fastest:
            found.update(
                value=None, why=f"the machine was busy: dense took {line['dense_ms']:g} ms, else {fastest:g}"
            )
        out.append(found)
    return out


def measure(setup, case):
    texts, precision = CASES[case]
    if setup.prepares:
        return []
    command = [setup.build / "tests/bench_sparse", "--json", texts, precision, setup.threads, SECONDS[texts]]
    return checked([json.loads(line) for line in setup.run(*command).splitlines()])
