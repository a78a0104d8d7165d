"""huggingface_hub_client.py - every task through the InferenceClient of huggingface_hub; see python_client.sh."""
# /// script
# dependencies = [
#     "huggingface_hub==2.4.0",
#     "numpy==2.4.6",
# ]
# ///
import json
import math
import sys

import numpy
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

from daemon import PRETRAINED, run, serve

SENTENCES = PRETRAINED.parent / "sentences"
MODELS = ["bert_classifier", "bert_tagger", "bert_nli", "bert_masked"]


def recorded(name, task, inputs, **parameters):
    """What the pipeline of transformers answered."""
    for line in (PRETRAINED / name / "pipeline.jsonl").read_text().splitlines():
        row = json.loads(line)
        if (row["task"], row["inputs"], row["parameters"]) == (task, inputs, parameters):
            return row["outputs"]
    raise AssertionError(f"{name}: {inputs} is not recorded with {parameters}")


def same(have, want):
    """The members of the response that the client reads."""
    assert len(have) == len(want), (have, want)
    for one, other in zip(have, want):
        for key, value in other.items():
            got = getattr(one, key)
            close = math.isclose(got, value, rel_tol=1e-5, abs_tol=1e-6) if isinstance(value, float) else got == value
            assert close, (key, got, value)


def labels(url):
    best, second = InferenceClient(model=f"{url}/hf/bert_classifier").text_classification("a b c", top_k=2)
    assert 0 < second.score <= best.score <= 1 and best.label in ("negative", "neutral", "positive"), best
    client = InferenceClient(model=f"{url}/hf/bert_tagger")
    text = "The Québec, 東京 then (a.b) x1"
    for how in ["none", "simple", "first", "average", "max"]:
        same(client.token_classification(text, aggregation_strategy=how, ignore_labels=[]),
             recorded("bert_tagger", "token-classification", text, aggregation_strategy=how, ignore_labels=[]))
    client = InferenceClient(model=f"{url}/hf/bert_nli")
    same(client.zero_shot_classification("a b", ["c", "d e", "f"]),
         recorded("bert_nli", "zero-shot-classification", "a b", candidate_labels=["c", "d e", "f"]))
    pairs = client.zero_shot_classification("a b", ["c", "d e"], multi_label=True, hypothesis_template="it is {}")
    assert {each.label for each in pairs} == {"c", "d e"} and pairs[0].score >= pairs[1].score, pairs


def masks(url):
    client = InferenceClient(model=f"{url}/hf/bert_masked")
    same(client.fill_mask("a [MASK] c"), recorded("bert_masked", "fill-mask", "a [MASK] c"))
    targets = ["b", "##c", "he", "東", "b"]
    same(client.fill_mask("a [MASK].", targets=targets),
         recorded("bert_masked", "fill-mask", "a [MASK].", targets=targets))
    assert len(client.fill_mask("a [MASK]", top_k=3)) == 3


def embeddings(url):
    client = InferenceClient(model=f"{url}/hf/bert_masked/pipeline/feature-extraction")
    vectors = client.feature_extraction(["a b", "c"])
    assert vectors.shape == (2, 24) and abs((vectors[0] ** 2).sum() - 1) < 1e-5, vectors
    assert client.feature_extraction("a b", dimensions=8, truncate=True).shape == (1, 8)
    assert abs((client.feature_extraction("a b", normalize=False) ** 2).sum() - 1) > 1e-3
    client = InferenceClient(model=f"{url}/hf/bert_masked")
    near = client.sentence_similarity("a b", other_sentences=["c", "a b"])
    assert abs(near[0] - float(vectors[0] @ vectors[1])) < 1e-5 and abs(near[1] - 1) < 1e-5, near


def prompts(url):
    """As sentence-transformers computed them; without a name, the default prompt."""
    client = InferenceClient(model=f"{url}/hf/prompts")
    for line in (SENTENCES / "prompts/expected.jsonl").read_text().splitlines():
        row = json.loads(line)
        vector, = client.feature_extraction(row["text"], prompt_name=row["prompt_name"], truncate=True)
        assert numpy.allclose(vector, row["embedding"], atol=2e-5), (row, vector)


def lengths(url):
    client = InferenceClient(model=f"{url}/hf/prompts")
    longest = 24 - 2  # tokens of a text beside [CLS] and [SEP]
    long = "b " * longest + "c"
    whole = {"prompt_name": "none", "truncate": True}
    first, last = client.feature_extraction(["b " * longest, "b " * (longest - 1) + "c"], **whole)
    assert numpy.allclose(client.feature_extraction(long, **whole), first, atol=1e-6)
    assert numpy.allclose(client.feature_extraction(long, truncation_direction="left", **whole), last, atol=1e-6)
    assert not numpy.allclose(first, last, atol=1e-3)
    plain, = client.feature_extraction(long, normalize=False, **whole)
    length = math.sqrt(plain @ plain)
    assert abs(length - 1) > 1e-3 and numpy.allclose(plain / length, first, atol=1e-6), length


def errors(url):
    for client, call in [("bert_masked", lambda c: c.fill_mask("a")), ("bert_tagger", lambda c: c.fill_mask("[MASK]", top_k=0)),
                         ("prompts", lambda c: c.feature_extraction("b", prompt_name="none of these")),
                         ("prompts", lambda c: c.feature_extraction("b " * 30, truncate=False)),
                         ("bert_masked", lambda c: c.feature_extraction("b", prompt_name="query")),
                         ("other", lambda c: c.token_classification("a"))]:
        try:
            call(InferenceClient(model=f"{url}/hf/{client}"))
        except HfHubHTTPError as error:
            assert error.response.status_code in (404, 413, 422), error
        else:
            raise AssertionError(f"{client} accepted it")


models = {**{name: name for name in MODELS}, "prompts": SENTENCES / "prompts"}
with serve(sys.argv[1], models, "--precision", "fp32") as url:
    run([labels, masks, embeddings, prompts, lengths, errors], url)
