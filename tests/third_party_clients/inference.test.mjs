// inference.test.mjs - the Open Inference Protocol as others' clients speak it, through a proxy
// that checks each request and each answer against the protocol's contract.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { Contract } from './contract.mjs';
import { CLASSIFIER, CONTEXT, Daemon, LABELS, MODEL } from './daemon.mjs';

const INFER = `/v2/models/${CLASSIFIER}/infer`;

let folder, daemon, contract;

before(async () => {
  folder = Daemon.makeStore();
  Daemon.addClassifier(folder);
  daemon = await Daemon.start(folder, 'daemon');
  contract = await Contract.start('open_inference.yaml', daemon.url);
});

after(async () => {
  await contract?.stop();
  await daemon?.stop();
  if (folder) Daemon.removeStore(folder);
});

/// The status and the body of an answer that came through the proxy.
async function ask(path, body, headers = { 'Content-Type': 'application/json' }) {
  const post = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(contract.url + path, body ? post : {});
  const value = await response.json();
  const breach = response.headers.get('sl-violations') ?? value.validation;
  assert.equal(breach, undefined, `${path}: ${JSON.stringify(breach)}`);
  return { status: response.status, value };
}

async function answered(path, body) {
  const { status, value } = await ask(path, body);
  assert.equal(status, 200, JSON.stringify(value));
  return value;
}

function texts(data, more = {}) {
  return { name: 'text', datatype: 'BYTES', shape: [data.length], data, ...more };
}

/// An output by its name, with as many elements as its shape says.
function output(answer, name) {
  const tensor = answer.outputs.find((each) => each.name === name);
  assert.ok(tensor, `no output ${name}`);
  assert.equal(tensor.data.length, tensor.shape.reduce((size, side) => size * side, 1));
  return tensor;
}

// ---- the proxy itself -----------------------------------------------------------------------

test('the proxy tells a server that breaks the contract', async () => {
  const wrong = createServer((request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end('{"name":"another"}'); // neither version nor extensions
  });
  await new Promise((resolve) => wrong.listen(0, '127.0.0.1', resolve));
  const proxy = await Contract.start(
    'open_inference.yaml',
    `http://127.0.0.1:${wrong.address().port}`,
  );
  try {
    const response = await fetch(`${proxy.url}/v2`);
    assert.equal(response.status, 500);
    assert.match(await response.text(), /VIOLATIONS/);
  } finally {
    await proxy.stop();
    wrong.close();
  }
});

// ---- what there is --------------------------------------------------------------------------

test('server metadata, with and without the slash', async () => {
  for (const path of ['/v2', '/v2/']) {
    const { name, extensions } = await answered(path);
    assert.equal(name, 'sluice');
    assert.deepEqual(extensions, [
      'classification', 'model_repository', 'model_repository(unload_dependents)', 'statistics',
      'binary_tensor_data', 'model_configuration',
    ]);
  }
});

test('server and models are live and ready', async () => {
  assert.deepEqual(await answered('/v2/health/live'), { live: true });
  assert.deepEqual(await answered('/v2/health/ready'), { ready: true });
  for (const path of [`/v2/models/${CLASSIFIER}`, `/v2/models/${CLASSIFIER}/versions/1`]) {
    const { name, ready } = await answered(`${path}/ready`);
    assert.deepEqual([name, ready], [CLASSIFIER, true]);
  }
  assert.equal((await ask('/v2/models/none/ready')).status, 404);
});

test('metadata of a model, with and without a version', async () => {
  for (const path of [`/v2/models/${CLASSIFIER}`, `/v2/models/${CLASSIFIER}/versions/1`]) {
    const model = await answered(path);
    assert.equal(model.name, CLASSIFIER);
    assert.deepEqual(model.versions, ['1']);
    assert.equal(model.platform, 'sluice_tsa');
    assert.deepEqual(model.inputs, [{ name: 'text', datatype: 'BYTES', shape: [-1] }]);
    assert.deepEqual(model.parameters.labels, LABELS);
    const probs = model.outputs.find(({ name }) => name === 'probs');
    assert.deepEqual(probs.shape, [-1, LABELS.length]);
  }
  assert.deepEqual((await answered(`/v2/models/${MODEL}`)).inputs, []);
  assert.equal((await ask('/v2/models/none')).status, 404);
});

// ---- inference ------------------------------------------------------------------------------

test('what is described is what is given', async () => {
  const { outputs } = await answered(`/v2/models/${CLASSIFIER}`);
  const data = ['good day', 'bad day', 'fine.'];
  const wanted = outputs.map(({ name }) => ({ name }));
  const answer = await answered(INFER, { id: '42', inputs: [texts(data)], outputs: wanted });
  assert.equal(answer.model_name, CLASSIFIER);
  assert.equal(answer.model_version, '1');
  assert.equal(answer.id, '42');
  assert.deepEqual(answer.outputs.map(({ name }) => name), outputs.map(({ name }) => name));
  for (const { name, datatype, shape } of outputs) {
    const given = output(answer, name);
    assert.equal(given.datatype, datatype);
    assert.deepEqual(given.shape, [data.length, ...shape.slice(1)]);
  }
  for (const depth of output(answer, 'depth').data) assert.ok(depth > 0 && depth <= 2);
});

/// The request of KServe's InferenceRESTClient: an id of its own, the model's name again.
test('a request as the client of KServe sends it', async () => {
  const inputs = [texts(['good day', 'bad day'])];
  const id = '4be4e82e-5500-420a-a5c5-ac86841e271b';
  const answer = await answered(INFER, { id, model_name: CLASSIFIER, inputs });
  assert.equal(answer.id, id);
  assert.deepEqual(output(answer, 'probs').shape, [2, 2]);
});

