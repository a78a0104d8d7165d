#!/usr/bin/python3
"""compare_tokenizers.py - whether published tokenizers make the tokens that the Python package `tokenizers` makes, at
the same places.

    compare_tokenizers.py SLUICED TOKENIZER.JSON...

Each is put into a tiny random model, and a daemon tokenizes the 20,000 texts of record_pipelines.py: prose in ten writing
systems, naughty strings, emoji with joiners, combining marks, one letter 100,000 times. Needs pip install tokenizers
sentencepiece safetensors numpy; no test runs it, because published vocabularies are not part of this repository.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import numpy
import tokenizers
from safetensors.numpy import save_file

import record_pipelines

TEXTS, BATCH, WIDTH = 20000, 100, 8


def make_model(directory, file, size):
    """A GPT-2 with nothing in it."""
    os.makedirs(directory)
    os.symlink(os.path.abspath(file), f"{directory}/tokenizer.json")
    sizes = {"n_embd": WIDTH, "n_layer": 1, "n_head": 1, "n_positions": 8192, "vocab_size": size}
    with open(f"{directory}/config.json", "w", encoding="utf-8") as f:
        json.dump({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new",
                   **sizes}, f)
    shapes = {"wte.weight": (size, WIDTH), "wpe.weight": (8192, WIDTH), "ln_f.weight": (WIDTH,), "ln_f.bias": (WIDTH,)}
    for name, shape in {"ln_1": (WIDTH,), "ln_2": (WIDTH,), "attn.c_attn": (WIDTH, 3 * WIDTH),
                        "attn.c_proj": (WIDTH, WIDTH), "mlp.c_fc": (WIDTH, 4 * WIDTH),
                        "mlp.c_proj": (4 * WIDTH, WIDTH)}.items():
        shapes[f"h.0.{name}.weight"], shapes[f"h.0.{name}.bias"] = shape, shape[-1:]
    save_file({f"transformer.{k}": numpy.zeros(s, numpy.float32) for k, s in shapes.items()},
              f"{directory}/model.safetensors")


def ours(url, texts):
    request = urllib.request.Request(f"{url}/models/model/tokenize", json.dumps({"inputs": texts}).encode(),
                                     {"Content-Type": "application/json"})
    try:
        response = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        raise SystemExit(error.read().decode())
    for tokens in json.load(response):
        yield [(t["id"], t["start"], t["stop"]) for t in tokens]


def in_bytes(text, offsets):
    """Offsets of characters as offsets of bytes."""
    before = [0]
    for character in text:
        before.append(before[-1] + len(character.encode()))
    return [(before[start], before[stop]) for start, stop in offsets]


def compare(sluiced, file):
    tokenizer = tokenizers.Tokenizer.from_file(file)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    parts = record_pipelines.fragments()
    texts = (record_pipelines.text_of(parts, i).replace("\0", "") for i in range(TEXTS + 100))
    texts = [text for text in texts if text][:TEXTS]
    same_ids = same_places = 0
    with tempfile.TemporaryDirectory() as folder:
        make_model(f"{folder}/store/model/1", file, tokenizer.get_vocab_size())
        port = f"{folder}/port"
        daemon = subprocess.Popen([sluiced, "--store", f"{folder}/store", "--listen", "127.0.0.1:0",
                                   "--admin-listen", "", "--port-file", port, "--log-level", "error"])
        try:
            while not os.path.exists(port) or not open(port).read():
                assert daemon.poll() is None, "sluiced did not start"
                time.sleep(0.05)
            url = f"http://127.0.0.1:{open(port).read().split()[0]}"
            for i in range(0, TEXTS, BATCH):
                for text, found in zip(texts[i:i + BATCH], ours(url, texts[i:i + BATCH])):
                    want = tokenizer.encode(text)
                    offsets = in_bytes(text, want.offsets)
                    ids = [id for id, _, _ in found] == want.ids
                    places = ids and all((a, b) == place or a is None for (_, a, b), place in zip(found, offsets))
                    same_ids, same_places = same_ids + ids, same_places + places
                    if not places:
                        print(repr(text[:100]), found[:12], want.ids[:12], offsets[:12])
        finally:
            daemon.terminate()
            daemon.wait()
    print(f"{file}: of {TEXTS} texts {same_ids} have the same ids, {same_places} also the same places")


def main():
    for file in sys.argv[2:]:
        compare(sys.argv[1], file)


main()
