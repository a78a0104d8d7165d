// teach_job.js - one training job: its progress, its curve, its end, and the model beside the one
// that serves.
import { call, events } from './api.js';
import { chart } from './charts.js';
import { announce, attempt, button, download, field, formRow, h, problem, replace, tile } from './dom.js';
import { duration, moment, number, percent } from './format.js';
import { movesOf } from './moves.js';
import { confusion, predictionsOf, resultsOf } from './predictions.js';
import { may } from './session.js';
import { modelOf, status } from './teach.js';
import { bars } from './tokens.js';

const EVERY_MS = 1500,
  LOG_LINES = 200;
const GOES_ON = ['validating_files', 'queued', 'running'];

export async function show(content, id) {
  const abort = new AbortController();
  const path = `/v1/fine_tuning/jobs/${encodeURIComponent(id)}`;
  const log = h('ol', { class: 'log results', tabindex: 0, 'aria-label': 'Log' }),
    end = h('div');
  const curve = h('div');
  const head = makeHead(path, () => refresh());
  replace(
    content,
    h('p', null, h('a', { href: '#/teach' }, 'Teach')),
    h('h1', null, 'Training job'),
    head.element,
    end,
    h('div', { class: 'two' }, curve, h('section', { class: 'card' }, h('h2', null, 'Log'), log)),
  );
  let latest = null;
  const refresh = async () => {
    const job = await call(path, { signal: abort.signal });
    head.update(job, latest);
    return job;
  };
  follow(
    path,
    abort.signal,
    eventTaker(log, curve, (metrics) => {
      latest = metrics;
    }),
  );
  poll(refresh, end, abort.signal);
  return () => abort.abort();
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
// A restart, a full queue, a laptop that slept: it will pass.
const passes = (error) => [0, 429, 503].includes(error.status);

// Until the job has ended, however that was.
async function poll(refresh, end, signal) {
  for (;;) {
    try {
      const job = await refresh();
      if (!GOES_ON.includes(job.status)) {
        announce(`The job has ${job.status}.`);
        return await showEnd(end, job);
      }
      replace(end);
    } catch (error) {
      if (signal.aborted) return;
      replace(end, problem(error));
      if (!passes(error)) return;
    }
    await pause(EVERY_MS);
    if (signal.aborted) return;
  }
}

// The events, one after another; after a lost connection from the next one on.
async function follow(path, signal, take) {
  let last;
  for (;;) {
    try {
      const headers = last && { 'Last-Event-ID': last };
      for await (const { id, data } of events(`${path}/events?stream=true`, { signal, headers })) {
        last = id ?? last;
        take(data);
      }
      return;
    } catch (error) {
      if (signal.aborted || (error.status !== undefined && !passes(error))) return;
    }
    await pause(EVERY_MS);
    if (signal.aborted) return;
  }
}

// Draws metrics, writes messages. The steps of a search are recipes, which have no training loss.
function eventTaker(log, place, takeMetrics) {
  const data = [[], [], []];
  let curve = null;
  return (event) => {
    if (event.type === 'metrics') {
      const { step, train_loss: loss, valid_loss: validation } = event.data;
      takeMetrics(event.data);
      data[0].push(step);
      data[1].push(validation ?? null);
      data[2].push(loss ?? null);
      if (!curve) {
        curve = chart('Loss', ['validation', ...(loss === undefined ? [] : ['training'])], {
          x: loss === undefined ? 'recipe' : 'step',
          points: true,
        });
        replace(place, curve.element);
      }
      return requestAnimationFrame(() => curve.set(data.slice(0, loss === undefined ? 2 : 3)));
    }
    log.append(h('li', { class: event.level === 'info' ? '' : 'problem' }, event.message));
    if (log.children.length > LOG_LINES) log.firstChild.remove();
    log.scrollTop = log.scrollHeight;
  };
}

// Made once: a button that is being pressed stays where it is.
function makeHead(path, refresh) {
  const tiles = h('div', { class: 'tiles' }),
    said = h('div');
  const act = (text, verb, properties) =>
    button(
      text,
      () =>
        attempt(said, async () => {
          await call(`${path}/${verb}`, { body: {} });
          await refresh();
        }),
      properties,
    );
  const pause = act('Pause', 'pause'),
    resume = act('Resume', 'resume', { class: 'main' }),
    cancel = act('Cancel', 'cancel', { class: 'danger' });
  for (const one of [pause, resume, cancel]) one.hidden = true; // until the job is known
  return {
    element: h('div', null, tiles, said, h('div', { class: 'row' }, pause, resume, cancel)),
    update(job, latest) {
      const goesOn = GOES_ON.includes(job.status);
      pause.hidden = !goesOn || Boolean(job.paused);
      resume.hidden = !job.paused;
      cancel.hidden = !goesOn;
      if (job.error) replace(said, problem(job.error.message));
      replace(tiles, facts(job, latest, goesOn));
    },
  };
}

function facts(job, latest, goesOn) {
  const left = job.estimated_finish ? job.estimated_finish - Date.now() / 1000 : NaN;
  return [
    h(
      'div',
      { class: 'tile' },
      h('span', null, 'Status'),
      h('b', null, status(job)),
      h('span', { class: 'soft' }, job.id),
    ),
    tile('Model', modelOf(job), `since ${moment(job.created_at)}`),
    goesOn &&
      tile(
        'Time left',
        duration(Math.max(0, left)),
        latest && `${latest.train_loss === undefined ? 'recipe' : 'step'} ${latest.step}`,
      ),
    latest?.valid_loss !== undefined && tile('Validation loss', number(latest.valid_loss)),
    latest?.valid_mean_token_accuracy !== undefined &&
      tile('Validation accuracy', percent(latest.valid_mean_token_accuracy)),
  ];
}

// ---- the end ------------------------------------------------------------------------------------

async function showEnd(place, job) {
  if (job.status !== 'succeeded') return;
  const [name, version] = job.fine_tuned_model.split('@');
  const results = await resultsOf(job);
  const report = results.find((file) => file.filename.endsWith('.html'));
  const said = h('div');
  const save = () =>
    attempt(said, async () => download(report.filename, await call(`/v1/files/${report.id}/content`), 'text/html'));
  replace(
    place,
    h(
      'section',
      { class: 'card' },
      h('h2', null, `${job.fine_tuned_model} is ready`),
      h(
        'div',
        { class: 'row' },
        report && button('Save the report', save),
        h('a', { href: `#/teach/correct/${job.id}` }, 'Look at uncertain and mistaken texts'),
        h('a', { href: `#/models/${encodeURIComponent(name)}` }, 'All versions'),
      ),
      said,
      await beside(name, version).catch(problem),
      await quality(results).catch(problem),
    ),
  );
}

async function quality(results) {
  const records = await predictionsOf(results);
  return records && confusion(records);
}

// One's own sentence, by this version and by the one that serves; and which of them shall.
async function beside(name, version) {
  const place = h('div'),
    said = h('div'),
    results = h('div', { class: 'two', 'aria-live': 'polite' });
  const box = h('input', { placeholder: 'A text of your own', size: 50, required: true });
  const form = formRow(
    () => showResults(),
    h('div', { class: 'grow' }, field('Try it', box)),
    h('button', { class: 'main' }, 'Classify'),
  );
  const move = h('div');
  const moves = movesOf(name);
  const path = `/v1/models/${encodeURIComponent(name)}`;
  let stable = null;

  async function refresh() {
    const { sluice } = await call(path);
    const holder = (label) => sluice.versions.find((v) => v.labels.includes(label));
    stable = String(holder('stable')?.version ?? '');
    const canary = holder('canary'),
      isCanary = String(canary?.version) === version;
    const act = ([text, done, at, options], properties) =>
      may('admin') && button(text, () => change(done, at, options), properties);
    const now = h(
      'p',
      { tabindex: -1 },
      stable ? `Version ${stable} serves ` : 'No version serves ',
      h('code', null, name),
      canary ? `; version ${canary.version} gets ${canary.canary_weight} % of the requests.` : '.',
    );
    replace(
      move,
      now,
      h(
        'div',
        { class: 'row' },
        stable !== version && act(moves.promote(version), { class: 'main' }),
        stable !== version && !isCanary && act(moves.canary(version)),
        isCanary && act(moves.endCanary),
        stable === version && sluice.versions.length > 1 && act(moves.rollBack),
      ),
    );
    return now;
  }
  const change = (done, at, options) =>
    attempt(said, async () => {
      await call(at, options);
      const now = await refresh();
      if (results.firstChild) await showResults();
      now.focus();
      announce(done);
    });
  let runs = 0; // what a slower one says is not shown
  async function showResults() {
    const own = ++runs;
    const versions = stable && stable !== version ? [stable, version] : [version];
    const answers = await Promise.all(versions.map((v) => answerOf(name, v, v === stable, box.value)));
    if (own === runs) replace(results, answers);
  }
  await refresh();
  replace(place, form, results, move, said);
  return place;
}

async function answerOf(name, version, serves, text) {
  const path = `/models/${encodeURIComponent(`${name}@${version}`)}/predict`;
  const title = h('h3', null, `version ${version}${serves ? ', which serves' : ''}`);
  try {
    const [labels] = await call(path, { body: { inputs: [[text]], truncate: true, unknown_characters: 'replace' } });
    return h('div', { class: 'card' }, title, bars(labels.slice(0, 6).map(({ label, score }) => [label, score])));
  } catch (error) {
    return h('div', { class: 'card' }, title, problem(error));
  }
}
