// search.js - texts by their meaning: embeddings of a list and of a query, in this page; if a
// model that ranks is loaded, it puts the first ones in order.
import { call } from './api.js';
import { field, h, replace, select } from './dom.js';
import { number } from './format.js';
import { linesBox } from './lines.js';
import { bars } from './tokens.js';

const BATCH = 256,
  SHOWN = 20,
  KEPT = 20000;
const EXAMPLES = [
  'Shares fell after the bank raised rates.',
  'The probe entered the orbit of Mars.',
  'The striker scored twice in the final.',
  'A new phone with a better camera was announced.',
  'Voters go to the polls on Sunday.',
];
let known = { name: null, vectors: new Map() }; // of one model: a list is embedded once

export function inputs(models) {
  const box = linesBox('Texts, one per line', EXAMPLES);
  const query = h('input', { value: 'Which team won the match?', required: true, size: 40 });
  const rankers = models.filter((model) => model.sluice.abilities.includes('reranking'));
  const ranker = select(
    [['', 'by the similarity of embeddings'], ...rankers.map((model) => [model.id, `then by ${model.id}`])],
    '',
  );
  return {
    element: h(
      'div',
      null,
      h(
        'div',
        { class: 'row' },
        h('div', { class: 'grow' }, field('Query', query)),
        rankers.length > 0 && field('Order', ranker),
      ),
      box.element,
    ),
    read: () => ({ query: query.value, texts: [...new Set(box.read())], ranker: ranker.value }),
  };
}

export async function run(target, { query, texts, ranker }, output, signal) {
  if (known.name !== `${target.name} ${target.budget}`)
    known = { name: `${target.name} ${target.budget}`, vectors: new Map() };
  const bodyOf = (input) => ({
    model: target.name,
    input,
    truncate: true,
    unknown_characters: 'replace',
    sluice: { budget: target.budget },
  });
  const missing = [...texts, query].filter((text) => !known.vectors.has(text));
  for (let at = 0; at < missing.length; at += BATCH) {
    const part = missing.slice(at, at + BATCH);
    const { data } = await call('/v1/embeddings', { body: bodyOf(part), signal });
    data.forEach(({ embedding }, i) => known.vectors.set(part[i], embedding));
    if (missing.length > BATCH)
      replace(output, h('progress', { value: at + part.length, max: missing.length, 'aria-label': 'Texts embedded' }));
  }
  if (known.vectors.size > KEPT)
    known.vectors = new Map([...texts, query].map((text) => [text, known.vectors.get(text)]));
  const one = known.vectors.get(query);
  const dot = (vector) => vector.reduce((sum, x, i) => sum + x * one[i], 0);
  let found = texts
    .map((text) => [text, dot(known.vectors.get(text))])
    .sort((a, b) => b[1] - a[1])
    .slice(0, SHOWN);
  if (ranker)
    found = await ranked(
      ranker,
      query,
      found.map(([text]) => text),
      signal,
    );
  replace(
    output,
    h(
      'ol',
      { class: 'results' },
      found.map(([text, score]) =>
        h('li', null, h('p', null, text), bars([[ranker ? 'score' : 'similarity', score, number(score)]])),
      ),
    ),
  );
  return { path: '/v1/embeddings', body: bodyOf([query]) };
}

async function ranked(ranker, query, texts, signal) {
  const ranks = await call(`/models/${encodeURIComponent(ranker)}/rerank`, {
    body: { query, texts, truncate: true },
    signal,
  });
  return ranks.map(({ index, score }) => [texts[index], score]);
}
