// rank.js - texts in the order in which they answer a query.
import { call } from './api.js';
import { field, h, replace } from './dom.js';
import { linesBox } from './lines.js';
import { bars } from './tokens.js';

export function inputs() {
  const box = linesBox('Texts, one per line', [
    'Paris is the capital of France.',
    'The Loire is a river.',
    'Bread is baked in the morning.',
  ]);
  const query = h('input', { value: 'What is the capital of France?', required: true, size: 40 });
  return {
    element: h('div', null, field('Query', query), box.element),
    read: () => ({ query: query.value, texts: box.read() }),
  };
}

export async function run(target, { query, texts }, output, signal) {
  const path = `/models/${encodeURIComponent(target.name)}/rerank`;
  const body = { query, texts, truncate: true, sluice: { budget: target.budget } };
  const ranks = await call(path, { body, signal });
  replace(
    output,
    h(
      'ol',
      { class: 'results' },
      ranks.map(({ index, score }) => h('li', null, h('p', null, texts[index]), bars([['score', score]]))),
    ),
  );
  return { path, body };
}
