// try.js - the view Try: choose a model, a version and a budget, and see what it does with a text.
// What a kind of model needs is in a module of its own: inputs(models, model) returns {element,
// read()}; run(target, values, output, signal) shows a result and returns the request it sent.
import { call } from './api.js';
import { announce, button, field, h, problem, replace, select } from './dom.js';
import { count, number, percent } from './format.js';
import { snippets } from './snippets.js';

// The first whose ability a model has; a model may have several.
const TASKS = [
  ['completion', 'Complete', () => import('./complete.js')],
  ['translation', 'Translate', () => import('./translate.js')],
  ['reranking', 'Rank', () => import('./rank.js')],
  ['classification', 'Classify', () => import('./classify.js')],
  ['zero_shot_classification', 'Classify with labels of your own', () => import('./zero_shot.js')],
  ['token_classification', 'Find entities', () => import('./entities.js')],
  ['fill_mask', 'Fill masks', () => import('./fill_mask.js')],
  ['embedding', 'Search', () => import('./search.js')],
];

export async function show(content, [wanted]) {
  const { data: models } = await call('/v1/models');
  if (!models.length) {
    replace(content, h('h1', null, 'Try'), h('p', null, 'No model is loaded. The log of the daemon says why.'));
    return undefined;
  }
  const abort = { controller: null };
  const chosen =
    models.find((model) => model.id === wanted) ??
    models.find((model) => model.sluice.task === 'completion') ??
    models[0];
  const place = h('div');
  const picker = select(
    models.map((model) => [model.id, `${model.id} (${model.sluice.task.replace('_', ' ')})`]),
    chosen.id,
    {
      onchange: () => {
        location.hash = `#/try/${encodeURIComponent(picker.value)}`;
      },
    },
  );
  const missing = wanted && chosen.id !== wanted && problem(`No model of the name '${wanted}' is loaded.`);
  replace(
    content,
    h('h1', null, 'Try'),
    missing,
    h('div', { class: 'row' }, field('Model', picker), about(chosen)),
    place,
  );
  const tasks = TASKS.filter(([ability]) => chosen.sluice.abilities.includes(ability));
  if (tasks.length === 0) replace(place, h('p', null, 'There is nothing to try with this model here.'));
  else await showTask(place, models, chosen, tasks, 0, abort);
  return () => abort.controller?.abort();
}

function about({ sluice }) {
  const sizes = sluice.depth ? `${sluice.depth} layers, width ${sluice.width}` : `width ${sluice.width}`;
  return h(
    'p',
    { class: 'soft' },
    `${sluice.architecture}, ${sizes}, ${count(sluice.parameters + sluice.buffers)} weights. ${sluice.paper}`,
  );
}

async function showTask(place, models, model, tasks, index, abort) {
  const [, title, load] = tasks[index];
  const task = await load();
  const form = task.inputs(models, model);
  const targets = [target(model)];
  const columns = h('div', { class: 'two' });
  const said = h('div');
  const start = h('button', { class: 'main' }, title);
  const stop = button('Stop', () => abort.controller?.abort(), { disabled: true });
  const compare = button('Compare', () => {
    if (targets.length === 1) targets.push(target(model, true));
    else targets.pop();
    compare.textContent = targets.length === 1 ? 'Compare' : 'One side';
    showTargets();
  });
  compare.hidden = !canDiffer(model);
  function showTargets() {
    replace(
      columns,
      targets.map((t) => h('div', { class: targets.length > 1 && 'card' }, t.element, t.output)),
    );
    columns.className = targets.length > 1 ? 'two' : '';
  }
  async function run(event) {
    event.preventDefault();
    abort.controller?.abort();
    const controller = (abort.controller = new AbortController());
    let values;
    replace(said);
    try {
      values = form.read();
    } catch (error) {
      return replace(said, problem(error));
    }
    start.disabled = true;
    stop.disabled = false;
    for (const t of targets) await runOne(task, t, values, controller.signal);
    start.disabled = false;
    stop.disabled = true;
    announce('Done.');
  }
  const other = select(
    tasks.map(([, name], i) => [i, name]),
    index,
    { onchange: () => showTask(place, models, model, tasks, Number(other.value), abort) },
  );
  showTargets();
  replace(
    place,
    tasks.length > 1 && field('Task', other),
    h('form', { onsubmit: run }, form.element, h('div', { class: 'row' }, start, stop, compare)),
    said,
    columns,
  );
}

async function runOne(task, t, values, signal) {
  const output = replace(t.output, h('p', { class: 'soft' }, '\u2026'));
  try {
    const sent = await task.run(t.read(), values, output, signal);
    if (sent) output.append(snippets(sent.path, sent.body));
  } catch (error) {
    if (error.name === 'AbortError') output.append(h('p', { class: 'soft' }, 'Stopped.'));
    else replace(output, problem(error));
  }
}

const readyVersions = (model) => model.sluice.versions.filter((version) => version.state === 'ready');
const canDiffer = (model) => readyVersions(model).length > 1 || model.sluice.operating_points?.length > 0;

// A version and a budget of a model, to choose; beside another one: first a different version or budget.
function target(model, isSecond = false) {
  const versions = readyVersions(model);
  const version = select(
    [
      ['', 'as requests are routed'],
      ...versions.map((v) => [v.version, `version ${v.version}${v.labels.length ? ` (${v.labels.join(', ')})` : ''}`]),
    ],
    '',
  );
  const points = model.sluice.operating_points ?? [];
  const slider = h('input', {
    type: 'range',
    min: 0,
    max: points.length,
    value: isSecond && versions.length < 2 ? points.length : 0,
  });
  if (isSecond && versions.length > 1)
    version.value = versions.find((v) => !v.labels.includes('stable'))?.version ?? '';
  const meaning = h('span', { class: 'soft' });
  const say = () => {
    const point = points[slider.value - 1];
    meaning.textContent = !point
      ? 'the model\u2019s own choice'
      : `budget ${number(point.budget, 2)}: skips ${percent(point.layer_ops_skipped, 0)} of the layers, ` +
        (point.accuracy !== undefined
          ? `${percent(point.accuracy)} right on unseen texts`
          : `loss ${number(point.loss, 4)} on unseen texts`);
    slider.setAttribute('aria-valuetext', meaning.textContent);
  };
  slider.addEventListener('input', say);
  say();
  return {
    element: h(
      'div',
      { class: 'row' },
      versions.length > 1 && field('Version', version),
      points.length > 0 && h('div', { class: 'field' }, field('Compute budget', slider), meaning),
    ),
    output: h('div', { class: 'output' }),
    read: () => ({
      model: model.sluice,
      name: version.value ? `${model.id}@${version.value}` : model.id,
      budget: points[slider.value - 1]?.budget,
    }),
  };
}
