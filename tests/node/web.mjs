// The fixture over a network, which can be ended and started again at the same address.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fixture } from './support.mjs';

export class Web {
  static async start(knobs, transport = 'http') {
    const web = new Web();
    web.knobs = knobs;
    web.transport = transport;
    await web.#spawn(knobs);
    return web;
  }

  async end() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }

  async startAgain() {
    await this.end();
    await this.#spawn([...this.knobs, '--port', new URL(this.url).port]);
  }

  async #spawn(knobs) {
    this.child = spawn(fixture, [this.transport, ...knobs], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [line] = await once(createInterface(this.child.stdout), 'line');
    this.url = JSON.parse(line).url;
  }
}
