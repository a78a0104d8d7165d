#!/usr/bin/python3
"""record_pretrained.py - makes tiny random models of every family with the Python package `transformers`,
and records what they compute in double precision.

    record_pretrained.py [DIRECTORY [NAME...]]    writes there, or to pretrained/ beside itself, all or these

    NAME/config.json, model.safetensors, tokenizer.json, ...    as save_pretrained writes them
    gguf/model.gguf              a Llama with tensors of every type that is read, by the package gguf
    gguf_bert/, gguf_distilbert/ encoders, as llama.cpp's converter writes them
    NAME/expected.safetensors    tokens, lengths, types, targets or labels, outputs; loss and the norm of
                                 all gradients as metadata
    NAME/pipeline.jsonl          requests to the pipeline of the model's task, and its responses

Needs pip install torch transformers safetensors gguf (recorded with 2.15.0, 5.24, 0.8 and 0.19); the test
needs none.
"""
import json
import os
import shutil
import sys

import gguf
import numpy
import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
import transformers as hf

from tiny_tokenizers import WORD_PIECES_SPECIAL, word_piece

LENGTHS = [9, 1, 20, 4]
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())


def byte_level(*special):
    t = Tokenizer(models.BPE({b: i for i, b in enumerate(BYTES)}, []))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(["<|endoftext|>", *special])
    return t


def byte_level_of_roberta():
    vocab = ["<s>", "<pad>", "</s>", "<unk>"] + BYTES + ["he", "Ġt", "Ġthe", "<mask>"]
    t = Tokenizer(models.BPE({v: i for i, v in enumerate(vocab)}, [("h", "e"), ("Ġ", "t"), ("Ġt", "he")]))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(vocab[:4])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    return t


