// embeddings.test.mjs - the published `openai` and `@huggingface/inference` clients, unmodified, asking sluiced for
// embeddings.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { InferenceClient } from '@huggingface/inference';
import OpenAI, { BadRequestError, NotFoundError } from 'openai';
import { BASE, Daemon, MODEL, WIDTH } from './daemon.mjs';

const TEXTS = ['a text without labels', 'a line'];

let folder, daemon, client;

before(async () => {
  folder = Daemon.makeStore();
  Daemon.addBase(folder);
  daemon = await Daemon.start(folder, 'daemon');
  client = new OpenAI({ apiKey: 'none', baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});

after(async () => {
  await daemon?.stop();
  if (folder) Daemon.removeStore(folder);
});

test('embeds texts, in base64 by default', async () => {
  const answer = await client.embeddings.create({ model: BASE, input: TEXTS });
  const plain = await client.embeddings.create({ model: BASE, input: TEXTS, encoding_format: 'float' });
  assert.equal(answer.object, 'list');
  assert.equal(answer.model, `${BASE}@1`);
  assert.deepEqual(answer.data.map(({ index, object }) => [index, object]), [[0, 'embedding'], [1, 'embedding']]);
  answer.data.forEach(({ embedding }, i) => {
    assert.equal(embedding.length, WIDTH);
    embedding.forEach((x, k) => assert.ok(Math.abs(x - plain.data[i].embedding[k]) < 1e-7));
    const squares = embedding.reduce((sum, x) => sum + x * x, 0);
    assert.ok(Math.abs(squares - 1) < 1e-5, `length ${Math.sqrt(squares)}`);
  });
  assert.ok(answer.usage.prompt_tokens > 5);
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens);
});

test('gives fewer dimensions', async () => {
  const answer = await client.embeddings.create({ model: BASE, input: TEXTS, dimensions: 4 });
  assert.deepEqual(answer.data.map(({ embedding }) => embedding.length), [4, 4]);
});

test("gives Hugging Face's client the same numbers", async () => {
  const endpointUrl = `${daemon.url}/models/${BASE}/embed`;
  const plain = await client.embeddings.create({ model: BASE, input: TEXTS, encoding_format: 'float' });
  const features = new InferenceClient('none', { endpointUrl });
  assert.deepEqual(await features.featureExtraction({ inputs: TEXTS }), plain.data.map(({ embedding }) => embedding));
  assert.deepEqual(await features.featureExtraction({ inputs: TEXTS[0] }), [plain.data[0].embedding]);
});

test('reports what is wrong', async () => {
  const cases = [
    [{ model: MODEL, input: 'a' }, BadRequestError, 'no_embeddings'],
    [{ model: BASE, input: [[5, 6], [7]] }, BadRequestError, 'invalid_value'],
    [{ model: BASE, input: 'a', dimensions: WIDTH + 1 }, BadRequestError, 'invalid_value'],
    [{ model: 'none', input: 'a' }, NotFoundError, 'model_not_found'],
  ];
  for (const [fields, kind, code] of cases)
    await assert.rejects(client.embeddings.create(fields), (error) => {
      assert.ok(error instanceof kind, `${error}`);
      assert.equal(error.code, code);
      return true;
    });
});
