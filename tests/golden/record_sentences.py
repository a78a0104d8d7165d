#!/usr/bin/python3
"""record_sentences.py - makes tiny random sentence encoders with the Python package `sentence-transformers`, and
records the vectors that it gives in double precision.

    record_sentences.py [DIRECTORY]    writes there, or to sentences/ beside itself

    NAME/modules.json, config.json, ...    as save_pretrained writes them
    NAME/expected.jsonl                    {"text", "prompt_name" or null, "embedding"}

Needs pip install torch transformers sentence-transformers (recorded with 2.15.0, 5.24 and 6.2); the test needs none.
"""
import json
import os
import shutil
import sys
import tempfile

import torch
import transformers as hf
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from tiny_tokenizers import word_piece

SIZES = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16, initializer_range=0.4)
TEXTS = ["b c", "Hello World", "the Québec", "one two three four five six seven eight", "x"]


def byte_level():
    """Cased, with merges of its own for upper and lower case."""
    vocab = ["<s>", "<pad>", "</s>", "<unk>"] + sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab += ["he", "Ġt", "Ġthe", "He", "<mask>"]
    merges = [("h", "e"), ("Ġ", "t"), ("Ġt", "he"), ("H", "e")]
    t = Tokenizer(models.BPE({v: i for i, v in enumerate(vocab)}, merges))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    return t, dict(unk_token="<unk>", pad_token="<pad>", cls_token="<s>", sep_token="</s>", mask_token="<mask>")


def transformer(model, made, length):
    tokenizer, special = made
    tokenizer.add_special_tokens(list(special.values()))
    with tempfile.TemporaryDirectory() as directory:
        model.save_pretrained(directory)
        hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=length, **special).save_pretrained(directory)
        return Transformer(directory)


def bert(length):
    special = dict(unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
    model = hf.BertModel(hf.BertConfig(vocab_size=57, max_position_embeddings=48, **SIZES))
    return transformer(model, (word_piece(), special), length)


def roberta(length):
    config = hf.RobertaConfig(vocab_size=265, max_position_embeddings=50, pad_token_id=1, type_vocab_size=1, **SIZES)
    return transformer(hf.RobertaModel(config), byte_level(), length)


def cases():
    """name, the modules, options of the model"""
    # The first prompt ends within a word; texts are cut at 24 tokens.
    yield "prompts", [bert(24), Pooling(16, "mean"), Normalize()], dict(
        prompts={"query": "find: q", "passage": "passage: ", "none": ""}, default_prompt_name="passage")
    yield "dense", [bert(48), Pooling(16, "cls"), Dense(16, 24), Dense(24, 8, bias=False, activation_function=torch.nn.Identity()),
                    Normalize()], {}
    yield "lower", [roberta(int(1e30)), Pooling(16, "lasttoken")], {}


# Files as older versions wrote them.
OLD = {"lower": {"sentence_bert_config.json": {"max_seq_length": 20, "do_lower_case": True},
                 "1_Pooling/config.json": {"word_embedding_dimension": 16, "pooling_mode_cls_token": False,
                                           "pooling_mode_mean_tokens": False, "pooling_mode_lasttoken": True}}}


def draw(model):
    """Norms and biases start at 1 and 0, which would hide a mistake in them."""
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() == 1:
                p += 0.2 * torch.randn(p.shape)


def record(directory, modules, options):
    model = SentenceTransformer(modules=modules, device="cpu", **options)
    draw(model)
    model.save_pretrained(directory, create_model_card=False)
    for name, value in OLD.get(os.path.basename(directory), {}).items():
        with open(f"{directory}/{name}", "w", encoding="utf-8") as f:
            json.dump(value, f, indent=1)
            f.write("\n")
    model = SentenceTransformer(directory, device="cpu").double().eval()
    with open(f"{directory}/expected.jsonl", "w", encoding="utf-8") as f:
        for name in [None, *options.get("prompts", {})]:
            for text in TEXTS:
                vector = model.encode(text, prompt_name=name)
                json.dump({"text": text, "prompt_name": name, "embedding": [round(float(x), 8) for x in vector]}, f,
                          ensure_ascii=False)
                f.write("\n")


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "sentences")
    shutil.rmtree(top, ignore_errors=True)
    torch.manual_seed(1)
    for name, modules, options in cases():
        record(f"{top}/{name}", modules, options)
        print(name)


main()
