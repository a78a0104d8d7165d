"""classify.py - film reviews classified: ours over HTTP beside fastText and a small encoder without it."""

import lzma
import sys

import turns
from contender import Contender

NAME, UNIT, BETTER, PLOT = "classify", "texts/s", "higher", "bars"
TITLE = "Classification"
ABOUT = (
    "Film reviews (`REVIEWS`: a directory with train.tsv and test.tsv of IMDB, plain or .xz). Sluice: `sluicectl bench "
    "--classify` with 128 connections and a text per request, client and daemon on the same processors. The others: in "
    "one process, without HTTP, from text to label. fastText has bigrams, and a process for each thread. `encoder`: 2 "
    "layers of width 256 over the vocabulary of `sentiment`, about as many parameters, untrained; ONNX Runtime has the "
    "same weights, the `tokenizers` package, and batches of 32 texts of about the same length."
)
CASES = {"whole reviews": None, "20 words": 20}
TEXTS, CONNECTIONS, SECONDS = 2000, 128, 2
ENCODER = (
    "--tokenizer wordpiece --width 256 --depth 2 --heads 4 --ffn-width 1024 --context-length 512 --steps 1 "
    "--batch-size 8 --evaluate-every 0"
).split()


def rows_of(directory, name):
    """(label, text) of the rows of a file."""
    plain = directory / f"{name}.tsv"
    if plain.exists():
        data = plain.read_text("utf-8")
    else:
        data = lzma.decompress((directory / f"{name}.tsv.xz").read_bytes()).decode()
    return [line.split("\t", 1) for line in data.split("\n") if "\t" in line]


def inputs(setup, words):
    """Training texts, and files of test texts from all over the set: labelled, and of the text alone."""
    train, test = setup.cache / "reviews-train.tsv", setup.cache / f"reviews-{words or 'all'}.txt"
    if not train.exists():
        rows = rows_of(setup.reviews, "train")
        train.write_text("".join(f"{label}\t{text}\n" for label, text in rows), "utf-8")
    if not test.exists():
        rows = rows_of(setup.reviews, "test")
        chosen = rows[:: max(1, len(rows) // TEXTS)][:TEXTS]
        test.write_text("".join(" ".join(text.split()[:words]) + "\n" for _, text in chosen), "utf-8")
    return train, test


def store(setup, train):
    """`sentiment`, and an encoder that was trained for one step."""
    directory = setup.cache / "classifiers"
    if not (directory / "encoder/1").exists():
        sample = setup.cache / "reviews-sample.tsv"
        with open(train, encoding="utf-8") as file:
            rows = file.readlines()
        sample.write_text("".join(rows[:: max(1, len(rows) // 400)]), "utf-8")
        setup.run(
            setup.build / "sluice", "train", "encoder", "--data", sample, "--label", 1, "--text", 2, *ENCODER,
            "--vocab-file", setup.top / "models/sentiment/1/vocab.txt", "--run-dir", setup.cache / "encoder-run",
            "--overwrite", "--output", directory / "encoder/1",
        )  # fmt: skip
    setup.copy(setup.top / "models/sentiment", directory / "sentiment")
    return directory


def contenders(setup, words):
    train, texts = inputs(setup, words)
    models = store(setup, train)
    for model in ("sentiment", "encoder"):
        command = [sys.executable, setup.here / "daemon_ours.py", setup.build, models, setup.threads]
        command += ["texts_per_second", "--classify", texts, "--model", model, "--connections", CONNECTIONS]
        yield Contender("Sluice", model, command + ["--seconds", SECONDS])
    peer = [setup.python, setup.here / "classify_peer.py"]
    rest = [texts, setup.threads, setup.cache]
    yield Contender("fastText", "bigrams", [*peer, "fasttext", train, *rest], "Sluice sentiment")
    for precision in ("fp32", "int8"):
        ours = [setup.build / "sluice", models / "encoder/1"]
        command = [*peer, precision, *ours, *rest]
        yield Contender("ONNX Runtime", f"encoder {precision}", command, "Sluice encoder")


def measure(setup, case):
    if not setup.reviews:
        return [{"who": "Sluice", "how": "sentiment", "value": None, "why": "no REVIEWS were given"}]
    return turns.take(list(contenders(setup, CASES[case])), setup.cache / "classify", setup, BETTER)
