"""bert_onnx.py - a BERT directory as an ONNX graph, from tokens to hidden states, with ONNX Runtime's fused operators."""

import numpy
from onnx import TensorProto, helper

import weights
from onnx_graph import Graph


def norm(g, x, name, p, epsilon, added):
    """LayerNorm of a sum, as one operator."""
    gain, shift = (g.constant(f"{name}.{kind}", p[f"{name}.{kind}"]) for kind in ("weight", "bias"))
    return g.add("SkipLayerNormalization", x, added, gain, shift, domain="com.microsoft", epsilon=epsilon)


def linear(g, x, name, p):
    return g.linear(x, name, p[f"{name}.weight"], p[f"{name}.bias"])


def block(g, h, p, at, heads, epsilon):
    inner = f"{at}attention.self."
    parts = [g.linear(h, inner + name, p[f"{inner}{name}.weight"]) for name in ("query", "key", "value")]
    bias = numpy.concatenate([p[f"{inner}{name}.bias"] for name in ("query", "key", "value")])
    mixed = g.add(
        "MultiHeadAttention", *parts, g.constant(f"{inner}bias", bias), "lengths", domain="com.microsoft", num_heads=heads
    )
    h = norm(g, linear(g, mixed, f"{at}attention.output.dense", p), f"{at}attention.output.LayerNorm", p, epsilon, h)
    x = g.add("Gelu", linear(g, h, f"{at}intermediate.dense", p))
    return norm(g, linear(g, x, f"{at}output.dense", p), f"{at}output.LayerNorm", p, epsilon, h)


def convert(directory, path):
    """Inputs: tokens, texts x longest; positions; and the length of each text."""
    config, p = weights.read(directory)
    g, epsilon = Graph(), config["layer_norm_eps"]
    words = g.add("Gather", g.constant("words", p["embeddings.word_embeddings.weight"]), "tokens")
    types = p["embeddings.token_type_embeddings.weight"][0]
    places = g.constant("places", p["embeddings.position_embeddings.weight"] + types)
    h = g.add("Add", words, g.add("Gather", places, "positions"))
    gain, shift = (g.constant(f"first.{kind}", p[f"embeddings.LayerNorm.{kind}"]) for kind in ("weight", "bias"))
    h = g.add("LayerNormalization", h, gain, shift, axis=-1, epsilon=epsilon)
    for i in range(config["num_hidden_layers"]):
        h = block(g, h, p, f"encoder.layer.{i}.", config["num_attention_heads"], epsilon)
    g.nodes.append(helper.make_node("Identity", [h], ["hidden"]))
    whole = TensorProto.INT64
    inputs = [
        helper.make_tensor_value_info("tokens", whole, ["texts", "longest"]),
        helper.make_tensor_value_info("positions", whole, ["longest"]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, ["texts"]),
    ]
    g.save(path, inputs, [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["texts", "longest", "width"])])
