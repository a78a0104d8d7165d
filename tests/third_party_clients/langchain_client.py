"""langchain_client.py - embeddings, conversations and rankings through LangChain; see python_client.sh."""
# /// script
# dependencies = [
#     "langchain-cohere==0.6.0",
#     "langchain-core==1.8.3",
#     "langchain-huggingface==1.2.3",
#     "langchain-openai==1.7.4",
#     "numpy==2.4.6",
#     "openai==3.57.0",
#     "tiktoken==0.14.0",
# ]
# ///
import sys

import openai
import tiktoken
from huggingface_hub import InferenceClient
from langchain_cohere import CohereRerank
from langchain_core.documents import Document
from langchain_huggingface import HuggingFaceEndpointEmbeddings
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

from daemon import run, serve

TEXTS = ["a b", "c\nd e"]
MESSAGES = [("system", "Be brief."), ("user", "Who are you?")]


def same(one, other):
    assert len(one) == len(other) and max(abs(a - b) for a, b in zip(one, other)) < 1e-6, (one, other)


def huggingface(url):
    """Since 1.2.2 it takes names only; the client that it makes is replaced by one with a URL."""
    embeddings = HuggingFaceEndpointEmbeddings(model="masked", huggingfacehub_api_token="none")
    answers = []
    for at in [url, f"{url}/models/masked", f"{url}/models/masked/embed", f"{url}/hf/masked/pipeline/feature-extraction"]:
        embeddings.client = InferenceClient(model=at)
        answers.append(embeddings.embed_documents(TEXTS))
        same(embeddings.embed_query(TEXTS[0]), answers[-1][0])
    assert all(answer == answers[0] for answer in answers)


def openai_embeddings(url):
    usual = {"model": "masked", "base_url": f"{url}/v1", "api_key": "none"}
    embeddings = OpenAIEmbeddings(**usual, check_embedding_ctx_length=False)
    vectors = embeddings.embed_documents(TEXTS)
    assert [len(vector) for vector in vectors] == [24, 24]
    same(embeddings.embed_query(TEXTS[0]), vectors[0])
    few = OpenAIEmbeddings(**usual, check_embedding_ctx_length=False, dimensions=8).embed_query(TEXTS[0])
    assert len(few) == 8


def openai_token_ids(url):
    """What it sends by default; the tokenizer, which it would download, stands for that of OpenAI."""
    tiktoken.get_encoding = lambda name: tiktoken.Encoding(
        name="bytes", pat_str=".", mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={}
    )
    try:
        OpenAIEmbeddings(model="masked", base_url=f"{url}/v1", api_key="none").embed_documents(TEXTS)
    except openai.BadRequestError as error:
        assert "check_embedding_ctx_length=False" in error.body["message"], error
    else:
        raise AssertionError("ids of another tokenizer were accepted")


def chat(url):
    model = ChatOpenAI(model="chat", base_url=f"{url}/v1", api_key="none", max_tokens=8, temperature=0)
    whole = model.invoke(MESSAGES)
    assert whole.usage_metadata["output_tokens"] == 8 and whole.response_metadata["finish_reason"] == "length", whole
    chunks = list(model.stream(MESSAGES))
    assert "".join(chunk.content for chunk in chunks) == whole.content
    usage = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert usage == [whole.usage_metadata], usage
    assert [answer.content for answer in model.batch([MESSAGES, MESSAGES])] == [whole.content] * 2


def rerank(url):
    documents = [Document("It rained."), Document("The red team won.", metadata={"page": 3}), Document("Shares fell.")]
    ranker = CohereRerank(model="ranker", base_url=url, cohere_api_key="none", top_n=2)
    best = ranker.compress_documents(documents, "Who won?")
    scores = [document.metadata["relevance_score"] for document in best]
    assert len(best) == 2 and 1 > scores[0] >= scores[1] > 0, best
    alone = ranker.compress_documents([document for document in documents if document.page_content == best[1].page_content],
                                      "Who won?")
    assert alone[0].metadata["relevance_score"] == scores[1]


with serve(sys.argv[1], {"masked": "bert_masked", "ranker": "bert_ranker", "chat": "llama_chat"}) as everything:
    run([openai_embeddings, openai_token_ids, chat, rerank], everything)
with serve(sys.argv[1], {"masked": "bert_masked"}) as alone:
    run([huggingface], alone)
