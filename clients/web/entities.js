// entities.js - names, places and whatever else a model finds, marked in the text.
import { call } from './api.js';
import { field, h, replace, table } from './dom.js';
import { percent } from './format.js';
import { marked } from './tokens.js';

export function inputs() {
  const box = h('textarea', { rows: 4 }, 'Ada Lovelace lived in London and wrote to Charles Babbage.');
  return { element: field('Text', box), read: () => ({ text: box.value }) };
}

export async function run(target, { text }, output, signal) {
  const path = `/hf/${encodeURIComponent(target.name)}`;
  const body = {
    inputs: text,
    parameters: { aggregation_strategy: 'simple', truncate: true },
    sluice: { budget: target.budget },
  };
  const entities = await call(path, { body, signal });
  const kinds = [...new Set(entities.map((entity) => entity.entity_group))];
  const hue = (kind) => `var(--c${kinds.indexOf(kind) % 4})`;
  const places = entities.map((entity) => ({ start: entity.start, stop: entity.end, kind: entity.entity_group }));
  replace(
    output,
    h(
      'div',
      { class: 'text' },
      marked(
        text,
        places,
        (part, { kind }) => h('span', { class: 'entity', style: { '--hue': hue(kind) } }, part, h('small', null, kind)),
        true,
      ),
    ),
    entities.length === 0
      ? h('p', null, 'There is no entity in it.')
      : table(
          'Entities',
          ['Entity', 'Text', 'Score'],
          entities.map((entity) => [entity.entity_group, entity.word, percent(entity.score)]),
          [2],
        ),
  );
  return { path, body };
}
