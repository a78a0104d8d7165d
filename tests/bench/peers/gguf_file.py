"""gguf_file.py - GGUF files with their weights in another type, and of a directory with a BERT."""

import json

BERT_TENSORS = {  # ours of a layer, after blk.N.; theirs, after encoder.layer.N.
    "attn_q": "attention.self.query",
    "attn_k": "attention.self.key",
    "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense",
    "layer_output_norm": "output.LayerNorm",
}
BERT_TABLES = {
    "token_embd.weight": "embeddings.word_embeddings.weight",
    "position_embd.weight": "embeddings.position_embeddings.weight",
    "token_types.weight": "embeddings.token_type_embeddings.weight",
    "token_embd_norm.weight": "embeddings.LayerNorm.weight",
    "token_embd_norm.bias": "embeddings.LayerNorm.bias",
}


def write_as(path, to, kind):
    """Matrices in this type (F32, F16, BF16, Q8_0, Q4_0, Q4_1), vectors in F32, metadata as it is."""
    import gguf
    import numpy

    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(to, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        part = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], part)
    for tensor in reader.tensors:
        shape = [int(size) for size in reversed(tensor.shape)]
        data = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32).reshape(shape)
        add_as(writer, tensor.name, data, kind)
    finish(writer)


def write_bert(directory, to, kind):
    """A BERT of Hugging Face's, without its vocabulary: matrices in this type, vectors in F32."""
    import gguf
    import safetensors.numpy

    config = json.loads((directory / "config.json").read_text("utf-8"))
    weights = safetensors.numpy.load_file(directory / "model.safetensors")
    writer = gguf.GGUFWriter(to, "bert")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_token_type_count(config["type_vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    names = dict(BERT_TABLES)
    for i in range(config["num_hidden_layers"]):
        for ours, theirs in BERT_TENSORS.items():
            for part in ("weight", "bias"):
                names[f"blk.{i}.{ours}.{part}"] = f"encoder.layer.{i}.{theirs}.{part}"
    for ours, theirs in names.items():
        is_added = ours in ("position_embd.weight", "token_types.weight")  # llama.cpp only adds F32
        add_as(writer, ours, weights[theirs], "F32" if is_added else kind)
    finish(writer)


def add_as(writer, name, data, kind):
    """A matrix in this type, a vector in F32."""
    import gguf

    wanted = gguf.GGMLQuantizationType[kind if data.ndim > 1 else "F32"]
    writer.add_tensor(name, gguf.quants.quantize(data, wanted), raw_dtype=wanted)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
