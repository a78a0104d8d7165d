// tokens.js - a text whose tokens are coloured by the number of layers that computed them. One
// token is under the pointer, or chosen by the arrow keys; what is known of it stands below.
import { h, replace } from './dom.js';
import { number, percent } from './format.js';

// tokens: [{text, depth, gates, alternatives}], depth null where it is not known. model: its
// details. Returns {element, add(tokens)}.
export function depthText(model, label) {
  const tokens = [];
  const about = h(
    'div',
    { class: 'card', 'aria-live': 'off' },
    h('span', { class: 'soft' }, 'Point at a token, or use the arrow keys, to see its layers.'),
  );
  const text = h('div', {
    class: 'text',
    tabindex: 0,
    role: 'textbox',
    'aria-readonly': 'true',
    'aria-multiline': 'true',
    'aria-label': label,
    onkeydown: move,
    onpointerover: point,
  });
  let here = -1;

  function select(index) {
    text.children[here]?.classList.remove('here');
    here = index;
    text.children[here]?.classList.add('here');
    replace(about, describe(tokens[here], model));
  }
  function move(event) {
    const target = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: tokens.length - 1 }[event.key];
    if (target === undefined || !tokens[target]) return;
    event.preventDefault();
    about.setAttribute('aria-live', 'polite');
    select(target);
  }
  function point(event) {
    const index = Array.prototype.indexOf.call(text.children, event.target);
    if (index >= 0) select(index);
  }
  return {
    element: h('div', { class: 'inspect' }, text, about),
    add(more) {
      tokens.push(...more);
      text.append(...more.map((token) => span(token, model)));
    },
  };
}

function span(token, model) {
  if (token.depth === null) return h('span', { class: 'prompt' }, token.text);
  return h('span', { class: 'token', style: { '--depth': model.depth ? token.depth / model.depth : 0 } }, token.text);
}

function describe(token, model) {
  const unit = model.routes_to ?? 'layer';
  if (token.depth === null) return 'Part of the prompt.';
  return [
    h('p', null, h('b', null, JSON.stringify(token.text)), ` took ${token.depth} of ${model.depth} layers.`),
    token.gates &&
      h(
        'div',
        null,
        h(
          'div',
          { class: 'gates', role: 'img', 'aria-label': `Gates: ${token.gates.map((g) => number(g, 2)).join(', ')}` },
          token.gates.map((gate, i) =>
            h('span', {
              class: gate === 0 && 'off',
              style: { '--part': Math.min(1, gate) },
              title: `${unit} ${i + 1}: ${number(gate, 2)}`,
            }),
          ),
        ),
        h('span', { class: 'soft' }, `Weight of each ${unit}, from the first; grey: skipped.`),
      ),
    token.alternatives &&
      h(
        'div',
        null,
        h('span', { class: 'soft' }, 'Most likely here:'),
        bars(token.alternatives.map(([name, part]) => [JSON.stringify(name), part])),
      ),
  ];
}

export function legend(depth) {
  const levels = Array.from({ length: Math.min(depth, 8) }, (_, i) =>
    Math.round(((i + 1) * depth) / Math.min(depth, 8)),
  );
  return h(
    'p',
    { class: 'legend' },
    'layers:',
    levels.map((level) => h('span', { class: 'token', style: { '--depth': level / depth } }, String(level))),
  );
}

// rows: [[name, part of 1, the number beside it], ...]
export function bars(rows) {
  return h(
    'div',
    { class: 'bars' },
    rows.map(([name, part, text]) => [
      h('span', null, name),
      h('span', { class: 'track' }, h('span', { style: { '--part': Math.max(0, Math.min(1, part)) } })),
      h('span', { class: 'n' }, text ?? percent(part)),
    ]),
  );
}

// A text with places ({start, stop} in bytes) in elements that `wrap` makes of text and place.
export function marked(text, places, wrap, inCharacters = false) {
  const units = inCharacters ? Array.from(text) : new TextEncoder().encode(text);
  const part = (from, to) =>
    inCharacters ? units.slice(from, to).join('') : new TextDecoder().decode(units.slice(from, to));
  const out = [];
  let at = 0;
  for (const place of [...places].sort((a, b) => a.start - b.start)) {
    if (place.start < at) continue;
    out.push(part(at, place.start), wrap(part(place.start, place.stop), place));
    at = place.stop;
  }
  out.push(part(at, units.length));
  return out;
}
