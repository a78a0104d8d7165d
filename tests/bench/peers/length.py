"""length.py - time per token against the length of the text, for every architecture. No peer."""

import json

NAME, UNIT, BETTER, PLOT = "length", "µs per token", "lower", "loglog"
AXES = "tokens in the text", "µs per token"
TITLE = "Time per token against length"
ABOUT = (
    "A forward pass over one text, each architecture at its default size, random weights. The last row is the exponent "
    "of the time of a text against its length, fitted from 1,024 tokens on: 1 where a token costs the same in any text, "
    "2 where time grows with the square. Left out are lengths that an architecture does not take, and those that would "
    "take more than 6 GiB."
)
CASES = (
    "vanilla",
    "tsa",
    "early_exit",
    "transevolve",
    "encoder",
    "epsilon",
    "eam, log-sparse",
    "eam, dense",
    "linear",
)
LONGEST, PRECISION = 16384, "fp32"


def measure(setup, case):
    if setup.prepares:
        return []
    command = [setup.build / "tests/bench_length", "--json", LONGEST, PRECISION, setup.threads, case]
    found = json.loads(setup.run(*command))
    results = [
        {"who": f"{length:,}", "how": "tokens", "x": length, "value": value} for length, value in found["points"]
    ]
    return results + [{"who": "exponent", "how": "", "value": found["exponent"]}]
