"""encoder_llama.py - llama.cpp with a BERT: from token ids to the mean of the tokens, without a tokenizer."""

import sys

import numpy

from gguf_file import write_bert

BATCH_TOKENS, SEQUENCES = 512, 64  # of a batch at most; 256 are as fast, 2048 slower: it computes and masks all pairs


class Encoder:
    """Batches of several texts, without padding, each computed at once."""

    def __init__(self, directory, kind, threads, cache):
        import llama_cpp

        path = cache / f"bert.{kind}.gguf"
        if not path.exists():
            write_bert(directory, path, kind)
        self.api = llama_cpp
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
        if not self.model:
            sys.exit(f"llama.cpp does not load {path}")
        options = llama_cpp.llama_context_default_params()
        options.n_ctx = options.n_batch = options.n_ubatch = BATCH_TOKENS
        options.n_seq_max, options.embeddings = SEQUENCES, True
        options.pooling_type = llama_cpp.LLAMA_POOLING_TYPE_MEAN
        options.n_threads = options.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, options)
        if not self.context:
            sys.exit("llama.cpp makes no context")
        self.width = llama_cpp.llama_model_n_embd(self.model)
        self.batch = llama_cpp.llama_batch_init(BATCH_TOKENS, 0, 1)
        view = lambda pointer: numpy.ctypeslib.as_array(pointer, (BATCH_TOKENS,))
        self.token, self.pos, self.output = view(self.batch.token), view(self.batch.pos), view(self.batch.logits)
        self.output[:] = 1
        for i in range(BATCH_TOKENS):
            self.batch.n_seq_id[i] = 1

    def batches(self, texts):
        """In their order, as many as there is room for."""
        some, tokens = [], 0
        for text in texts:
            if some and (tokens + len(text) > BATCH_TOKENS or len(some) == SEQUENCES):
                yield some
                some, tokens = [], 0
            some.append(text)
            tokens += len(text)
        yield some

    def run(self, texts):
        at = 0
        for sequence, text in enumerate(texts):
            end = at + len(text)
            self.token[at:end], self.pos[at:end] = text, numpy.arange(len(text))
            for i in range(at, end):
                self.batch.seq_id[i][0] = sequence
            at = end
        self.batch.n_tokens = at
        if self.api.llama_encode(self.context, self.batch):
            sys.exit("llama_encode fails")
        rows = [self.api.llama_get_embeddings_seq(self.context, i) for i in range(len(texts))]
        return [numpy.ctypeslib.as_array(row, (self.width,)).copy() for row in rows]

    def embed(self, texts):
        return numpy.stack([row for some in self.batches(texts) for row in self.run(some)])
