// console.test.mjs - the web console in a real Chromium: every view, hostile texts, keys, access.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createHash } from 'node:crypto';
import { Browser } from './browser.mjs';
import { Daemon, until } from './daemon.mjs';

const HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

let folder, daemon, browser;

function write(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-console-'));
  mkdirSync(join(folder, 'store'));
  for (const model of ['sentiment', 'shakespeare', 'base'])
    cpSync(join(process.env.SLUICE_MODELS, model), join(folder, 'store', model), { recursive: true });
  daemon = await Daemon.start(folder, 'daemon', {
    'admin-listen': '127.0.0.1:0',
    state: join(folder, 'state'),
    'default-classifier': 'sentiment',
    trainer: process.env.SLUICE_TOOL,
  });
  browser = await Browser.start();
});

after(async () => {
  await browser?.stop();
  await daemon?.stop();
  if (folder) Daemon.removeStore(folder);
});

// ---- the frame ------------------------------------------------------------------------------

test('browsers get the console, programs the index', async () => {
  const page = await fetch(`${daemon.url}/`, { headers: { Accept: 'text/html' } });
  assert.ok(page.url.endsWith('/ui/'));
  assert.match(page.headers.get('Content-Security-Policy'), /default-src 'none'/);
  assert.equal((await (await fetch(`${daemon.url}/`)).json()).name, 'sluice');
  const again = await fetch(`${daemon.url}/ui/app.js`, {
    headers: { 'If-None-Match': (await fetch(`${daemon.url}/ui/app.js`)).headers.get('ETag') },
  });
  assert.equal(again.status, 304);
  assert.equal((await fetch(`${daemon.url}/ui/..%2fapp.js`)).status, 404);
});

test('all of it is small, and only of this origin', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try');
  const names = new Set(['index.html']);
  let bytes = 0;
  for (const name of names) {
    const text = await (await fetch(`${daemon.url}/ui/${name}`)).text();
    bytes += Buffer.byteLength(text);
    for (const [, other] of text.matchAll(/["'](?:\.\/)?([\w-]+\.(?:js|css|svg))["']/g)) names.add(other);
  }
  assert.ok(names.size > 15, [...names].join());
  assert.ok(bytes < 300000, `${bytes} bytes`);
  await page.close();
});

test('without keys the inference listener shows what it allows', async () => {
  const page = await browser.open(daemon.url);
  assert.deepEqual(await page.texts('nav a'), ['Try', 'Watch', 'Models', 'Docs']);
  await page.go('#/teach');
  await page.page.reload();
  await page.says('admin listener only');
  await page.close();
});

// ---- try ------------------------------------------------------------------------------------

test('a completion streams, token by token, with depths and gates', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/shakespeare');
  await page.fill('Tokens at most', '80');
  await page.press('Complete');
  await page.says('80 tokens in');
  const depths = await page.page.$$eval('.text .token', (tokens) =>
    tokens.map((token) => Number(token.style.getPropertyValue('--depth'))),
  );
  assert.equal(depths.length, 80);
  assert.ok(new Set(depths).size > 1, 'tokens differ in depth');
  await page.page.focus('.text');
  for (let i = 0; i < 5; i++) await page.page.keyboard.press('ArrowRight');
  await page.says('of 6 layers');
  assert.equal((await page.page.$$('.gates span')).length, 6);
  assert.ok((await page.page.$$('.bars .track')).length >= 5);
  assert.match(await page.text('.output'), /layers per token; \d+ % of the computation skipped/);
  await page.screenshot('try');
  await page.checkAccess('Try');
  await page.checkNarrow('Try');
  await page.close();
});

test('the same seed gives the same text at two budgets only by chance', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/shakespeare');
  await page.press('Compare');
  const sliders = await page.page.$$('input[type=range]');
  await sliders[sliders.length - 1].evaluate((slider) => {
    slider.value = slider.max;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
  });
  assert.match(await page.text('.two'), /budget 0\.\d+: skips \d+ % of the layers, loss 1\.4/);
  await page.press('Complete');
  await page.page.waitForFunction(() => document.querySelectorAll('.output details').length === 2);
  const skipped = (await page.texts('.output')).map((text) =>
    Number(/(\d+) % of the computation skipped/.exec(text)[1]),
  );
  assert.equal(skipped.length, 2);
  await page.close();
});

