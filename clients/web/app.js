// app.js - the frame: which view is shown, who is signed in, and what they may do.
import { key, setKey } from './api.js';
import { announce, button, field, h, problem, replace } from './dom.js';
import { errorOf, errors, may, openSession } from './session.js';

const VIEWS = [
  { id: 'try', title: 'Try', scope: 'infer', load: () => import('./try.js') },
  { id: 'watch', title: 'Watch', scope: 'metrics', load: () => import('./watch.js') },
  { id: 'teach', title: 'Teach', scope: 'train', load: () => import('./teach.js') },
  { id: 'models', title: 'Models', scope: 'infer', load: () => import('./models.js') },
];

const main = document.getElementById('main');
let leave = null; // ends what the current view has started
let shown = 0; // views so far

function showFrame() {
  const here = current();
  replace(
    document.getElementById('views'),
    VIEWS.filter((view) => may(view.scope) || view === here).map((view) =>
      h('a', { href: `#/${view.id}`, 'aria-current': view === here && 'page' }, view.title),
    ),
  );
  document.getElementById('views').append(h('a', { href: '../docs/' }, 'Docs'));
  const needsKey = errors().some((error) => error?.status === 401);
  replace(
    document.getElementById('session'),
    key()
      ? button('Sign out', signOut, { class: 'small' })
      : needsKey
        ? button('Sign in', signIn, { class: 'small' })
        : errorOf('train')?.status === 403 && h('span', { class: 'soft' }, 'Teach is on the admin listener'),
  );
}

function current() {
  const [, id] = location.hash.split('/');
  return VIEWS.find((view) => view.id === id) ?? VIEWS[0];
}

async function show() {
  const view = current(),
    own = ++shown;
  leave?.();
  leave = null;
  showFrame();
  document.title = `${view.title} - Sluice`;
  const error = errorOf(view.scope);
  if (error) return refuse(view, error);
  const content = h('div');
  replace(main, content);
  try {
    const rest = location.hash.split('/').slice(2).map(decoded);
    const module = await view.load();
    const end = (await module.show(content, rest)) ?? null;
    if (own === shown) leave = end;
    else end?.(); // the user has gone elsewhere meanwhile
  } catch (failure) {
    replace(content, h('h1', null, view.title), problem(failure));
  }
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function refuse(view, error) {
  replace(main, h('h1', null, view.title), problem(error));
  if (error.status === 401) main.append(button('Sign in', signIn, { class: 'main' }));
}

function signIn() {
  const input = h('input', { type: 'password', autocomplete: 'off', required: true, size: 40 });
  const said = h('div');
  const form = h(
    'form',
    { method: 'dialog', onsubmit: submit },
    h('h2', null, 'Sign in'),
    field('API key', input, 'Kept in this tab until it is closed.'),
    said,
    h(
      'div',
      { class: 'row' },
      h('button', { class: 'main' }, 'Sign in'),
      button('Cancel', () => dialog.close()),
    ),
  );
  const dialog = h('dialog', { onclose: () => dialog.remove() }, form);
  async function submit(event) {
    event.preventDefault();
    if (!/^[\x21-\x7e]+$/.test(input.value.trim())) return replace(said, problem('A key has no such characters.'));
    setKey(input.value.trim());
    await openSession();
    if (errors().some((error) => error === null)) {
      dialog.close();
      announce('Signed in.');
      return show();
    }
    setKey(null);
    replace(said, problem(errors()[0]));
  }
  document.body.append(dialog);
  dialog.showModal();
}

async function signOut() {
  setKey(null);
  await openSession();
  announce('Signed out.');
  show();
}

// A file that misses its place does not take the page's.
for (const type of ['dragover', 'drop'])
  addEventListener(type, (event) => {
    if (event.dataTransfer?.types.includes('Files') && !event.target.closest?.('input, textarea'))
      event.preventDefault();
  });

addEventListener('hashchange', () => {
  show();
  main.focus();
});

await openSession();
show();
