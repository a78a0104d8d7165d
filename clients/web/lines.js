// lines.js - a box for texts, one per line, that also takes a file.
import { field, h } from './dom.js';

const BYTES_MAX = 4e6;

export function linesBox(label, texts, hint) {
  const box = h('textarea', { rows: 5, spellcheck: 'false' }, texts.join('\n'));
  const file = h('input', { type: 'file', accept: '.txt,.csv,.tsv,text/plain', onchange: read });
  async function read() {
    const [chosen] = file.files;
    if (!chosen) return;
    box.setCustomValidity(chosen.size > BYTES_MAX ? `${chosen.name} is larger than ${BYTES_MAX / 1e6} MB.` : '');
    if (chosen.size <= BYTES_MAX) box.value = await chosen.text();
    else box.reportValidity();
  }
  return {
    element: h('div', null, field(label, box, hint), field('or a file, a text per line', file)),
    read() {
      const lines = box.value.split('\n').map((line) => line.trim()).filter(Boolean);
      if (lines.length === 0) throw new Error(`${label}: there is no text.`);
      return lines;
    },
  };
}
