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
  return text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

export function labelsOf(records) {
  return [...new Set(records.map((record) => record.label))].sort();
}

// How often each label was taken for which, as in the report.
export function confusion(records) {
  const labels = labelsOf(records);
  if (labels.length > MATRIX_LABELS) return null;
  const count = (label, predicted) => records.filter((record) => record.label === label && record.predicted === predicted).length;
  const right = records.filter((record) => record.label === record.predicted).length;
  const rows = labels.map((label) => {
    const counts = labels.map((predicted) => count(label, predicted));
    const texts = counts.reduce((sum, n) => sum + n, 0);
    return [h('b', null, label), ...counts.map((n, i) => h('span', { class: labels[i] === label ? 'right' : 'wrong', style: { '--strength': n / Math.max(1, texts) } }, n || '')),
      percent(counts[labels.indexOf(label)] / texts)];
  });
  const matrix = table('Rows: the label. Columns: what was predicted.', ['', ...labels, 'right'], rows, labels.map((_, i) => i + 1).concat(labels.length + 1));
  matrix.classList.add('confusion');
  return h('section', null, h('h3', null, `Right: ${percent(right / records.length)} of ${records.length} texts`), matrix);
}
