// Where a scenario plays: its files, its home, its environment, and the verbs that have to do with these alone.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { config, discover, trust, trusted, untrust } from 'mcpool';
import { camel, check, plain, snake } from './matching.mjs';

/** Writes the files of a scenario and reads its host environment. */
export class Place {
  constructor({ files, links, env, platform }, directory) {
    this.project = join(directory, 'project');
    for (const [name, text] of Object.entries(files ?? {})) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), textOf(text));
    }
    for (const [name, target] of Object.entries(links ?? {})) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      symlinkSync(resolve(directory, target), join(directory, name));
    }
    if (env === undefined) return;
    const home = join(directory, 'home');
    for (const folder of [home, this.project]) mkdirSync(folder, { recursive: true });
    this.hostEnv = { env: { PATH: process.env.PATH, HOME: home, ...env }, home, platform };
  }

  /** A scenario without a host environment must not find, nor change, what is on this machine. */
  get own() {
    if (this.hostEnv === undefined) throw new Error('the scenario needs an env');
    return this.hostEnv;
  }

  /** The options of discovery. */
  looking(options = {}) {
    return { cwd: this.project, ...camel(options), hostEnv: this.own };
  }

  /** Executes a verb that is about no manager. */
  async verb(step) {
    const { scope, file, cwd = this.project, servers } = step;
    const hostEnv = step.do === 'schema' ? undefined : this.own;
    switch (step.do) {
      case 'schema':
        return config.schema();
      case 'discover':
        return described(await discover(this.looking(step.options)));
      case 'edit': {
        const words = [step.name, ...('definition' in step ? [step.definition] : [])];
        return await config[step.verb](...words, { scope, file, cwd, hostEnv });
      }
      case 'trusted':
        return await trusted({ hostEnv });
      default:
        return await { trust, untrust }[step.do](step.path, { servers, hostEnv });
    }
  }
}

/** What was found, as the files see it. */
export function described(found) {
  if (found === undefined) return null;
  const native = Object.entries(found.native).map(([name, keys]) => [name, keys.map((key) => key.expose())]);
  const report = { ...snake(plain(found)), native: Object.fromEntries(native) };
  return { ...report, order: Object.keys(found.servers) };
}

/** A callback that answers by the script: true, false, or `fail`; what it does not name is refused. */
export function scripted(answers, questions) {
  return async (question) => {
    questions.push(question);
    const answer = answers[question.server] ?? false;
    if (answer === 'fail') throw new Error('the script says so');
    return answer;
  };
}

/** A callback that answers by the script: true, false, `fail` or `hang`; what it does not name is refused. */
export function approving(answers, questions) {
  return async (question) => {
    questions.push({ annotations: null, ...question });
    const answer = answers[question.tool] ?? false;
    if (answer === 'fail') throw new Error('the script says so');
    if (answer === 'hang') await new Promise(() => {});
    return answer;
  };
}

/** A callback that answers who calls a tool by the script: a caller, null, `fail`, `hang`. */
export function identifying(answers, questions) {
  return async (question) => {
    questions.push(question);
    const answer = answers[question.tool];
    if (answer === 'fail') throw new Error('the script says so');
    if (answer === 'hang') await new Promise(() => {});
    return answer;
  };
}

/** A callback for requests of servers that answers by their names: an answer, `fail`, `hang`. */
export function answering(answers, questions, shape) {
  return async (request) => {
    questions.push(shape(request));
    const answer = answers[request.server];
    if (answer === 'fail') throw new Error('the script says so');
    if (answer === 'hang') await new Promise(() => {});
    return answer;
  };
}

/** A request as the other languages show it. */
export const sampled = ({ server, ...params }) => ({ server, params });
export const elicited = ({ requestedSchema, elicitationId, ...fields }) => ({
  ...fields,
  ...(requestedSchema && { requested_schema: requestedSchema }),
  ...(elicitationId && { elicitation_id: elicitationId }),
});

/** The text of a file: a string as it is, everything else as JSON. */
export const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/** Holds a file against a text, or against JSON; null means that it is not there. */
export function holds(file, expected) {
  if (expected === null) {
    if (existsSync(file)) throw new Error(`${file} is there`);
    return;
  }
  const text = readFileSync(file, 'utf8');
  check(expected, typeof expected === 'string' ? text : JSON.parse(text));
}
