// classify.js - texts with their labels; words coloured by depth, or by how they moved the score.
import { callFull } from './api.js';
import { button, download, h, replace, table } from './dom.js';
import { number, percent, several } from './format.js';
import { linesBox } from './lines.js';
import { bars, legend, marked } from './tokens.js';

let choices = 0; // radio buttons of a result have a name of their own
const BATCH = 256,
  EXPLAINED_MAX = 12,
  WORDS = 12,
  SHOWN_MAX = 200;

const REVIEWS = ['A lovely film, I would watch it again.', 'A dull and pointless waste of two hours.'];

export function inputs(models, { sluice }) {
  const box = linesBox('Texts, one per line', sluice.labels?.includes('positive') ? REVIEWS : []);
  return { element: box.element, read: () => ({ texts: box.read() }) };
}

export async function run(target, { texts }, output, signal) {
  const few = texts.length <= EXPLAINED_MAX;
  const extra = few ? { explain: WORDS, depth: 'tokens' } : {};
  const path = `/models/${encodeURIComponent(target.name)}/predict`;
  const bodyOf = (part) => ({
    inputs: part.map((text) => [text]),
    truncate: true,
    blank_texts: 'empty',
    unknown_characters: 'replace',
    sluice: { ...extra, budget: target.budget },
  });
  const results = [];
  let depth = null,
    milliseconds = 0,
    cut = 0;
  for (let at = 0; at < texts.length; at += BATCH) {
    const { body, headers } = await callFull(path, { body: bodyOf(texts.slice(at, at + BATCH)), signal });
    results.push(...body);
    depth = headers.get('x-sluice-depth-mean');
    cut += Number(headers.get('x-sluice-truncated'));
    milliseconds += Number(headers.get('x-total-time'));
    if (!few)
      replace(output, h('progress', { value: results.length, max: texts.length, 'aria-label': 'Texts classified' }));
  }
  const facts = h(
    'p',
    { class: 'soft' },
    `${several(texts.length, 'text')} in ${number(milliseconds)} ms.`,
    cut > 0 && ` ${several(cut, 'text')} longer than the context ${cut === 1 ? 'was' : 'were'} cut.`,
    target.model.depth > 0 && depth && ` ${number(Number(depth))} of ${target.model.depth} layers per token.`,
  );
  replace(output, few ? cards(target.model, texts, results) : list(texts, results), facts);
  return { path, body: bodyOf(texts.slice(0, 4)) };
}

function cards(model, texts, results) {
  const box = h('ul', { class: 'results' });
  const group = `colour-${++choices}`;
  const show = (by) =>
    replace(
      box,
      texts.map((text, i) => card(model, text, results[i], by)),
    );
  const choice = (by, name, checked) =>
    h('label', null, h('input', { type: 'radio', name: group, checked, onchange: () => show(by) }), ` ${name} `);
  show('score');
  const uniform = model.depth === 0;
  return h(
    'div',
    null,
    !uniform &&
      h(
        'fieldset',
        null,
        h('legend', null, 'Colour words by'),
        choice('score', 'what moved the score', true),
        choice('depth', 'how many layers ran'),
      ),
    box,
  );
}

function card(model, text, labels, by) {
  const [first] = labels;
  if (!first)
    return h('li', null, h('p', null, text), h('p', { class: 'soft' }, 'No label: there is nothing to read in it.'));
  const coloured = by === 'depth' ? inDepths(model, text, first.tokens) : inWords(text, first.words ?? []);
  return h(
    'li',
    null,
    h('div', { class: 'text' }, coloured),
    by === 'depth'
      ? legend(model.depth)
      : h(
          'p',
          { class: 'legend' },
          h('span', { class: 'up', style: { '--strength': 1 } }, `for ${first.label}`),
          h('span', { class: 'down', style: { '--strength': 1 } }, `against ${first.label}`),
        ),
    bars(labels.slice(0, 6).map(({ label, score }) => [label, score])),
  );
}

function inWords(text, words) {
  const largest = Math.max(...words.map((word) => Math.abs(word.contribution)), 1e-9);
  return marked(text, words, (part, { contribution }) =>
    h(
      'span',
      {
        class: contribution > 0 ? 'up' : 'down',
        style: { '--strength': Math.abs(contribution) / largest },
        title: `${contribution > 0 ? '+' : ''}${number(contribution, 2)}`,
      },
      part,
    ),
  );
}

function inDepths(model, text, tokens) {
  return marked(text, tokens, (part, { depth, gates }) =>
    h(
      'span',
      {
        class: 'token',
        style: { '--depth': depth / model.depth },
        title: `${depth} of ${model.depth} layers${gates ? `; gates ${gates.map((gate) => number(gate, 2)).join(', ')}` : ''}`,
      },
      part,
    ),
  );
}

// A cell that a spreadsheet takes for text.
function plain(cell) {
  return cell.replaceAll('\t', ' ').replace(/^[=+\-@]/, "'$&");
}

function list(texts, results) {
  const counts = new Map();
  for (const [first] of results) if (first) counts.set(first.label, (counts.get(first.label) ?? 0) + 1);
  const rows = texts.map((text, i) => [
    results[i][0]?.label ?? '',
    results[i][0] ? percent(results[i][0].score) : '',
    text,
  ]);
  const csv = () =>
    download('labels.tsv', rows.map((row) => row.map(plain).join('\t')).join('\n'), 'text/tab-separated-values');
  return h(
    'div',
    null,
    bars(
      [...counts]
        .sort((a, b) => b[1] - a[1])
        .slice(0, 20)
        .map(([label, count]) => [label, count / texts.length]),
    ),
    h('div', { class: 'row' }, button('Download labels.tsv', csv)),
    table(
      rows.length > SHOWN_MAX ? `The first ${SHOWN_MAX} of ${rows.length} texts` : 'Texts',
      ['Label', 'Score', 'Text'],
      rows.slice(0, SHOWN_MAX),
      [1],
    ),
  );
}
