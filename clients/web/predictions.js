// predictions.js - the list of predictions that a job brings, and what it says of the labels.
import { call } from './api.js';
import { h, table } from './dom.js';
import { percent } from './format.js';

const MATRIX_LABELS = 20;

const READ_MAX = 30e6; // bytes: more would take the page long

// The files that a job has made and that are still there.
export async function resultsOf(job) {
  const files = await Promise.all(job.result_files.map((id) => call(`/v1/files/${id}`).catch(() => null)));
  return files.filter(Boolean);
}

// [{line, label, predicted, score, text}], by models that had not learnt from the text; null if
// there is no such file among these, or it has too many to show here.
export async function predictionsOf(results) {
  const list = results.find((file) => file.filename === 'predictions.jsonl');
  if (!list || list.bytes > READ_MAX) return null;
  const text = await call(`/v1/files/${list.id}/content`);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

export function labelsOf(records) {
  return [...new Set(records.flatMap(({ label, predicted }) => [label, predicted]))].sort();
}

// counts: how often each label (a row) was taken for which, in the order of the labels. Null where
// there are too many to look at.
export function confusionTable(labels, counts) {
  if (labels.length > MATRIX_LABELS) return null;
  const rows = counts.map((row, label) => {
    const texts = row.reduce((sum, n) => sum + n, 0);
    const cells = row.map((n, i) =>
      h('span', { class: i === label ? 'right' : 'wrong', style: { '--strength': n / Math.max(1, texts) } }, n || ''),
    );
    return [h('b', null, labels[label]), ...cells, percent(row[label] / texts)];
  });
  const matrix = table(
    'Rows: the label. Columns: what was predicted.',
    ['', ...labels, 'right'],
    rows,
    labels.map((_, i) => i + 1).concat(labels.length + 1),
  );
  matrix.classList.add('confusion');
  return matrix;
}

export function confusion(records) {
  const labels = labelsOf(records);
  const counts = labels.map(() => labels.map(() => 0));
  for (const { label, predicted } of records) counts[labels.indexOf(label)][labels.indexOf(predicted)]++;
  const right = records.filter((record) => record.label === record.predicted).length;
  return h(
    'section',
    null,
    h('h3', null, `Right: ${percent(right / records.length)} of ${records.length} texts`),
    confusionTable(labels, counts),
  );
}
