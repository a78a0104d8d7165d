// models.js - the view Models: what each model is, its versions and labels, and moving them.
import { call } from './api.js';
import { chart } from './charts.js';
import { announce, attempt, button, field, formRow, h, problem, replace, select, table } from './dom.js';
import { count, duration, moment, number, percent } from './format.js';
import { movesOf } from './moves.js';
import { confusionTable } from './predictions.js';
import { may } from './session.js';

export async function show(content, [wanted]) {
  const said = h('div');
  const place = h('div');
  replace(content, h('h1', null, 'Models'), said, place);
  const refresh = () => list(place, said, wanted);
  await refresh();
}

async function list(place, said, wanted) {
  const [{ data: models }, index] = await Promise.all([call('/v1/models'), call('/v2/repository/index', { body: {} })]);
  const rows = models.map(({ id, sluice }) => [
    h('a', { href: `#/models/${encodeURIComponent(id)}`, 'aria-current': id === wanted && 'true' }, id),
    sluice.version,
    sluice.task.replace('_', ' '),
    sluice.architecture,
    count(sluice.parameters + sluice.buffers),
    sluice.versions.length,
  ]);
  const detail = h('div');
  replace(
    place,
    table('Models that serve', ['Model', 'Version', 'Task', 'Architecture', 'Weights', 'Versions'], rows, [1, 4, 5]),
    unserved(index, models, place, said, wanted),
    may('admin') && loader(place, said),
    detail,
  );
  const model = models.find(({ id }) => id === wanted) ?? (models.length === 1 && !wanted ? models[0] : null);
  if (wanted && !model) replace(said, problem(`No model of the name '${wanted}' is loaded.`));
  if (model)
    await describe(
      detail,
      await call(`/v1/models/${encodeURIComponent(model.id)}`),
      () => list(place, said, wanted),
      said,
    );
}

// A model that came into the store since the daemon looked there.
function loader(place, said) {
  const name = h('input', { required: true, size: 20, pattern: '[A-Za-z0-9][A-Za-z0-9._\\-]*' });
  const load = () =>
    loadModel(said, name.value, () => {
      history.replaceState(null, '', `#/models/${encodeURIComponent(name.value)}`);
      return list(place, said, name.value);
    });
  return formRow(
    load,
    field(
      'Load a model of the store',
      name,
      'Name of its directory in the store: bert for bert/1, which may be as Hugging Face publishes it',
    ),
    h('button', { class: 'small' }, 'Load this model'),
  );
}

const loadPath = (name) => `/v2/repository/models/${encodeURIComponent(name)}/load`;
const loadModel = (said, name, refresh) => change(said, `${name} is loaded.`, loadPath(name), { body: {} }, refresh);

// Models of the store of which no version is loaded.
function unserved(index, models, place, said, wanted) {
  const names = [...new Set(index.map(({ name }) => name))].filter((name) => !models.some(({ id }) => id === name));
  if (names.length === 0) return null;
  return h(
    'section',
    null,
    h('h2', null, 'In the store only'),
    h(
      'ul',
      null,
      names.map((name) => {
        const reasons = index
          .filter((row) => row.name === name && row.reason)
          .map(({ version, reason }) => `${version}: ${reason}`);
        return h(
          'li',
          null,
          name,
          ' ',
          reasons.length > 0 && h('span', { class: 'soft' }, reasons.join('; ')),
          ' ',
          may('admin') &&
            button('Load', () => loadModel(said, name, () => list(place, said, wanted)), { class: 'small' }),
        );
      }),
    ),
  );
}

async function change(said, done, path, options, refresh) {
  await attempt(said, async () => {
    await call(path, options);
    await refresh();
    replace(said, h('p', { class: 'soft' }, done));
    announce(done);
  });
}

async function describe(place, model, refresh, said) {
  const { sluice } = model;
  const facts = [
    ['Architecture', sluice.architecture],
    ['Paper', sluice.paper],
    ['Trained', moment(model.created)],
    ['Context', `${number(model.max_model_len, 6)} tokens`],
    ['Vocabulary', number(sluice.vocab, 6)],
    ['Layers', sluice.depth || '-'],
    ['Width', sluice.width],
    ['Parameters', count(sluice.parameters)],
    ['Other weights, such as word vectors', count(sluice.buffers)],
    ['Layers are skipped', sluice.gate],
    ['Can do', sluice.abilities.join(', ').replaceAll('_', ' ')],
    sluice.labels && [
      'Labels',
      sluice.labels.length > 40
        ? `${sluice.labels.slice(0, 40).join(', ')} and ${sluice.labels.length - 40} more`
        : sluice.labels.join(', '),
    ],
    ['SHA-256 of the weights', h('code', null, sluice.sha256)],
  ].filter(Boolean);
  replace(
    place,
    h('h2', null, model.id),
    h('p', null, h('a', { href: `#/try/${encodeURIComponent(model.id)}` }, 'Try it')),
    h('h3', null, 'Versions'),
    versions(model, refresh, said),
    points(sluice),
    guarded(() => quality(sluice)),
    guarded(() => origin(sluice.training)),
    sluice.training && Object.keys(sluice.training).length > 0 && recorded(sluice.training),
    h('h3', null, `Facts of version ${sluice.version}`),
    table('Facts', ['', ''], facts),
  );
}

