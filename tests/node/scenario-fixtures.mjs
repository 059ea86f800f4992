// The fixture servers of a scenario: on which transport each runs, ending and starting again.
import { fill } from './matching.mjs';
import { isTransport } from './scenario-steps.mjs';
import { fixture as program } from './support.mjs';
import { Web } from './web.mjs';

export class Fixtures {
  #all = new Map();

  /** Starts the fixtures in their order, and adds what they are called to `names`. */
  async start({ fixtures = {} }, variant, names) {
    const [usual, ...more] = (variant ?? 'http').split(' ');
    names.transport = usual;
    for (const [name, given] of Object.entries(fixtures)) {
      const words = fill(given, names);
      const [transport, ...knobs] = isTransport(words[0]) ? words : [usual, ...words, ...more];
      // Over stdio, managers start it.
      const web = transport === 'stdio' ? undefined : await Web.start(knobs, transport);
      this.#all.set(name, { transport, web });
      names[`${name}:server`] = web
        ? { type: transport, url: web.url }
        : { command: program, args: [transport, ...knobs] };
      if (web) {
        names[name] = web.url;
        names[`${name}:origin`] = new URL(web.url).origin;
      }
    }
  }

  /** Kills one. */
  async end(name) {
    const { web } = this.#of(name);
    if (!web) throw new Error('the runner has not started it');
    await web.end();
  }

  /** Starts one again at the same address. */
  async startAgain(name) {
    await this.#of(name).web?.startAgain();
  }

  async endAll() {
    await Promise.all([...this.#all.values()].map(({ web }) => web?.end()));
  }

  #of(name) {
    const fixture = this.#all.get(name);
    if (!fixture) throw new Error(`there is no fixture ${name}`);
    return fixture;
  }
}
