// openai.test.mjs - the published `openai` client, unmodified, against sluiced.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI, {
  APIConnectionTimeoutError,
  APIUserAbortError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
  toFile,
} from 'openai';
import { CONTEXT, Daemon, MODEL, until } from './daemon.mjs';

const LONG = 500000; // tokens: many seconds, for tests that disconnect early

let folder, daemon, client;

function connect(to, options = {}) {
  return new OpenAI({ apiKey: 'none', baseURL: `${to.url}/v1`, maxRetries: 0, ...options });
}

function complete(fields, options) {
  const usual = { model: MODEL, prompt: 'abc', max_tokens: 8 };
  return client.completions.create({ ...usual, ...fields }, options);
}

async function texts(stream) {
  const found = [];
  for await (const chunk of stream)
    for (const { index, text } of chunk.choices) found[index] = (found[index] ?? '') + text;
  return found;
}

/// Checks what an error of the client knows about itself.
function isError(kind, status, fields) {
  return (error) => {
    assert.ok(error instanceof kind, `${error.constructor.name}: ${error.message}`);
    assert.equal(error.status, status);
    assert.match(error.requestID, /^req-/);
    for (const [name, value] of Object.entries(fields))
      if (value instanceof RegExp) assert.match(error[name], value);
      else assert.equal(error[name], value, name);
    return true;
  };
}

before(async () => {
  folder = Daemon.makeStore();
  daemon = await Daemon.start(folder, 'daemon');
  client = connect(daemon);
});

after(async () => {
  await daemon?.stop();
  if (folder) Daemon.removeStore(folder);
});

// ---- models ---------------------------------------------------------------------------------

test('lists models', async () => {
  const page = await client.models.list();
  assert.equal(page.object, 'list');
  const data = page.data.map((model) => [model.id, model.object, model.owned_by]);
  assert.deepEqual(data, [[MODEL, 'model', 'local']]);
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids, [MODEL]);
});

test('retrieves a model', async () => {
  const model = await client.models.retrieve(MODEL);
  assert.equal(model.id, MODEL);
  assert.equal(model.object, 'model');
  assert.ok(Number.isInteger(model.created));
  assert.equal(model.max_model_len, CONTEXT);
  assert.match(model._request_id, /^req-/);
});

test('a model that is not there is a NotFoundError', async () => {
  await assert.rejects(
    client.models.retrieve('no/such model?'),
    isError(NotFoundError, 404, { code: 'model_not_found', message: /no\/such model\?/ }),
  );
  await assert.rejects(
    complete({ model: 'gpt-5' }),
    isError(NotFoundError, 404, { code: 'model_not_found', param: 'model', message: /gpt-5/ }),
  );
});

// ---- completions ----------------------------------------------------------------------------

test('completes', async () => {
  const before = Math.floor(Date.now() / 1000);
  const completion = await complete({});
  assert.match(completion.id, /^cmpl-/);
  assert.match(completion._request_id, /^req-/);
  assert.match(completion.system_fingerprint, /^fp_/);
  assert.equal(completion.object, 'text_completion');
  assert.equal(completion.model, `${MODEL}@1`);
  assert.ok(completion.created >= before);
  assert.equal(completion.choices.length, 1);
  const [choice] = completion.choices;
  assert.equal([...choice.text].length, 8, 'a token is a character');
  assert.equal(choice.index, 0);
  assert.equal(choice.finish_reason, 'length');
  assert.equal(choice.logprobs, null);
  const { sluice, ...usage } = completion.usage;
  assert.deepEqual(usage, { prompt_tokens: 3, completion_tokens: 8, total_tokens: 11 });
  assert.ok(sluice.depth_mean > 0 && sluice.layer_ops_skipped >= 0);
});

test('says in headers what an answer used', async () => {
  const { response } = await complete({}).withResponse();
  assert.ok(Number(response.headers.get('x-sluice-depth-mean')) > 0);
  assert.ok(Number(response.headers.get('x-sluice-layer-ops-skipped')) >= 0);
});

test('takes a request id from the client', async () => {
  const completion = await complete({}, { headers: { 'x-request-id': 'mine-42' } });
  assert.equal(completion._request_id, 'mine-42');
});

test('the same seed gives the same text, alone and among others', async () => {
  const alone = await complete({ seed: 7, max_tokens: 60 });
  const seeds = [...Array(24).keys()];
  const many = await Promise.all(seeds.map((seed) => complete({ seed, max_tokens: 60 })));
  assert.equal(many[7].choices[0].text, alone.choices[0].text);
  assert.equal(many[7].system_fingerprint, alone.system_fingerprint);
  assert.equal(new Set(many.map((answer) => answer.choices[0].text)).size, many.length);
  const greedy = await Promise.all([1, 2].map((seed) => complete({ seed, temperature: 0 })));
  assert.equal(greedy[0].choices[0].text, greedy[1].choices[0].text);
});