test('a long completion stops when it is told to', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/shakespeare');
  await page.fill('Tokens at most', '2000');
  await page.press('Complete');
  await page.page.waitForSelector('.text .token');
  await page.press('Stop');
  await page.says('Stopped.');
  await until('the end of the stream', async () => (await daemon.running()) === 0);
  await page.close();
});

test('texts are classified; hostile ones are only texts', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/sentiment');
  await page.fill('Texts, one per line', `A lovely film.\nA dull waste of time ${HOSTILE}`);
  await page.press('Classify');
  await page.page.waitForFunction(() => document.querySelectorAll('.results li').length === 2);
  assert.match(await page.text('.results li:first-child'), /^A lovely film\.[^]*positive\n9\d\.\d %/);
  assert.ok((await page.text('.results li:last-child')).includes(HOSTILE));
  assert.ok((await page.page.$$('.up')).length > 0);
  await page.page.click('input[type=radio][name^=colour]:not(:checked)');
  await page.page.waitForSelector('.results .token');
  assert.equal(await page.page.evaluate(() => window.hacked), undefined);
  await page.checkAccess('Classify');
  await page.fill(
    'Texts, one per line',
    'A lovely film, I would watch it again.\nA dull and pointless waste of two hours.',
  );
  await page.press('Classify');
  await page.says('waste of two hours', '.results');
  await page.screenshot('classify');
  await page.close();
});

test('a list of texts becomes a table, and a request for a program', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/sentiment');
  await page.fill(
    'Texts, one per line',
    Array.from({ length: 300 }, (_, i) => `A ${i % 2 ? 'wonderful' : 'terrible'} film, number ${i}.`).join('\n'),
  );
  await page.press('Classify');
  await page.says('300 texts in');
  assert.equal((await page.page.$$('tbody tr')).length, 200);
  await page.page.click('summary');
  assert.match(await page.text('pre'), /^curl http:\/\/127\.0\.0\.1:\d+\/models\/sentiment\/predict/);
  await page.press('Python');
  assert.match(await page.text('pre'), /urlopen/);
  await page.close();
});

test('a list is searched by meaning', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/base');
  await page.press('Search');
  await page.page.waitForSelector('ol.results li');
  assert.match(await page.text('ol.results li:first-child'), /^The striker scored/);
  await page.checkAccess('Search');
  await page.close();
});

// ---- watch and models -----------------------------------------------------------------------

test('what the daemon does is seen', async () => {
  const page = await browser.open(daemon.adminUrl, '#/watch');
  const busy = setInterval(
    () =>
      fetch(`${daemon.url}/predict`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: '{"inputs":"A film."}',
      }),
    50,
  );
  await page.page.waitForFunction(
    () => /Requests per second\n([1-9]|0\.)/.test(document.querySelector('.tiles').innerText),
    { timeout: 20000 },
  );
  if (process.env.SLUICE_SCREENSHOTS) await new Promise((done) => setTimeout(done, 20000)); // for a picture with lines
  clearInterval(busy);
  assert.equal((await page.page.$$('canvas')).length, 8);
  assert.match(await page.text('main'), /sentiment@1/);
  await page.screenshot('watch');
  await page.checkAccess('Watch');
  await page.checkNarrow('Watch');
  await page.close();
});

test('a model is described; a label is set and removed', async () => {
  const page = await browser.open(daemon.adminUrl, '#/models/shakespeare');
  await page.says('Operating points');
  assert.match(await page.text('main'), /SHA-256 of the weights\s+[0-9a-f]{64}/);
  await page.press('Set label');
  await page.says('tested');
  await page.screenshot('models', { fullPage: true });
  await page.checkAccess('Models');
  await page.checkNarrow('Models');
  await page.close();
});

// ---- the policy -----------------------------------------------------------------------------

