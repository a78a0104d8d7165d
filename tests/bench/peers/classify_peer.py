#!/usr/bin/env python3
"""classify_peer.py - a peer that classifies texts, in this process; one of the contenders of classify.py.

    classify_peer.py fasttext TRAIN.tsv TEXTS.txt THREADS CACHE
    classify_peer.py fp32|int8 SLUICE CHECKPOINT TEXTS.txt THREADS CACHE

The first is fastText, a process for each thread, each with its part of the texts. The second is our encoder in ONNX
Runtime.
"""

import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

from contender import serve

OPTIONS = "-wordNgrams 2 -lr 0.5 -epoch 5 -dim 100 -minCount 2 -verbose 0".split()
COMPARED, FAR = 64, {"fp32": 1e-3, "int8": 0.2}  # texts, and the largest difference of a probability from ours


def best_of(run, texts, seconds):
    """Texts per second of the fastest run that begins in this time."""
    end, best = time.perf_counter() + seconds, 0.0
    while True:
        begun = time.perf_counter()
        run()
        best = max(best, texts / (time.perf_counter() - begun))
        if time.perf_counter() >= end:
            return {"value": best}


# ---- fastText


def prepared(text):
    """In lower case, punctuation split off, as bench_fasttext.sh has it."""
    return "".join(c if c.isalnum() or c.isspace() or not c.isascii() else f" {c} " for c in text.lower())


def fasttext_model(train, cache, threads):
    model = cache / "fasttext.bin"
    if not model.exists():
        rows = [line.split("\t", 1) for line in train.read_text("utf-8").split("\n") if line]
        random.Random(1).shuffle(rows)  # it does not shuffle itself
        lines = (f"__label__{label} {prepared(text)}\n" for label, text in rows)
        (cache / "fasttext.txt").write_text("".join(lines), "utf-8")
        command = ["fasttext", "supervised", "-input", cache / "fasttext.txt", "-output", cache / "fasttext"]
        command += [*OPTIONS, "-thread", threads]
        subprocess.run([str(word) for word in command], check=True, stdout=sys.stderr)
    return model


class FastText:
    """A process that answers each line with a label."""

    def __init__(self, model, texts):
        self.input, self.count = "".join(text + "\n" for text in texts).encode(), len(texts)
        command = ["fasttext", "predict", str(model), "-"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def write(self):
        self.process.stdin.write(self.input)
        self.process.stdin.flush()

    def run(self):
        writer = threading.Thread(target=self.write)
        writer.start()
        for _ in range(self.count):
            self.process.stdout.readline()
        writer.join()


def run_fasttext(train, texts, threads, cache):
    model = fasttext_model(train, cache, threads)
    texts = [prepared(text) for text in texts]
    parts = [FastText(model, texts[i::threads]) for i in range(threads)]

    def run():
        workers = [threading.Thread(target=part.run) for part in parts]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return run


# ---- ONNX Runtime


def difference(sluice, checkpoint, texts, cache, logits):
    """The largest difference of a probability from ours."""
    import numpy

    sample = cache / "compared.txt"
    sample.write_text("".join(text + "\n" for text in texts), "utf-8")
    command = [sluice, "classify", checkpoint, sample, "--precision", "fp32", "--json"]
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    ours = numpy.array([json.loads(line)["score"] for line in done.stdout.splitlines()])
    exponentials = numpy.exp(logits - logits.max(1, keepdims=True))
    return float(abs(exponentials.max(1) / exponentials.sum(1) - ours).max())


def main():
    kind, *between, texts_file, threads, cache = sys.argv[1:]
    texts, threads, cache = Path(texts_file).read_text("utf-8").splitlines(), int(threads), Path(cache)
    first = {}
    if kind == "fasttext":
        run, first["version"] = run_fasttext(Path(between[0]), texts, threads, cache), "0.9.2"
    else:
        from encoder_onnx import Classifier

        classifier = Classifier(Path(between[1]), threads, cache, kind)
        some = texts[:COMPARED]
        first["difference"] = difference(between[0], between[1], some, cache, classifier.logits(some))
        if first["difference"] > FAR[kind]:
            sys.exit(f"probabilities differ by {first['difference']:.3g}")
        run, first["version"] = (lambda: classifier.logits(texts)), classifier.version
    run()
    serve(first, lambda seconds: best_of(run, len(texts), seconds))


if __name__ == "__main__":
    main()
