// decisions.test.mjs - decisions of the published `openai` client, unmodified, against sluiced.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI, { BadRequestError, NotFoundError } from 'openai';
import { CLASSIFIER, CONTEXT, Daemon, LABELS, MODEL } from './daemon.mjs';

let folder, daemon, client;

before(async () => {
  folder = Daemon.makeStore();
  Daemon.addClassifier(folder);
  daemon = await Daemon.start(folder, 'daemon');
  client = new OpenAI({ apiKey: 'none', baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});

after(async () => {
  await daemon?.stop();
  if (folder) Daemon.removeStore(folder);
});

const choice = {
  type: 'choice',
  name: 'mood',
  instructions: 'How does it sound?',
  choices: LABELS.map((value) => ({ value })),
};

function decide(questions, fields = {}) {
  return client.decisions.create({ model: CLASSIFIER, input: 'good day', questions, ...fields });
}

test('a choice among the labels', async () => {
  const decision = await decide([choice]);
  assert.equal(decision.model, `${CLASSIFIER}@1`);
  assert.match(decision._request_id, /^req-/);
  const [answer] = decision.answers;
  assert.equal(answer.type, 'choice');
  assert.equal(answer.name, 'mood');
  assert.ok(LABELS.includes(answer.choice));
  assert.deepEqual(answer.probabilities.map(({ value }) => value), LABELS);
  const best = Math.max(...answer.probabilities.map(({ probability }) => probability));
  assert.equal(answer.confidence, best);
  const { sluice, ...usage } = decision.usage;
  assert.deepEqual(usage, {
    input_tokens: 8,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 8,
  });
  assert.ok(sluice.depth_mean > 0);
});

test('questions of every type, answered in their order', async () => {
  const decision = await decide([
    { type: 'predicate', instructions: 'positive' },
    { type: 'score', instructions: '?', levels: LABELS.map((label) => ({ label })) },
    choice,
  ]);
  const [predicate, score, { probabilities }] = decision.answers;
  assert.deepEqual(decision.answers.map(({ type }) => type), ['predicate', 'score', 'choice']);
  assert.equal(predicate.name, null);
  assert.ok(Math.abs(predicate.probability - probabilities[1].probability) < 1e-6);
  assert.deepEqual(score.probabilities.map(({ label, value }) => [label, value]), [
    ['negative', 0],
    ['positive', 1],
  ]);
  assert.ok(Math.abs(score.score - predicate.probability) < 1e-6, 'the mean of 0 and 1');
});

test('messages and their parts are lines of one text', async () => {
  const parts = [{ type: 'input_text', text: 'good' }, { type: 'input_text', text: 'day' }];
  const joined = await decide([choice], { input: 'good\nday' });
  const apart = await decide([choice], { input: [{ role: 'user', content: parts }] });
  const messages = parts.map(({ text }) => ({ role: 'user', content: text }));
  assert.deepEqual(apart.answers, joined.answers);
  assert.deepEqual((await decide([choice], { input: messages })).answers, joined.answers);
});

test('what a classifier cannot decide is a BadRequestError that names the labels', async () => {
  await assert.rejects(decide([{ type: 'predicate', instructions: 'Is it nice?' }]), (error) => {
    assert.ok(error instanceof BadRequestError);
    assert.equal(error.code, 'invalid_value');
    assert.equal(error.param, 'questions[0].instructions');
    assert.match(error.message, /negative, positive/);
    return true;
  });
  await assert.rejects(decide([choice], { input: 'a'.repeat(CONTEXT + 1) }), (error) => {
    assert.equal(error.code, 'context_length_exceeded');
    return true;
  });
  await assert.rejects(decide([choice], { model: MODEL }), BadRequestError);
  await assert.rejects(decide([choice], { model: 'none' }), NotFoundError);
});

test('classifiers are listed among the models', async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids, [CLASSIFIER, MODEL]);
  const model = await client.models.retrieve(CLASSIFIER);
  assert.deepEqual(model.sluice.labels, LABELS);
});

test('a classifier completes nothing', async () => {
  await assert.rejects(
    client.completions.create({ model: CLASSIFIER, prompt: 'a' }),
    BadRequestError,
  );
});
