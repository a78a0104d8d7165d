"""triton_client.py - binary tensors in and out, through tritonclient; see python_client.sh."""
# /// script
# dependencies = [
#     "tritonclient[http]==2.73.0",
# ]
# ///
import json
import pathlib
import sys

import numpy
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

from daemon import run, serve

TEXTS = numpy.array(["A wonderful film.".encode(), "Dull.".encode(), "Très long.".encode()], object)


def text_input(texts, binary=True):
    tensor = triton.InferInput("text", list(texts.shape), "BYTES")
    tensor.set_data_from_numpy(texts, binary_data=binary)
    return [tensor]


def output(name, binary, classes=0):
    return triton.InferRequestedOutput(name, binary_data=binary, class_count=classes)


def same_in_binary_and_json(client):
    names = ["label", "probs", "logits", "depth", "truncated"]
    binary = client.infer("sentiment", text_input(TEXTS))
    json = client.infer(
        "sentiment", text_input(TEXTS, False), outputs=[output(name, False) for name in names]
    )
    for name in names:
        assert "binary_data_size" in binary.get_output(name)["parameters"], name
        assert "data" in json.get_output(name), name
    for name in ["probs", "logits", "truncated"]:
        assert (binary.as_numpy(name) == json.as_numpy(name)).all(), name
    labels = [label.decode() for label in binary.as_numpy("label")]
    assert labels == list(json.as_numpy("label")), labels
    assert abs(binary.as_numpy("depth") - json.as_numpy("depth")).max() < 1e-4


def mixed(client):
    column = TEXTS.reshape(3, 1)
    outputs = [output("probs", False), output("label", True, 2), output("logits", True)]
    result = client.infer("sentiment", text_input(column), outputs=outputs)
    assert result.as_numpy("label").shape == (3, 2)
    assert result.as_numpy("logits").dtype == numpy.float32
    assert abs(result.as_numpy("probs").sum(axis=1) - 1).max() < 1e-5


def errors_name_the_text(client):
    try:
        client.infer("sentiment", text_input(numpy.array([b"fine", b"\xff"], object)))
    except InferenceServerException as error:
        assert "inputs[0].data[1]" in error.message() and "UTF-8" in error.message(), error
    else:
        raise AssertionError("invalid UTF-8 was accepted")


def embeds(client):
    """The same numbers in binary and in JSON, and vectors of length 1."""
    about = client.get_model_metadata("base")
    shapes = {one["name"]: one["shape"] for one in about["outputs"]}
    width = shapes["embedding"][1]
    binary = client.infer("base", text_input(TEXTS)).as_numpy("embedding")
    json = client.infer("base", text_input(TEXTS, False), outputs=[output("embedding", False)])
    assert binary.shape == (len(TEXTS), width) and binary.dtype == numpy.float32
    assert (binary == json.as_numpy("embedding")).all()
    assert abs(numpy.linalg.norm(binary, axis=1) - 1).max() < 1e-5


def configuration(client):
    """The shapes that the configuration gives are those of the results."""
    config = client.get_model_config("sentiment")
    assert config["max_batch_size"] >= len(TEXTS) and config["input"][0]["data_type"] == "TYPE_STRING"
    result = client.infer("sentiment", text_input(TEXTS))
    for one in config["output"]:
        dims = one["reshape"]["shape"] if "reshape" in one else one["dims"]
        assert list(result.as_numpy(one["name"]).shape) == [len(TEXTS)] + dims, one


def pretrained_embeds(client):
    assert [one["name"] for one in client.get_model_metadata("masked")["outputs"]] == ["embedding", "depth", "truncated"]
    vectors = client.infer("masked", text_input(numpy.array([b"a b", b"c"], object))).as_numpy("embedding")
    alone = client.infer("masked", text_input(numpy.array([b"c"], object))).as_numpy("embedding")
    assert vectors.shape == (2, 24) and (vectors[1:] == alone).all(), vectors


def classifies_tokens(client):
    """The entities of each text are JSON in a string; requests have the pipeline's parameters."""
    texts = numpy.array([b"hello world", "Québec".encode()], object)
    entities = [json.loads(one) for one in client.infer("tagger", text_input(texts)).as_numpy("entities")]
    assert len(entities) == 2 and entities[1], entities
    for one in entities[0]:
        assert one["word"].removeprefix("##") == "hello world"[one["start"] : one["end"]], one
    result = client.infer("tagger", text_input(texts, False), outputs=[output("entities", False)],
                          parameters={"aggregation_strategy": "simple"})
    assert all("entity_group" in one for one in json.loads(result.as_numpy("entities")[0]))


def classifies_pairs(client):
    """A row of two texts is a pair; a reranker gives its score."""
    pairs = numpy.array([[b"Who won?", b"The red team won."], [b"Who won?", b"It rained."]], object)
    result = client.infer("ranker", text_input(pairs))
    assert result.as_numpy("probs").shape == (2, 1) and (0 < result.as_numpy("probs")).all()
    assert (client.infer("ranker", text_input(pairs[1:])).as_numpy("logits") == result.as_numpy("logits")[1:]).all()
    swapped = client.infer("nli", text_input(pairs[:, ::-1].copy(), False)).as_numpy("probs")
    assert abs(swapped.sum(axis=1) - 1).max() < 1e-5
    assert abs(swapped - client.infer("nli", text_input(pairs)).as_numpy("probs")).max() > 1e-4


MODELS = {"masked": "bert_masked", "tagger": "bert_tagger", "ranker": "bert_ranker", "nli": "bert_nli"}
BUNDLED = pathlib.Path(__file__).parent.parent.parent / "models"
TESTS = [same_in_binary_and_json, mixed, errors_name_the_text, embeds, configuration]
TESTS += [pretrained_embeds, classifies_tokens, classifies_pairs]

with serve(sys.argv[1], {**MODELS, "sentiment": BUNDLED / "sentiment/1", "base": BUNDLED / "base/1"}) as url:
    client = triton.InferenceServerClient(url.removeprefix("http://"))
    run(TESTS, client)
    client.close()
