"""openapi.py - the OpenAPI document: valid, true of errors, and good enough to make a client from; see openapi.sh."""

import importlib
import io
import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import openapi_spec_validator
from daemon import serve
from openapi_contract import Breach, Contract

INFER_INPUT = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["A lovely film."]}

# Method, path, body, status: one of each kind of error that a request can cause.
ERRORS = [
    ("POST", "/v1/completions", "{", 400),
    ("POST", "/v1/completions", {"prompt": "a"}, 400),
    ("POST", "/v1/completions", {"model": "none", "prompt": "a"}, 404),
    ("POST", "/v1/completions", {"model": "shakespeare", "tools": []}, 400),
    ("POST", "/v1/decisions", {"model": "sentiment", "input": "a", "questions": []}, 400),
    ("GET", "/v1/models/none", None, 404),
    ("DELETE", "/v1/models/sentiment", None, 403),
    ("GET", "/v1/files?limit=0", None, 403),
    ("POST", "/predict", {"inputs": ["a", "b"]}, 422),
    ("POST", "/predict", {"inputs": []}, 400),
    ("POST", "/models/none/predict", {"inputs": "a"}, 404),
    ("POST", "/models/shakespeare/predict", {"inputs": "a"}, 424),
    ("POST", "/tokenize", {"inputs": ""}, 400),
    ("POST", "/decode", {"ids": [1, 99999999]}, 422),
    ("POST", "/hf/sentiment", {"inputs": "a", "parameters": {"top_k": 0}}, 422),
    ("POST", "/hf/none", {"inputs": "a"}, 404),
    ("POST", "/v2/models/sentiment/infer", {"inputs": []}, 400),
    ("POST", "/v2/models/sentiment/infer", {"inputs": [{**INFER_INPUT, "data": ["中"]}]}, 200),
    ("POST", "/v2/models/none/infer", {"inputs": [INFER_INPUT]}, 404),
    ("GET", "/v2/models/none/ready", None, 404),
    ("POST", "/v2/repository/models/none/load", {}, 403),
]

# The same, on the admin listener.
ADMIN_ERRORS = [
    ("GET", "/v1/files?limit=0", None, 400),
    ("GET", "/v1/files/file-0", None, 404),
    ("GET", "/v1/fine_tuning/jobs/ftjob-0", None, 404),
    ("POST", "/v1/fine_tuning/jobs", {"model": "encoder", "training_file": "file-0"}, 404),
    ("PUT", "/v1/models/sentiment/labels/9", {"version": 1}, 400),
    ("PUT", "/v1/models/none/labels/canary", {"version": 1}, 404),
    ("POST", "/v1/models/sentiment/rollback", None, 409),
    ("POST", "/v2/repository/models/none/load", {}, 404),
]


def ask(url, method, path, body=None):
    """Status, content type and body of the response."""
    data = None if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)
    try:
        response = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        response = error
    with response:
        return response.status, response.headers["Content-Type"], response.read()


def documents_are_valid(url, admin_url):
    for each in (url, admin_url):
        openapi_spec_validator.validate(Contract.of(each).document)


def breaches_are_noticed(url):
    """The contract itself: a member that is missing, of another type, or not in the document."""
    contract = Contract.of(url)
    status, _, body = ask(url, "GET", "/info")
    assert status == 200, body
    contract.check_response("GET", "/info", 200, "application/json", body)
    for change in ({"version": None}, {"auto_truncate": "no"}, {"more": 1}):
        value = {name: member for name, member in {**json.loads(body), **change}.items() if member is not None}
        try:
            contract.check_response("GET", "/info", 200, "application/json", json.dumps(value).encode())
        except Breach:
            continue
        raise AssertionError(f"a response with {change} passed")


def errors_are_as_described(url, cases):
    contract = Contract.of(url)
    for method, path, body, status in cases:
        got, media, text = ask(url, method, path, body)
        assert got == status, f"{method} {path}: {got} {text}"
        contract.check_response(method, path, got, media, text)


def generate(build, folder, url):
    """The package of a client made from the document."""
    document = folder / "openapi.json"
    document.write_bytes(ask(url, "GET", "/openapi.json")[2])
    config = folder / "generator.json"
    config.write_text('{"post_hooks": []}')
    program = Path(sys.executable).parent / "openapi-python-client"
    target = folder / "client"
    command = [program, "generate", "--path", document, "--output-path", target, "--config", config]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0 and "arning" not in made.stdout, made.stdout + made.stderr
    sys.path.insert(0, str(target))
    return next(target.glob("*_client")).name


