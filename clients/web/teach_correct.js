// teach_correct.js - the texts of a job that its model doubts or gets wrong: correct their labels
// here, and train again.
import { call } from './api.js';
import { attempt, button, h, replace, select } from './dom.js';
import { percent, several } from './format.js';
import { labelsOf, predictionsOf, resultsOf } from './predictions.js';
import { sendFile, startJob } from './teach.js';

const SHOWN = 60;

export async function show(content, id) {
  const job = await call(`/v1/fine_tuning/jobs/${encodeURIComponent(id)}`);
  const place = h('div');
  replace(
    content,
    h('p', null, h('a', { href: `#/teach/job/${id}` }, 'Training job')),
    h('h1', null, 'Uncertain and mistaken texts'),
    place,
  );
  const records = await predictionsOf(await resultsOf(job));
  if (!records)
    return replace(
      place,
      h(
        'p',
        null,
        'This job has no list of predictions that could be shown: its texts have several labels or are too many, it trained an architecture of your choice, or the file was deleted.',
      ),
    );
  const file = await call(`/v1/files/${encodeURIComponent(job.training_file)}`).catch(() => ({
    filename: 'texts.jsonl',
  }));
  // Mistakes first, the surest ones before others; then what is right, the most doubtful first.
  for (const record of records) record.doubt = record.predicted === record.label ? -record.score : record.score;
  showTable(place, job, file, records, labelsOf(records));
  return undefined;
}

function showTable(place, job, file, records, labels) {
  const said = h('div');
  const doubtful = [...records].sort((a, b) => b.doubt - a.doubt).slice(0, SHOWN);
  const changed = new Map();
  const again = button('Train again', () => train(said, job, file, records, changed), {
    class: 'main',
    disabled: true,
  });
  const rows = doubtful.map((record) => {
    const take = button(
      'Take it',
      () => {
        choice.value = record.predicted;
        choice.dispatchEvent(new Event('change'));
      },
      { class: 'small' },
    );
    const choice = select([...labels, ['\u0000', '(leave this text out)']], record.label, {
      'aria-label': `Label of: ${record.text.slice(0, 80)}`,
      onchange() {
        if (choice.value === record.label) changed.delete(record);
        else changed.set(record, choice.value);
        take.disabled = choice.value === record.predicted;
        take.textContent = take.disabled ? 'Taken' : 'Take it';
        row.classList.toggle('changed', changed.has(record));
        again.disabled = changed.size === 0;
        again.textContent = changed.size ? `Train again with ${several(changed.size, 'change')}` : 'Train again';
      },
    });
    const row = h(
      'li',
      null,
      h('p', null, record.text),
      h(
        'div',
        { class: 'row' },
        choice,
        record.predicted !== record.label &&
          h('span', null, 'the model says ', h('b', null, record.predicted), ' ', take),
        h('span', { class: 'soft' }, `${percent(record.score)} for ${record.predicted}`),
      ),
    );
    return row;
  });
  replace(
    place,
    h(
      'p',
      null,
      `Each text was read by a model that had not learnt from it. Of ${records.length} texts these are the ${rows.length} whose labels those models doubt most: mistakes first, then the least sure.`,
    ),
    h('div', { class: 'row' }, again),
    said,
    h('ul', { class: 'results' }, rows),
  );
}

// A new file with the corrections, and a job like the last one.
async function train(said, job, file, records, changed) {
  const lines = records
    .filter((record) => changed.get(record) !== '\u0000')
    .map((record) => JSON.stringify({ label: changed.get(record) ?? record.label, text: record.text }));
  const name = file.filename.replace(/(\.corrected)?(\.\w+)+$/, '.corrected.jsonl');
  const [suffix] = job.fine_tuned_model.split('@');
  const { label_separator: _, format: __, ...hyperparameters } = job.hyperparameters; // of the file before
  await attempt(said, async () => {
    const { id } = await sendFile(new File([lines.join('\n')], name));
    await startJob({
      training_file: id,
      model: job.model,
      suffix,
      hyperparameters: { ...hyperparameters, label: 'label', text: 'text' },
    });
  });
}
