// zero_shot.js - labels that the model was never trained on, by entailment.
import { call } from './api.js';
import { field, h, replace } from './dom.js';
import { bars } from './tokens.js';

export function inputs() {
  const box = h('textarea', { rows: 3 }, 'I was charged twice for the same order.');
  const labels = h('input', { value: 'billing, delivery, praise', required: true, size: 40 });
  return {
    element: h('div', null, field('Text', box), field('Labels, separated by commas', labels)),
    read: () => ({
      text: box.value,
      labels: labels.value
        .split(',')
        .map((label) => label.trim())
        .filter(Boolean),
    }),
  };
}

export async function run(target, { text, labels }, output, signal) {
  const path = `/hf/${encodeURIComponent(target.name)}`;
  const body = { inputs: text, parameters: { candidate_labels: labels } };
  const scores = await call(path, { body, signal });
  replace(output, h('p', null, text), bars(scores.flat().map(({ label, score }) => [label, score])));
  return { path, body };
}