def unigram():
    pieces = ["<s>", "<pad>", "</s>", "<unk>"] + [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pieces += ["▁", "▁a", "▁the", "he", "er", "é", "東", "京", "."]
    t = Tokenizer(models.Unigram([(p, -0.1 * len(pieces) / (i + 1)) for i, p in enumerate(pieces)], unk_id=3))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    t.decoder = decoders.Metaspace()
    t.add_special_tokens(pieces[:4])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    return t


CHAT_TOKENS = ["<|im_start|>", "<|im_end|>"]
TOKENIZERS = {257: byte_level, 259: lambda: byte_level(*CHAT_TOKENS), 57: word_piece, 264: byte_level_of_roberta, 40: unigram}
ENCODER = dict(vocab_size=57, hidden_size=24, num_hidden_layers=3, num_attention_heads=3, intermediate_size=40,
               max_position_embeddings=32, initializer_range=0.4)
DECODER = dict(vocab_size=257, hidden_size=24, num_hidden_layers=2, num_attention_heads=6, intermediate_size=40,
               max_position_embeddings=32, initializer_range=0.2)
LABELS = dict(num_labels=3, id2label={0: "negative", 1: "neutral", 2: "positive"})
SENTENCES = "sentences"  # a model of sentence-transformers


def cases():
    """name, class, configuration, pooling of a sentence encoder or None"""
    bert, roberta = hf.BertConfig, hf.RobertaConfig
    long = dict(ENCODER, max_position_embeddings=34, pad_token_id=1, type_vocab_size=1)
    yield "bert", hf.BertModel(bert(**ENCODER)), "mean"
    yield "bert_classifier", hf.BertForSequenceClassification(bert(**ENCODER, **LABELS)), None
    yield "bert_masked", hf.BertForMaskedLM(bert(**ENCODER, hidden_act="gelu_new")), None
    distil = dict(vocab_size=57, dim=24, n_layers=3, n_heads=3, hidden_dim=40, max_position_embeddings=32,
                  initializer_range=0.4)
    yield "distilbert", hf.DistilBertModel(hf.DistilBertConfig(**distil)), "cls"
    yield "distilbert_classifier", hf.DistilBertForSequenceClassification(
        hf.DistilBertConfig(**distil, **LABELS)), None
    yield "roberta_classifier", hf.RobertaForSequenceClassification(roberta(**long, **LABELS)), None
    yield "xlm_roberta", hf.XLMRobertaModel(hf.XLMRobertaConfig(**long)), "cls"
    electra = hf.ElectraConfig(**ENCODER, embedding_size=16, **LABELS)
    yield "electra_classifier", hf.ElectraForSequenceClassification(electra), None
    modern = dict(ENCODER, num_hidden_layers=4, local_attention=8, pad_token_id=0, bos_token_id=2, eos_token_id=3,
                  cls_token_id=2, sep_token_id=3, initializer_cutoff_factor=3.0)
    yield "modernbert", hf.ModernBertModel(hf.ModernBertConfig(**modern)), "mean"
    yield "modernbert_classifier", hf.ModernBertForSequenceClassification(
        hf.ModernBertConfig(**modern, **LABELS, classifier_pooling="mean")), None
    yield "gpt2", hf.GPT2LMHeadModel(hf.GPT2Config(
        vocab_size=257, n_embd=24, n_layer=2, n_head=3, n_positions=32, initializer_range=0.2, bos_token_id=256,
        eos_token_id=256)), None
    yield "llama", hf.LlamaForCausalLM(hf.LlamaConfig(**DECODER, num_key_value_heads=2)), None
    yield "qwen2", hf.Qwen2ForCausalLM(hf.Qwen2Config(
        **DECODER, num_key_value_heads=3, tie_word_embeddings=True)), None
    blocks = dict(DECODER, hidden_size=64, num_attention_heads=4, intermediate_size=96)
    ranker = bert(**ENCODER, num_labels=1, id2label={0: "LABEL_0"})
    yield "gguf", hf.LlamaForCausalLM(hf.LlamaConfig(**blocks, num_key_value_heads=2)), None
    yield "bert_ranker", hf.BertForSequenceClassification(ranker), None
    tiny = dict(vocab_size=57, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
                max_position_embeddings=48, initializer_range=0.4)
    tags = ["O", "B-PER", "I-PER", "B-LOC-X", "I-LOC-X", "MISC"]
    tags = dict(num_labels=len(tags), id2label=dict(enumerate(tags)))
    long = dict(tiny, vocab_size=264, max_position_embeddings=50, pad_token_id=1, type_vocab_size=1)
    yield "bert_tagger", hf.BertForTokenClassification(bert(**tiny, **tags)), None
    yield "distilbert_tagger", hf.DistilBertForTokenClassification(hf.DistilBertConfig(
        vocab_size=57, dim=16, n_layers=2, n_heads=2, hidden_dim=16, max_position_embeddings=48,
        initializer_range=0.4, **tags)), None
    yield "roberta_tagger", hf.RobertaForTokenClassification(roberta(**long, **tags)), None
    yield "xlm_roberta_tagger", hf.XLMRobertaForTokenClassification(
        hf.XLMRobertaConfig(**dict(long, vocab_size=40), **tags)), None
    yield "electra_tagger", hf.ElectraForTokenClassification(hf.ElectraConfig(**tiny, embedding_size=8, **tags)), None
    modern_tiny = dict(tiny, vocab_size=264, local_attention=8, pad_token_id=1, bos_token_id=0, eos_token_id=2,
                       cls_token_id=0, sep_token_id=2, initializer_cutoff_factor=3.0)
    yield "modernbert_tagger", hf.ModernBertForTokenClassification(hf.ModernBertConfig(**modern_tiny, **tags)), None
    yield "bert_untied_masked", hf.BertForMaskedLM(bert(**tiny, tie_word_embeddings=False, hidden_act="relu")), None
    yield "distilbert_masked", hf.DistilBertForMaskedLM(hf.DistilBertConfig(
        vocab_size=57, dim=16, n_layers=2, n_heads=2, hidden_dim=16, max_position_embeddings=48,
        initializer_range=0.4)), None
    yield "roberta_masked", hf.RobertaForMaskedLM(roberta(**long)), None
    yield "xlm_roberta_masked", hf.XLMRobertaForMaskedLM(hf.XLMRobertaConfig(**dict(long, vocab_size=40))), None
    yield "electra_masked", hf.ElectraForMaskedLM(hf.ElectraConfig(**tiny, embedding_size=8)), None
    yield "modernbert_masked", hf.ModernBertForMaskedLM(hf.ModernBertConfig(**modern_tiny)), None
    chat = dict(DECODER, vocab_size=259, max_position_embeddings=256, bos_token_id=257, eos_token_id=[258, 256])
    yield "llama_chat", hf.LlamaForCausalLM(hf.LlamaConfig(**chat, num_key_value_heads=2)), None
    nli = dict(num_labels=3, id2label={0: "contradiction", 1: "neutral", 2: "ENTAILMENT"},
               label2id={"contradiction": 0, "neutral": 1, "ENTAILMENT": 2})
    yield "bert_nli", hf.BertForSequenceClassification(bert(**tiny, **nli)), None
    yield "gguf_bert", hf.BertModel(bert(**dict(tiny, hidden_size=32, intermediate_size=64))), "cls"
    yield "gguf_distilbert", hf.DistilBertModel(hf.DistilBertConfig(
        vocab_size=57, dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=48,
        initializer_range=0.4)), "mean"


def draw_norms(model):
    """Norms and biases start at 1 and 0, which would hide a mistake in them."""
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() == 1:
                p += 0.2 * torch.randn(p.shape)


def pooled(hidden, kind):
    return hidden.mean(1)[0] if kind == "mean" else hidden[0, 0]


def forward(model, tokens, types, pooling):
    """Outputs of one text: logits of the text, or of each token, or its embedding."""
    ids = torch.tensor([tokens])
    given = {"token_type_ids": torch.tensor([types])} if getattr(model.config, "type_vocab_size", 1) > 1 else {}
    out = model(input_ids=ids, **given)
    if pooling:
        return pooled(out.last_hidden_state, pooling)
    return out.logits[0]


def sentence_files(directory, pooling):
    os.makedirs(f"{directory}/1_Pooling")
    kind = "sentence_transformers.models."
    modules = [{"idx": 0, "name": "0", "path": "", "type": kind + "Transformer"},
               {"idx": 1, "name": "1", "path": "1_Pooling", "type": kind + "Pooling"}]
    write(f"{directory}/modules.json", modules)
    write(f"{directory}/1_Pooling/config.json", {"word_embedding_dimension": 24,
                                                 "pooling_mode_cls_token": pooling == "cls",
                                                 "pooling_mode_mean_tokens": pooling == "mean",
                                                 "pooling_mode_max_tokens": False})
    write(f"{directory}/sentence_bert_config.json", {"max_seq_length": 24, "do_lower_case": False})


def write(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=1)
        f.write("\n")


TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1"]


def interleave(x, heads):
    """As llama.cpp's converter: the halves of a head's rows, side by side."""
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def add_sizes(w, c):
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_block_count(c.num_hidden_layers)
    w.add_feed_forward_length(getattr(c, "hidden_dim", None) or c.intermediate_size)
    w.add_head_count(c.num_attention_heads)


def add_llama(w, c):
    w.add_head_count_kv(c.num_key_value_heads)
    w.add_layer_norm_rms_eps(c.rms_norm_eps)
    w.add_rope_freq_base(c.rope_parameters["rope_theta"])
    w.add_rope_dimension_count(c.head_dim)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(BYTES + ["<|endoftext|>"])
    w.add_token_types([1] * 256 + [3])
    w.add_token_merges([])
    w.add_bos_token_id(256)
    w.add_eos_token_id(256)
    w.add_add_bos_token(False)


def add_bert(w, c, pooling):
    w.add_layer_norm_eps(getattr(c, "layer_norm_eps", 1e-12))
    w.add_causal_attention(False)
    w.add_pooling_type({"mean": gguf.PoolingType.MEAN, "cls": gguf.PoolingType.CLS}[pooling])
    w.add_token_type_count(getattr(c, "type_vocab_size", 1))
    vocabulary = word_piece().get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.get)
    special = [t in WORD_PIECES_SPECIAL for t in tokens]
    w.add_tokenizer_model("bert")
    w.add_tokenizer_pre("default")
    w.add_token_list([t if s else t[2:] if t.startswith("##") else "\u2581" + t for t, s in zip(tokens, special)])
    w.add_token_types([3 if s else 1 for s in special])
    for name, token in [("bos", "[CLS]"), ("eos", "[SEP]"), ("unk", "[UNK]"), ("sep", "[SEP]"), ("pad", "[PAD]")]:
        getattr(w, f"add_{name}_token_id")(vocabulary[token])