test('n answers to each of several prompts', async () => {
  const prompts = ['abc', 'é€😀'];
  const completion = await complete({ prompt: prompts, n: 2, seed: 3 });
  assert.deepEqual(completion.choices.map((choice) => choice.index), [0, 1, 2, 3]);
  assert.equal(completion.usage.prompt_tokens, 6);
  assert.equal(completion.usage.completion_tokens, 4 * 8);
  const single = await complete({ prompt: prompts[1], n: 2, seed: 3 });
  const found = completion.choices.slice(2).map((choice) => choice.text);
  assert.deepEqual(found, single.choices.map((choice) => choice.text));
  assert.notEqual(single.choices[0].text, single.choices[1].text);
});

test('prompts of token ids', async () => {
  const echoed = await complete({ prompt: [1, 2, 3], echo: true, max_tokens: 0, logprobs: 0 });
  const text = echoed.choices[0].text;
  assert.equal([...text].length, 3);
  const ids = await complete({ prompt: [1, 2, 3], seed: 3 });
  const same = await complete({ prompt: text, seed: 3 });
  assert.equal(ids.choices[0].text, same.choices[0].text);
  const two = await complete({ prompt: [[1, 2, 3], [4]], seed: 3 });
  assert.equal(two.choices[0].text, ids.choices[0].text);
  assert.equal(two.usage.prompt_tokens, 4);
});

test('echo and logprobs', async () => {
  const completion = await complete({ prompt: '€ab', echo: true, logprobs: 3, max_tokens: 4 });
  const [{ text, logprobs }] = completion.choices;
  assert.ok(text.startsWith('€ab'));
  assert.equal(logprobs.tokens.length, 7);
  assert.equal(logprobs.tokens.join(''), text);
  assert.deepEqual(logprobs.text_offset, [0, 1, 2, 3, 4, 5, 6]);
  assert.equal(logprobs.token_logprobs[0], null);
  for (let i = 1; i < 7; i++) {
    assert.ok(logprobs.token_logprobs[i] <= 0);
    const top = logprobs.top_logprobs[i];
    const count = Object.keys(top).length;
    assert.ok(count === 3 || count === 4, `${count} candidates`);
    assert.ok(Object.values(top).includes(logprobs.token_logprobs[i]) || count === 3);
  }
});

test('stops at a string, which it does not give', async () => {
  const whole = (await complete({ seed: 11, max_tokens: 40 })).choices[0].text;
  const stop = [...whole][12];
  const cut = await complete({ seed: 11, max_tokens: 40, stop: ['no such text', stop] });
  assert.equal(cut.choices[0].text, whole.slice(0, whole.indexOf(stop)));
  assert.equal(cut.choices[0].finish_reason, 'stop');
  const single = await complete({ seed: 11, max_tokens: 40, stop });
  assert.equal(single.choices[0].text, cut.choices[0].text);
});

test('goes on beyond the context', async () => {
  const completion = await complete({ max_tokens: 4 * CONTEXT });
  assert.equal(completion.usage.completion_tokens, 4 * CONTEXT);
});

// ---- streams --------------------------------------------------------------------------------

test('streams what it would have answered', async () => {
  const fields = { prompt: ['abc', 'B'], n: 2, seed: 5, max_tokens: 100 };
  const whole = (await complete(fields)).choices.map((choice) => choice.text);
  assert.deepEqual(await texts(await complete({ ...fields, stream: true })), whole);
  assert.ok(!whole.join('').includes('\ufffd'));
});

test('a stream ends with a reason and with the usage', async () => {
  const reasons = [];
  let usage, id;
  const stream = await complete({ stream: true, stream_options: { include_usage: true } });
  for await (const chunk of stream) {
    assert.equal(id ?? chunk.id, chunk.id);
    id = chunk.id;
    for (const choice of chunk.choices) {
      assert.equal(chunk.usage, null);
      reasons.push(choice.finish_reason);
    }
    if (chunk.choices.length === 0) usage = chunk.usage;
  }
  assert.equal(reasons.pop(), 'length');
  assert.ok(reasons.every((reason) => reason === null));
  assert.equal(usage.completion_tokens, 8);
  assert.equal(usage.total_tokens, 11);
});

test('a stream has log probabilities too', async () => {
  const tokens = [];
  let text = '';
  for await (const { choices } of await complete({ stream: true, logprobs: 1 }))
    for (const choice of choices) {
      text += choice.text;
      tokens.push(...choice.logprobs.tokens);
    }
  assert.equal(tokens.length, 8);
  assert.equal(tokens.join(''), text);
});

// ---- leaving --------------------------------------------------------------------------------