test('no script runs that is not a file of the console', async () => {
  const page = await browser.open(daemon.adminUrl);
  const blocked = await page.page.evaluate(async (html) => {
    const tried = [];
    const attempt = async (name, f) => {
      try {
        await f();
      } catch {
        tried.push(name);
      }
    };
    await attempt('innerHTML', () => {
      document.body.innerHTML = html;
    });
    await attempt('script', () => {
      const script = document.createElement('script');
      script.text = 'window.hacked=1';
      document.body.append(script);
    });
    await attempt('fetch', () => fetch('http://127.0.0.1:9/'));
    const frame = document.createElement('iframe');
    frame.src = 'https://example.com/';
    document.body.append(frame);
    await new Promise((done) => setTimeout(done, 200));
    return { tried, hacked: window.hacked ?? null };
  }, HOSTILE);
  assert.deepEqual(blocked, { tried: ['innerHTML', 'script', 'fetch'], hacked: null });
  await page.context.close(); // its console has these errors
});

// ---- keys -----------------------------------------------------------------------------------

test('a key opens what its scopes allow', async () => {
  const hash = (key) => `sha256:${createHash('sha256').update(key).digest('hex')}`;
  const keys = { infer: `sk-${'a'.repeat(60)}`, all: `sk-${'b'.repeat(60)}` };
  write('keys', `reader infer ${hash(keys.infer)}\nowner infer,metrics,train,admin ${hash(keys.all)}\n`);
  const own = await Daemon.start(folder, 'keyed', {
    'api-keys-file': join(folder, 'keys'),
    'admin-listen': '127.0.0.1:0',
    state: join(folder, 'keyed'),
  });
  const page = await browser.open(own.url);
  await page.says('needs an API key');
  for (const [key, expected] of [
    ['wrong', null],
    [keys.infer, ['Try', 'Models', 'Docs']],
    [keys.all, ['Try', 'Watch', 'Teach', 'Models', 'Docs']],
  ]) {
    await page.press('Sign in');
    await page.fill('API key', key);
    await page.page.click('dialog button.main');
    if (!expected) {
      await page.says('not valid', 'dialog');
      await page.press('Cancel');
      continue;
    }
    await page.page.waitForFunction(
      (count) => document.querySelectorAll('nav a').length === count,
      {},
      expected.length,
    );
    assert.deepEqual(await page.texts('nav a'), expected);
    await page.press('Sign out');
    await page.page.waitForFunction(() => document.querySelectorAll('nav a').length === 2);
  }
  assert.equal(await page.page.evaluate(() => sessionStorage.length + localStorage.length), 0);
  await page.checkAccess('signed out');
  await page.close();
  await own.stop();
});

test('views that are left, and addresses that are wrong', async () => {
  const page = await browser.open(daemon.adminUrl, '#/watch');
  await page.go('#/teach');
  await page.says('Nothing was trained');
  let asked = 0;
  page.page.on('request', (request) => {
    asked += request.url().endsWith('/metrics');
  });
  await new Promise((done) => setTimeout(done, 3000));
  assert.equal(asked, 0, 'a view that was left still asks');
  for (const hash of ['#/try/%', '#/teach/job/%', '#/teach/job/none', '#/models/none']) {
    await page.go(hash);
    assert.ok((await page.text('main')).length > 0, hash);
  }
  await page.close();
});

// ---- the keyboard ---------------------------------------------------------------------------

test('everything is reached by keyboard', async () => {
  const page = await browser.open(daemon.adminUrl, '#/try/sentiment');
  const { keyboard } = page.page;
  const focused = () =>
    page.page.evaluate(() => `${document.activeElement.tagName} ${document.activeElement.innerText?.trim()}`);
  const seen = [];
  for (let i = 0; i < 40 && !seen[seen.length - 1]?.endsWith('Classify'); i++) {
    await keyboard.press('Tab');
    seen.push(await focused());
  }
  for (const name of ['A Skip to content', 'A Try', 'A Models', 'SELECT', 'TEXTAREA', 'BUTTON Classify'])
    assert.ok(
      seen.some((text) => text.startsWith(name)),
      `${name} is not among ${seen.join(', ')}`,
    );
  await keyboard.press('Enter');
  await page.page.waitForSelector('.results li');
  await page.close();
});

// ---- the documentation ----------------------------------------------------------------------

