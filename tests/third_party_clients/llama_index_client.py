"""llama_index_client.py - embeddings, conversations and rankings through LlamaIndex; see python_client.sh."""
# /// script
# dependencies = [
#     "llama-index-core==0.14.25",
#     "llama-index-embeddings-openai==0.6.0",
#     "llama-index-embeddings-openai-like==0.4.0",
#     "llama-index-embeddings-text-embeddings-inference==0.6.0",
#     "llama-index-llms-openai-like==0.8.1",
#     "llama-index-postprocessor-jinaai-rerank==0.6.0",
#     "llama-index-postprocessor-tei-rerank==0.6.0",
# ]
# ///
import asyncio
import sys

from llama_index.core.llms import ChatMessage
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference
from llama_index.llms.openai_like import OpenAILike
from llama_index.postprocessor.jinaai_rerank import JinaRerank
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

from daemon import run, serve

TEXTS = ["a b", "c d e"]
QUERY = "Who won?"


def same(one, other):
    assert len(one) == len(other) and max(abs(a - b) for a, b in zip(one, other)) < 1e-6, (one, other)


def tei(url):
    """One daemon as a server of Text Embeddings Inference, or a model of several."""
    for base in [url, f"{url}/models/masked"]:
        embedding = TextEmbeddingsInference(model_name="masked", base_url=base, auth_token="none")
        vectors = embedding.get_text_embedding_batch(TEXTS)
        assert [len(vector) for vector in vectors] == [24, 24]
        same(embedding.get_query_embedding(TEXTS[0]), vectors[0])
        same(asyncio.run(embedding.aget_text_embedding(TEXTS[1])), vectors[1])
    long = embedding.get_text_embedding("a " * 100)
    same(long, embedding.get_text_embedding("a " * 200))


def openai_embeddings(url):
    usual = {"model_name": "masked", "api_base": f"{url}/v1", "api_key": "none"}
    embedding = OpenAILikeEmbedding(**usual)
    vectors = embedding.get_text_embedding_batch(TEXTS)
    assert [len(vector) for vector in vectors] == [24, 24]
    same(embedding.get_query_embedding(TEXTS[0]), vectors[0])
    same(OpenAIEmbedding(**usual).get_text_embedding(TEXTS[1]), vectors[1])
    assert len(OpenAILikeEmbedding(**usual, dimensions=8).get_text_embedding("a")) == 8


def chat(url):
    usual = {"model": "chat", "api_base": f"{url}/v1", "api_key": "none", "max_tokens": 8, "temperature": 0}
    messages = [ChatMessage(role="user", content="Who are you?")]
    for model in [OpenAILike(**usual, is_chat_model=True), OpenAILike(**usual)]:
        whole = model.chat(messages)
        assert whole.message.content and list(model.stream_chat(messages))[-1].message.content == whole.message.content
        assert list(model.stream_complete("hello"))[-1].text == model.complete("hello").text
        assert asyncio.run(model.achat(messages)).message.content == whole.message.content


def nodes():
    texts = ["It rained.", "The red team won.", "Shares fell."]
    return [NodeWithScore(node=TextNode(text=text), score=0.5) for text in texts]


def rerank(url):
    rankers = [TextEmbeddingInference(base_url=f"{url}/models/ranker", top_n=2),
               TextEmbeddingInference(base_url=url, top_n=2),
               JinaRerank(base_url=f"{url}/v1", model="ranker", api_key="none", top_n=2)]
    answers = [[(node.text, node.score) for node in ranker.postprocess_nodes(nodes(), query_str=QUERY)] for ranker in rankers]
    assert len(answers[0]) == 2 and 1 > answers[0][0][1] >= answers[0][1][1] > 0, answers
    assert answers[1] == answers[0] and answers[2] == answers[0], answers


def errors(url):
    """Jina's class has the reason from `detail`."""
    try:
        JinaRerank(base_url=f"{url}/v1", model="none", api_key="none").postprocess_nodes(nodes(), query_str=QUERY)
    except RuntimeError as error:
        assert "'none' does not exist" in str(error), error
    else:
        raise AssertionError("a model that does not exist ranked")


with serve(sys.argv[1], {"masked": "bert_masked", "ranker": "bert_ranker", "chat": "llama_chat"}) as everything:
    run([tei, openai_embeddings, chat, rerank, errors], everything)