def write_gguf(directory, model, pooling):
    """The model's weights become what the quantized file holds."""
    os.makedirs(directory)
    c = model.config
    architecture = "bert" if pooling else "llama"
    w = gguf.GGUFWriter(f"{directory}/model.gguf", architecture)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[architecture.upper()], c.num_hidden_layers)
    add_sizes(w, c)
    if pooling:
        add_bert(w, c, pooling)
    else:
        add_llama(w, c)
    for i, (name, p) in enumerate(n for n in model.named_parameters() if not n[0].startswith("pooler.")):
        as_it_is = p.dim() < 2 or "position" in name or "token_type" in name
        kind = gguf.GGMLQuantizationType["F32" if as_it_is else TYPES[i % len(TYPES)]]
        x = p.detach().float().numpy()
        heads = {"q_proj": c.num_attention_heads, "k_proj": getattr(c, "num_key_value_heads", 0)}.get(name.split(".")[-2])
        data = gguf.quants.quantize(x, kind)
        p.data = torch.from_numpy(gguf.quants.dequantize(data, kind).astype(numpy.float32)).reshape(p.shape)
        data = gguf.quants.quantize(interleave(x, heads) if heads else x, kind)
        w.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), data, raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


TEXTS = ["hello world", "The Québec, 東京 then (a.b) x1", "  Ab  cd\u0301 ", "the he", "😀 the é"]


