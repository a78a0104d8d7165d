// console_tasks.test.mjs - the web console in a real Chromium with models of every task, as Hugging Face publishes
// them: their views, a model that comes into the store, and hostile words about itself.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Browser } from './browser.mjs';
import { Daemon } from './daemon.mjs';

const HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
const PUBLISHED = ['bert_tagger', 'bert_ranker', 'bert_nli', 'bert_masked', 'bert'];

let folder, daemon, browser;

function publish(name, as = name) {
  const from = join(process.env.SLUICE_MODELS, '../tests/golden/pretrained', name);
  cpSync(from, join(folder, 'store', as, '1'), { recursive: true });
}

/// A model that knows these texts by heart.
function addTranslator() {
  const pairs = join(folder, 'pairs.tsv');
  writeFileSync(pairs, 'one dog\tein Hund\none cat\teine Katze\ntwo dogs\tzwei Hunde\ntwo cats\tzwei Katzen\n');
  const given = {
    task: 'translation',
    data: pairs,
    validation: pairs,
    output: join(folder, 'store', 'translator', '1'),
    'run-dir': join(folder, 'run'),
    ...{
      'vocab-size': 100,
      width: 32,
      depth: 1,
      heads: 2,
      'ffn-width': 64,
      'context-length': 16,
      dropout: 0,
      'batch-size': 4,
      'learning-rate': 0.01,
      epochs: 150,
    },
  };
  const words = Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const made = spawnSync(process.env.SLUICE_TOOL, ['train', 'vanilla', '--cased', ...words], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
}

/// What a model says of its training is a stranger's.
function sayOfTraining(name, training) {
  const directory = join(folder, 'store', name, '1');
  const read = (file) => JSON.parse(readFileSync(join(directory, file)));
  const config = JSON.stringify({ ...read('config.json'), training });
  writeFileSync(join(directory, 'config.json'), config);
  const manifest = read('manifest.json');
  const sha256 = createHash('sha256').update(config).digest('hex');
  manifest.files['config.json'] = { size: Buffer.byteLength(config), sha256 };
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest));
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-console-'));
  mkdirSync(join(folder, 'store'));
  for (const name of PUBLISHED) publish(name);
  addTranslator();
  sayOfTraining('translator', { data: HOSTILE, steps: 1e30, validation: { labels: { a: 1 } }, imported: 7 });
  daemon = await Daemon.start(folder, 'daemon', {
    'admin-listen': '127.0.0.1:0',
    state: join(folder, 'state'),
    precision: 'fp32',
  });
  browser = await Browser.start();
});

after(async () => {
  await browser?.stop();
  await daemon?.stop();
  if (folder) Daemon.removeStore(folder);
});

test('entities are marked in the text', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/bert_tagger');
  await page.fill('Text', 'hello world');
  await page.press('Find entities');
  await page.page.waitForSelector('.entity');
  assert.match(await page.text('.output table'), /LOC-X/);
  assert.equal(
    (await page.page.$$eval('.output .text', ([text]) => text.textContent.replace(/LOC-X|PER|ORG|MISC/g, ''))).slice(
      0,
      5,
    ),
    'hello',
  );
  await page.checkAccess('entities');
  await page.checkNarrow('entities');
  await page.close();
});

test('texts are ranked for a query', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/bert_ranker');
  await page.fill('Query', 'a b');
  await page.fill('Texts, one per line', 'a b c\nx y z\nq');
  await page.press('Rank');
  await page.page.waitForFunction(() => document.querySelectorAll('.results li').length === 3);
  await page.checkAccess('rank');
  await page.close();
});

test('texts get labels that the model was not trained on', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/bert_nli');
  await (await page.labelled('Task')).select('1');
  await page.fill('Text', 'a b');
  await page.fill('Labels, separated by commas', 'c, d e, f');
  await page.press('Classify with labels of your own');
  await page.says('53.6 %', '.output');
  assert.match(await page.text('.output'), /d e\s+53\.6 %\s+f\s+29\.7 %\s+c\s+16\.7 %/);
  await page.checkAccess("labels of one's own");
  await page.close();
});

test('masks are filled; a text without one says how it is written', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/bert_masked');
  await page.fill('Text with a mask', 'hello [MASK]');
  await page.press('Fill masks');
  await page.page.waitForFunction(() => document.querySelectorAll('.output .track').length === 8);
  await page.fill('Text with a mask', 'hello');
  await page.press('Fill masks');
  await page.says('[MASK]', '.output .problem');
  await page.checkAccess('masks');
  await page.close();
});

test('lines are translated', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/translator');
  await page.fill('Texts, one per line', 'two cats\none dog');
  await page.press('Translate');
  await page.says('ein Hund', '.output');
  assert.match(await page.text('.output table'), /two cats\s+zwei Katzen\s+one dog\s+ein Hund/);
  await page.checkAccess('translation');
  await page.close();
});

test('a list is searched, and ranked by a second model', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/bert');
  await (await page.labelled('Order')).select('bert_ranker');
  await page.fill('Query', 'a b');
  await page.fill('Texts, one per line', 'a b c\nx y z\nq');
  await page.press('Search');
  await page.page.waitForFunction(() => document.querySelectorAll('.results li').length === 3);
  await page.close();
});

test("a directory of Hugging Face's that comes into the store is loaded", async () => {
  const page = await browser.open(daemon.adminUrl, '#/models');
  publish('distilbert_classifier', 'brought');
  cpSync(join(folder, 'pairs.tsv'), join(folder, 'store', 'broken', '1', 'model.safetensors'));
  cpSync(join(folder, 'store', 'bert', '1', 'config.json'), join(folder, 'store', 'broken', '1', 'config.json'));
  for (const name of ['brought', 'broken']) {
    await page.fill('Load a model of the store', name);
    await page.press('Load this model');
    await (name === 'brought' ? page.says('SHA-256 of the weights') : page.says('broken@1', '.problem'));
  }
  await page.go('#/try/brought');
  await page.fill('Texts, one per line', 'hello');
  await page.press('Classify');
  await page.page.waitForSelector('.results li');
  await page.close();
});

test('whatever a model says of its training is only text', async () => {
  const page = await browser.open(daemon.adminUrl, '#/models/translator');
  await page.says('Facts of version 1');
  await page.page.click('summary');
  assert.ok((await page.text('pre')).includes('onerror='));
  assert.equal(await page.page.evaluate(() => window.hacked), undefined);
  await page.close();
});
