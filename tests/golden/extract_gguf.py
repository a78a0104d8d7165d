#!/usr/bin/python3
"""extract_gguf.py - writes the tokenizers of GGUF files, and llama.cpp's recorded tokens, as JSON for
test_gguf_vocabulary.c.

    extract_gguf.py FILE.gguf...    writes build/tokenizers/NAME.json

The vocabulary-only files with texts (.inp) and tokens (.out) beside them are in models/ of llama.cpp, and so
in the source package of llama-cpp-python:

    pip download --no-deps --no-binary :all: llama-cpp-python==0.3.36
"""
import json
import os
import struct
import sys

HEAD_BYTES = 64 << 20  # the keys and the vocabulary come first
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def value(self, kind):
        if kind in NUMBERS:
            return self.take(NUMBERS[kind])[0]
        if kind == STRING:
            size, = self.take("Q")
            self.at += size
            return self.data[self.at - size:self.at].decode("utf-8")
        assert kind == ARRAY, kind
        kind, count = self.take("IQ")
        if kind in NUMBERS:
            return list(self.take("%d%s" % (count, NUMBERS[kind])))
        return [self.value(kind) for _ in range(count)]


def keys_of(path):
    with open(path, "rb") as file:
        reader = Reader(file.read(HEAD_BYTES))
    assert reader.take("4s") == (b"GGUF",), path
    _, _, count = reader.take("IQQ")
    keys = {}
    for _ in range(count):
        key = reader.value(STRING)
        keys[key] = reader.value(reader.take("I")[0])
    return keys


def cases_of(path):
    """Pairs of a text and its tokens."""
    if not os.path.exists(path + ".inp"):
        return []
    with open(path + ".inp", encoding="utf-8", newline="") as file:
        texts = file.read().split("\n__ggml_vocab_test__\n")
    with open(path + ".out", encoding="ascii") as file:
        lines = file.read().split("\n")
    return [[text, [int(number) for number in line.split()]] for text, line in zip(texts, lines)]


def main():
    directory = os.path.join(TOP, "build", "tokenizers")
    os.makedirs(directory, exist_ok=True)
    for path in sys.argv[1:]:
        keys = keys_of(path)
        name = os.path.splitext(os.path.basename(path))[0]
        parts = {key[len("tokenizer.ggml."):]: value for key, value in keys.items() if key.startswith("tokenizer.ggml.")}
        with open(os.path.join(directory, name + ".json"), "w", encoding="utf-8") as file:
            json.dump({**parts, "cases": cases_of(path)}, file, ensure_ascii=False)
        print(name, len(parts["tokens"]), "pieces")


if __name__ == "__main__":
    main()
