// Servers over a network that others wrote, as processes that can be killed and started again at the same port.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, connect as dial } from 'node:net';
import { join } from 'node:path';
import { root, until } from './support.mjs';

const servers = join(root, 'tests/servers');
const certs = join(root, 'tests/certs');

/** The settings with the certificate that the servers require. */
export const tls = {
  ca: join(certs, 'ca.pem'),
  cert: join(certs, 'client.pem'),
  key: join(certs, 'client.key'),
};

/** A port that the system gives to nobody who asks for any: other tests do that all the time. */
export async function freePort() {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch {
      continue;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}

const listens = (port) =>
  new Promise((resolve) => {
    const socket = dial(port, '127.0.0.1', () => resolve(true) ?? socket.destroy());
    socket.on('error', () => resolve(false));
  });

/** A process that listens at a port of its own until the test ends. */
export class RealServer {
  static async start(test, { command, url, type = 'http', env = () => ({}) }) {
    const server = new RealServer();
    server.port = await freePort();
    server.definition = { type, url: url(server.port) };
    server.command = command(server.port);
    assert.ok(existsSync(server.command[0]), `${server.command[0]} is missing: make test-node installs it`);
    server.env = { ...process.env, ...env(server.port) };
    test.after(() => server.kill());
    await server.start();
    return server;
  }

  async start() {
    const [program, ...args] = this.command;
    this.child = spawn(program, args, { env: this.env, stdio: 'ignore' });
    await until(() => this.#ended() || listens(this.port), `${program} listens`);
    assert.ok(!this.#ended(), this.command.join(' '));
  }

  /** With a signal that it cannot handle. */
  async kill() {
    if (this.#ended()) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }

  #ended() {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}

/** The everything server of npm. */
export const everything = (mode, path, type) => ({
  command: () => [
    process.execPath,
    join(servers, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'),
    mode,
  ],
  url: (port) => `http://127.0.0.1:${port}${path}`,
  type,
  env: (port) => ({ PORT: String(port) }),
});

const python = (group) => join(root, '.venv-servers', group, 'bin/python');

/** `tests/servers/python_server.py` on one of its libraries. */
export function onPython(library, transport, type = transport) {
  const program = python(library === 'mcp1' ? 'mcp1' : 'current');
  const scheme = transport === 'websocket' ? 'ws' : 'http';
  const path = { http: 'mcp', sse: 'sse', websocket: 'ws' }[transport];
  return {
    command: (port) => [program, join(servers, 'python_server.py'), library, transport, String(port)],
    url: (port) => `${scheme}://127.0.0.1:${port}/${path}`,
    type,
  };
}

/** `tests/servers/websocket.mjs`. */
export const onTypescript = {
  command: (port) => [process.execPath, join(servers, 'websocket.mjs'), String(port)],
  url: (port) => `ws://127.0.0.1:${port}`,
  type: 'websocket',
};

/** `tests/servers/http2.mjs`, which requires a certificate. */
export const onNodeHttp2 = {
  command: (port) => [process.execPath, join(servers, 'http2.mjs'), String(port), certs],
  url: (port) => `https://127.0.0.1:${port}/mcp`,
};

/** A server that demands a token, with its authorisation server: a program of `tests/servers`. */
export const protectedBy = (program, options) => ({
  command: (port) => [process.execPath, join(servers, program), String(port), JSON.stringify(options)],
  url: (port) => `http://127.0.0.1:${port}/mcp`,
});
