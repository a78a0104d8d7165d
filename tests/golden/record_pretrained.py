#!/usr/bin/python3
"""record_pretrained.py - makes tiny random models of every family with the Python package `transformers`,
and records what they compute in double precision.

    record_pretrained.py [DIRECTORY]    writes there, or to pretrained/ beside itself

    NAME/config.json, model.safetensors, tokenizer.json, ...    as save_pretrained writes them
    NAME/expected.safetensors    tokens, lengths, types, targets or labels, outputs; loss and the norm of
                                 all gradients as metadata

Needs pip install torch transformers safetensors (recorded with 2.15.0, 5.24 and 0.6); the test needs none.
"""
import json
import os
import shutil
import sys

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
import transformers as hf

LENGTHS = [9, 1, 20, 4]
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())


def word_piece():
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + letters + ["##" + c for c in letters]
    t = Tokenizer(models.WordPiece({v: i for i, v in enumerate(vocab)}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.decoder = decoders.WordPiece()
    t.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return t


def byte_level():
    t = Tokenizer(models.BPE({b: i for i, b in enumerate(BYTES)}, []))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(["<|endoftext|>"])
    return t


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


def record(directory, model, pooling):
    draw_norms(model)
    model.eval()
    model.save_pretrained(directory)
    completes = model.config.vocab_size == 257
    (byte_level() if completes else word_piece()).save(f"{directory}/tokenizer.json")
    if pooling:
        sentence_files(directory, pooling)
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
    if completes:
        outputs = torch.cat(outputs)
        right = torch.randint(0, 257, (sum(LENGTHS),), generator=generator)
    else:
        outputs = torch.cat(outputs) if masked else torch.stack(outputs)
        right = torch.randint(0, 3, (len(LENGTHS),), generator=generator)
    numbers["outputs"] = outputs.detach().float()
    if not pooling and not masked:
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
        record(f"{top}/{name}", model, pooling)
        print(name)


main()
