// Runs one file of `tests/scenarios`, whose words are explained there, against the Node manager.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Manager, McpoolError } from 'mcpool';
import { check, fill, isSubsequence, matches, plain, snake } from './matching.mjs';
import { fixture, journal, until } from './support.mjs';

const COMMON_KEYS = ['do', 'expect', 'error'];
const CALL_KEYS = ['arguments', 'timeout_ms', 'meta', 'progress'];
process.env.MCPOOL_SCENARIO = 'outside';

/** Runs a file; the error says which step failed and how. */
export async function run(file, directory) {
  const scenario = JSON.parse(readFileSync(file, 'utf8'));
  const names = { fixture, dir: directory };
  const web = [];
  try {
    for (const [name, knobs] of Object.entries(scenario.fixtures ?? {})) {
      const server = await startWeb(fill(knobs, names));
      web.push(server.child);
      names[name] = server.url;
    }
    const filled = fill(scenario, names);
    for (const [name, text] of Object.entries(filled.files ?? {})) writeFileSync(join(directory, name), text);
    await play(filled);
  } finally {
    await Promise.all(web.map(end));
  }
}

async function startWeb(knobs) {
  const child = spawn(fixture, ['http', ...knobs], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(child.stdout), 'line');
  return { child, url: JSON.parse(line).url };
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function play(scenario) {
  const { naming, connect_concurrency: connectConcurrency } = scenario.options ?? {};
  const manager = new Manager(scenario.config, { naming, connectConcurrency });
  const steps = new Steps(manager);
  const events = manager.events();
  const collecting = steps.collect(events);
  try {
    for (const [index, step] of scenario.steps.entries()) {
      await steps.step(step).catch((problem) => {
        throw new Error(`step ${index + 1} (${step.do}): ${problem.message}`, { cause: problem });
      });
    }
  } finally {
    await manager.close();
    await events.return();
    await collecting;
  }
  if (steps.started.size > 0) throw new Error(`${[...steps.started.keys()]} were started and never finished`);
}

class Steps {
  constructor(manager) {
    this.manager = manager;
    this.seen = [];
    this.started = new Map();
  }

  async collect(events) {
    for await (const event of events) this.seen.push(plain(snake(event)));
  }

  async step(step) {
    switch (step.do) {
      case 'start':
        only(step, 'as', 'step');
        return this.start(step);
      case 'finish': {
        only(step, 'as');
        const { outcome } = this.take(step);
        return judge(step, await within(outcome, 'did not finish'));
      }
      case 'cancel': {
        only(step, 'as');
        const { outcome, abort } = this.take(step);
        abort.abort();
        const { error } = await outcome;
        if (error?.name !== 'AbortError') throw new Error('did not end as cancelled');
        return;
      }
      case 'parallel':
        only(step, 'steps');
        await Promise.all(step.steps.map((inner) => this.step(inner)));
        return;
      case 'repeat':
        only(step, 'times', 'step');
        for (let time = 0; time < step.times; time++) await this.step(step.step);
        return;
      case 'events':
        only(step);
        await until(() => isSubsequence(step.expect, this.seen), JSON.stringify(step.expect)).catch(
          (problem) => {
            throw new Error(`${problem.message}; seen: ${JSON.stringify(this.seen)}`);
          },
        );
        return;
      case 'journal':
        return readsJournal(step);
      default:
        judge(step, await settled(this.verb(step)));
    }
  }

  start(step) {
    const abort = new AbortController();
    this.started.set(step.as, { abort, outcome: settled(this.verb(step.step, abort.signal)) });
  }

  take(step) {
    const started = this.started.get(step.as);
    if (!started) throw new Error(`nothing was started as ${step.as}`);
    this.started.delete(step.as);
    return started;
  }

  async verb(step, signal) {
    const { manager } = this;
    switch (step.do) {
      case 'connect_all':
        only(step);
        return plain(snake(await manager.connectAll()));
      case 'connect':
        only(step, 'server');
        return await manager.connect(step.server);
      case 'wait_for':
        only(step, 'server', 'timeout_ms');
        return await manager.waitFor(step.server, { timeoutMs: step.timeout_ms });
      case 'tools':
        only(step);
        return manager.getTools().map((tool) => tool.name);
      case 'tool':
        only(step, 'name');
        return snake(
          manager
            .getTools()
            .find((tool) => tool.name === step.name)
            ?.toJSON(),
        );
      case 'call_tool':
      case 'call':
        return await this.call(step, signal);
      case 'status':
        only(step);
        return Object.fromEntries(manager.status().map((status) => [status.name, statusFields(status)]));
      case 'warnings':
        only(step);
        return manager.warnings;
      case 'kill':
        only(step, 'server');
        process.kill(manager.status().find((status) => status.name === step.server).pid, 'SIGKILL');
        return;
      case 'disconnect':
        only(step, 'server');
        return await manager.disconnect(step.server);
      case 'disconnect_all':
        only(step);
        return await manager.disconnectAll();
      case 'close':
        only(step);
        return await manager.close();
      default:
        throw new Error(`there is no step ${step.do}`);
    }
  }

  async call(step, signal) {
    const byName = step.do === 'call';
    only(step, ...(byName ? ['name'] : ['server', 'tool']), ...CALL_KEYS);
    const progress = [];
    const options = { timeoutMs: step.timeout_ms, meta: step.meta, signal };
    if (step.progress) options.onProgress = (told) => progress.push(told);
    const result = byName
      ? await this.manager.call(step.name, step.arguments, options)
      : await this.manager.callTool(step.server, step.tool, step.arguments, options);
    const { text, isError: is_error, content, structured, raw, json } = result;
    return { text, is_error, content, structured, raw, json, progress };
  }
}

const statusFields = (status) => plain({ ...snake(status), calls: snake(status.calls) });

const settled = (promise) =>
  promise.then(
    (value) => ({ value }),
    (error) => ({ error }),
  );

async function within(outcome, problem) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(problem)), 10_000);
  });
  try {
    return await Promise.race([outcome, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Holds the outcome against the step's `expect` or `error`. */
function judge(step, { value, error }) {
  if (error !== undefined) {
    if (!(error instanceof McpoolError)) throw error;
    if (!('error' in step)) throw new Error(`failed with ${error.code}: ${error.message}`);
    return check(step.error, plain(error));
  }
  if ('error' in step) throw new Error(`should have failed, gave ${JSON.stringify(value)}`);
  if ('expect' in step) check(step.expect, value);
}

async function readsJournal(step) {
  only(step, 'file', 'count');
  const wanted = step.expect ?? [];
  await until(() => isSubsequence(wanted, journal(step.file)), JSON.stringify(wanted)).catch((problem) => {
    throw new Error(`${problem.message}; the journal holds ${JSON.stringify(journal(step.file))}`);
  });
  for (const { entry, times } of step.count ?? []) {
    const found = journal(step.file).filter((line) => matches(entry, line)).length;
    if (found !== times) throw new Error(`${JSON.stringify(entry)}: expected ${times}, got ${found}`);
  }
}

function only(step, ...allowed) {
  const unknown = Object.keys(step).filter((key) => !COMMON_KEYS.includes(key) && !allowed.includes(key));
  if (unknown.length > 0) throw new Error(`unknown keys ${unknown}`);
}
