// teach.js - the view Teach: files, training jobs, and what becomes of them.
import { call } from './api.js';
import { announce, attempt, button, field, h, replace, table } from './dom.js';
import { bytes, moment } from './format.js';

const LIST = 20,
  LIST_MAX = 10000; // of the API

// Parts of this view, by the first word after #/teach/.
const PARTS = {
  file: () => import('./teach_file.js'),
  job: () => import('./teach_job.js'),
  correct: () => import('./teach_correct.js'),
};

export async function show(content, [part, id]) {
  if (PARTS[part] && id) return (await PARTS[part]()).show(content, id);
  const said = h('div');
  const lists = h('div');
  replace(
    content,
    h('h1', null, 'Teach'),
    h(
      'p',
      null,
      'A file of labelled texts becomes a classifier: a column with the label, a column with the text, ' +
        'as CSV, TSV, JSON Lines or what a spreadsheet exports. A hundred texts are enough to start with.',
    ),
    dropZone(said),
    said,
    lists,
  );
  const refresh = () => showLists(lists, said);
  await refresh();
  return undefined;
}

// Sends the file and goes to its page; errors stand in `said`.
export function dropZone(said) {
  const input = h('input', {
    type: 'file',
    onchange() {
      upload(input.files[0], said);
      input.value = ''; // a mended file of the same name is another one
    },
  });
  const zone = h('div', { class: 'drop' }, field('Drop a file here, or choose one', input));
  const over = (on) => (event) => {
    event.preventDefault();
    zone.classList.toggle('over', on);
  };
  zone.addEventListener('dragover', over(true));
  zone.addEventListener('dragleave', over(false));
  zone.addEventListener('drop', (event) => {
    over(false)(event);
    upload(event.dataTransfer.files[0], said);
  });
  return zone;
}

// Returns the file's object.
export async function sendFile(file) {
  const form = new FormData();
  form.append('purpose', 'fine-tune');
  form.append('file', file);
  return call('/v1/files', { body: form });
}

// Creates a job and goes to its page.
export async function startJob(body) {
  const job = await call('/v1/fine_tuning/jobs', { body });
  announce('Training has begun.');
  location.hash = `#/teach/job/${job.id}`;
}

async function upload(file, said) {
  if (!file) return;
  await attempt(said, async () => {
    replace(said, h('p', { class: 'soft', role: 'status' }, `Sending ${file.name} \u2026`));
    const { id } = await sendFile(file);
    announce(`${file.name} is uploaded.`);
    location.hash = `#/teach/file/${id}`;
  });
}

// The names of the files that jobs were trained on, by id.
async function namesOf(jobs, files) {
  const names = new Map(files.map((file) => [file.id, file.filename]));
  const others = [...new Set(jobs.map((job) => job.training_file))].filter((id) => !names.has(id));
  const nameOf = (id) =>
    call(`/v1/files/${id}`).then(
      (file) => file.filename,
      (error) => (error.status === 404 ? 'deleted' : id),
    );
  const found = await Promise.all(others.map(nameOf));
  others.forEach((id, i) => names.set(id, found[i]));
  return names;
}

async function showLists(place, said, limit = LIST) {
  const [files, jobs] = await Promise.all([
    call(`/v1/files?purpose=fine-tune&limit=${limit}`),
    call(`/v1/fine_tuning/jobs?limit=${limit}`),
  ]);
  const remove = (file) =>
    attempt(said, async () => {
      await call(`/v1/files/${file.id}`, { method: 'DELETE' });
      announce(`${file.filename} is deleted.`);
      await showLists(place, said, limit);
    });
  const names = await namesOf(jobs.data, files.data);
  const more = (list) =>
    list.has_more &&
    button('Show more', () => attempt(said, () => showLists(place, said, Math.min(LIST_MAX, 5 * limit))), {
      class: 'small',
    });
  replace(
    place,
    h('h2', null, 'Training'),
    jobs.data.length === 0
      ? h('p', { class: 'soft' }, 'Nothing was trained here yet.')
      : table(
          'Training jobs, newest first',
          ['Job', 'Model', 'Data', 'Status', 'Created'],
          jobs.data.map((job) => [
            h('a', { href: `#/teach/job/${job.id}` }, job.id.slice(0, 14)),
            modelOf(job),
            names.get(job.training_file),
            status(job),
            moment(job.created_at),
          ]),
        ),
    more(jobs),
    h('h2', null, 'Files'),
    files.data.length === 0
      ? h('p', { class: 'soft' }, 'There are no files.')
      : table(
          'Files, newest first',
          ['File', 'Size', 'Uploaded', ''],
          files.data.map((file) => [
            h('a', { href: `#/teach/file/${file.id}` }, file.filename),
            bytes(file.bytes),
            moment(file.created_at),
            button('Delete', () => remove(file), { class: 'small danger', 'aria-label': `Delete ${file.filename}` }),
          ]),
          [1],
        ),
    more(files),
  );
}

// What a job has made, or what it shall be named.
export function modelOf(job) {
  return job.fine_tuned_model ?? job.user_provided_suffix ?? job.model;
}

export function status(job) {
  const text = job.paused ? 'paused' : job.status.replace('_', ' ');
  return h(
    'span',
    { class: `tag${job.status === 'succeeded' ? ' good' : job.status === 'failed' ? ' bad' : ''}` },
    text,
  );
}
