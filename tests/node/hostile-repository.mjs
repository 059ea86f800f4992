// The home and the clone that `tests/hostile/repository.json` describes; its README has the words.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { Pool } from 'mcpool';
import { directory, fixture, root } from './support.mjs';

const description = JSON.parse(readFileSync(join(root, 'tests/hostile/repository.json'), 'utf8'));

export const users = description.users;

/** Every product's project files. */
export const files = Object.entries(description.products).flatMap(([provider, all]) =>
  all.map((says, at) => ({ provider, slug: `${provider}-${at + 1}`, says })),
);

/** Nobody may dial it; whoever does is taken down. */
async function listen(test, heard) {
  const listener = createServer((socket) => {
    const at = heard.push('a connection') - 1;
    socket.on('error', () => {});
    socket.once('data', (bytes) => {
      heard[at] = bytes.toString();
      socket.end('HTTP/1.1 500 no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  test.after(() => listener.close());
  return listener.address().port;
}

/** Every trap in every file; with a file, names of the user's servers in that file alone. */
export class HostileRepository {
  static async start(test, stealing) {
    const clone = new HostileRepository();
    clone.root = realpathSync(directory(test));
    clone.home = join(clone.root, 'home');
    clone.project = join(clone.root, 'project');
    clone.trips = join(clone.root, 'trips');
    mkdirSync(clone.trips);
    clone.heard = [];
    clone.port = await listen(test, clone.heard);
    for (const place of ['home', 'project']) {
      for (const [path, content] of Object.entries(description[place])) {
        clone.#write(join(clone.root, place, path), content);
      }
    }
    for (const [path, target] of Object.entries(description.project_links)) {
      symlinkSync(clone.#placed(target), join(clone.project, path));
    }
    for (const file of stealing ? [stealing] : files) clone.#writeServers(file, Boolean(stealing));
    return clone;
  }

  get where() {
    const variables = Object.entries(description.environment);
    const env = Object.fromEntries(variables.map(([name, value]) => [name, this.#placed(value)]));
    const path = [...description.path.map((part) => this.#placed(part)), process.env.PATH];
    const hostEnv = { env: { ...env, PATH: path.join(':'), HOME: this.home }, home: this.home };
    return { cwd: this.project, hostEnv };
  }

  /** For a manager on a pool of its own. */
  get options() {
    return { ...this.where, pool: new Pool(), cacheDir: false };
  }

  /** Nothing went off, nothing was shown. */
  check(what, ...said) {
    assert.deepEqual(readdirSync(this.trips), [], `${what} set something off`);
    assert.deepEqual(this.heard, [], `${what} dialled`);
    const whole = { depth: Infinity, maxArrayLength: null, maxStringLength: null };
    const text = said.map((value) => `${inspect(value, whole)} ${JSON.stringify(value)}`).join(' ');
    for (const secret of description.secrets) {
      const at = text.indexOf(secret);
      assert.ok(at < 0, `${what} shows ${secret}: …${text.slice(Math.max(0, at - 300), at + 60)}`);
    }
  }

  /** Traps that should have gone off by now, and have not. */
  silent() {
    return Object.entries(description.fires).flatMap(([trap, products]) => {
      const firing = files.filter(({ provider }) => products.includes('*') || products.includes(provider));
      const names = firing.map(({ slug }) => `${slug}.${trap}`);
      const wasDialled = (name) => this.heard.some((bytes) => bytes.includes(`/${name} `));
      return names.filter((name) => !wasDialled(name) && !existsSync(join(this.trips, name)));
    });
  }

  #writeServers({ provider, slug, says }, stealing) {
    const traps = stealing
      ? description.thefts
      : { ...description.traps, ...(description.native[provider] ?? {}) };
    const entries = Object.entries(traps).map(([trap, definition]) => {
      const name = `${slug}.${trap}`;
      const placed = JSON.parse(this.#placed(JSON.stringify(definition), name));
      const fields = Object.entries(placed).map(([key, value]) => [says.words?.[key] ?? key, value]);
      return [stealing ? trap : name, Object.fromEntries(fields)];
    });
    const servers = says.as_list
      ? entries.map(([name, definition]) => ({ name, ...definition }))
      : Object.fromEntries(entries);
    const inside = says.at.reduceRight((inner, key) => ({ [key]: inner }), servers);
    const document = { ...inside, ...says.also, ...(stealing ? says.lists : {}) };
    const placed = JSON.parse(this.#placed(JSON.stringify(document), `${slug}.also`));
    // YAML is a superset of JSON.
    const text = says.file.endsWith('.toml') ? tomlDocument(placed) : JSON.stringify(placed);
    this.#write(join(this.project, says.file), text);
  }

  #write(path, content) {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, this.#placed(text));
    if (text.startsWith('#!')) chmodSync(path, 0o755);
  }

  #placed(text, name = '') {
    const places = {
      '@project@': this.project,
      '@home@': this.home,
      '@trips@': this.trips,
      '@trip@': join(this.trips, name),
      '@id@': name,
      '@port@': String(this.port),
      '@fixture@': realpathSync(fixture),
    };
    return Object.entries(places).reduce((done, [place, value]) => done.replaceAll(place, () => value), text);
  }
}

const tomlDocument = (document) =>
  Object.entries(document)
    .map(([key, value]) => `${JSON.stringify(key)} = ${toml(value)}\n`)
    .join('');

function toml(value) {
  if (Array.isArray(value)) return `[${value.map(toml).join(', ')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, it]) => `${JSON.stringify(key)} = ${toml(it)}`);
  return `{ ${fields.join(', ')} }`;
}
