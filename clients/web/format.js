// format.js - numbers, times and sizes for people.

export function number(value, digits = 3) {
  if (!Number.isFinite(value)) return '-';
  if (value !== 0 && Math.abs(value) < 1e-3) return Math.abs(value) < 1e-4 ? value.toExponential(1) : value.toFixed(4);
  return value.toLocaleString('en', {
    maximumSignificantDigits: Math.min(21, Math.max(digits, Math.ceil(Math.log10(Math.abs(value) + 1)))),
  });
}

export function count(value) {
  return value.toLocaleString('en', { notation: 'compact', maximumSignificantDigits: 3 });
}

// 1 text, 2 texts
export function several(value, word) {
  return `${number(value, 7)} ${word}${value === 1 ? '' : 's'}`;
}

export function percent(value, digits = 1) {
  return Number.isFinite(value) ? `${(100 * value).toFixed(digits)} %` : '-';
}

export function bytes(value) {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit ? number(value) : value} ${units[unit]}`;
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return '-';
  if (seconds < 1) return `${number(seconds * 1000)} ms`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${number(seconds / 3600, 2)} h`;
}

export function moment(unixSeconds) {
  return unixSeconds ? new Date(1000 * unixSeconds).toLocaleString() : '-';
}