function versions(model, refresh, said) {
  const name = encodeURIComponent(model.id);
  const act = (text, done, path, options) =>
    button(text, () => change(said, done, path, options, refresh), { class: 'small' });
  const moves = movesOf(model.id);
  const rows = model.sluice.versions.map((v) => {
    const canary = v.labels.includes('canary'),
      stable = v.labels.includes('stable');
    const actions = !may('admin')
      ? null
      : [
          v.state === 'ready' && !stable && act(...moves.promote(v.version)),
          v.state === 'ready' && !stable && !canary && act(...moves.canary(v.version)),
          canary && act(...moves.endCanary),
          v.state === 'ready' &&
            v.labels.length === 0 &&
            act(
              'Unload',
              `Version ${v.version} is unloaded.`,
              `/v2/repository/models/${name}/versions/${v.version}/unload`,
              { body: {} },
            ),
          ['failed', 'unloaded'].includes(v.state) &&
            act('Load', `Version ${v.version} is loaded.`, `/v2/repository/models/${name}/versions/${v.version}/load`, {
              body: {},
            }),
        ];
    return [
      v.version,
      h(
        'span',
        { class: ['tag', v.state === 'ready' && 'good', v.state === 'failed' && 'bad'].filter(Boolean).join(' ') },
        v.state,
      ),
      v.reason ?? '',
      v.labels.map((text) => h('span', { class: 'tag' }, text === 'canary' ? `canary ${v.canary_weight} %` : text)),
      h('div', { class: 'row' }, actions),
    ];
  });
  const admin =
    may('admin') &&
    h(
      'div',
      { class: 'row' },
      model.sluice.versions.length > 1 && act(...moves.rollBack),
      act('Load the highest version', 'The highest version serves.', loadPath(model.id), { body: {} }),
      labelForm(model, refresh, said),
    );
  return h(
    'div',
    null,
    table(`Versions of ${model.id}`, ['Version', 'State', 'Reason', 'Labels', 'Change'], rows, [0]),
    admin,
  );
}

function labelForm(model, refresh, said) {
  const label = h('input', { value: 'tested', size: 12, required: true, pattern: '[A-Za-z][A-Za-z0-9._\\-]{0,30}' });
  const version = select(
    model.sluice.versions.map((v) => v.version),
    model.sluice.version,
  );
  return formRow(
    () =>
      change(
        said,
        'The label is set.',
        `/v1/models/${encodeURIComponent(model.id)}/labels/${encodeURIComponent(label.value)}`,
        { method: 'PUT', body: { version: Number(version.value) } },
        refresh,
      ),
    field('Label', label),
    field('Version', version),
    h('button', { class: 'small' }, 'Set label'),
  );
}

// The quality that each budget keeps, over the time that it takes.
function points({ operating_points: list }) {
  if (!list?.length) return null;
  const known = list[0].accuracy !== undefined;
  const sorted = [...list].sort((a, b) => a.budget - b.budget);
  const one = chart(known ? 'Accuracy by compute budget' : 'Loss by compute budget', [known ? 'accuracy' : 'loss'], {
    x: 'time, as a fraction of computing everything',
    points: true,
    format: (value) => (known ? percent(value) : number(value, 4)),
  });
  requestAnimationFrame(() => one.set([sorted.map((p) => p.budget), sorted.map((p) => (known ? p.accuracy : p.loss))]));
  return h(
    'section',
    null,
    h('h3', null, 'Operating points'),
    h(
      'div',
      { class: 'two' },
      one.element,
      table(
        'Operating points',
        ['Budget', 'Skipped', 'Loss', known && 'Accuracy'].filter(Boolean),
        list.map((p) =>
          [
            number(p.budget, 2),
            percent(p.layer_ops_skipped, 0),
            number(p.loss, 4),
            known && percent(p.accuracy),
          ].filter((x) => x !== false),
        ),
        [0, 1, 2, 3],
      ),
    ),
  );
}

// `training` is whatever a config.json says; what is not as this page expects is only shown as it is.
function guarded(draw) {
  try {
    return draw();
  } catch {
    return null;
  }
}

function recorded(training) {
  return h(
    'details',
    null,
    h('summary', null, 'All that is recorded of its training'),
    h('pre', null, JSON.stringify(training, null, 2)),
  );
}

// How good its labels are, on texts that training had not seen.
function quality({ training, version }) {
  const { labels, confusion_matrix: matrix, texts, accuracy } = training?.validation ?? {};
  if (!labels) return null;
  const rows = labels.map((one) => [one.label, one.texts, percent(one.recall), percent(one.precision)]);
  return h(
    'section',
    null,
    h('h3', null, `Quality of version ${version}`),
    h('p', null, `${percent(accuracy)} of ${number(texts, 6)} unseen texts right.`),
    h(
      'div',
      { class: 'two' },
      table('Labels', ['Label', 'Texts', 'Recall', 'Precision'], rows, [1, 2, 3]),
      matrix &&
        confusionTable(
          labels.map((one) => one.label),
          matrix,
        ),
    ),
  );
}

// Where it comes from.
function origin(training) {
  if (!training || Object.keys(training).length === 0) return null;
  const { imported, adapted_from: adapted, validation } = training;
  const source = imported
    ? `imported from ${imported.from} (${imported.class})`
    : adapted
      ? `adapted from ${adapted}`
      : 'trained by sluice';
  const hash = imported?.sha256 ?? training.sha256;
  const file = training.data ?? training.corpus;
  const facts = [
    ['Source', source],
    hash && ['SHA-256 of the source', h('code', null, hash)],
    training.teacher_sha256 && ['SHA-256 of its teacher', h('code', null, training.teacher_sha256)],
    imported && ['Licence', imported.license?.file ?? 'no licence file'],
    file && !/^data\.\w+$/.test(file) && ['File', file], // jobs call every file data
    training.texts && ['Texts', number(training.texts, 7)],
    validation?.base && ['Base', validation.base],
    training.steps && ['Steps', number(training.steps, 7)],
    training.seconds && ['Time', duration(training.seconds)],
    training.finished && ['Finished', moment(training.finished)],
  ];
  return h('section', null, h('h3', null, 'Provenance'), table('Provenance', ['', ''], facts.filter(Boolean)));
}
