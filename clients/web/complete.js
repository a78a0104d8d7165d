// complete.js - completions and conversations, token by token as they come.
import { events } from './api.js';
import { field, h, replace } from './dom.js';
import { duration, number, percent } from './format.js';
import { depthText, legend } from './tokens.js';

const ALTERNATIVES = 5;

export function inputs(models, { sluice }) {
  const isChat = Boolean(sluice.chat_template);
  const prompt = h(
    'textarea',
    { rows: 2, spellcheck: 'false' },
    isChat ? 'What is the capital of France?' : 'ROMEO:\n',
  );
  const integer = (value, min, max) => h('input', { type: 'number', value, min, max, step: 1, required: true });
  const most = integer(isChat ? 120 : 200, 1, 2000);
  const seed = integer(1, 0, 4294967295);
  const temperature = h('input', { type: 'range', min: 0, max: 1.5, step: 0.1, value: isChat ? 0 : 0.8 });
  const shown = h('span', { class: 'soft' });
  const say = () => {
    shown.textContent = Number(temperature.value) === 0 ? '0: always the most likely token' : temperature.value;
  };
  temperature.addEventListener('input', say);
  say();
  return {
    element: h(
      'div',
      null,
      field(isChat ? 'Message' : 'Text to continue', prompt),
      h(
        'div',
        { class: 'row' },
        field('Tokens at most', most),
        h('div', { class: 'field' }, field('Temperature', temperature), shown),
        field('Seed', seed, 'The same seed, the same text.'),
      ),
    ),
    read: () => ({
      isChat,
      prompt: prompt.value,
      max_tokens: Number(most.value),
      temperature: Number(temperature.value),
      seed: Number(seed.value),
    }),
  };
}

export async function run(target, values, output, signal) {
  const { path, body } = requestOf(target, values);
  const text = depthText(target.model, 'Completion');
  const facts = h('p', { class: 'soft' });
  replace(output, text.element, target.model.depth > 0 && legend(target.model.depth), facts);
  if (!values.isChat) text.add([{ text: values.prompt, depth: null }]);
  const began = performance.now();
  const decoder = new TextDecoder();
  let count = 0;
  for await (const { data } of events(path, { body, signal })) {
    const tokens = (data.choices ?? []).flatMap((choice) => tokensOf(choice, decoder));
    text.add(tokens);
    count += tokens.length;
    const seconds = (performance.now() - began) / 1000;
    facts.textContent = `${count} tokens in ${duration(seconds)}, ${number(count / seconds)} tokens per second.`;
    if (data.usage) facts.textContent += describe(data.usage.sluice, target.model);
  }
  return { path, body: { ...body, stream: undefined } };
}

function requestOf(target, { isChat, prompt, max_tokens, temperature, seed }) {
  const common = {
    model: target.name,
    max_tokens,
    temperature,
    seed,
    stream: true,
    truncate: true,
    sluice: { depth: 'tokens', budget: target.budget },
  };
  return isChat
    ? {
        path: '/v1/chat/completions',
        body: { ...common, messages: [{ role: 'user', content: prompt }], logprobs: true, top_logprobs: ALTERNATIVES },
      }
    : { path: '/v1/completions', body: { ...common, prompt, logprobs: ALTERNATIVES } };
}

// The tokens of a choice with all that is known of them.
function tokensOf(choice, decoder) {
  const facts = choice.sluice ?? { tokens: [], depth: [] };
  return facts.tokens.map((token, i) => ({
    text: spelled(token, decoder),
    depth: facts.depth[i],
    gates: facts.gates?.[i],
    alternatives: alternatives(choice.logprobs, i),
  }));
}

// A token that is a part of a character is written as its bytes.
function spelled(token, decoder) {
  if (!token.startsWith('bytes:')) return token;
  const bytes = [...token.matchAll(/\\x([0-9a-f]{2})/g)].map(([, hex]) => parseInt(hex, 16));
  return decoder.decode(new Uint8Array(bytes), { stream: true });
}

function alternatives(logprobs, i) {
  const top = logprobs?.top_logprobs?.[i];
  if (top) return Object.entries(top).map(([token, log]) => [token, Math.exp(log)]);
  return logprobs?.content?.[i]?.top_logprobs.map(({ token, logprob }) => [token, Math.exp(logprob)]);
}

function describe(usage, model) {
  const cut = usage?.truncated?.length ? ' The prompt is longer than the context: its beginning was cut.' : '';
  if (!usage || !model.depth) return cut;
  return `${cut} ${number(usage.depth_mean)} of ${model.depth} layers per token; ${percent(usage.layer_ops_skipped, 0)} of the computation skipped.`;
}
