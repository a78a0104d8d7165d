// translate.js - each line with its translation.
import { call } from './api.js';
import { h, replace, table } from './dom.js';
import { linesBox } from './lines.js';

export function inputs() {
  const box = linesBox('Texts, one per line', ['A dog runs on the beach.']);
  return { element: box.element, read: () => ({ texts: box.read() }) };
}

export async function run(target, { texts }, output, signal) {
  const path = '/v1/completions';
  const body = { model: target.name, prompt: texts, truncate: true, unknown_characters: 'replace' };
  const { choices } = await call(path, { body, signal });
  replace(
    output,
    h(
      'div',
      null,
      table(
        'Translations',
        ['Text', 'Translation'],
        texts.map((text, i) => [text, choices[i].text]),
      ),
    ),
  );
  return { path, body };
}
