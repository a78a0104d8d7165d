#!/usr/bin/python3
"""record_chat.py - what the Python package `transformers` makes of conversations with the chat templates of published
models.

    record_chat.py CHAT.JSON

Reads "templates" (by name, the texts that models have) and "conversations" of the file, and writes into it "prompts":
by name and conversation the text, or null where the template refuses it, and "ids": its tokens by a byte-level tokenizer
with the special tokens "special", whose file is "tokenizer". Needs pip install transformers (recorded with 5.24); the
test needs none.
"""
import json
import sys

import jinja2
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

SPECIAL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]


def byte_level():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    t = Tokenizer(models.BPE({b: i for i, b in enumerate(alphabet)}, []))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(SPECIAL)
    return t


def prompt(tokenizer, template, conversation, **how):
    try:
        return tokenizer.apply_chat_template(conversation, chat_template=template, add_generation_prompt=True, **how)
    except jinja2.exceptions.TemplateError:
        return None


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        chat = json.load(f)
    fast = PreTrainedTokenizerFast(tokenizer_object=byte_level(), bos_token="<s>", eos_token="</s>")
    chat["special"] = SPECIAL
    chat["tokenizer"] = json.loads(byte_level().to_str())
    chat["prompts"], chat["ids"] = {}, {}
    for name, texts in chat["templates"].items():
        found = [[prompt(fast, t, c, tokenize=False) for c in chat["conversations"]] for t in texts]
        assert all(prompts == found[0] for prompts in found), name
        chat["prompts"][name] = found[0]
        ids = [prompt(fast, texts[0], c, tokenize=True, return_dict=False) for c in chat["conversations"]]
        chat["ids"][name] = [" ".join(map(str, tokens or [])) for tokens in ids]
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump(chat, f, indent=1, ensure_ascii=False)
        f.write("\n")


main()
