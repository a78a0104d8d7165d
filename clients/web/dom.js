// dom.js - makes elements. Text only ever becomes text: no function here takes markup.

// h('button', {class: 'main', onclick: f, disabled: true}, 'Start', otherElement, ['more', null])
export function h(tag, properties, ...children) {
  const element =
    tag === 'svg' || tag.startsWith('svg:')
      ? document.createElementNS('http://www.w3.org/2000/svg', tag.replace('svg:', ''))
      : document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
    else if (name === 'value' || name === 'checked' || name === 'indeterminate') element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false) element.append(child);
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

let ids = 0;

// A control with its label; `hint` stands below it.
export function field(label, control, hint) {
  const id = (control.id ||= `field-${++ids}`);
  const note = hint && h('span', { class: 'soft', id: `${id}-hint` }, hint);
  if (note) control.setAttribute('aria-describedby', note.id);
  return h('div', { class: 'field' }, h('label', { for: id }, label), control, note);
}

// [[value, text], ...] or [text, ...]
export function select(options, value, properties) {
  const rows = options.map((option) => (Array.isArray(option) ? option : [option, option]));
  return h(
    'select',
    properties,
    rows.map(([key, text]) => h('option', { value: key, selected: String(key) === String(value) }, text)),
  );
}

// The action, unless it is still busy: a second press does nothing.
export function once(action) {
  let busy = false;
  return async (...values) => {
    if (busy) return;
    busy = true;
    try {
      await action(...values);
    } finally {
      busy = false;
    }
  };
}

export function button(text, onclick, properties) {
  return h('button', { type: 'button', onclick: once(onclick), ...properties }, text);
}

// Controls in a row; what its last one, a button, or Enter does.
export function formRow(action, ...children) {
  return h('form', { class: 'row', onsubmit: submitted(action) }, children);
}

// The page stays where it is.
export function submitted(action) {
  return (event) => {
    event.preventDefault();
    return action();
  };
}

// rows: arrays of cells; numbers: which columns are aligned as such
export function table(caption, columns, rows, numbers = []) {
  const cell = (tag, index, content) =>
    h(tag, { class: numbers.includes(index) && 'n', scope: tag === 'th' && 'col' }, content);
  return h(
    'div',
    { class: 'wide', tabindex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      null,
      h('caption', null, caption),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          columns.map((name, i) => cell('th', i, name)),
        ),
      ),
      h(
        'tbody',
        null,
        rows.map((row) =>
          h(
            'tr',
            null,
            row.map((content, i) => cell('td', i, content)),
          ),
        ),
      ),
    ),
  );
}

export function tile(name, value, detail) {
  return h(
    'div',
    { class: 'tile' },
    h('span', null, name),
    h('b', null, value),
    h('span', { class: 'soft' }, detail ?? '\u00a0'),
  );
}

export function announce(text) {
  document.getElementById('announcements').textContent = text;
}

// What went wrong, where the eye is; said aloud, too.
export function problem(error) {
  return h('p', { class: 'problem', role: 'alert' }, error?.message ?? String(error));
}

// Does something that may fail; why it did stands in `place`.
export async function attempt(place, action) {
  replace(place);
  try {
    await action();
  } catch (error) {
    replace(place, problem(error));
  }
}

// One of several panels, chosen by tabs. panels: [[name, () => element], ...]
export function tabs(label, panels, chosen = 0) {
  const panel = h('div', { role: 'tabpanel', class: 'panel' });
  const buttons = panels.map(([name], index) => button(name, () => show(index), { role: 'tab' }));
  function show(index) {
    buttons.forEach((b, i) => {
      b.setAttribute('aria-selected', String(i === index));
      b.tabIndex = i === index ? 0 : -1;
    });
    panel.setAttribute('aria-label', panels[index][0]);
    replace(panel, panels[index][1]());
  }
  const list = h(
    'div',
    {
      role: 'tablist',
      'aria-label': label,
      onkeydown(event) {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const next = (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length;
        buttons[next].focus();
        show(next);
      },
    },
    buttons,
  );
  show(chosen);
  return h('div', { class: 'tabs' }, list, panel);
}

export function download(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
