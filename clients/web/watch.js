// watch.js - the view Watch: what the daemon does, as its metrics say, every two seconds.
import { call } from './api.js';
import { timeline } from './charts.js';
import { h, problem, replace, table, tile } from './dom.js';
import { bytes, duration, number, percent } from './format.js';
import { increase, parse, quantiles, sum } from './metrics.js';

const EVERY_MS = 2000;
const REQUEST = 'sluice_request_duration_seconds';

export async function show(content) {
  const said = h('div');
  const tiles = h('div', { class: 'tiles' });
  const models = h('div');
  const charts = makeCharts();
  replace(
    content,
    h('h1', null, 'Watch'),
    said,
    tiles,
    h(
      'div',
      { class: 'two' },
      Object.values(charts).map((one) => one.element),
    ),
    h('h2', null, 'Models'),
    models,
  );
  let before = null,
    beforeAt = 0,
    timer = 0,
    over = false;

  async function step() {
    try {
      const now = parse(await call('/metrics'));
      const at = performance.now() / 1000;
      const seconds = before ? at - beforeAt : 0;
      replace(said);
      showTiles(tiles, now, before, seconds);
      if (before) pushAll(charts, now, before, seconds);
      showModels(models, now, before, seconds);
      [before, beforeAt] = [now, at];
    } catch (error) {
      replace(said, problem(error));
    }
    if (!over) timer = setTimeout(whenSeen, EVERY_MS);
  }
  // A page that nobody sees asks for nothing.
  function whenSeen() {
    if (document.hidden) timer = setTimeout(whenSeen, EVERY_MS);
    else step();
  }
  await step();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}

function makeCharts() {
  return {
    requests: timeline('Requests per second', ['ok', 'failed']),
    latency: timeline('Time of a request', ['p50', 'p95', 'p99'], { format: duration }),
    batch: timeline('Sequences in a batch', ['mean']),
    queue: timeline('Sequences', ['waiting', 'running']),
    tokens: timeline('Tokens per second', ['read', 'generated']),
    skipped: timeline('Computation skipped', ['skipped'], { format: (value) => percent(value, 0) }),
    memory: timeline('Memory', ['resident'], { format: bytes }),
    cpu: timeline('Processors in use', ['processors']),
  };
}

function pushAll(charts, now, before, seconds) {
  const at = Date.now() / 1000;
  const rate = (name, wanted) => increase(now, before, name, wanted) / seconds;
  const all = rate('sluice_requests_total'),
    good = rate('sluice_requests_total', { reason: 'ok' });
  const full = increase(now, before, 'sluice_layer_ops_dense_total');
  charts.requests.push(at, [good, all - good]);
  charts.latency.push(at, quantiles(now, before, REQUEST, {}, [0.5, 0.95, 0.99]));
  charts.batch.push(at, [mean(now, before, 'sluice_batch_size')]);
  charts.queue.push(at, [sum(now, 'sluice_sequences_waiting'), sum(now, 'sluice_sequences_running')]);
  charts.tokens.push(at, [rate('sluice_prompt_tokens_total'), rate('sluice_generation_tokens_total')]);
  charts.skipped.push(at, [full > 0 ? 1 - increase(now, before, 'sluice_layer_ops_total') / full : NaN]);
  charts.memory.push(at, [sum(now, 'process_resident_memory_bytes')]);
  charts.cpu.push(at, [rate('process_cpu_seconds_total')]);
}

function mean(now, before, name, wanted) {
  const count = increase(now, before, `${name}_count`, wanted);
  return count > 0 ? increase(now, before, `${name}_sum`, wanted) / count : NaN;
}

function showTiles(tiles, now, before, seconds) {
  const build = now.get('sluice_build_info')?.[0]?.labels ?? {};
  const jobs = sum(now, 'sluice_train_jobs', { state: 'running' });
  const rate = before ? increase(now, before, 'sluice_requests_total') / seconds : NaN;
  replace(
    tiles,
    tile('Requests per second', number(rate)),
    tile('In flight', number(sum(now, 'sluice_requests_in_flight')), 'requests'),
    tile('Connections', number(sum(now, 'sluice_http_connections'))),
    tile('Training jobs', number(jobs), 'running'),
    tile(
      'Up for',
      duration(Date.now() / 1000 - sum(now, 'process_start_time_seconds')),
      `${build.isa ?? ''} ${build.precision ?? ''}`,
    ),
  );
}

function showModels(place, now, before, seconds) {
  const rows = (now.get('sluice_model_info') ?? []).map(({ labels: { model, version } }) => {
    const wanted = { model, version };
    const [p50, p99] = quantiles(now, before, REQUEST, wanted, [0.5, 0.99]);
    const skipped = sum(now, 'sluice_layer_ops_skipped_ratio', wanted);
    return [
      `${model}@${version}`,
      number(before ? increase(now, before, 'sluice_requests_total', wanted) / seconds : NaN),
      number(sum(now, 'sluice_requests_total', wanted)),
      duration(p50 ?? NaN),
      duration(p99 ?? NaN),
      number(mean(now, before, 'sluice_batch_size', wanted)),
      number(sum(now, 'sluice_sequences_waiting', wanted)),
      percent(skipped, 0),
    ];
  });
  replace(
    place,
    rows.length
      ? table(
          'Since the last reading, and since the start',
          ['Model', 'Requests/s', 'All requests', 'p50', 'p99', 'Batch', 'Waiting', 'Skipped'],
          rows,
          [1, 2, 3, 4, 5, 6, 7],
        )
      : h('p', null, 'No model is loaded.'),
  );
}
