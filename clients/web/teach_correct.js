// teach_correct.js - the texts of a job that its model doubts or gets wrong: correct their labels
// here, and train again.
import { call } from './api.js';
import { announce, button, h, problem, replace, select } from './dom.js';
import { percent } from './format.js';
import { sendFile } from './teach.js';

const READ_MAX = 5000, SHOWN = 60, BATCH = 256;

export async function show(content, id) {
  const job = await call(`/v1/fine_tuning/jobs/${encodeURIComponent(id)}`);
  const place = h('div');
  replace(content, h('p', null, h('a', { href: `#/teach/job/${id}` }, 'Training job')), h('h1', null, 'Uncertain and mistaken texts'), place);
  replace(place, h('p', { class: 'soft', role: 'status' }, 'Reading and classifying \u2026'));
  const file = await call(`/v1/files/${encodeURIComponent(job.training_file)}`);
  const { label, text } = job.hyperparameters;
  const query = new URLSearchParams({ records: READ_MAX, ...(label && { label }), ...(text && { text }) });
  const found = await call(`/v1/files/${encodeURIComponent(file.id)}/check?${query}`);
  if (found.multi_label) return replace(place, h('p', null, 'Texts with several labels are corrected in their file.'));
  const records = found.records.map(({ labels: [own], text: words }) => ({ label: own, text: words }));
  await classify(job.fine_tuned_model, records, place);
  showTable(place, job, file, records, found.labels.map((row) => row.label), found.texts > records.length);
  return undefined;
}

// The probability of each text's own label, and the label that the model would give.
async function classify(model, records, place) {
  for (let at = 0; at < records.length; at += BATCH) {
    const part = records.slice(at, at + BATCH);
    const results = await call(`/models/${encodeURIComponent(model)}/predict`, {
      body: { inputs: part.map(({ text }) => [text]), truncate: true, blank_texts: 'empty', unknown_characters: 'replace' } });
    results.forEach((labels, i) => {
      part[i].predicted = labels[0]?.label;
      part[i].score = labels.find((row) => row.label === part[i].label)?.score ?? 0;
    });
    replace(place, h('progress', { value: at + part.length, max: records.length, 'aria-label': 'Texts classified' }));
  }
}

function showTable(place, job, file, records, labels, isPart) {
  const said = h('div');
  const doubtful = [...records].sort((a, b) => a.score - b.score).slice(0, SHOWN);
  const changed = new Map();
  const again = button('Train again', () => train(said, job, file, records, changed), { class: 'main', disabled: true });
  const rows = doubtful.map((record) => {
    const choice = select([...labels, ['\u0000', '(leave this text out)']], record.label, { 'aria-label': `Label of: ${record.text.slice(0, 80)}`, onchange() {
      if (choice.value === record.label) changed.delete(record);
      else changed.set(record, choice.value);
      again.disabled = changed.size === 0;
      again.textContent = changed.size ? `Train again with ${changed.size} ${changed.size === 1 ? 'change' : 'changes'}` : 'Train again';
    } });
    return h('li', null, h('p', null, record.text), h('div', { class: 'row' }, choice, record.predicted !== record.label && h('span', null, 'the model says ', h('b', null, record.predicted),
      ' ', button('Take it', () => {
        choice.value = record.predicted;
        choice.dispatchEvent(new Event('change'));
      }, { class: 'small' })), h('span', { class: 'soft' }, `${percent(record.score)} for ${record.label}`)));
  });
  replace(place, h('p', null, `Of ${records.length} texts${isPart ? ' (the first ones of the file)' : ''} these are the ${rows.length} whose label the model believes least.`),
    h('div', { class: 'row' }, again), said, h('ul', { class: 'results' }, rows));
}

// A new file with the corrections, and a job like the last one.
async function train(said, job, file, records, changed) {
  try {
    const lines = records.filter((record) => changed.get(record) !== '\u0000')
      .map((record) => JSON.stringify({ label: changed.get(record) ?? record.label, text: record.text }));
    const name = file.filename.replace(/(\.corrected)?(\.\w+)+$/, '.corrected.jsonl');
    const { id } = await sendFile(new File([lines.join('\n')], name));
    const [model] = job.fine_tuned_model.split('@');
    const next = await call('/v1/fine_tuning/jobs', { body: { training_file: id, suffix: model, hyperparameters: { label: 'label', text: 'text' } } });
    announce('Training has begun.');
    location.hash = `#/teach/job/${next.id}`;
  } catch (error) {
    replace(said, problem(error));
  }
}