class Client:
    """A generated client, whose functions are called by the ids of their operations."""

    def __init__(self, package, url):
        self.package = package
        self.client = importlib.import_module(package).Client(base_url=url, raise_on_unexpected_status=True, timeout=60)
        root = Path(importlib.import_module(package).__file__).parent
        self.modules = {path.stem: ".".join(path.relative_to(root).with_suffix("").parts) for path in root.rglob("*.py")}

    def body(self, model, value):
        return getattr(importlib.import_module(f"{self.package}.models"), model).from_dict(value)

    def call(self, operation, *path, **arguments):
        function = importlib.import_module(f"{self.package}.{self.modules[operation]}").sync_detailed
        response = function(*path, client=self.client, **arguments)
        assert response.status_code in (200, 202), f"{operation}: {response.status_code} {response.content}"
        assert response.parsed is not None, f"{operation}: {response.content}"
        return response.parsed


def inference_calls(client):
    text = client.body("CompletionRequest", {"model": "shakespeare", "prompt": "ROMEO:\n", "max_tokens": 5})
    assert client.call("create_completion", body=text).choices[0].finish_reason == "length"
    question = {"type": "predicate", "instructions": "positive"}
    decide = {"model": "sentiment", "input": "A lovely film.", "questions": [question]}
    answers = client.call("create_decision", body=client.body("DecisionRequest", decide)).answers
    assert answers[0].probability > 0.5
    assert {model.id for model in client.call("list_models").data} >= {"sentiment", "shakespeare"}
    one = client.body("PredictRequest", {"inputs": "A lovely film."})
    assert client.call("predict", body=one, model="sentiment")[0].label == "positive"
    tokens = client.call("tokenize", body=client.body("TokenizeRequest", {"inputs": "bored"}))
    ids = [token.id for token in tokens[0] if not token.special]
    assert client.call("decode", body=client.body("DecodeRequest", {"ids": ids})) == ["bored"]
    assert client.call("get_info").served_model_name == "sentiment"
    ranked = client.body("PipelineRequest", {"inputs": ["It bored me."], "parameters": {"top_k": 1}})
    assert client.call("classify", "sentiment", body=ranked)[0][0].label == "negative"
    request = client.body("InferRequest", {"inputs": [INFER_INPUT], "outputs": [{"name": "label"}]})
    assert client.call("infer", "sentiment", body=request).outputs[0].data == ["positive"]
    assert client.call("get_model_metadata", "sentiment").platform == "sluice_epsilon"
    assert client.call("get_ready").ready
    assert "sluice_requests_total" in client.call("get_metrics")
    assert len(client.call("get_index").endpoints) > 50


def admin_calls(client):
    types = importlib.import_module(f"{client.package}.types")
    texts = b"positive\tWhat a lovely day.\nnegative\tFine. It rained.\n" * 50
    upload = getattr(importlib.import_module(f"{client.package}.models"), "FileUpload")
    purpose = getattr(importlib.import_module(f"{client.package}.models"), "FileUploadPurpose")("fine-tune")
    file = types.File(payload=io.BytesIO(texts), file_name="texts.tsv", mime_type="text/plain")
    stored = client.call("create_file", body=upload(file=file, purpose=purpose))
    assert stored.bytes_ == len(texts)
    assert [each.id for each in client.call("list_files", limit=5).data] == [stored.id]
    small = {"label": "1", "text": "2", "n_epochs": 1, "batch_size": 8, "width": 16, "depth": 1, "heads": 2}
    job = {"model": "encoder", "training_file": stored.id, "suffix": "mood", "hyperparameters": small}
    made = client.call("create_job", body=client.body("JobRequest", job))
    assert client.call("cancel_job", made.id).id == made.id
    assert client.call("list_job_events", made.id).data
    versions = client.call("list_versions", "sentiment").data
    assert versions[0].labels == ["stable"]
    weight = client.body("LabelRequest", {"version": versions[0].version})
    assert client.call("set_label", "sentiment", "tested", body=weight).label == "tested"
    assert client.call("delete_label", "sentiment", "tested").deleted
    index = client.call("get_repository_index", body=client.body("RepositoryIndexRequest", {"ready": True}))
    assert {each.state for each in index} == {"READY"}
    assert client.call("delete_file", stored.id).deleted
    assert client.call("list_audit_events", action="file.delete").data[0].target == stored.id


def main(top, build):
    models = {folder.name: folder / "1" for folder in (top / "models").iterdir()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = ["--config", top / "conf/run.yaml", "--admin-listen", "127.0.0.1:0", "--state", folder / "state"]
        with serve(build / "sluiced", models, *options) as (url, admin_url):
            documents_are_valid(url, admin_url)
            breaches_are_noticed(url)
            errors_are_as_described(url, ERRORS)
            errors_are_as_described(admin_url, ADMIN_ERRORS)
            for address, calls, part in ((url, inference_calls, "inference"), (admin_url, admin_calls, "admin")):
                here = folder / part
                here.mkdir()
                client = Client(generate(build, here, address), address)
                calls(client)
                sys.path.pop(0)
                for module in [each for each in sys.modules if each.partition(".")[0] == client.package]:
                    del sys.modules[module]
    print("documents, errors and a generated client: ok")


main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
