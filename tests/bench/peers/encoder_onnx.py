"""encoder_onnx.py - our `encoder` in ONNX Runtime, with the tokenizer that its users use: texts to logits."""

import math

import numpy
from onnx import TensorProto, helper

import weights
from onnx_graph import Graph

BATCH = 32


def sinusoids(length, width):
    """Sine and cosine of a frequency side by side."""
    angles = numpy.arange(length)[:, None] / 10000.0 ** (numpy.arange(0, width, 2) / width)
    return numpy.stack([numpy.sin(angles), numpy.cos(angles)], -1).reshape(length, width).astype(numpy.float32)


def block(g, h, lengths, p, name, width, heads):
    x = g.norm(h, f"{name}attention_norm", p)
    at = f"{name}attention."
    matrix, bias = weights.query_key_value(p, name), p[f"{at}query.bias"].reshape(-1)
    bias = numpy.concatenate([bias, p[f"{at}key_value.bias"].reshape(-1)])
    parts = [g.linear(x, f"{at}{i}", matrix[i * width : (i + 1) * width]) for i in range(3)]
    shift = g.constant(f"{at}bias", bias)
    mixed = g.add("MultiHeadAttention", *parts, shift, lengths, domain="com.microsoft", num_heads=heads)
    h = g.add("Add", h, g.linear(mixed, f"{at}output", p[f"{at}output.weight"], p[f"{at}output.bias"]))
    x = g.norm(h, f"{name}mlp_norm", p)
    x = g.add("Gelu", g.linear(x, f"{name}up", p[f"{name}mlp.up.weight"], p[f"{name}mlp.up.bias"]))
    return g.add("Add", h, g.linear(x, f"{name}down", p[f"{name}mlp.down.weight"], p[f"{name}mlp.down.bias"]))


def convert(checkpoint, path):
    """Inputs: tokens, texts x longest; their lengths; and the weight of each in its text's mean."""
    config, p = weights.read(checkpoint)
    sizes, g = config["hyperparameters"], Graph()
    width, heads, longest = int(sizes["width"]), int(sizes["heads"]), int(sizes["context_length"])
    scale = math.sqrt(width) if sizes["scale_embedding"] else 1.0
    h = g.add("Gather", g.constant("tokens.weight", p["token_embedding.weight"] * numpy.float32(scale)), "tokens")
    positions = g.add("Gather", g.constant("positions.weight", sinusoids(longest, width)), "positions")
    h = g.add("Add", h, positions)
    for i in range(int(sizes["depth"])):
        h = block(g, h, "lengths", p, f"layers.{i}.", width, heads)
    h = g.norm(h, "final_norm", p)
    pooled = g.add("MatMul", "mean", h)
    g.linear(pooled, "classify", p["classifier.weight"], p["classifier.bias"])
    g.nodes[-1].output[0] = "logits"
    whole, real = TensorProto.INT64, TensorProto.FLOAT
    inputs = [
        helper.make_tensor_value_info("tokens", whole, ["texts", "longest"]),
        helper.make_tensor_value_info("positions", whole, ["longest"]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, ["texts"]),
        helper.make_tensor_value_info("mean", real, ["texts", 1, "longest"]),
    ]
    g.save(path, inputs, [helper.make_tensor_value_info("logits", real, ["texts", 1, 2])])
    return longest


def batch(texts):
    """texts: lists of tokens. Padded to the longest."""
    lengths = numpy.array([len(text) for text in texts], numpy.int32)
    longest = int(lengths.max())
    tokens = numpy.zeros((len(texts), longest), numpy.int64)
    mean = numpy.zeros((len(texts), 1, longest), numpy.float32)
    for i, text in enumerate(texts):
        tokens[i, : len(text)], mean[i, 0, : len(text)] = text, 1.0 / len(text)
    return {"tokens": tokens, "positions": numpy.arange(longest), "lengths": lengths, "mean": mean}


class Classifier:
    def __init__(self, checkpoint, threads, cache, precision):
        import onnxruntime
        import tokenizers

        path = cache / f"encoder.{precision}.onnx"
        longest = convert(checkpoint, cache / "encoder.fp32.onnx")
        if precision == "int8":
            from onnxruntime.quantization import QuantType, quantize_dynamic

            options = {"DefaultTensorType": TensorProto.FLOAT}
            quantize_dynamic(
                cache / "encoder.fp32.onnx",
                path,
                weight_type=QuantType.QInt8,
                op_types_to_quantize=["MatMul"],
                extra_options=options,
            )
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        self.tokenizer = tokenizers.BertWordPieceTokenizer(str(checkpoint / "vocab.txt"), lowercase=True)
        self.tokenizer.enable_truncation(longest)
        self.version = onnxruntime.__version__

    def logits(self, texts):
        """Texts of about the same length together, so that little is padded."""
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        out = numpy.empty((len(ids), 2), numpy.float32)
        for begin in range(0, len(order), BATCH):
            some = order[begin : begin + BATCH]
            out[some] = self.session.run(["logits"], batch([ids[i] for i in some]))[0][:, 0]
        return out
