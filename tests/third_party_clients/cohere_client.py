"""cohere_client.py - documents ranked through the `cohere` client, by both versions of its API; see python_client.sh."""
# /// script
# dependencies = [
#     "cohere==7.3.1",
# ]
# ///
import sys

import cohere

from daemon import serve

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


with serve(sys.argv[1], {"ranker": "bert_ranker"}) as url:
    version_1(url, version_2(url))
    errors(url)
print("cohere: ok")
