// metrics.js - reads Prometheus's text format, and what happened between two readings.

// name -> [{labels: {model: ..}, value}]
export function parse(text) {
  const families = new Map();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (!name) continue;
    const parsed = Object.fromEntries(
      [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text_]) => [
        key,
        text_.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c)),
      ]),
    );
    if (!families.has(name)) families.set(name, []);
    families.get(name).push({ labels: parsed, value: Number(value) });
  }
  return families;
}

const matches = (labels, wanted) => Object.entries(wanted).every(([key, value]) => labels[key] === value);

export function sum(families, name, wanted = {}) {
  let total = 0;
  for (const { labels, value } of families?.get(name) ?? []) if (matches(labels, wanted)) total += value;
  return total;
}

export function increase(now, before, name, wanted) {
  return before ? Math.max(0, sum(now, name, wanted) - sum(before, name, wanted)) : 0;
}

// The quantiles of what a histogram observed between two readings, linear within a bucket.
export function quantiles(now, before, name, wanted, parts) {
  const counts = new Map();
  const add = (families, sign) => {
    for (const { labels, value } of families?.get(`${name}_bucket`) ?? [])
      if (matches(labels, wanted)) counts.set(labels.le, (counts.get(labels.le) ?? 0) + sign * value);
  };
  add(now, 1);
  add(before, -1);
  const edges = [...counts]
    .map(([edge, count]) => [edge === '+Inf' ? Infinity : Number(edge), count])
    .sort((a, b) => a[0] - b[0]);
  const total = edges.length ? edges[edges.length - 1][1] : 0;
  return parts.map((part) => (total > 0 ? quantile(edges, part * total) : null));
}

function quantile(edges, rank) {
  const at = edges.findIndex(([, count]) => count >= rank);
  const [low, below] = at > 0 ? edges[at - 1] : [0, 0];
  const [high, count] = edges[at];
  if (high === Infinity) return low;
  return low + ((high - low) * (rank - below)) / Math.max(1e-12, count - below);
}