/// `mlserver infer` uses tritonclient.http.aio: its headers, and binary outputs.
test('a request as the client of MLServer sends it', async () => {
  const id = '4be4e82e-5500-420a-a5c5-ac86841e271b';
  const headers = { 'content-type': 'application/json', 'seldon-puid': id, 'x-request-id': id };
  const inputs = [texts(['good day', 'bad day'])];
  const parameters = { binary_data_output: true };
  const body = JSON.stringify({ id, inputs, parameters });
  const response = await fetch(daemon.url + INFER, { method: 'POST', headers, body });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'application/octet-stream');
  const bytes = Buffer.from(await response.arrayBuffer());
  const length = Number(response.headers.get('inference-header-content-length'));
  const value = JSON.parse(bytes.subarray(0, length).toString());
  assert.equal(value.id, id);
  let at = length;
  for (const each of value.outputs) {
    if (each.name === 'probs') break;
    at += each.parameters.binary_data_size;
  }
  const { data } = output(await answered(INFER, { inputs }), 'probs');
  data.forEach((each, i) => assert.equal(bytes.readFloatLE(at + 4 * i), Math.fround(each)));
});

/// InferenceRequest of MLServer, its StringCodec's column, and what is not set as null.
test('a request made of the types of MLServer', async () => {
  const data = ['good day', 'bad day'];
  const column = texts(data, { shape: [2, 1], parameters: { content_type: 'str', headers: null } });
  const nulls = { id: null, parameters: null, outputs: null };
  const plain = await answered(INFER, { inputs: [texts(data)] });
  const answer = await answered(INFER, { ...nulls, inputs: [column] });
  assert.deepEqual(output(answer, 'probs'), output(plain, 'probs'));
  assert.ok(output(answer, 'label').data.every((label) => LABELS.includes(label)));
});

test('the same bits under the path of a version, nested, and at /predict', async () => {
  const data = ['good day', 'bad day'];
  const flat = output(await answered(INFER, { inputs: [texts(data)] }), 'probs').data;
  const nested = texts(data.map((text) => [text]), { shape: [2, 1] });
  const path = `/v2/models/${CLASSIFIER}/versions/1/infer`;
  const versioned = await answered(path, { inputs: [nested] });
  assert.deepEqual(output(versioned, 'probs').data, flat);
  const response = await fetch(`${daemon.url}/predict`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ inputs: data.map((text) => [text]) }),
  });
  const scores = (await response.json()).flatMap((ranked) =>
    LABELS.map((label) => ranked.find((each) => each.label === label).score),
  );
  assert.deepEqual(scores, flat);
});

test('two hundred and fifty-six texts in one request', async () => {
  const data = Array.from({ length: 256 }, (_, i) => 'good day'.slice(0, 1 + (i % 3)));
  const probs = output(await answered(INFER, { inputs: [texts(data)] }), 'probs').data;
  assert.equal(probs.length, 2 * data.length);
  for (let i = 0; i < probs.length; i++) assert.equal(probs[i], probs[i % 6]);
});

test('the highest classes as value:class:label', async () => {
  const outputs = [{ name: 'probs', parameters: { classification: 1 } }];
  const answer = await answered(INFER, { inputs: [texts(['good day'])], outputs });
  const top = output(answer, 'probs');
  assert.equal(top.datatype, 'BYTES');
  assert.deepEqual(top.shape, [1, 1]);
  const [, value, place, label] = top.data[0].match(/^([\d.]+):(\d):(\w+)$/);
  assert.ok(Number(value) >= 0.5);
  assert.equal(LABELS[place], label);
});

test('a text that is too long is refused with both lengths, or cut and said so', async () => {
  const inputs = [texts(['a', 'a'.repeat(CONTEXT + 5)])];
  const { status, value } = await ask(INFER, { inputs });
  assert.equal(status, 400);
  assert.match(value.error, new RegExp(`text\\[1\\].*${CONTEXT + 5}.*${CONTEXT}`));
  const outputs = [{ name: 'truncated' }];
  const cut = await answered(INFER, { inputs, outputs, parameters: { truncate: true } });
  assert.deepEqual(output(cut, 'truncated').data, [0, 5]);
  assert.equal(cut.parameters.truncated, 1);
});

// ---- mistakes -------------------------------------------------------------------------------

test('mistakes are errors of the protocol', async () => {
  const good = { inputs: [texts(['a'])] };
  const cases = [
    [INFER, { inputs: [] }, 400],
    [INFER, { inputs: [texts(['a'], { shape: [2] })] }, 400],
    [INFER, { inputs: [texts(['a'], { datatype: 'FP32' })] }, 400],
    [INFER, { inputs: [texts(['a'], { name: 'other' })] }, 400],
    [INFER, { ...good, outputs: [{ name: 'other' }] }, 400],
    [INFER, { ...good, parameters: { binary_data_output: 'yes' } }, 400],
    [INFER, { inputs: [texts(['a'], { parameters: { binary_data_size: 1 } })] }, 400],
    [INFER, { inputs: [texts(['µ'])] }, 400],
    [`/v2/models/${MODEL}/infer`, good, 400],
    ['/v2/models/none/infer', good, 404],
    [`/v2/models/${CLASSIFIER}/versions/9/infer`, good, 404],
  ];
  for (const [path, body, status] of cases)
    assert.equal((await ask(path, body)).status, status, JSON.stringify(body));
});
