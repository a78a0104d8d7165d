#!/usr/bin/env python3
"""forward_peer.py - a peer's forward pass of our decoder; one of the contenders of forward.py.

forward_peer.py PEER PRECISION CHECKPOINT TEXTS LENGTH THREADS TOKENS LOGITS CACHE
"""

import os
import sys
from pathlib import Path

import numpy

from contender import fastest, serve


def run_onnxruntime(a):
    import onnx
    import onnxruntime

    import decoder_onnx

    path = a.cache / f"decoder-{a.texts}x{a.length}.onnx"
    if not path.exists():
        decoder_onnx.convert(a.checkpoint, path, a.texts, a.length)
    if a.precision == "int8":
        from onnxruntime.quantization import QuantType, quantize_dynamic

        float_path, path = path, path.with_suffix(".int8.onnx")
        if not path.exists():
            quantize_dynamic(
                float_path,
                path,
                weight_type=QuantType.QInt8,
                per_channel=True,
                op_types_to_quantize=["MatMul"],
                extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},  # of what follows its own operators
            )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = a.threads, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = {"tokens": a.tokens}
    return (lambda: session.run(["logits"], inputs)[0]), onnxruntime.__version__


def run_openvino(a):
    import openvino
    import torch

    import decoder_torch

    model = openvino.convert_model(
        decoder_torch.load(a.checkpoint).eval(), example_input=torch.from_numpy(a.tokens), input=[a.tokens.shape]
    )
    options = {
        "INFERENCE_PRECISION_HINT": {"fp32": "f32", "bf16": "bf16"}[a.precision],
        "INFERENCE_NUM_THREADS": a.threads,
        "PERFORMANCE_HINT": "LATENCY",
    }
    request = openvino.Core().compile_model(model, "CPU", options).create_infer_request()
    inputs = [a.tokens]
    version = openvino.__version__.split("-")[0]
    return (lambda: next(iter(request.infer(inputs, share_inputs=True, share_outputs=True).values()))), version


def run_torch(a):
    import torch

    import decoder_torch

    torch.set_num_threads(a.threads)
    model, tokens = decoder_torch.load(a.checkpoint).eval(), torch.from_numpy(a.tokens)
    if a.precision == "bf16":
        model = model.to(torch.bfloat16)
    call = model
    if a.compiled:
        torch._inductor.config.freezing = True  # packs the weights for its products once
        call = torch.compile(model)

    def run():
        with torch.inference_mode() if not a.compiled else torch.no_grad():
            return call(tokens).float().numpy()

    return run, torch.__version__.split("+")[0]


PEERS = {"onnxruntime": run_onnxruntime, "openvino": run_openvino, "torch": run_torch, "torch-compiled": run_torch}


class Arguments:
    def __init__(self, peer, precision, checkpoint, texts, length, threads, tokens, logits, cache):
        self.precision, self.checkpoint, self.compiled = precision, checkpoint, peer == "torch-compiled"
        self.texts, self.length, self.threads = int(texts), int(length), int(threads)
        self.tokens = numpy.fromfile(tokens, numpy.int32).astype(numpy.int64).reshape(self.texts, self.length)
        self.logits, self.cache = logits, Path(cache)


def main():
    a = Arguments(*sys.argv[1:])
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(a.cache / "inductor"))
    run, version = PEERS[sys.argv[1]](a)
    numpy.ascontiguousarray(run(), dtype=numpy.float32).tofile(a.logits)
    serve({"version": version}, lambda seconds: {"value": fastest(run, seconds)})


if __name__ == "__main__":
    main()
