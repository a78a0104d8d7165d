// api.js - requests to the daemon that this page came from, and to no other.

const ROOT = new URL('../', document.baseURI);
const KEY = 'sluice-api-key';

export function key() {
  return sessionStorage.getItem(KEY);
}

export function setKey(text) {
  if (text) sessionStorage.setItem(KEY, text);
  else sessionStorage.removeItem(KEY);
}

export function url(path) {
  return new URL(path.replace(/^\//, ''), ROOT).href;
}

export class ApiError extends Error {
  constructor(status, message, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

// The message of any family of endpoints.
function messageOf(status, body) {
  const error = body?.error ?? body?.detail;
  const message = typeof error === 'string' ? error : error?.message;
  return message ?? `The daemon answered with status ${status}.`;
}

async function send(path, { method, body, headers, signal } = {}) {
  const isForm = body instanceof FormData;
  const all = { ...headers };
  if (key()) all.Authorization = `Bearer ${key()}`;
  method ??= body === undefined ? 'GET' : 'POST';
  if (!isForm && method !== 'GET') all['Content-Type'] = 'application/json';
  const options = { method, headers: all, signal, cache: 'no-store' };
  if (body !== undefined) options.body = isForm ? body : JSON.stringify(body);
  let response;
  try {
    response = await fetch(url(path), options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'The daemon does not answer. Is it still running?');
  }
  if (response.ok) return response;
  const body_ = await response.json().catch(() => null);
  throw new ApiError(response.status, messageOf(response.status, body_), body_);
}

// The body of the response, parsed if it is JSON.
export async function call(path, options) {
  const response = await send(path, options);
  const text = await response.text();
  const isJson = response.headers.get('Content-Type')?.startsWith('application/json');
  return isJson && text ? JSON.parse(text) : text;
}

// The same, with the headers.
export async function callFull(path, options) {
  const response = await send(path, options);
  return { headers: response.headers, body: await response.json() };
}

// Server-sent events, one by one: {id, data}.
export async function* events(path, options) {
  const response = await send(path, { ...options, headers: { ...options?.headers, Accept: 'text/event-stream' } });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (waiting + value).split('\n\n');
      waiting = parts.pop();
      for (const part of parts) {
        const event = eventOf(part);
        if (event.data === '[DONE]') return;
        if (event.data !== undefined) yield { id: event.id, data: dataOf(event.data) };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function eventOf(part) {
  const event = {};
  for (const line of part.split('\n')) {
    const [, name, value] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
    if (name === 'data') event.data = event.data === undefined ? value : `${event.data}\n${value}`;
    else if (name === 'id') event.id = value;
  }
  return event;
}

function dataOf(text) {
  const data = JSON.parse(text);
  if (data.error) throw new ApiError(200, messageOf(200, data), data);
  return data;
}
