#!/usr/bin/python3
"""compare_embeddings.py - how far `sluice embed` is from PyTorch for a sentence encoder with mean pooling.

    compare_embeddings.py SLUICE MODEL-DIR TEXT-FILE MAX-TOKENS

Prints the largest difference of a number and the smallest cosine, over all lines. Needs pip install torch
transformers; no test runs it, because the models that people use are not part of this repository.
"""
import json
import subprocess
import sys

import torch
from transformers import AutoModel, AutoTokenizer

BATCH = 32


def ours(sluice, directory, file):
    out = subprocess.run([sluice, "embed", directory, file, "--precision", "fp32", "--json"], check=True,
                         capture_output=True, text=True).stdout
    return torch.tensor([json.loads(line)["embedding"] for line in out.split("\n") if line])


def theirs(directory, texts, longest):
    tokenizer, model = AutoTokenizer.from_pretrained(directory), AutoModel.from_pretrained(directory).eval()
    parts = []
    with torch.no_grad():
        for i in range(0, len(texts), BATCH):
            batch = tokenizer(texts[i:i + BATCH], padding=True, truncation=True, max_length=longest,
                              return_tensors="pt")
            keep = batch["attention_mask"].unsqueeze(-1).float()
            hidden = model(**batch).last_hidden_state
            parts.append((hidden * keep).sum(1) / keep.sum(1))
    return torch.nn.functional.normalize(torch.cat(parts), dim=1)


def main():
    sluice, directory, file, longest = sys.argv[1:]
    with open(file, encoding="utf-8", newline="\n") as f:
        texts = [line.rstrip("\n") for line in f]
    a, b = ours(sluice, directory, file), theirs(directory, texts, int(longest))
    cosine = torch.nn.functional.cosine_similarity(a, b).min().item()
    print(f"{len(texts)} texts: largest difference {(a - b).abs().max().item():.2g}, smallest cosine {cosine:.9f}")


main()
