"""decoder_torch.py - our vanilla decoder in PyTorch, with our weights: the reference of all peers."""

import numpy
import torch
from torch import nn
from torch.nn import functional as f

import weights


class Block(nn.Module):
    def __init__(self, width, hidden, heads, dropout, routed):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.project = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        if routed:
            self.router = nn.Sequential(nn.Linear(width, width // 4), nn.ReLU(), nn.Linear(width // 4, 1))

    def drop(self, x):
        return f.dropout(x, self.dropout, self.training)

    def forward(self, h, gate=None):
        b, t, d = h.shape
        parts = self.query_key_value(self.attention_norm(h)).view(b, t, 3, self.heads, d // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = f.scaled_dot_product_attention(
            q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0.0
        )
        attended = self.drop(self.project(mixed.transpose(1, 2).reshape(b, t, d)))
        h = h + (attended if gate is None else gate * attended)
        changed = self.drop(self.down(self.drop(f.gelu(self.up(self.mlp_norm(h))))))
        return h + (changed if gate is None else gate * changed)


class Decoder(nn.Module):
    def __init__(self, vocab, context_length, width, depth, heads, ffn_width, dropout=0.0, routed=False):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(context_length, width)
        self.blocks = nn.ModuleList(
            Block(width, ffn_width, heads, dropout, routed and i + 1 < depth) for i in range(depth)
        )
        self.norm, self.dropout = nn.LayerNorm(width), dropout

    def forward(self, tokens):
        return self.with_gates(tokens)[0]

    def with_gates(self, tokens):
        """Logits, and the mean gate: as in TSA, a router computes each token's gate for the next block."""
        h = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        h = f.dropout(h, self.dropout, self.training)
        gate, gates = None, []
        for block in self.blocks:
            h = block(h, gate)
            if hasattr(block, "router"):
                gate = 1.0 - torch.sigmoid(block.router(h))
                gates.append(gate.mean())
        return f.linear(self.norm(h), self.tokens.weight), sum(gates) / max(1, len(gates))


PLACES = {
    "attention.output": "project",
    "mlp.up": "up",
    "mlp.down": "down",
    "attention_norm": "attention_norm",
    "mlp_norm": "mlp_norm",
}


SIZES = ("context_length", "width", "depth", "heads", "ffn_width")


def load(checkpoint, dropout=0.0, routed=False):
    """routed: with routers, which start from random weights."""
    config, p = weights.read(checkpoint)
    sizes = {name: int(config["hyperparameters"][name]) for name in SIZES}
    model = Decoder(config["vocab_size"], **sizes, dropout=dropout, routed=routed)
    state = {
        "tokens.weight": p["token_embedding.weight"],
        "positions.weight": p["position_embedding.weight"],
        "norm.weight": p["final_norm.weight"],
        "norm.bias": p["final_norm.bias"],
    }
    for i in range(config["hyperparameters"]["depth"]):
        ours, theirs = f"layers.{i}.", f"blocks.{i}."
        state[theirs + "query_key_value.weight"] = weights.query_key_value(p, ours)
        for place, name in PLACES.items():
            for kind in ("weight", "bias"):
                if f"{ours}{place}.{kind}" in p:
                    state[f"{theirs}{name}.{kind}"] = p[f"{ours}{place}.{kind}"]
    tensors = {name: torch.from_numpy(numpy.array(x)) for name, x in state.items()}
    shapes = {name: x.shape for name, x in model.state_dict().items()}
    model.load_state_dict({name: x.reshape(shapes[name]) for name, x in tensors.items()}, strict=not routed)
    return model
