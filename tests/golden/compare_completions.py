#!/usr/bin/python3
"""compare_completions.py - whether greedy completions of a GGUF file are those of llama.cpp, token by token.

    compare_completions.py SLUICED MODEL.gguf

A quantized file is written as F32 first: llama.cpp multiplies quantized weights by rounded activations, which Sluice does
not. Prints how many of 200 prompts have the same tokens, and of the others where they part. Needs pip install llama-cpp-python gguf; no test runs it, because the models that people use are not
part of this repository.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

import llama_cpp
import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench/peers"))
from gguf_file import write_as  # noqa: E402

TOKENS = 10
BEGINNINGS = ["The history of", "A short story about", "How to take care of", "The best way to describe", "I have never seen",
              "Yesterday we talked about", "def test_", "Q: What is", "Die Geschichte von", "1, 2, 3,"]
TOPICS = ["cats", "the sea", "Paris", "a small village in winter", "numbers", "my grandmother", "bread and butter",
          "electricity", "a long war", "music", "the moon", "friendship", "trains", "C programming", "dragons", "rain",
          "mathematics", "an old house", "football", "nothing at all"]


def ours(sluiced, folder, prompts):
    """The tokens of each completion, as bytes."""
    port = f"{folder}/port"
    daemon = subprocess.Popen([sluiced, "--store", f"{folder}/store", "--listen", "127.0.0.1:0", "--admin-listen", "",
                               "--port-file", port, "--log-level", "error", "--precision", "fp32",
                               "--max-sequences", "8"])
    try:
        while not os.path.exists(port) or not open(port).read():
            assert daemon.poll() is None, "sluiced did not start"
            time.sleep(0.05)
        url = f"http://127.0.0.1:{open(port).read().split()[0]}/v1/completions"
        body = {"model": "model", "prompt": prompts, "temperature": 0, "max_tokens": TOKENS, "logprobs": 0}
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        choices = json.load(urllib.request.urlopen(request))["choices"]
        return [c["logprobs"]["tokens"] for c in choices]
    finally:
        daemon.terminate()
        daemon.wait()


def spelled(piece):
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{b:02x}" for b in piece)


def theirs(model, prompt):
    """Tokens, and how much larger each one's logit is than the second one's."""
    model.reset()
    model.eval(model.tokenize(prompt.encode(), add_bos=True, special=True))
    out, ahead = [], []
    while len(out) < TOKENS:
        logits = numpy.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(model._ctx.ctx, -1), (model.n_vocab(),))
        best = numpy.argpartition(logits, -2)[-2:]
        second, token = best[numpy.argsort(logits[best])]
        if token in [model.token_eos(), model._model.token_eot()]:
            break
        out.append(spelled(model.detokenize([int(token)], special=True)))
        ahead.append(float(logits[token] - logits[second]))
        model.eval([int(token)])
    return out, ahead


def main():
    sluiced, path = sys.argv[1:]
    prompts = [f"{b} {t}" for b in BEGINNINGS for t in TOPICS]
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/store/model/1")
        file = f"{folder}/store/model/1/model.gguf"
        write_as(path, file, "F32")
        answers = ours(sluiced, folder, prompts)
        model = llama_cpp.Llama(file, n_ctx=1024, verbose=False, n_threads=1, n_threads_batch=1)
        same = 0
        for prompt, tokens in zip(prompts, answers):
            want, ahead = theirs(model, prompt)
            if tokens == want:
                same += 1
                continue
            at = next((i for i, (a, b) in enumerate(zip(tokens, want)) if a != b), min(len(tokens), len(want)))
            print(f"{prompt!r}: token {at}: {tokens[at:at + 1]} here, {want[at:at + 1]} there, whose logit is larger by "
                  f"{ahead[at:at + 1]}", flush=True)
    print(f"{same} of {len(prompts)} prompts have the same tokens")


main()
