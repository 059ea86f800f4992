// The world of `tests/secrets/world.json`: a home with config files, an environment, and servers that repeat what they
// were given.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { directory, fixture, journal, root } from './support.mjs';
import { Web } from './web.mjs';

export class MarkerWorld {
  static async start(test) {
    const world = new MarkerWorld();
    world.description = JSON.parse(readFileSync(join(root, 'tests/secrets/world.json'), 'utf8'));
    world.home = directory(test);
    world.journal = join(world.home, 'journal.jsonl');
    const places = { '@fixture@': fixture, '@home@': world.home, '@journal@': world.journal };
    for (const [name, knobs] of Object.entries(world.description.web)) {
      const web = await Web.start([...knobs, '--parrot', 'refusal', '--journal', world.journal]);
      test.after(() => web.end());
      places[`@port:${name}@`] = new URL(web.url).port;
    }
    for (const [path, content] of Object.entries(world.description.files)) {
      let text = typeof content === 'string' ? content : JSON.stringify(content);
      for (const [place, value] of Object.entries(places)) text = text.replaceAll(place, value);
      mkdirSync(dirname(join(world.home, path)), { recursive: true });
      writeFileSync(join(world.home, path), text);
    }
    return world;
  }

  get environment() {
    return { ...this.description.environment, HOME: this.home, PATH: process.env.PATH };
  }

  /** The values that did not reach their servers. */
  missing() {
    const given = journal(this.journal).flatMap(({ words }) => words ?? []);
    return this.description.arrive.filter((value) => !given.some((words) => words.includes(value)));
  }

  /** What mcpool wrote below the home, as pairs of path and text. */
  written() {
    const known = new Set(Object.keys(this.description.files).map((path) => join(this.home, path)));
    known.add(this.journal);
    return readdirSync(this.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !known.has(path))
      .map((path) => [path, readFileSync(path, 'utf8')]);
  }
}
