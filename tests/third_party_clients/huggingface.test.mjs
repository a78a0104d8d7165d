// huggingface.test.mjs - the published `@huggingface/inference` client, unmodified, on sluiced.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { InferenceClient } from '@huggingface/inference';
import { CLASSIFIER, CONTEXT, Daemon, LABELS, MODEL, until } from './daemon.mjs';

const BROKEN = 'broken'; // a model that cannot be loaded
const SPIN_MS = 5000; // the client would ask again and again for longer

let folder, daemon, client;

before(async () => {
  folder = Daemon.makeStore();
  Daemon.addClassifier(folder);
  mkdirSync(join(folder, 'store', BROKEN, '1'), { recursive: true });
  writeFileSync(join(folder, 'store', BROKEN, '1', 'model.json'), 'no JSON');
  daemon = await Daemon.start(folder, 'daemon');
  client = new InferenceClient('none', { endpointUrl: `${daemon.url}/hf/${CLASSIFIER}` });
});

after(async () => {
  await daemon?.stop();
  if (folder) Daemon.removeStore(folder);
});

function isRanked(scores) {
  return scores.every(({ score }, i) => i === 0 || score <= scores[i - 1].score);
}

test('classifies a text', async () => {
  const scores = await client.textClassification({ inputs: 'good day' });
  assert.deepEqual(scores.map(({ label }) => label).sort(), LABELS);
  assert.ok(isRanked(scores));
  const sum = scores.reduce((all, { score }) => all + score, 0);
  assert.ok(Math.abs(sum - 1) < 1e-6, `probabilities sum to ${sum}`);
});

test('gives the same numbers as /predict', async () => {
  const scores = await client.textClassification({ inputs: 'bad day' });
  const response = await fetch(`${daemon.url}/predict`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ inputs: 'bad day' }),
  });
  assert.deepEqual(scores, await response.json());
});

test('takes the parameters of the task', async () => {
  const parameters = { top_k: 1, function_to_apply: 'sigmoid' };
  const scores = await client.textClassification({ inputs: 'fine.', parameters });
  assert.equal(scores.length, 1);
  assert.ok(scores[0].score > 0 && scores[0].score < 1);
});

test('ignores what the hosted API ignores', async () => {
  const parameters = { return_all_scores: true, padding: 'longest' };
  const request = { inputs: 'good day', options: { wait_for_model: true }, parameters };
  const { label } = (await client.textClassification(request, { use_cache: false }))[0];
  assert.ok(LABELS.includes(label));
});

test('reports what is wrong with a request', async () => {
  const cases = [
    [{ inputs: 'a'.repeat(CONTEXT + 1) }, 422, `has ${CONTEXT + 1} tokens`],
    [{ inputs: 'a', parameters: { top_k: 0 } }, 422, 'parameters.top_k'],
  ];
  for (const [request, status, part] of cases)
    await assert.rejects(client.textClassification(request), (error) => {
      assert.equal(error.httpResponse.status, status);
      assert.match(error.httpResponse.body.error, new RegExp(part));
      return true;
    });
});

test('a model that is not there is a 404', async () => {
  const lost = new InferenceClient('none', { endpointUrl: `${daemon.url}/hf/none` });
  await assert.rejects(lost.textClassification({ inputs: 'a' }), (error) => {
    assert.equal(error.httpResponse.status, 404);
    return true;
  });
});

// The client answers a 503 with the same request, without a pause and without an end.
test('a model that could not be loaded is a 424, asked once', { timeout: SPIN_MS }, async () => {
  const lost = new InferenceClient('none', { endpointUrl: `${daemon.url}/hf/${BROKEN}` });
  await assert.rejects(lost.textClassification({ inputs: 'a' }), (error) => {
    assert.equal(error.httpResponse.status, 424);
    assert.equal(error.httpResponse.body.error_type, 'backend');
    return true;
  });
  const labels = { endpoint: '/hf/{name}', code: '424' };
  assert.equal(await daemon.ended(labels), 1);
});

test('a daemon that is shutting down says 429', { timeout: 4 * SPIN_MS }, async (t) => {
  const own = await Daemon.start(folder, 'draining', { 'drain-timeout': 600 });
  own.killAfter(t);
  const lasting = new AbortController();
  try {
    const stream = await fetch(`${own.url}/v1/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: MODEL, prompt: 'a', max_tokens: 1000000, stream: true }),
      signal: lasting.signal,
    });
    assert.equal(stream.status, 200);
    own.process.kill('SIGTERM');
    await until('the shutdown', async () => (await fetch(`${own.url}/health`)).status === 503);
    const late = new InferenceClient('none', { endpointUrl: `${own.url}/hf/${CLASSIFIER}` });
    await assert.rejects(late.textClassification({ inputs: 'good day' }), (error) => {
      assert.equal(error.httpResponse.status, 429);
      assert.equal(error.httpResponse.body.error_type, 'overloaded');
      return true;
    });
  } finally {
    lasting.abort();
    await own.stop();
  }
});
