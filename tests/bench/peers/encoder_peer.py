#!/usr/bin/env python3
"""encoder_peer.py - a peer's embeddings of a BERT directory; one of the contenders of encoders.py.

    encoder_peer.py torch|onnxruntime|openvino|llama PRECISION DIRECTORY TOKENS THREADS EMBEDDINGS CACHE [texts]
    encoder_peer.py tokenize DIRECTORY TEXTS.txt     prints the ids of each line, at most 256

The value of a turn is milliseconds; with `texts`, texts per second.
"""

import contextlib
import os
import sys
from pathlib import Path

import numpy

from contender import fastest, serve

BATCH, LONGEST = 32, 256


def read_texts(path):
    numbers = numpy.fromfile(path, numpy.int32)
    lengths = numbers[1 : 1 + numbers[0]]
    return numpy.split(numbers[1 + numbers[0] :].astype(numpy.int64), numpy.cumsum(lengths)[:-1])


def batches(texts):
    """Which texts; their tokens, padded to the longest; and the mask. Equal lengths are one batch."""
    lengths = [len(text) for text in texts]
    size = len(texts) if min(lengths) == max(lengths) else BATCH
    order = sorted(range(len(texts)), key=lambda i: lengths[i])
    for first in range(0, len(order), size):
        some = order[first : first + size]
        longest = max(lengths[i] for i in some)
        tokens, mask = numpy.zeros((2, len(some), longest), numpy.int64)
        for row, i in enumerate(some):
            tokens[row, : lengths[i]], mask[row, : lengths[i]] = texts[i], 1
        yield some, tokens, mask


# ---- the peers: from texts, as tokens, to the means of hidden states


def torch_model(a):
    import torch
    from transformers import AutoModel

    torch.set_num_threads(a.threads)
    model = AutoModel.from_pretrained(a.directory).eval()
    return torch, model


def run_torch(a):
    torch, model = torch_model(a)
    if a.precision == "bf16":
        model = model.to(torch.bfloat16)

    def run(tokens, mask):
        with torch.inference_mode():
            kept = torch.from_numpy(mask)
            full = None if mask.all() else kept
            return model(input_ids=torch.from_numpy(tokens), attention_mask=full)[0].float().numpy()

    return means_of(run), torch.__version__.split("+")[0]


def run_onnxruntime(a):
    import onnxruntime

    import bert_onnx

    path = a.cache / "bert.onnx"
    if not path.exists():
        bert_onnx.convert(a.directory, path)
    if a.precision == "int8":
        from onnxruntime.quantization import QuantType, quantize_dynamic

        whole, path = path, path.with_suffix(".int8.onnx")
        if not path.exists():
            quantize_dynamic(
                whole, path, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul"],
                extra_options={"DefaultTensorType": 1},
            )  # fmt: skip
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = a.threads, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(tokens, mask):
        lengths = mask.sum(1).astype(numpy.int32)
        inputs = {"tokens": tokens, "positions": numpy.arange(tokens.shape[1]), "lengths": lengths}
        return session.run(["hidden"], inputs)[0]

    return means_of(run), onnxruntime.__version__


def openvino_model(a, openvino):
    torch, model = torch_model(a)

    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, tokens, mask):
            return self.model(input_ids=tokens, attention_mask=mask)[0]

    example = torch.ones(2, 16, dtype=torch.int64)
    converted = openvino.convert_model(Hidden().eval(), example_input=(example, example))
    for place in converted.inputs:
        place.get_node().set_partial_shape(openvino.PartialShape([-1, -1]))
    converted.validate_nodes_and_infer_types()
    if a.precision == "int8":
        some = [[tokens, mask] for _, tokens, mask in batches(a.texts)][:64]
        with contextlib.redirect_stdout(sys.stderr):  # its progress
            import nncf

            some = nncf.Dataset(some)
            converted = nncf.quantize(converted, some, model_type=nncf.ModelType.TRANSFORMER)
    return converted


def run_openvino(a):
    import openvino

    options = {
        "INFERENCE_PRECISION_HINT": {"fp32": "f32", "bf16": "bf16", "int8": "f32"}[a.precision],
        "INFERENCE_NUM_THREADS": a.threads,
        "PERFORMANCE_HINT": "LATENCY",
    }
    request = openvino.Core().compile_model(openvino_model(a, openvino), "CPU", options).create_infer_request()

    def run(tokens, mask):
        return next(iter(request.infer([tokens, mask], share_inputs=True, share_outputs=True).values()))

    return means_of(run), openvino.__version__.split("-")[0]


def run_llama(a):
    import llama_cpp

    import encoder_llama

    return encoder_llama.Encoder(a.directory, a.precision, a.threads, a.cache).embed, llama_cpp.__version__


PEERS = {"torch": run_torch, "onnxruntime": run_onnxruntime, "openvino": run_openvino, "llama": run_llama}


def means_of(run):
    """run: from the tokens and the mask of a batch to hidden states."""

    def embed(texts):
        out = None
        for some, tokens, mask in batches(texts):
            hidden = run(tokens, mask)
            mean = numpy.einsum("btd,bt->bd", hidden, (mask / mask.sum(1, keepdims=True)).astype(numpy.float32))
            out = numpy.empty((len(texts), mean.shape[1]), numpy.float32) if out is None else out
            out[some] = mean
        return out

    return embed


def tokenize(directory, path):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(f"{directory}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    for line in Path(path).read_text("utf-8").splitlines():
        print(*tokenizer.encode(line).ids)


class Arguments:
    def __init__(self, precision, directory, tokens, threads, embeddings, cache, unit="ms"):
        self.precision, self.directory, self.threads = precision, Path(directory), int(threads)
        self.texts, self.embeddings, self.cache, self.unit = read_texts(tokens), embeddings, Path(cache), unit


def main():
    if sys.argv[1] == "tokenize":
        tokenize(*sys.argv[2:])
        return
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    a = Arguments(*sys.argv[2:])
    embed, version = PEERS[sys.argv[1]](a)
    embed(a.texts).tofile(a.embeddings)

    def measure(seconds):
        milliseconds = fastest(lambda: embed(a.texts), seconds)
        return {"value": 1e3 * len(a.texts) / milliseconds if a.unit == "texts" else milliseconds}

    serve({"version": version}, measure)


if __name__ == "__main__":
    main()
