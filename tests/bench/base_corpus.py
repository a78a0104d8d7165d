#!/usr/bin/env python3
"""Writes the texts that the bundled base encoder is pretrained on, and the parts held out to choose its recipe.

    base_corpus.py DATA-DIR OUTPUT-DIR

DATA-DIR holds enwiki2015/, imdb/, newsgroups20/ and agnews/ (packed with xz). OUTPUT-DIR receives

    corpus.txt                     documents, one paragraph per line, an empty line after each document
    NAME.train.tsv, NAME.held.tsv  labelled texts: four fifths, whose texts are also in corpus.txt, and the
                                   fifth that is nowhere in it

No text of an official test set is in corpus.txt.
"""
import lzma
import random
import re
import sys
from pathlib import Path

HELD_OUT = 5  # every fifth labelled text


def lines(path):
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def records(path):
    return [line.split("\t", 1) for line in lines(path)]


def is_prose(text):
    """Binary attachments and tables are no text: most characters must be letters or spaces, in words."""
    letters = sum(c.isalpha() or c == " " for c in text)
    words = text.split()
    return len(words) >= 3 and letters >= 0.7 * len(text) and len(text) <= 12 * len(words)


def clean(text):
    return re.sub(r"\s+", " ", text.replace("<br />", " ").replace("\\", " ")).strip()


def write_tsv(path, rows):
    path.write_text("".join(f"{label}\t{text}\n" for label, text in rows), encoding="utf-8")


def split(data, out, name, file):
    rows = records(data / file)
    random.Random(1).shuffle(rows)
    held = rows[::HELD_OUT]
    texts = {text for _, text in held}
    train = [row for i, row in enumerate(rows) if i % HELD_OUT and row[1] not in texts]
    write_tsv(out / f"{name}.held.tsv", held)
    write_tsv(out / f"{name}.train.tsv", train)
    return train, texts


def wikipedia(data):
    documents, document = [], []
    for line in lines(data / "enwiki2015/enwiki2015-100m.txt.xz"):
        if line:
            document.append(line)
        else:
            documents.append(document)
            document = []
    return documents


def main(data, out):
    out.mkdir(parents=True, exist_ok=True)
    sets = {
        "imdb": "imdb/train.tsv.xz",
        "newsgroups20": "newsgroups20/train.tsv.xz",
        "agnews": "agnews/train_subset.tsv.xz",
    }
    documents, secret = wikipedia(data), set()
    for name, file in sets.items():
        train, held = split(data, out, name, file)
        secret |= held
        documents += [[clean(text)] for _, text in train if is_prose(text)]
    for file in ("imdb/test.tsv.xz", "newsgroups20/test.tsv.xz"):
        secret |= {text for _, text in records(data / file)}
    secret |= {line.split("\t", 1)[1] for line in (data / "agnews/test.tsv").read_text("utf-8").split("\n") if line}
    documents += [[clean(text)] for text in lines(data / "imdb/unsup.txt.xz") if text not in secret]
    random.Random(2).shuffle(documents)
    with open(out / "corpus.txt", "w", encoding="utf-8", newline="\n") as file:
        for document in documents:
            file.write("\n".join(document) + "\n\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
