#!/usr/bin/env python3
"""Texts without labels from which a small encoder learns what a large one says of them.

    distillation_texts.py DATA OUTPUT

DATA is the directory with agnews, enwiki2015, imdb, multi30k and newsgroups20; training parts only.
Sentences and paragraphs of many lengths, a text per line, in a random order that is always the same.
"""
import lzma
import random
import re
import sys
from pathlib import Path

SHORTEST, LONGEST, PARAGRAPH = 12, 1500, 1100  # characters
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def lines(path):
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from (line.rstrip("\n") for line in file)


def text_of(line):
    return line.split("\t", 1)[1].replace("<br />", " ")


def sentences(text):
    return [s for s in SENTENCE_END.split(text) if len(s) > SHORTEST]


def some_of(text, lengths):
    """A few sentences in a row; none of a text that has none."""
    parts = sentences(text)
    if not parts:
        return ""
    first = random.randrange(len(parts))
    return " ".join(parts[first : first + random.choice(lengths)])


def wikipedia(data):
    for line in lines(data / "enwiki2015/enwiki2015-100m.txt.xz"):
        is_title = len(line) < 40
        if random.random() < (0.03 if is_title else 0.42):
            yield line if is_title else some_of(line, (1, 1, 2, 3))


def reviews(data):
    labelled = map(text_of, lines(data / "imdb/train.tsv.xz"))
    others = (line.replace("<br />", " ") for line in lines(data / "imdb/unsup.txt.xz"))
    for texts in (labelled, others):
        for text in texts:
            if random.random() < 0.1:
                yield text[:PARAGRAPH]
            if random.random() < 0.75:
                yield some_of(text, (1, 1, 1, 2, 3))


def news(data):
    yield from map(text_of, lines(data / "agnews/train_subset.tsv.xz"))


def newsgroups(data):
    for text in map(text_of, lines(data / "newsgroups20/train.tsv.xz")):
        yield text[: random.choice((200, 600, PARAGRAPH))]
        yield from (some_of(text, (1, 2)) for _ in range(3))
        yield from [s for s in sentences(text) if s.endswith("?")][:4]


def captions(data):
    for line in list(lines(data / "multi30k/train.en-de.tsv"))[:12000]:
        yield line.split("\t", 1)[0]


def main():
    data, output = Path(sys.argv[1]), sys.argv[2]
    random.seed(7)
    kinds = (wikipedia, reviews, news, newsgroups, captions)
    texts = [" ".join(text.split()) for kind in kinds for text in kind(data)]
    texts = [text for text in texts if SHORTEST <= len(text) <= LONGEST]
    random.shuffle(texts)
    Path(output).write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    print(f"{len(texts)} texts")


if __name__ == "__main__":
    main()
