"""triton.py - binary tensors in and out, through tritonclient; see triton.sh."""
import re
import subprocess
import sys

import numpy
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

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


def main(sluiced, models):
    command = [sluiced, "--store", models, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as daemon:
        try:
            lines = iter(daemon.stderr.readline, "")
            ports = (re.search(r"listening.* port=(\d+)", line) for line in lines)
            port = next(match[1] for match in ports if match)
            client = triton.InferenceServerClient(f"127.0.0.1:{port}")
            for test in [same_in_binary_and_json, mixed, errors_name_the_text, embeds, configuration]:
                test(client)
                print("ok", test.__name__)
            client.close()
        finally:
            daemon.terminate()


main(*sys.argv[1:])
