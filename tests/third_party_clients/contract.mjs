// contract.mjs - a proxy before a daemon that turns every breach of a contract into a 500.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from './daemon.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const program = join(here, 'node_modules', '@stoplight', 'prism-cli', 'dist', 'index.js');

export class Contract {
  /// Prism, with an OpenAPI document of this folder or elsewhere, before the daemon at `url`.
  static async start(file, url) {
    const contract = new Contract();
    const words = [program, 'proxy', join(here, file), url, '--errors', '--port', '0'];
    contract.process = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
    process.once('exit', () => contract.process.kill('SIGKILL')); // however the tests end
    contract.log = '';
    for (const stream of [contract.process.stdout, contract.process.stderr])
      stream.setEncoding('utf8').on('data', (text) => (contract.log += text));
    contract.left = new Promise((resolve) => contract.process.once('close', resolve));
    contract.url = await until('the proxy', () => {
      if (contract.process.exitCode !== null) throw new Error(`prism left:\n${contract.log}`);
      return contract.log.match(/listening on (http:\S+)/)?.[1];
    });
    return contract;
  }

  async stop() {
    this.process.kill('SIGKILL');
    await this.left;
  }
}
