// charts.js - lines over time or over another number, by uPlot (uplot.js), in the page's colours.
import { h } from './dom.js';
import { number } from './format.js';
import uPlot from './uplot.js';

document.head.prepend(h('link', { rel: 'stylesheet', href: 'uplot.css' }));

const HUES = ['--c0', '--c1', '--c2', '--c3'];
const HEIGHT = 170;

const plots = new Set();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const plot of plots)
    if (plot.root.isConnected) plot.redraw(false, true);
    else drop(plot);
});

function drop(plot) {
  plots.delete(plot);
  plot.destroy();
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// names: of the lines. options: {format, x: 'time' | the name of the x axis, points: true}
export function chart(title, names, { format = number, x = 'time', points = false } = {}) {
  const keys = names.map((name, i) =>
    h(
      'span',
      null,
      h('span', { class: 'key', style: { '--hue': `var(${HUES[i % HUES.length]})` } }),
      name,
      ' ',
      h('b', null, '-'),
      ' ',
    ),
  );
  const place = h('div', { role: 'img', 'aria-label': `${title}: no values yet` });
  const element = h('figure', { class: 'card' }, h('figcaption', null, h('strong', null, title), ' ', keys), place);
  const axis = {
    stroke: () => css('--soft'),
    grid: { stroke: () => css('--line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  };
  const clock = { values: '{HH}:{mm}:{ss}', incrs: [1, 5, 10, 30, 60, 120, 300, 600], space: 80, size: 34 };
  let plot = null;

  function make(data) {
    for (const other of plots) if (!other.root.isConnected) drop(other);
    plot = new uPlot(
      {
        width: Math.max(200, place.clientWidth),
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        scales: {
          x: { time: x === 'time' },
          y: x === 'time' ? { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] } : {},
        },
        axes: [
          { ...axis, ...(x === 'time' ? clock : { label: x, labelSize: 18, size: 34 }) },
          { ...axis, size: 62, values: (_, values) => values.map((value) => format(value)) },
        ],
        series: [
          {},
          ...names.map((name, i) => ({
            label: name,
            stroke: () => css(HUES[i % HUES.length]),
            width: 2,
            points: { show: points || ((u) => u.data[0].length < 3) },
            spanGaps: true,
          })),
        ],
      },
      data,
      place,
    );
    new ResizeObserver(() => plot.setSize({ width: Math.max(200, place.clientWidth), height: HEIGHT })).observe(place);
    plots.add(plot);
  }
  return {
    element,
    // data: [xs, ys of the first line, ...]; null where there is no value
    set(data) {
      if (!plot && !element.isConnected) return;
      if (!plot) make(data);
      else plot.setData(data);
      const last = data.slice(1).map((ys) => ys[ys.length - 1]);
      last.forEach((value, i) => {
        keys[i].querySelector('b').textContent = value === null || value === undefined ? '-' : format(value);
      });
      place.setAttribute(
        'aria-label',
        `${title}: ${names.map((name, i) => `${name} ${last[i] === null || last[i] === undefined ? 'unknown' : format(last[i])}`).join(', ')}`,
      );
    },
  };
}

// The last values of several lines over time.
export function timeline(title, names, options) {
  const KEPT = 150;
  const one = chart(title, names, options);
  const data = [[], ...names.map(() => [])];
  return {
    element: one.element,
    push(seconds, values) {
      data[0].push(seconds);
      values.forEach((value, i) => data[i + 1].push(Number.isFinite(value) ? value : null));
      if (data[0].length > KEPT) for (const list of data) list.shift();
      one.set(data);
    },
  };
}
