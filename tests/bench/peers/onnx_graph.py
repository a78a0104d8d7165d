"""onnx_graph.py - ONNX graphs, node after node."""

import onnx
from onnx import helper, numpy_helper

OPSET = 20  # the first with Gelu


class Graph:
    def __init__(self):
        self.nodes, self.values = [], []

    def constant(self, name, x):
        self.values.append(numpy_helper.from_array(x, name))
        return name

    def add(self, kind, *inputs, domain="", **attributes):
        out = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=out, domain=domain, **attributes))
        return out

    def linear(self, x, name, weight, bias=None):
        y = self.add("MatMul", x, self.constant(f"{name}.weight", weight.T.copy()))
        return y if bias is None else self.add("Add", y, self.constant(f"{name}.bias", bias.reshape(-1)))

    def norm(self, x, name, p):
        gain, shift = (
            self.constant(f"{name}.{kind}", p[f"{name}.{kind}"].reshape(-1)) for kind in ("weight", "bias")
        )
        return self.add("LayerNormalization", x, gain, shift, axis=-1, epsilon=1e-5)

    def save(self, path, inputs, outputs):
        graph = helper.make_graph(self.nodes, "model", inputs, outputs, self.values)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
