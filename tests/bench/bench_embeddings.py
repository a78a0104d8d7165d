#!/usr/bin/env python3
"""Compares embeddings for search: those of `base`, and TF-IDF with a truncated SVD of the same size.

    bench_embeddings.py BUILD-DIR STORE DIR NAME... [--texts 1000 0] [--part test]

DIR holds NAME.train.tsv and NAME.test.tsv for each set: a label, a tab and a text per line. STORE has the model `base`.
The training texts are the collection that is searched, or as many of them as --texts says, drawn at random (0: all).
Each test text is a query. A table goes to standard output:

    nearest    how often the nearest text of the collection has the query's label
    first 10   how many of the nearest ten have it, on average
    average precision   mean over the queries, of the whole collection ranked

`base` is used as it is. TF-IDF and its SVD are fitted to the collection; "tuned" is the best of a few settings on
held-out texts: sublinear counts, without stop words and words of a single text. With --part held, the queries are a
fifth of the training texts, to choose by; the test part is not read.

Embeddings come from `sluicectl embed`, of a daemon that this program starts. Packages: scikit-learn, numpy.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

NEAREST = 10
QUERIES = 256  # ranked at once

TFIDF = {
    "TF-IDF, SVD": {},
    "TF-IDF, tuned, SVD": {"sublinear_tf": True, "stop_words": "english", "min_df": 2},
}


def read(path):
    rows = [line.split("\t", 1) for line in path.read_text("utf-8").split("\n") if line]
    return [label for label, _ in rows], [text.replace("\r", " ") for _, text in rows]


class Daemon:
    def __init__(self, build, store, folder):
        ports = Path(folder) / "port"
        self.build = build
        self.process = subprocess.Popen(
            [build / "sluiced", "--store", store, "--listen", "127.0.0.1:0", "--port-file", ports]
            + ["--admin-listen", "", "--log-level", "error"]
        )
        while not ports.exists() or not ports.read_text().split():
            if self.process.poll() is not None:
                sys.exit("sluiced did not start")
            time.sleep(0.05)
        self.url = f"http://127.0.0.1:{ports.read_text().split()[0]}"

    def embed(self, texts):
        """A row for each text; zeros for one that has no tokens."""
        done = subprocess.run(
            [self.build / "sluicectl", "embed", "--url", self.url, "--json", "--truncate", "right", "-"],
            input="\n".join(texts), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
        )
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        out, at = numpy.zeros((len(texts), len(rows[0]["embedding"])), numpy.float32), 0
        for i, text in enumerate(texts):
            if at < len(rows) and rows[at]["text"] == text:
                out[i] = rows[at]["embedding"]
                at += 1
        assert at == len(rows), "the embeddings are not those of the texts"
        return out

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def svd(settings, size, collection, queries):
    tfidf = TfidfVectorizer(**settings)
    fitted = TruncatedSVD(min(size, len(collection) - 1), random_state=0)
    return fitted.fit_transform(tfidf.fit_transform(collection)), fitted.transform(tfidf.transform(queries))


def unit(rows):
    return rows / numpy.maximum(numpy.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def measure(collection, labels, queries, wanted):
    """Means over the queries: nearest, first ten, average precision."""
    collection, queries = unit(collection).astype(numpy.float32), unit(queries).astype(numpy.float32)
    labels, wanted = numpy.array(labels), numpy.array(wanted)
    sums = numpy.zeros(3)
    for first in range(0, len(queries), QUERIES):
        order = numpy.argsort(-(queries[first : first + QUERIES] @ collection.T), axis=1, kind="stable")
        hits = labels[order] == wanted[first : first + QUERIES, None]
        ranked = numpy.cumsum(hits, axis=1) / numpy.arange(1, hits.shape[1] + 1)
        precision = (ranked * hits).sum(axis=1) / numpy.maximum(hits.sum(axis=1), 1)
        sums += [hits[:, 0].sum(), hits[:, :NEAREST].mean(axis=1).sum(), precision.sum()]
    return 100 * sums / len(queries)


def parts(directory, name, part):
    labels, texts = read(directory / f"{name}.train.tsv")
    if part == "test":
        return labels, texts, *read(directory / f"{name}.test.tsv")
    order = list(range(len(texts)))
    random.Random(1).shuffle(order)
    held, kept = order[::5], [i for place, i in enumerate(order) if place % 5]
    return ([labels[i] for i in kept], [texts[i] for i in kept], [labels[i] for i in held], [texts[i] for i in held])


def draw(labels, texts, count):
    if count == 0 or count >= len(texts):
        return labels, texts
    chosen = sorted(random.Random(1).sample(range(len(texts)), count))
    return [labels[i] for i in chosen], [texts[i] for i in chosen]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--texts", nargs="+", type=int, default=[0])
    parser.add_argument("--part", choices=["test", "held"], default="test")
    a = parser.parse_args()
    print("| set | texts searched | vectors | nearest | first 10 | average precision |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(a.build.resolve(), a.store.resolve(), folder)
        try:
            for name in a.names:
                all_labels, all_texts, wanted, queries = parts(a.directory, name, a.part)
                of_queries = daemon.embed(queries)
                for count in a.texts:
                    labels, texts = draw(all_labels, all_texts, count)
                    vectors = {"`base`": (daemon.embed(texts), of_queries)}
                    for label, settings in TFIDF.items():
                        vectors[label] = svd(settings, of_queries.shape[1], texts, queries)
                    for label, (collection, asked) in vectors.items():
                        numbers = " | ".join(f"{x:.1f} %" for x in measure(collection, labels, asked, wanted))
                        print(f"| {name} | {len(texts):,} | {label} | {numbers} |", flush=True)
        finally:
            daemon.stop()


main()
