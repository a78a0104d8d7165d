// fill_mask.js - which tokens may stand in place of a mask.
import { call } from './api.js';
import { field, h, replace } from './dom.js';
import { bars } from './tokens.js';

export function inputs() {
  const box = h('textarea', { rows: 3 }, 'The capital of France is [MASK].');
  return {
    element: field('Text with a mask', box, 'The error says how the model writes it, if not [MASK].'),
    read: () => ({ text: box.value }),
  };
}

export async function run(target, { text }, output, signal) {
  const path = `/hf/${encodeURIComponent(target.name)}`;
  const body = { inputs: text, parameters: { top_k: 8 }, sluice: { budget: target.budget } };
  const fills = await call(path, { body, signal });
  const masks = Array.isArray(fills[0]) ? fills : [fills];
  replace(
    output,
    masks.map((mask, i) =>
      h(
        'div',
        null,
        masks.length > 1 && h('h3', null, `Mask ${i + 1}`),
        bars(mask.map((fill) => [fill.token_str, fill.score])),
      ),
    ),
  );
  return { path, body };
}