/// Waits until this many requests were counted as cancelled, and none is left running.
async function cancelled(count) {
  await until(`${count} cancellations`, async () => (await daemon.cancelled()) === count);
  await until('an empty slot', async () => (await daemon.running()) === 0);
}

test('a stream left by break is cancelled', async () => {
  const before = await daemon.cancelled();
  let chunks = 0;
  for await (const chunk of await complete({ stream: true, max_tokens: LONG })) {
    assert.equal(chunk.choices[0].finish_reason, null);
    if (++chunks === 5) break;
  }
  await cancelled(before + 1);
});

test('a stream that is aborted is cancelled', async () => {
  const before = await daemon.cancelled();
  const stream = await complete({ stream: true, max_tokens: LONG });
  for await (const chunk of stream) {
    assert.ok(chunk);
    stream.controller.abort();
  }
  await cancelled(before + 1);
});

test('a response that no client waits for is cancelled', async () => {
  const before = await daemon.cancelled();
  const controller = new AbortController();
  const answer = complete({ max_tokens: LONG }, { signal: controller.signal });
  const refused = assert.rejects(answer, APIUserAbortError);
  await until('the work', async () => (await daemon.running()) === 1);
  controller.abort();
  await refused;
  await assert.rejects(complete({ max_tokens: LONG }, { timeout: 100 }), APIConnectionTimeoutError);
  await cancelled(before + 2);
});

// ---- refusals -------------------------------------------------------------------------------

test('bad parameters are BadRequestErrors that name them', async () => {
  const cases = [
    [{ temperature: 3 }, 'invalid_value', 'temperature'],
    [{ max_tokens: -1 }, 'invalid_value', 'max_tokens'],
    [{ max_tokens: 'many' }, 'invalid_value', 'max_tokens'],
    [{ n: 0 }, 'invalid_value', 'n'],
    [{ stop: Array(17).fill('a') }, 'invalid_value', 'stop'],
    [{ logprobs: 6 }, 'invalid_value', 'logprobs'],
    [{ prompt: [99999] }, 'invalid_value', 'prompt[0]'],
    [{ prompt: 'µ' }, 'unknown_characters', 'prompt'],
    [{ suffix: 'end' }, 'unsupported_parameter', 'suffix'],
    [{ best_of: 4 }, 'unsupported_parameter', 'best_of'],
    [{ temprature: 1 }, 'unknown_parameter', 'temprature'],
    [{ stream: true, logit_bias: { 99999: 1 } }, 'invalid_value', 'logit_bias'],
  ];
  for (const [fields, code, param] of cases)
    await assert.rejects(
      complete(fields),
      isError(BadRequestError, 400, { code, param, type: 'invalid_request_error' }),
      JSON.stringify(fields),
    );
  await assert.rejects(
    client.completions.create({ prompt: 'abc' }),
    isError(BadRequestError, 400, { code: 'missing_required_parameter', param: 'model' }),
  );
});

test('a prompt that is too long says both lengths', async () => {
  const prompt = 'a'.repeat(CONTEXT + 9);
  await assert.rejects(
    complete({ prompt }),
    isError(BadRequestError, 400, {
      code: 'context_length_exceeded',
      param: 'prompt',
      message: new RegExp(`${CONTEXT + 9}.*${CONTEXT}`),
    }),
  );
  const cut = await complete({ prompt, truncate: true });
  assert.equal(cut.usage.prompt_tokens, CONTEXT);
});

test('what there is not is a NotFoundError', async () => {
  await assert.rejects(
    client.responses.create({ model: MODEL, input: 'a' }),
    isError(NotFoundError, 404, { code: 'not_found', message: /chat.completions/ }),
  );
});

test('a model without a chat template is a BadRequestError', async () => {
  await assert.rejects(
    client.chat.completions.create({ model: MODEL, messages: [{ role: 'user', content: 'a' }] }),
    isError(BadRequestError, 400, { code: 'no_chat_template', param: 'model' }),
  );
});

test('a full queue is a RateLimitError, and passes', async (t) => {
  const small = await Daemon.start(folder, 'small', { 'max-sequences': 1, 'max-queue-size': 0 });
  small.killAfter(t);
  const fields = { model: MODEL, prompt: 'abc' };
  let refusals = 0;
  try {
    const impatient = connect(small);
    const hog = await impatient.completions.create({ ...fields, max_tokens: LONG, stream: true });
    await assert.rejects(
      impatient.completions.create(fields),
      isError(RateLimitError, 429, { code: 'server_overloaded', type: 'rate_limit_error' }),
    );
    // The client's own fetch, told apart from other people's only by what it does after a refusal.
    const watching = async (...request) => {
      const response = await fetch(...request);
      if (response.status === 429) {
        refusals++;
        assert.ok(Number(response.headers.get('retry-after-ms')) > 0);
        assert.ok(Number(response.headers.get('retry-after')) >= 1);
        hog.controller.abort();
        await until('an empty slot', async () => (await small.running()) === 0);
      }
      return response;
    };
    const patient = connect(small, { maxRetries: undefined, fetch: watching });
    const completion = await patient.completions.create(fields);
    assert.equal(completion.usage.completion_tokens, 16);
    assert.equal(refusals, 1);
    assert.equal(await small.metric('sluice_queue_full_total'), 2);
  } finally {
    await small.stop();
  }
});

