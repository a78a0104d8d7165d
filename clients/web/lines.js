// lines.js - a box for texts, one per line, that also takes a file.
import { field, h } from './dom.js';

const BYTES_MAX = 4e6;

export function linesBox(label, texts, hint) {
  const box = h('textarea', { rows: 5, spellcheck: 'false', placeholder: 'A text per line' }, texts.join('\n'));
  const said = h('p', { class: 'problem', role: 'alert' });
  const file = h('input', { type: 'file', accept: '.txt,text/plain', onchange: read });
  async function read() {
    const [chosen] = file.files;
    if (!chosen) return;
    file.value = '';
    said.textContent =
      chosen.size > BYTES_MAX
        ? `${chosen.name} is larger than ${BYTES_MAX / 1e6} MB.`
        : /\.(csv|tsv|jsonl?)$/i.test(chosen.name)
          ? `${chosen.name} is a table: save the column of its texts alone, a text per line.`
          : '';
    if (said.textContent) return;
    try {
      box.value = await chosen.text();
    } catch (error) {
      said.textContent = `${chosen.name} cannot be read: ${error.message}`;
    }
  }
  return {
    element: h('div', null, field(label, box, hint), field('or a file, a text per line', file), said),
    read() {
      const lines = box.value
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean);
      if (lines.length === 0) throw new Error(`${label}: there is no text.`);
      return lines;
    },
  };
}
