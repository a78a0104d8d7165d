// teach_file.js - one file: what is in it, what is wrong with it, and how to train on it.
import { call } from './api.js';
import { announce, attempt, button, field, h, once, problem, replace, select, submitted, table } from './dom.js';
import { count, several } from './format.js';
import { dropZone, startJob } from './teach.js';
import { bars } from './tokens.js';

const RECORDS = 5,
  LABELS_SHOWN = 30;

export async function show(content, id) {
  const file = await call(`/v1/files/${encodeURIComponent(id)}`);
  const place = h('div');
  replace(content, h('p', null, h('a', { href: '#/teach' }, 'Teach')), h('h1', null, file.filename), place);
  await showCheck(place, file, chosen.get(id) ?? {});
}

const chosen = new Map(); // the columns of each file, while the page is open

// focus: which of the columns was just chosen.
async function showCheck(place, file, columns, focus) {
  replace(place, h('p', { class: 'soft', role: 'status' }, 'Reading the file \u2026'));
  const query = new URLSearchParams({ records: RECORDS, ...columns });
  let found,
    models = [];
  try {
    found = await call(`/v1/files/${encodeURIComponent(file.id)}/check?${query}`);
    if (found.problems.length === 0) models = (await call('/v1/models')).data;
  } catch (error) {
    return replace(
      place,
      problem(error),
      button('Try again', () => showCheck(place, file, columns)),
    );
  }
  const good = found.problems.length === 0;
  replace(
    place,
    chooser(place, file, found, focus),
    problems(found),
    good && summary(found),
    examples(found),
    good && trainForm(file, found, models),
  );
  announce(good ? `${found.texts} texts with ${found.labels.length} labels.` : several(found.problem_count, 'problem'));
}

function chooser(place, file, found, focus) {
  if (found.columns.length === 0) return null;
  const options = [['', 'choose \u2026'], ...found.columns];
  const label = select(options, found.label ?? '');
  const text = select(options, found.text ?? '');
  const again = (which) => () => {
    if (!label.value || !text.value) return;
    chosen.set(file.id, { label: label.value, text: text.value });
    showCheck(place, file, chosen.get(file.id), which);
  };
  label.addEventListener('change', again('label'));
  text.addEventListener('change', again('text'));
  if (focus) requestAnimationFrame(() => (focus === 'label' ? label : text).focus());
  return h(
    'div',
    { class: 'row' },
    field('Column of the label', label),
    field('Column of the text', text),
    h('p', { class: 'soft' }, `Read as ${found.format.toUpperCase()}.`),
  );
}

function problems({ problems: wrong, problem_count: count_, warnings, notes, columns, label, text }) {
  const open = columns.length > 0 && (!label || !text) && wrong.length === 1 && wrong[0].line === null;
  if (open)
    return h(
      'p',
      { class: 'problem', role: 'alert' },
      `Which of the columns is the ${label ? 'text' : text ? 'label' : 'label, and which the text'}?`,
    );
  const said = h('div');
  const lines = (list) =>
    h(
      'ul',
      null,
      list.map((text) => h('li', null, text)),
    );
  return h(
    'div',
    null,
    wrong.length > 0 &&
      h(
        'section',
        { class: 'card' },
        h('h2', null, 'To mend before training'),
        table(
          'Problems',
          ['Line', 'What is wrong'],
          wrong.map(({ line, message }) => [line ?? '', message]),
          [0],
        ),
        count_ > wrong.length && h('p', null, `and ${count_ - wrong.length} more`),
        dropZone(said),
        said,
      ),
    warnings.length > 0 &&
      h(
        'details',
        { open: true },
        h('summary', null, `${several(warnings.length, 'thing')} to look at`),
        lines(warnings),
      ),
    notes.length > 0 && h('details', { open: true }, h('summary', null, 'What was assumed'), lines(notes)),
  );
}

function summary({ texts, labels, multi_label: many }) {
  const most = Math.max(...labels.map((label) => label.texts), 1);
  const shown = labels.slice(0, LABELS_SHOWN);
  return h(
    'section',
    null,
    h('h2', null, `${count(texts)} texts, ${labels.length} labels${many ? ', several per text' : ''}`),
    bars(shown.map((label) => [label.label, label.texts / most, count(label.texts)])),
    labels.length > shown.length && h('p', { class: 'soft' }, `and ${labels.length - shown.length} more`),
  );
}

function examples({ records }) {
  return (
    records.length > 0 &&
    table(
      'The first texts',
      ['Line', 'Label', 'Text'],
      records.map(({ line, labels, text }) => [line, labels.join(' | '), text]),
      [0],
    )
  );
}

function trainForm(file, found, models) {
  const said = h('div'),
    warning = h('p', { class: 'problem', role: 'status' });
  // Models whose layers can be fine-tuned for one's own labels.
  const encoders = models
    .filter(({ sluice }) => sluice.task === 'embedding' && sluice.architecture === 'transformer')
    .map(({ id }) => id);
  const name = h('input', {
    value: nameFor(file.filename),
    required: true,
    pattern: '[A-Za-z0-9][A-Za-z0-9._\\-]{0,99}',
    size: 24,
    title: 'At most 100 letters, digits, dots, dashes and underscores, a letter or digit first',
    oninput: () => {
      warning.textContent = clash(name.value, found, models);
    },
  });
  warning.textContent = clash(name.value, found, models);
  const promotion = select(
    [
      ['never', 'when I promote it; the first version of a new name at once'],
      ['canary', 'to 10 % of the requests'],
    ],
    'never',
  );
  const encoder = select(
    [
      ...encoders.map((id) => [id, `with ${id} (better, takes longer)`]),
      encoders.length === 0 && ['auto', 'with the bundled encoder (better, takes longer)'],
      ['', 'for words alone (seconds)'],
    ].filter(Boolean),
    encoders[0] ?? 'auto',
  );
  const start = once(async () => {
    const hyperparameters = { promotion: promotion.value };
    if (found.label) hyperparameters.label = found.label;
    if (found.text) hyperparameters.text = found.text;
    if (!encoder.value) hyperparameters.quick = true;
    await attempt(said, () =>
      startJob({
        training_file: file.id,
        suffix: name.value,
        hyperparameters,
        ...(encoder.value && { model: encoder.value }),
      }),
    );
  });
  return h(
    'form',
    { onsubmit: submitted(start) },
    h('h2', null, 'Train'),
    h('p', null, 'Several recipes are tried by cross-validation; the best is published.'),
    h(
      'div',
      { class: 'row' },
      field('Name of the model', name, 'A name that serves already gets a new version.'),
      field('Recipes', encoder),
      field('It serves', promotion),
      h('button', { class: 'main' }, 'Train'),
    ),
    warning,
    said,
  );
}

// Why this name is perhaps not meant.
function clash(name, found, models) {
  const labels = models.find(({ id }) => id === name)?.sluice.labels;
  const own = found.labels.map((label) => label.label);
  if (!labels || (labels.length === own.length && labels.every((label) => own.includes(label)))) return '';
  return `${name} serves other labels (${labels.slice(0, 4).join(', ')}${labels.length > 4 ? ', \u2026' : ''}): whoever uses it gets yours once it is promoted.`;
}

function nameFor(filename) {
  return (
    filename
      .replace(/\..*$/, '')
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 100) || 'mine'
  );
}
