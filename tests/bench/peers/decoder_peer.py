#!/usr/bin/env python3
"""decoder_peer.py - llama.cpp generating with a published GGUF file; one of the contenders of decoders.py.

    decoder_peer.py KIND FILE STREAMS TOKENS THREADS CACHE PROMPT CHECKED TEXT...

In this process, without HTTP, all streams in one batch, greedy. KIND: F32, F16, BF16, Q8_0, Q4_0 or Q4_1, in which the
weights of FILE are stored first. Prints how it continues each TEXT by CHECKED tokens.
"""

import sys
import time
from pathlib import Path

import numpy

import completions_peer
from contender import serve
from gguf_file import write_as

PROMPT = 32  # tokens at most


class Llama(completions_peer.Llama):
    """With the file's vocabulary."""

    def __init__(self, path, kind, streams, tokens, threads):
        super().__init__(path, kind.lower(), streams, tokens, threads, 0, PROMPT)
        self.vocabulary = self.api.llama_model_get_vocab(self.model)
        self.vocab = self.api.llama_vocab_n_tokens(self.vocabulary)

    def encode(self, text):
        room = numpy.empty(len(text) + 8, numpy.int32)
        pointer = room.ctypes.data_as(self.api.ctypes.POINTER(self.api.llama_token))
        text = text.encode()
        count = self.api.llama_tokenize(self.vocabulary, text, len(text), pointer, len(room), True, False)
        return room[:count].copy()

    def piece(self, token):
        room = self.api.ctypes.create_string_buffer(256)
        count = self.api.llama_token_to_piece(self.vocabulary, token, room, len(room), 0, True)
        return room.raw[:count]


def generate(llama, prompt, tokens):
    """The tokens of each stream, which all continue the same prompt."""
    llama.clear()
    start = numpy.tile(prompt, (llama.streams, 1))
    found = [llama.run(start, 0).argmax(1)]
    for i in range(tokens - 1):
        found.append(llama.run(found[-1][:, None], len(prompt) + i).argmax(1))
    return numpy.stack(found, 1)


def continuation(llama, text, tokens):
    return b"".join(llama.piece(int(token)) for token in generate(llama, llama.encode(text), tokens)[0])


def main():
    kind, file, streams, tokens, threads, cache, prompt, checked, *texts = sys.argv[1:]
    path = Path(cache) / f"{Path(file).stem}.{kind}.gguf"
    if not path.exists():
        write_as(file, path, kind)
    llama = Llama(path, kind, int(streams), int(tokens), int(threads))
    continued = [continuation(llama, text, int(checked)).decode(errors="replace") for text in texts]
    prompt = llama.encode(prompt)

    def measure(seconds):
        end, best = time.perf_counter() + seconds, 0.0
        while True:
            begun = time.perf_counter()
            generate(llama, prompt, int(tokens))
            best = max(best, llama.streams * int(tokens) / (time.perf_counter() - begun))
            if time.perf_counter() >= end:
                return {"value": best}

    measure(0)
    serve({"version": llama.api.__version__, "texts": continued}, measure)


if __name__ == "__main__":
    main()