def requests(kind, mask):
    if kind == "MaskedLM":
        for text, parameters in [
                (f"a {mask} c", {}), (f"{mask} b {mask}", {"top_k": 2}), ([f"a {mask}", f"é{mask} the {mask}"], {}),
                ([f"the{mask}"], {}), (f"a {mask}.", {"targets": ["b", "##c", "he", "東", "b"]}),
                (f"a {mask}", {"targets": "z", "top_k": 3})]:
            yield "fill-mask", text, parameters
    if kind == "SequenceClassification" and mask == "nli":
        for text, parameters in [
                ("a b", {"candidate_labels": ["c", "d e", "f"]}), ("a b", {"candidate_labels": "c, d e", "multi_label": True}),
                (["a", "b c"], {"candidate_labels": ["x", "y"], "hypothesis_template": "it is {} ."}),
                ("a", {"candidate_labels": ["z"]})]:
            yield "zero-shot-classification", text, parameters
    if kind == "TokenClassification":
        for text in TEXTS:
            yield "token-classification", text, {}
            for how in ["none", "simple", "first", "average", "max"]:
                yield "token-classification", text, {"aggregation_strategy": how, "ignore_labels": []}
        yield "token-classification", TEXTS[:3], {"aggregation_strategy": "simple", "ignore_labels": ["PER", "MISC"]}


def as_sent(value):
    """Zero-shot results as they are sent today: labels with their scores."""
    if isinstance(value, list):
        return [as_sent(v) for v in value]
    if "labels" not in value:
        return value
    return [{"label": l, "score": s} for l, s in zip(value["labels"], value["scores"])]


def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return round(float(value), 8) if isinstance(value, (float, numpy.floating)) else value


