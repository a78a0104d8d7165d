"""openai_client.py - files, jobs, models, embeddings and conversations through the `openai` client; see python_client.sh."""
# /// script
# dependencies = [
#     "openai==3.51.0",
# ]
# ///
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.request

import openai

from daemon import run, serve, until

TINY = {"width": 16, "depth": 1, "heads": 2, "ffn_width": 32, "context_length": 16, "batch_size": 8}


def models_of(sluice, folder):
    """A tiny model that completes, one that embeds, and one that answers conversations."""
    corpus = folder / "corpus"
    corpus.write_text("abcdefghijklmnopqrstuvwxyz .\n" * 40)
    subprocess.run(
        [sluice, "init", "vanilla", "--corpus", corpus, "--output", folder / "tiny/1"]
        + ["--width", "16", "--heads", "2", "--depth", "1", "--ffn-width", "16"]
        + ["--context-length", "16"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    words = folder / "words"
    words.write_text("".join(f"line {i} of a text without labels\n\n" for i in range(50)))
    subprocess.run(
        [sluice, "train", "tsa", "--corpus", words, "--replace-fraction", "0.2"]
        + ["--tokenizer", "words", "--run-dir", folder / "run", "--output", folder / "base/1"]
        + ["--steps", "1", "--batch-size", "2", "--width", "32", "--depth", "2", "--heads", "2"]
        + ["--ffn-width", "64", "--context-length", "64"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return {"tiny": folder / "tiny/1", "base": folder / "base/1", "chat": "llama_chat"}


def metric(url, name):
    """The sum of a metric's samples."""
    with urllib.request.urlopen(f"{url}/metrics") as response:
        lines = response.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + "{"))


def raises(kind, status, code, call, **arguments):
    try:
        call(**arguments)
    except kind as error:
        assert error.status_code == status and error.code == code, (error, error.code)
        assert error.request_id.startswith("req-"), error.request_id
        return error
    raise AssertionError(f"no {kind.__name__}")


def reviews():
    texts = [("a fine film", "good"), ("a dull film", "bad")] * 40
    return "\n".join(json.dumps({"text": text, "label": label}) for text, label in texts).encode()


def files(client, _):
    ids = [
        client.files.create(file=(f"{i}.jsonl", reviews()), purpose="fine-tune").id for i in range(3)
    ]
    assert [file.id for file in client.files.list(limit=1)] == ids[::-1], "pages, newest first"
    assert [file.id for file in client.files.list(limit=2, order="asc")] == ids
    assert client.files.content(ids[0]).read() == reviews()
    assert client.files.retrieve(ids[1]).filename == "1.jsonl"
    assert client.files.wait_for_processing(ids[1]).status == "processed"
    assert client.files.delete(ids[2]).deleted
    raises(openai.NotFoundError, 404, "file_not_found", client.files.retrieve, file_id=ids[2])
    raises(
        openai.BadRequestError, 400, "invalid_value",
        client.files.create, file=("x.jsonl", b"{}"), purpose="assistants",
    )


def create(client, file, epochs, **fields):
    return client.fine_tuning.jobs.create(
        model="encoder",
        training_file=file,
        suffix="mood",
        seed=1,
        method={"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": epochs, **TINY}}},
        **fields,
    )


def jobs(client, _):
    file = client.files.create(file=("r.jsonl", reviews()), purpose="fine-tune").id
    made = [create(client, file, 2, metadata={"team": "films", "run": str(i)}) for i in range(2)]
    made.append(create(client, file, 100000))
    retrieve = client.fine_tuning.jobs.retrieve
    done = until("the end of the job", lambda: (j := retrieve(made[0].id)).finished_at and j)
    assert done.status == "succeeded" and done.fine_tuned_model == "mood@1", done
    assert done.method.supervised.hyperparameters.n_epochs == 2
    events = list(client.fine_tuning.jobs.list_events(done.id, limit=2))
    assert "successfully completed" in events[0].message, events[0]
    assert "Created fine-tuning job" in events[-1].message, events[-1]
    assert len({event.id for event in events}) == len(events) > 4
    metrics = [event for event in events if event.type == "metrics"]
    assert metrics and all("train_loss" in event.data or "valid_loss" in event.data for event in metrics)
    checkpoint = next(iter(client.fine_tuning.jobs.checkpoints.list(done.id)))
    assert checkpoint.fine_tuning_job_id == done.id
    assert client.files.content(done.result_files[0]).text.startswith("step,train_loss")

    ids = [job.id for job in made[::-1]]
    assert [job.id for job in client.fine_tuning.jobs.list(limit=1)] == ids
    assert [job.id for job in client.fine_tuning.jobs.list(metadata={"team": "films"}, limit=1)] == ids[1:]
    assert [job.id for job in client.fine_tuning.jobs.list(metadata={"team": "films", "run": "1"})] == ids[1:2]
    assert [job.id for job in client.fine_tuning.jobs.list(after=ids[0])] == ids[1:]
    until("the last job's turn", lambda: retrieve(ids[0]).status == "running")
    assert client.fine_tuning.jobs.pause(ids[0]).id == ids[0]
    assert until("the pause", lambda: retrieve(ids[0]).status == "queued")
    client.fine_tuning.jobs.resume(ids[0])
    client.fine_tuning.jobs.cancel(ids[0])
    until("the end", lambda: retrieve(ids[0]).status == "cancelled")
    error = raises(openai.ConflictError, 409, "conflict", client.fine_tuning.jobs.cancel, fine_tuning_job_id=ids[0])
    assert error.response.headers["x-should-retry"] == "false"
    raises(openai.NotFoundError, 404, "job_not_found", retrieve, fine_tuning_job_id="ftjob-0")
    raises(
        openai.BadRequestError, 400, "invalid_value",
        client.fine_tuning.jobs.create, model="encoder", training_file=file, hyperparameters={"n_epochs": -1},
    )


