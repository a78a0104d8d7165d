// daemon.mjs - a sluiced of our own, with a tiny untrained model, for the tests of clients.
//
// The programs are found through SLUICED and SLUICE_TOOL.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const CONTEXT = 32;
export const MODEL = 'tiny';
export const CLASSIFIER = 'mood';
export const LABELS = ['negative', 'positive'];
export const BASE = 'base';
export const WIDTH = 32; // of its embeddings

const PATIENCE_MS = 15000; // less than what a stream without a reader is given: 30 s

// Letters of one to four bytes, so that a character cut in half would be seen.
const CORPUS = 'abcdefghijklmnopqrstuvwxyz ABC.,\n"\\é€😀 and much more of that. '.repeat(20);

// Of a classifier: a text and its label on each line.
const TEXTS = 'good day\tpositive\nbad day\tnegative\nfine.\tpositive\nawful.\tnegative\n';

function program(name) {
  const path = process.env[name];
  if (!path) throw new Error(`${name} must be the path of a program`);
  return path;
}

/// { name: value } as words of a command line.
function options(given) {
  return Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

function sluice(...words) {
  const made = spawnSync(program('SLUICE_TOOL'), words, { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`sluice ${words[0]}: ${made.stderr ?? made.error}`);
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/// Waits until `test` gives something true, and gives it back.
export async function until(what, test) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await pause(10)) {
    const value = await test();
    if (value) return value;
  }
  throw new Error(`waited in vain for ${what}`);
}

export class Daemon {
  /// A folder with a store in it, for one or more daemons.
  static makeStore() {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-clients-'));
    mkdirSync(join(folder, 'store'));
    writeFileSync(join(folder, 'corpus'), CORPUS);
    const given = {
      corpus: join(folder, 'corpus'),
      output: join(folder, 'store', MODEL, '1'),
      ...{ width: 32, heads: 2, depth: 2, 'ffn-width': 64, 'context-length': CONTEXT },
    };
    sluice('init', 'tsa', ...options(given));
    return folder;
  }

  /// Adds a classifier to it, hardly trained; its labels are those of TEXTS.
  static addClassifier(folder) {
    writeFileSync(join(folder, 'texts.tsv'), TEXTS.repeat(8));
    const given = {
      ...{ data: join(folder, 'texts.tsv'), text: 1, label: 2, tokenizer: 'characters' },
      ...{ 'run-dir': join(folder, 'run'), output: join(folder, 'store', CLASSIFIER, '1'), steps: 4 },
      ...{ width: 16, heads: 2, depth: 2, 'ffn-width': 16, 'context-length': CONTEXT },
    };
    sluice('train', 'tsa', ...options(given));
  }

  /// Adds a model that gives embeddings, hardly pretrained.
  static addBase(folder) {
    writeFileSync(join(folder, 'words'), 'a text without labels\n\na line of it\n\n'.repeat(30));
    const given = {
      ...{ corpus: join(folder, 'words'), 'replace-fraction': 0.2, tokenizer: 'words', steps: 1 },
      ...{ 'run-dir': join(folder, 'pretraining'), output: join(folder, 'store', BASE, '1') },
      ...{ width: WIDTH, heads: 2, depth: 2, 'ffn-width': 64, 'context-length': CONTEXT },
      ...{ 'batch-size': 2 },
    };
    sluice('train', 'tsa', ...options(given));
  }

  static removeStore(folder) {
    rmSync(folder, { recursive: true, force: true });
  }

  static async start(folder, name, more = {}) {
    const daemon = new Daemon();
    const portFile = join(folder, `${name}.port`);
    const given = { listen: '127.0.0.1:0', store: join(folder, 'store'), 'port-file': portFile };
    const words = options({ ...given, ...more });
    daemon.process = spawn(program('SLUICED'), words, { stdio: ['ignore', 'ignore', 'pipe'] });
    process.once('exit', () => daemon.process.kill('SIGKILL')); // however the tests end
    daemon.log = '';
    daemon.process.stderr.setEncoding('utf8').on('data', (text) => (daemon.log += text));
    daemon.left = new Promise((resolve) => daemon.process.once('close', resolve));
    const ports = await until('the port', () => {
      if (daemon.process.exitCode !== null) throw new Error(`sluiced left:\n${daemon.log}`);
      try {
        return readFileSync(portFile, 'utf8').match(/^(\d+)\n(?:(\d+)\n)?$/);
      } catch {
        return undefined;
      }
    });
    daemon.url = `http://127.0.0.1:${ports[1]}`;
    daemon.adminUrl = `http://127.0.0.1:${ports[2]}`; // if admin-listen is a TCP address
    return daemon;
  }

  /// For a test's own daemon, which is not stopped when the test fails before: node would wait for it.
  killAfter(t) {
    t.after(() => this.process.kill('SIGKILL'));
  }

  async stop() {
    this.process.kill('SIGTERM');
    const code = await this.left;
    if (code !== 0) throw new Error(`sluiced left with ${code}:\n${this.log}`);
  }

  /// The sum of a metric's samples whose labels all contain these.
  async metric(name, labels = {}) {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
    return text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .filter((line) => wanted.every((label) => line.includes(label)))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  /// Calls that ended so, when all have: they are counted after their last byte.
  async ended(labels) {
    await until('the last byte', async () => (await this.metric('sluice_requests_in_flight')) === 0);
    return this.metric('sluice_requests_total', labels);
  }

  cancelled() {
    const labels = { endpoint: '/v1/completions', reason: 'cancelled' };
    return this.metric('sluice_requests_total', labels);
  }

  running() {
    return this.metric('sluice_sequences_running');
  }
}