def record_pipeline(directory, model):
    named = ["[UNK]", "[PAD]", "[MASK]"] if model.config.vocab_size == 57 else ["<unk>", "<pad>", "<mask>"]
    nli = directory.endswith("_nli")
    asked = list(requests(type(model).__name__.rsplit("For", 1)[-1], "nli" if nli else named[2]))
    if not asked:
        return
    t = TOKENIZERS[model.config.vocab_size]()
    inputs = ["input_ids", "attention_mask"]
    if getattr(model.config, "type_vocab_size", 1) > 1:
        inputs.append("token_type_ids")
    t = hf.PreTrainedTokenizerFast(tokenizer_object=t, unk_token=named[0], pad_token=named[1], mask_token=named[2],
                                   model_input_names=inputs)
    pipelines = {task: hf.pipeline(task, model=model, tokenizer=t) for task in {task for task, _, _ in asked}}
    with open(f"{directory}/pipeline.jsonl", "w", encoding="utf-8") as f:
        for task, inputs, parameters in asked:
            json.dump({"task": task, "inputs": inputs, "parameters": parameters,
                       "outputs": plain(as_sent(pipelines[task](inputs, **parameters)))}, f, ensure_ascii=False)
            f.write("\n")


def chat_template(directory):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "chat.json"), encoding="utf-8") as f:
        template = json.load(f)["templates"]["smollm2"][0]
    write(f"{directory}/tokenizer_config.json",
          {"bos_token": CHAT_TOKENS[0], "eos_token": CHAT_TOKENS[1], "chat_template": template})


def record(directory, model, pooling):
    model.eval()
    if "/gguf" in directory:
        write_gguf(directory, model, pooling)
    else:
        model.save_pretrained(directory)
        TOKENIZERS[model.config.vocab_size]().save(f"{directory}/tokenizer.json")
        if pooling:
            sentence_files(directory, pooling)
    completes = model.can_generate()
    if directory.endswith("/llama_chat"):
        chat_template(directory)
    state = torch.get_rng_state()  # the next model does not depend on what is asked of this one
    record_pipeline(directory, model)
    torch.set_rng_state(state)
    model = model.double()
    generator = torch.Generator().manual_seed(1)
    texts = [torch.randint(5, model.config.vocab_size - 1, (n,), generator=generator).tolist() for n in LENGTHS]
    has_types = getattr(model.config, "type_vocab_size", 1) > 1
    types = [[int(has_types and i > n // 2) for i in range(n)] for n in LENGTHS]
    outputs = [forward(model, t, y, pooling) for t, y in zip(texts, types)]
    numbers = {"lengths": torch.tensor(LENGTHS).float(), "tokens": torch.tensor(sum(texts, [])).float(),
               "types": torch.tensor(sum(types, [])).float()}
    facts = {}
    masked = type(model).__name__.endswith("MaskedLM")
    tags = type(model).__name__.endswith("ForTokenClassification")
    if completes:
        outputs = torch.cat(outputs)
        right = torch.randint(0, 257, (sum(LENGTHS),), generator=generator)
    else:
        outputs = torch.cat(outputs) if masked or tags else torch.stack(outputs)
        right = torch.randint(0, 3, (sum(LENGTHS) if tags else len(LENGTHS),), generator=generator)
    numbers["outputs"] = outputs.detach().float()
    if not pooling and not masked and not directory.endswith("ranker"):
        loss = torch.nn.functional.cross_entropy(outputs, right)
        loss.backward()
        norm = sum((p.grad ** 2).sum() for p in model.parameters() if p.grad is not None).sqrt()
        numbers["right"] = right.float()
        facts = {"loss": repr(loss.item()), "gradient_norm": repr(norm.item())}
    save_file(numbers, f"{directory}/expected.safetensors", facts or None)


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "pretrained")
    shutil.rmtree(top, ignore_errors=True)
    torch.manual_seed(1)
    for name, model, pooling in cases():
        draw_norms(model)
        if name in sys.argv[2:] or len(sys.argv) < 3:
            record(f"{top}/{name}", model, pooling)
            print(name)


main()