def models(client, url):
    assert {model.id for model in client.models.list()} >= {"tiny", "mood"}
    assert client.models.retrieve("mood@1").object == "model"
    deleted = client.models.delete("mood")
    assert deleted.deleted and deleted.id == "mood", deleted
    raises(openai.NotFoundError, 404, "model_not_found", client.models.retrieve, model="mood")
    raises(openai.NotFoundError, 404, "model_not_found", client.models.delete, model="none")
    public = openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0)
    raises(openai.PermissionDeniedError, 403, "permission_denied", public.models.delete, model="tiny")


def embeddings(_, url):
    """The client asks for base64 unless it is told otherwise."""
    client = openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0)
    texts = ["a text without labels", "line 7"]
    answer = client.embeddings.create(model="base", input=texts)
    plain = client.embeddings.create(model="base", input=texts, encoding_format="float")
    assert [one.index for one in answer.data] == [0, 1] and answer.model == "base@1", answer
    assert all(isinstance(number, float) for number in plain.data[0].embedding)
    for one, other in zip(answer.data, plain.data):
        assert len(one.embedding) == 32
        assert max(abs(a - b) for a, b in zip(one.embedding, other.embedding)) < 1e-7
        assert abs(sum(number * number for number in one.embedding) - 1) < 1e-5
    assert answer.usage.prompt_tokens == answer.usage.total_tokens > 5, answer.usage
    few = client.embeddings.create(model="base", input="line 7", dimensions=4)
    assert len(few.data[0].embedding) == 4
    raises(openai.BadRequestError, 400, "invalid_value", client.embeddings.create, model="base", input=[[5, 6, 7]])
    raises(openai.BadRequestError, 400, "no_embeddings", client.embeddings.create, model="tiny", input="a")
    raises(openai.BadRequestError, 400, "invalid_value", client.embeddings.create, model="base", input="")
    raises(openai.NotFoundError, 404, "model_not_found", client.embeddings.create, model="none", input="a")


def conversations(_, url):
    client = openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0)
    messages = [{"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Who are you?"}]}]

    def ask(**fields):
        usual = {"model": "chat", "messages": messages, "max_completion_tokens": 12, "seed": 4}
        return client.chat.completions.create(**{**usual, **fields})

    whole = ask(logprobs=True, top_logprobs=3)
    assert whole.object == "chat.completion" and whole.id.startswith("chatcmpl-"), whole
    assert [choice.index for choice in whole.choices] == [0]
    for choice in whole.choices:
        assert choice.message.role == "assistant" and choice.message.refusal is None, choice
        assert all(len(token.top_logprobs) == 3 for token in choice.logprobs.content)
        assert sum(len(token.bytes) for token in choice.logprobs.content) == 12, choice
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
    texts, reasons, roles, usage = [""], [None], [0], None
    for chunk in ask(stream=True, stream_options={"include_usage": True}):
        assert chunk.object == "chat.completion.chunk" and usage is None
        usage = chunk.usage
        for choice in chunk.choices:
            assert reasons[choice.index] is None, "text after its end"
            roles[choice.index] += choice.delta.role == "assistant"
            texts[choice.index] += choice.delta.content or ""
            reasons[choice.index] = choice.finish_reason
    assert texts == [choice.message.content for choice in whole.choices], (texts, whole)
    assert reasons == [choice.finish_reason for choice in whole.choices]
    assert roles == [1] and usage == whole.usage
    with client.chat.completions.stream(model="chat", messages=messages, logit_bias={"258": 100}) as events:
        final = events.get_final_completion()
    assert final.choices[0].finish_reason == "stop" and final.choices[0].message.content == "", final
    next_turn = messages + [whole.choices[0].message, {"role": "user", "content": "Why?"}]
    assert ask(messages=next_turn).usage.prompt_tokens > whole.usage.prompt_tokens
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    raises(openai.BadRequestError, 400, "unsupported_parameter", ask, tools=[tool])
    raises(openai.BadRequestError, 400, "no_chat_template", ask, model="tiny")


def retries(_, url):
    """A full queue is a RateLimitError; a client that retries gets its answer when there is room."""
    client = openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0)
    hog = client.completions.create(model="tiny", prompt="a", max_tokens=500000, stream=True)
    next(iter(hog))
    raises(
        openai.RateLimitError, 429, "server_overloaded",
        client.completions.create, model="tiny", prompt="a", max_tokens=1,
    )
    patient = openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=8)
    refused = metric(url, "sluice_queue_full_total")
    threading.Timer(0.3, hog.close).start()
    answer = patient.completions.create(model="tiny", prompt="a", max_tokens=2)
    assert answer.usage.completion_tokens == 2
    assert metric(url, "sluice_queue_full_total") > refused, "it was never refused"


def main(sluiced, sluice):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        options = ["--admin-listen", "127.0.0.1:0", "--state", folder / "state", "--max-sequences", "1"]
        with serve(sluiced, models_of(sluice, folder), *options, "--max-queue-size", "0") as (url, admin):
            client = openai.OpenAI(api_key="none", base_url=f"{admin}/v1", max_retries=0)
            run([files, jobs, models, embeddings, conversations, retries], client, url)


main(*sys.argv[1:])