test('a request with its own deadline is not retried', async () => {
  const eager = connect(daemon, { maxRetries: 2 });
  const fields = { model: MODEL, prompt: 'abc', max_tokens: LONG };
  await assert.rejects(
    eager.completions.create(fields, { headers: { 'X-Request-Timeout-Ms': '30' } }),
    isError(InternalServerError, 504, { code: 'deadline_exceeded' }),
  );
  assert.equal(await daemon.ended({ reason: 'expired' }), 1);
});

// ---- files and training jobs ----------------------------------------------------------------

test('uploads a file, trains a model on it, follows its events and reads its results', async (t) => {
  const trainer = await Daemon.start(folder, 'trainer', {
    state: `${folder}/state`,
    'admin-listen': '127.0.0.1:0',
  });
  trainer.killAfter(t);
  const jobs = connect({ url: trainer.adminUrl });
  const lines = [];
  for (let i = 0; i < 60; i++)
    lines.push(JSON.stringify({ text: i % 2 ? 'a dull film' : 'a fine film', label: i % 2 ? 'bad' : 'good' }));
  const file = await jobs.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'reviews.jsonl'),
    purpose: 'fine-tune',
  });
  assert.equal(file.status, 'processed');
  const job = await jobs.fineTuning.jobs.create({
    model: 'encoder',
    training_file: file.id,
    suffix: 'mood',
    seed: 3,
    metadata: { team: 'films' },
    method: {
      type: 'supervised',
      supervised: { hyperparameters: { n_epochs: 4, batch_size: 8, width: 16, depth: 1, heads: 2, ffn_width: 32 } },
    },
  });
  assert.match(job.id, /^ftjob-/);
  await until('the end of the job', async () => (await jobs.fineTuning.jobs.retrieve(job.id)).finished_at);
  const done = await jobs.fineTuning.jobs.retrieve(job.id);
  assert.equal(done.status, 'succeeded', JSON.stringify(done.error));
  assert.equal(done.fine_tuned_model, 'mood@1');
  assert.deepEqual(done.metadata, { team: 'films' });
  assert.equal(done.method.supervised.hyperparameters.n_epochs, 4);
  const messages = [];
  for await (const event of jobs.fineTuning.jobs.listEvents(job.id, { limit: 3 })) messages.push(event.message);
  assert.match(messages[0], /successfully completed/);
  assert.match(messages.at(-1), /Created fine-tuning job/);
  assert.equal(new Set(messages).size, messages.length);
  const [checkpoint] = (await jobs.fineTuning.jobs.checkpoints.list(job.id)).data;
  assert.equal(checkpoint.fine_tuning_job_id, job.id);
  const csv = await (await jobs.files.content(done.result_files[0])).text();
  assert.match(csv, /^step,train_loss/);
  const listed = async (query) => {
    const ids = [];
    for await (const { id } of jobs.fineTuning.jobs.list({ limit: 1, ...query })) ids.push(id);
    return ids;
  };
  const other = await jobs.fineTuning.jobs.create({ model: 'encoder', training_file: file.id, suffix: 'other' });
  assert.deepEqual(await listed({}), [other.id, job.id]);
  assert.deepEqual(await listed({ metadata: { team: 'films' } }), [job.id]);
  assert.deepEqual(await listed({ metadata: { team: 'books' } }), []);
  assert.equal((await jobs.fineTuning.jobs.cancel(other.id)).id, other.id);
  const unloaded = await jobs.models.delete('mood');
  assert.deepEqual([unloaded.id, unloaded.object, unloaded.deleted], ['mood', 'model', true]);
  await assert.rejects(jobs.models.retrieve('mood'), isError(NotFoundError, 404, { code: 'model_not_found' }));
  assert.equal((await jobs.files.delete(file.id)).deleted, true);
  await assert.rejects(jobs.fineTuning.jobs.cancel(job.id), isError(ConflictError, 409, { code: 'conflict' }));
  await assert.rejects(jobs.fineTuning.jobs.retrieve('ftjob-0'), isError(NotFoundError, 404, { code: 'job_not_found' }));
  await assert.rejects(
    jobs.fineTuning.jobs.create({ model: 'encoder', training_file: 'file-0' }),
    isError(NotFoundError, 404, { code: 'file_not_found', param: 'training_file' }),
  );
  await trainer.stop();
});
