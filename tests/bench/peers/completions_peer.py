#!/usr/bin/env python3
"""completions_peer.py - llama.cpp generating many texts at once; one of the contenders of completions.py.

    completions_peer.py KIND CHECKPOINT STREAMS TOKENS THREADS CACHE

In this process, without HTTP. All streams are in one batch, with greedy sampling. KIND: f32, bf16, q8_0.
"""

import sys
import time
from pathlib import Path

import numpy

import weights
from contender import serve

PROMPT, FAR = 4, 0.25  # tokens; largest difference from our logits, in standard deviations


def write_gguf(checkpoint, path, kind):
    """Our decoder as a GPT-2. It has biases where ours has none, and a GELU computed by tanh."""
    import gguf

    kinds = {"f32": "F32", "bf16": "BF16", "q8_0": "Q8_0"}
    config, p = weights.read(checkpoint)
    sizes, writer = config["hyperparameters"], gguf.GGUFWriter(str(path), "gpt2")
    width, depth = int(sizes["width"]), int(sizes["depth"])
    writer.add_context_length(int(sizes["context_length"]))
    writer.add_embedding_length(width)
    writer.add_block_count(depth)
    writer.add_feed_forward_length(int(sizes["ffn_width"]))
    writer.add_head_count(int(sizes["heads"]))
    writer.add_layer_norm_eps(1e-5)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")

    def add(name, x, quantized=False):
        x = numpy.ascontiguousarray(x, numpy.float32)
        if quantized and kind != "f32":
            as_kind = getattr(gguf.GGMLQuantizationType, kinds[kind])
            writer.add_tensor(name, gguf.quants.quantize(x, as_kind), raw_dtype=as_kind)
        else:
            writer.add_tensor(name, x)

    def add_pair(name, ours, outs):
        add(f"{name}.weight", p[f"{ours}.weight"], quantized=True)
        add(f"{name}.bias", p.get(f"{ours}.bias", numpy.zeros(outs)).reshape(-1))

    def add_norm(name, ours):
        for part in ("weight", "bias"):
            add(f"{name}.{part}", p[f"{ours}.{part}"].reshape(-1))

    add("token_embd.weight", p["token_embedding.weight"])
    add("position_embd.weight", p["position_embedding.weight"])
    add("output.weight", p["token_embedding.weight"], quantized=True)
    add_norm("output_norm", "final_norm")
    for i in range(depth):
        ours, theirs = f"layers.{i}.", f"blk.{i}."
        add_norm(theirs + "attn_norm", ours + "attention_norm")
        add_norm(theirs + "ffn_norm", ours + "mlp_norm")
        add(theirs + "attn_qkv.weight", weights.query_key_value(p, ours), quantized=True)
        add(theirs + "attn_qkv.bias", numpy.zeros(3 * width))
        add_pair(theirs + "attn_output", ours + "attention.output", width)
        add_pair(theirs + "ffn_up", ours + "mlp.up", int(sizes["ffn_width"]))
        add_pair(theirs + "ffn_down", ours + "mlp.down", width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Llama:
    def __init__(self, path, kind, streams, tokens, threads, vocab, prompt=PROMPT):
        import llama_cpp

        self.api, self.streams, self.vocab = llama_cpp, streams, vocab
        llama_cpp.llama_backend_init()
        options = llama_cpp.llama_model_default_params()
        options.use_extra_bufts = kind != "q8_0"  # its AMX products end with an illegal instruction
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), options)
        if not self.model:
            sys.exit(f"llama.cpp does not load {path}")
        options = llama_cpp.llama_context_default_params()
        options.n_ctx, options.n_seq_max = streams * ((prompt + tokens + 31) // 32 * 32), streams
        options.n_batch = options.n_ubatch = max(streams * prompt, 32)
        options.n_threads = options.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, options)
        if not self.context:
            sys.exit("llama.cpp makes no context")
        self.batch = llama_cpp.llama_batch_init(streams * prompt, 0, 1)
        count = streams * prompt
        view = lambda pointer: numpy.ctypeslib.as_array(pointer, (count,))
        self.token, self.pos, self.logits = view(self.batch.token), view(self.batch.pos), view(self.batch.logits)
        for i in range(count):
            self.batch.n_seq_id[i] = 1

    def run(self, tokens, first):
        """tokens: streams x count, which follow `first` others; the logits after the last of each."""
        count = tokens.shape[1]
        self.batch.n_tokens = tokens.size
        self.token[: tokens.size] = tokens.reshape(-1)
        self.pos[: tokens.size] = numpy.tile(numpy.arange(first, first + count), self.streams)
        self.logits[: tokens.size] = numpy.tile(numpy.arange(count) == count - 1, self.streams)
        if self.layout != count:  # which stream each token belongs to
            self.layout = count
            for i in range(tokens.size):
                self.batch.seq_id[i][0] = i // count
        if self.api.llama_decode(self.context, self.batch):
            sys.exit("llama_decode fails")
        rows = self.api.llama_get_logits(self.context)
        return numpy.ctypeslib.as_array(rows, (self.streams, self.vocab))

    layout = 0

    def clear(self):
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), False)


def generate(llama, prompt, tokens):
    """Tokens per second, the prompts included in the time."""
    llama.clear()
    begun = time.perf_counter()
    next_tokens = llama.run(prompt, 0).argmax(1)
    for i in range(tokens - 1):
        next_tokens = llama.run(next_tokens[:, None], PROMPT + i).argmax(1)
    return llama.streams * tokens / (time.perf_counter() - begun)


def check(llama, checkpoint, prompt):
    """Refuses to be timed if it computes something else."""
    import torch

    import decoder_torch

    with torch.inference_mode():
        wanted = decoder_torch.load(checkpoint).eval()(torch.from_numpy(prompt).long())[:, -1].numpy()
    far = float(abs(llama.run(prompt, 0) - wanted).max() / wanted.std())
    if far > FAR:
        sys.exit(f"differs by {far:.3g} standard deviations")
    return far


def main():
    kind, checkpoint, streams, tokens, threads, cache = sys.argv[1:]
    path = Path(cache) / f"decoder.{kind}.gguf"
    if not path.exists():
        write_gguf(checkpoint, path, kind)
    vocab, draw = weights.read(checkpoint)[0]["vocab_size"], numpy.random.default_rng(1)
    llama = Llama(path, kind, int(streams), int(tokens), int(threads), vocab)
    prompt = draw.integers(0, vocab, (int(streams), PROMPT)).astype(numpy.int32)
    far = check(llama, checkpoint, prompt)
    generate(llama, prompt, int(tokens))

    def measure(seconds):
        end, best = time.perf_counter() + seconds, 0.0
        while True:
            best = max(best, generate(llama, prompt, int(tokens)))
            if time.perf_counter() >= end:
                return {"value": best}

    serve({"version": llama.api.__version__, "difference": far}, measure)


if __name__ == "__main__":
    main()
