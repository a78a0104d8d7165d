#!/usr/bin/env python3
"""Compares tokenizers with the Python package `tokenizers`, in the same run, on one thread each.

    bench_tokenizers.py BUILD-DIR [TOKENIZER.JSON...] [--texts FILE]

Encodes the lines of FILE, or of the documents in docs/ if there is none, with each tokenizer.json, or with those in
tests/golden/pipelines/. Prints megabytes per second of processor time, the best of five rounds, and the ratio. The
package (peers/requirements.txt) is called from Python, a call per line; its tokens must be as many.
"""
import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers  # noqa: E402: reads the environment

TOP = Path(__file__).resolve().parents[2]
ROUNDS = 5


def document_lines():
    return [line for path in sorted(TOP.glob("docs/*.md")) for line in path.read_text(encoding="utf-8").split("\n")]


def theirs(path, lines):
    """Seconds of the best round, and tokens."""
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    best, tokens = float("inf"), 0
    for _ in range(ROUNDS):
        start = time.process_time()
        tokens = sum(len(tokenizer.encode(line).ids) for line in lines)
        best = min(best, time.process_time() - start)
    return best, tokens


def ours(program, path, texts):
    out = subprocess.run([program, str(path), texts], check=True, capture_output=True, text=True).stdout.split()
    return float(out[2]), int(out[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--texts", type=Path)
    arguments = parser.parse_args()
    lines = arguments.texts.read_text(encoding="utf-8").split("\n") if arguments.texts else document_lines()
    lines = [line for line in lines if line]
    files = arguments.files or [path for path in sorted((TOP / "tests/golden/pipelines").glob("*.json"))
                                if path.stem != "fragments"]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as texts:
        texts.write("\n".join(lines))
        texts.flush()
        size = os.path.getsize(texts.name) / 1e6
        print(f"{len(lines)} texts, {size:.1f} MB; tokenizers {tokenizers.__version__}")
        for path in files:
            (a, count), (b, other) = ours(f"{arguments.build}/tests/bench_tokenizers", path, texts.name), theirs(path, lines)
            assert count == other, (path, count, other)
            print(f"{path.stem:12} ours {size / a:6.1f} MB/s   theirs {size / b:6.1f} MB/s   ratio {b / a:5.1f}")


if __name__ == "__main__":
    main()