test('the documentation is there; no link of it leads nowhere', async () => {
  const pages = new Map();
  const queue = ['index.html'];
  for (const name of queue) {
    const response = await fetch(`${daemon.url}/docs/${name}`);
    assert.equal(response.status, 200, name);
    const text = await response.text();
    pages.set(name, text);
    if (!name.endsWith('.html')) continue;
    assert.doesNotMatch(text, /\n(- |```|\| )/, `${name}: Markdown that was not read`);
    for (const [, target] of text.matchAll(/(?:href|src)="([^"#:]+)(?:#[^"]*)?"/g))
      if (!queue.includes(target)) queue.push(target);
  }
  assert.ok(pages.size > 20, [...pages.keys()].join());
  for (const [name, text] of pages)
    for (const [, target, anchor] of text.matchAll(/href="([^":#]*)#([^"]+)"/g))
      assert.ok(pages.get(target || name).includes(`id="${anchor}"`), `${name}: ${target}#${anchor}`);
});

test('its pages can be read by all', async () => {
  const page = await browser.open(daemon.url);
  await page.page.goto(`${daemon.url}/docs/api.html`);
  await page.checkAccess('documentation');
  await page.checkNarrow('documentation');
  await page.close();
});

// ---- teach ----------------------------------------------------------------------------------

const GOOD = ['wonderful', 'lovely', 'brilliant', 'moving', 'delightful'],
  BAD = ['dreadful', 'dull', 'awful', 'boring', 'pointless'];
const THINGS = ['film', 'play', 'book', 'song', 'meal', 'day'];

/// Texts of two labels; of the first `swapped`, the label is wrong.
function opinions(swapped, bad = HOSTILE) {
  const rows = [];
  for (let i = 0; i < 120; i++) {
    const good = i % 2 === 0,
      word = (good ? GOOD : BAD)[i % 5],
      label = good === !(i < swapped) ? 'good' : bad;
    rows.push([label, `It was a ${word} ${THINGS[i % 6]}, said number ${i}.`]);
  }
  return rows;
}

const csv = (rows) => rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\n');

async function upload(page, name, text) {
  await page.go('#/teach');
  await (await page.page.waitForSelector('input[type=file]')).uploadFile(write(name, text));
  await page.says(name, 'h1');
}

async function choose(page, label, text) {
  await page.fill('Column of the label', label);
  await page.fill('Column of the text', text);
}

async function train(page, name) {
  await page.fill('Name of the model', name);
  await page.fill('Recipes', ''); // an encoder takes a minute beside other tests
  await page.press('Train');
  await page.says('is ready');
}

test('a file with mistakes says where they are', async () => {
  const page = await browser.open(daemon.adminUrl);
  const column = HOSTILE.replaceAll('"', '');
  await upload(page, 'mistakes.csv', `label,${column}\ngood,a\nbad\ngood,b,c,d\nbad,"open`);
  await page.says('Which of the columns');
  await choose(page, 'label', column);
  await page.says('expected 2');
  await (
    await page.page.waitForSelector('input[type=file]')
  ).uploadFile(write('mended.csv', 'label,text\ngood,a\nbad,b\n'));
  await page.says('mended.csv', 'h1');
  await page.go('#/teach');
  await (await page.page.waitForSelector('::-p-xpath(//a[text()="mistakes.csv"])')).click(); // its columns are remembered
  await page.says('expected 2');
  const found = await page.text('section.card');
  for (const line of [3, 4, 5]) assert.match(found, new RegExp(`(^|\\n)${line}\\t`), found);
  assert.equal(await page.page.evaluate(() => window.hacked), undefined);
  await page.checkAccess('a file with mistakes');
  await page.close();
});

test('from a file to a model that serves, corrected, promoted and rolled back', async () => {
  const page = await browser.open(daemon.adminUrl);
  await upload(page, 'opinions.csv', `verdict,words\n${csv(opinions(12))}`);
  await choose(page, 'verdict', 'words');
  await page.says('120 texts, 2 labels');
  await page.fill('Name of the model', 'sentiment');
  await page.says('sentiment serves other labels (negative, positive)');
  await page.checkAccess('a file');
  await page.checkNarrow('a file');
  await train(page, 'mine');
  assert.match(await page.text('main'), /mine@1[^]*Version 1 serves mine/);
  assert.ok((await page.texts('.log li')).length > 2);
  assert.match(await page.text('main'), /Right: [89]\d\.\d % of 120 texts/);
  await page.checkAccess('a job');
  await page.checkNarrow('a job');

  await (await page.page.waitForSelector('a[href^="#/teach/correct"]')).click();
  await page.says('doubt most');
  await page.checkAccess('corrections');
  const taken = await page.page.$$eval('.results button', (buttons) => buttons.map((button) => button.click()).length);
  assert.ok(taken >= 3 && taken <= 20, `${taken} texts of 12 with a wrong label are doubted`);
  await page.press(`Train again with ${taken} changes`);
  await page.says('mine@2 is ready');

  const answer = async () =>
    await (
      await fetch(`${daemon.url}/models/mine/predict`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: '{"inputs":"a lovely song"}',
      })
    ).headers.get('x-sluice-model');
  assert.equal(await answer(), 'mine@1');
  await page.fill('Try it', 'a lovely song');
  await page.press('Classify');
  await page.says('version 1, which serves');
  await page.press('Canary 10 %');
  await page.says('version 2 gets 10 % of the requests');
  await page.press('End canary');
  await page.says('Version 1 serves mine.');
  await page.press('Promote');
  await page.says('version 2, which serves');
  assert.equal(await page.page.evaluate(() => document.activeElement.innerText), 'Version 2 serves mine.');
  assert.equal(await answer(), 'mine@2');
  await page.press('Roll back');
  await page.says('Version 1 serves');
  assert.equal(await answer(), 'mine@1');

  await page.go('#/models/mine');
  await page.says('Provenance');
  assert.match(await page.text('main'), /[89]\d\.\d % of 120 unseen texts right/);
  assert.equal((await page.page.$$('.confusion tbody tr')).length, 2);
  await page.page.click('summary');
  assert.match(await page.text('pre'), /"confusion_matrix"/);
  assert.equal(await page.page.evaluate(() => window.hacked), undefined);
  await page.checkAccess('a trained model');
  await page.checkNarrow('a trained model');
  await page.close();
});

test('a job is paused, resumed and cancelled', async () => {
  const page = await browser.open(daemon.adminUrl);
  await upload(page, 'long.csv', `verdict,words\n${csv(opinions(0))}`);
  const file = (await page.page.evaluate(() => location.hash)).split('/')[3];
  const created = await fetch(`${daemon.adminUrl}/v1/fine_tuning/jobs`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      model: 'encoder',
      training_file: file,
      suffix: 'slow',
      hyperparameters: { label: 'verdict', text: 'words', steps: 100000, width: 64, depth: 2, heads: 2 },
    }),
  });
  const { id } = await created.json();
  await page.go(`#/teach/job/${id}`);
  await page.page.reload();
  await page.says('running');
  await page.page.setRequestInterception(true); // one poll is lost, as when a laptop sleeps
  let polls = 0;
  const lose = (request) => (request.url().endsWith(id) && polls++ === 0 ? request.abort() : request.continue());
  page.page.on('request', lose);
  await page.says('does not answer');
  await page.page.waitForFunction(() => !document.querySelector('main').innerText.includes('does not answer'));
  page.page.off('request', lose);
  await page.page.setRequestInterception(false);
  page.wrong = page.wrong.filter((text) => !text.includes('ERR_FAILED'));
  await page.press('Pause');
  await page.says('paused');
  await page.press('Resume');
  await page.press('Cancel');
  await page.says('cancelled');
  await page.close();
});

// The pictures of docs/console.md.
test('the tutorial', async () => {
  const page = await browser.open(daemon.adminUrl);
  await upload(
    page,
    'mistakes.csv',
    'label,text\ngood,I liked it\nbad\nbad,"It was dull, I thought"\nbad,It was dull, I thought\ngood,I would go again\n',
  );
  await page.says('To mend before training');
  await page.screenshot('mistakes', { clip: { x: 0, y: 0, width: 1100, height: 520 } });
  await upload(page, 'opinions.csv', `verdict,sentence\n${csv(opinions(9, 'bad'))}`);
  await page.says('120 texts, 2 labels');
  await page.screenshot('file', { fullPage: true });
  await train(page, 'opinions');
  await page.fill('Try it', 'What a brilliant book!');
  await page.press('Classify');
  await page.says('version 1, which serves');
  await page.screenshot('teach');
  await page.go(`#/teach/correct/${(await page.page.evaluate(() => location.hash)).split('/')[3]}`);
  await page.says('doubt most');
  await page.screenshot('correct');
  await page.close();
});
