// huggingface.test.mjs - the published `@huggingface/inference` client, unmodified, on sluiced.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { InferenceClient } from '@huggingface/inference';
import { CLASSIFIER, CONTEXT, Daemon, LABELS } from './daemon.mjs';

let folder, daemon, client;

before(async () => {
  folder = Daemon.makeStore();
  Daemon.addClassifier(folder);
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

test('tells what is wrong with a request', async () => {
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
