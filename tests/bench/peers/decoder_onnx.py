"""decoder_onnx.py - our vanilla decoder as an ONNX graph, with our weights.

Attention is ONNX Runtime's fused operator, which its own optimizer makes of GPT-2.
"""

import sys

from onnx import TensorProto, helper

import weights
from onnx_graph import Graph


def block(g, h, p, name, width, heads):
    x = g.norm(h, f"{name}attention_norm", p)
    key_value = p[f"{name}attention.key_value.weight"]
    q = g.linear(x, f"{name}query", p[f"{name}attention.query.weight"])
    k, v = g.linear(x, f"{name}key", key_value[:width]), g.linear(x, f"{name}value", key_value[width:])
    mixed = g.add("MultiHeadAttention", q, k, v, domain="com.microsoft", num_heads=heads, unidirectional=1)
    h = g.add("Add", h, g.linear(mixed, f"{name}output", p[f"{name}attention.output.weight"]))
    x = g.norm(h, f"{name}mlp_norm", p)
    x = g.add("Gelu", g.linear(x, f"{name}up", p[f"{name}mlp.up.weight"], p[f"{name}mlp.up.bias"]))
    return g.add("Add", h, g.linear(x, f"{name}down", p[f"{name}mlp.down.weight"], p[f"{name}mlp.down.bias"]))


def convert(checkpoint, path, texts, length):
    """Shapes are fixed, as peers compute faster when they know them."""
    config, p = weights.read(checkpoint)
    hyper, g = config["hyperparameters"], Graph()
    width, heads = int(hyper["width"]), int(hyper["heads"])
    table = g.constant("tokens.weight", p["token_embedding.weight"])
    h = g.add("Gather", table, "tokens", axis=0)
    h = g.add("Add", h, g.constant("positions", p["position_embedding.weight"][None, :length].copy()))
    for i in range(int(hyper["depth"])):
        h = block(g, h, p, f"layers.{i}.", width, heads)
    logits = g.linear(g.norm(h, "final_norm", p), "logits", p["token_embedding.weight"])
    g.nodes[-1].output[0] = "logits"
    assert logits
    vocab = p["token_embedding.weight"].shape[0]
    inputs = [helper.make_tensor_value_info("tokens", TensorProto.INT64, [texts, length])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [texts, length, vocab])]
    g.save(path, inputs, outputs)


if __name__ == "__main__":
    convert(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
