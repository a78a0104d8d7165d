"""cohere_client.py - documents ranked through the `cohere` client, by both versions of its API; see cohere.sh."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import cohere

QUERY = "Who won?"
DOCUMENTS = ["It rained.", "The red team won.", "Shares fell.", "A" + " very" * 100 + " long text."]


def ranks(response):
    return [(result.index, result.relevance_score) for result in response.results]


def version_2(url):
    client = cohere.ClientV2(api_key="none", base_url=url)
    response = client.rerank(model="ranker", query=QUERY, documents=DOCUMENTS)
    assert sorted(index for index, _ in ranks(response)) == [0, 1, 2, 3], response
    scores = [score for _, score in ranks(response)]
    assert scores == sorted(scores, reverse=True) and 0 < scores[-1] < scores[0] < 1, scores
    assert response.id.startswith("req-") and response.meta.api_version.version == "2", response
    best = client.rerank(model="ranker@1", query=QUERY, documents=DOCUMENTS, top_n=1)
    assert ranks(best) == ranks(response)[:1]
    for index, score in ranks(response):
        alone = client.rerank(model="ranker", query=QUERY, documents=[DOCUMENTS[index]])
        assert ranks(alone) == [(0, score)], (index, score, alone)
    cut = client.rerank(model="ranker", query=QUERY, documents=["The red team"], max_tokens_per_doc=6)
    assert ranks(cut) == ranks(client.rerank(model="ranker", query=QUERY, documents=["The red"]))
    return response


def version_1(url, expected):
    client = cohere.Client(api_key="none", base_url=url)
    response = client.rerank(model="ranker", query=QUERY, documents=DOCUMENTS, return_documents=True)
    assert ranks(response) == ranks(expected)
    assert [r.document.text for r in response.results] == [DOCUMENTS[r.index] for r in response.results]
    bare = client.rerank(model="ranker", query=QUERY, documents=DOCUMENTS, return_documents=False, top_n=2)
    assert ranks(bare) == ranks(expected)[:2] and bare.results[0].document is None


def errors(url):
    client = cohere.ClientV2(api_key="none", base_url=url)
    for kind, part, arguments in [
        (cohere.NotFoundError, "'other' does not exist", {"model": "other"}),
        (cohere.BadRequestError, "empty array", {"documents": []}),
        (cohere.BadRequestError, "order of their arrival", {"priority": 1}),
    ]:
        try:
            client.rerank(**{"model": "ranker", "query": QUERY, "documents": DOCUMENTS, **arguments})
        except kind as error:
            assert part in error.body["error"], error
        else:
            raise AssertionError(f"{arguments} was accepted")


def main(sluiced, model):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(model, folder / "store/ranker/1")
        port = folder / "port"
        daemon = subprocess.Popen(
            [sluiced, "--store", folder / "store", "--listen", "127.0.0.1:0", "--admin-listen", ""]
            + ["--port-file", port, "--log-level", "error"]
        )
        try:
            while not port.exists() or not port.read_text():
                assert daemon.poll() is None, "sluiced did not start"
                time.sleep(0.02)
            url = f"http://127.0.0.1:{port.read_text().split()[0]}"
            version_1(url, version_2(url))
            errors(url)
        finally:
            daemon.terminate()
            assert daemon.wait() == 0
    print("cohere: ok")


main(*sys.argv[1:])
