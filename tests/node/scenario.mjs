// Runs one file of `tests/scenarios`, whose words are explained there, against the Node manager.
import { readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Manager, McpoolError, Pool } from 'mcpool';
import { camel, check, fill, isSubsequence, matches, plain, snake } from './matching.mjs';
import { get, keeping, pageOf, signingIn } from './person.mjs';
import { Fixtures } from './scenario-fixtures.mjs';
import {
  answering,
  approving,
  described,
  elicited,
  holds,
  identifying,
  Place,
  sampled,
  scripted,
  textOf,
} from './scenario-place.mjs';
import { checkScenario, isWithoutManager } from './scenario-steps.mjs';
import { fixture, journal, until } from './support.mjs';

const MAIN = 'main';
process.env.MCPOOL_SCENARIO = 'outside';

/** Runs a file, over one of its transports if it has some; the error says which step failed and how. */
export async function run(file, directory, variant) {
  const scenario = JSON.parse(readFileSync(file, 'utf8'));
  checkScenario(scenario);
  const names = { fixture, dir: directory, tests: fileURLToPath(new URL('..', import.meta.url)) };
  const fixtures = new Fixtures();
  try {
    await fixtures.start(scenario, variant, names);
    const filled = fill(scenario, names);
    await play(filled, directory, new Place(filled, directory), fixtures);
  } finally {
    await fixtures.endAll();
  }
}

/** Asks a server by the name of a verb, with its parameters in the order of the method. */
function askServer(manager, verb, server, params) {
  switch (verb) {
    case 'list_resources':
      return manager.listResources(server);
    case 'list_resource_templates':
      return manager.listResourceTemplates(server);
    case 'read_resource':
      return manager.readResource(server, params.uri);
    case 'subscribe_resource':
      return manager.subscribeResource(server, params.uri);
    case 'unsubscribe_resource':
      return manager.unsubscribeResource(server, params.uri);
    case 'list_prompts':
      return manager.listPrompts(server);
    case 'get_prompt':
      return manager.getPrompt(server, params.name, params.arguments);
    case 'complete':
      return manager.complete(server, params);
    case 'list_skills':
      return manager.listSkills(server);
    case 'read_skill':
      return manager.readSkill(server, params.skill);
    case 'read_skill_file':
      return manager.readSkillFile(server, params.skill, params.uri);
    case 'get_task':
      return manager.getTask(server, params.task_id);
    case 'cancel_task':
      return manager.cancelTask(server, params.task_id);
    case 'set_log_level':
      return manager.setLogLevel(server, params.level);
    default:
      throw new Error(`there is no verb ${verb}`);
  }
}

/** The status of every server. */
function statusByName(manager) {
  return Object.fromEntries(manager.status().map((status) => [status.name, statusFields(status)]));
}

async function play(scenario, directory, place, fixtures) {
  const steps = new Steps(new Pool(camel(scenario.pool ?? {})), directory, place, fixtures);
  try {
    await steps.open(MAIN, scenario);
    for (const [index, step] of scenario.steps.entries()) {
      await steps.step(step).catch((problem) => {
        throw new Error(`step ${index + 1} (${step.do}): ${problem.message}`, { cause: problem });
      });
    }
  } finally {
    for (const { manager, events, collecting } of steps.managers.values()) {
      await manager.close();
      await events.return();
      await collecting;
    }
  }
  if (steps.started.size > 0) throw new Error(`${[...steps.started.keys()]} were started and never finished`);
}

class Steps {
  constructor(pool, directory, place, fixtures) {
    this.pool = pool;
    this.directory = directory;
    this.place = place;
    this.fixtures = fixtures;
    this.managers = new Map();
    this.logins = new Map();
    this.started = new Map();
  }

  /** Makes a manager by the `config`, `config_file` or `discover` and the `options` of `description`. */
  async open(name, { config, config_file, discover, options, error }) {
    const given = camel({ cache_dir: join(this.directory, 'cache'), ...options });
    const chosen = { ...given, pool: this.pool, hostEnv: this.place.hostEnv };
    const questions = [];
    if (typeof chosen.trust === 'object') chosen.trust = scripted(chosen.trust.answers, questions);
    if (chosen.onApproval) chosen.onApproval = approving(chosen.onApproval.answers, questions);
    if (chosen.onIdentity) chosen.onIdentity = identifying(chosen.onIdentity.answers, questions);
    if (chosen.onSampling) chosen.onSampling = answering(chosen.onSampling.answers, questions, sampled);
    if (chosen.onElicitation) {
      chosen.onElicitation = answering(chosen.onElicitation.answers, questions, elicited);
    }
    if (chosen.onAuth) chosen.onAuth = signingIn(chosen.onAuth.answers, questions);
    if (chosen.loginStore) chosen.loginStore = keeping(this.logins, chosen.loginStore.answers);
    const made = await settled(
      (async () => {
        if (discover) return Manager.discover({ ...this.place.looking(discover), ...chosen });
        return config_file ? Manager.fromFile(config_file, chosen) : new Manager(config, chosen);
      })(),
    );
    judge(error === undefined ? {} : { error }, made);
    if (made.value) this.watch(name, made.value, questions);
  }

  watch(name, manager, questions) {
    const watched = { manager, questions, events: manager.events(), seen: [] };
    watched.collecting = collect(watched);
    this.managers.set(name, watched);
  }

  /** The manager that a step is about. */
  on({ on = MAIN }) {
    const watched = this.managers.get(on);
    if (!watched) throw new Error(`there is no manager ${on}`);
    return watched;
  }

  async step(step) {
    switch (step.do) {
      case 'start':
        return this.start(step);
      case 'finish': {
        const { outcome } = this.take(step);
        return judge(step, await within(outcome, 'did not finish'));
      }
      case 'cancel': {
        const { outcome, abort } = this.take(step);
        abort.abort();
        const { error } = await outcome;
        if (error?.name !== 'AbortError') throw new Error('did not end as cancelled');
        return;
      }
      case 'parallel':
        await Promise.all(step.steps.map((inner) => this.step(inner)));
        return;
      case 'repeat':
        for (let time = 0; time < step.times; time++) await this.step(step.step);
        return;
      case 'events':
        return hears(step, this.on(step));
      case 'no_events': {
        const { seen } = this.on(step);
        if (isSubsequence(step.expect, seen)) throw new Error(`came all the same: ${JSON.stringify(seen)}`);
        return;
      }
      case 'questions': {
        const { questions } = this.on(step);
        await until(() => matches(step.expect, questions), 'the questions').catch(() => {});
        return check(step.expect, questions);
      }
      case 'await_status': {
        const { manager } = this.on(step);
        await until(() => matches(step.expect, statusByName(manager)), 'the status').catch(() => {});
        return check(step.expect, statusByName(manager));
      }
      case 'journal':
        return readsJournal(step);
      case 'open':
        return await this.open(step.as, step);
      case 'advance':
        return this.pool.advanceMs(step.ms);
      case 'write':
        writeFileSync(`${step.file}.new`, textOf(step.text));
        return renameSync(`${step.file}.new`, step.file);
      case 'remove_file':
        return unlinkSync(step.file);
      case 'file':
        return holds(step.file, step.expect);
      case 'end_fixture':
        return await this.fixtures.end(step.fixture);
      case 'start_fixture':
        return await this.fixtures.startAgain(step.fixture);
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
    if (isWithoutManager(step)) return await this.place.verb(step);
    const { manager, questions } = this.on(step);
    switch (step.do) {
      case 'connect_all':
        return plain(snake(await manager.connectAll()));
      case 'connect':
        return await manager.connect(step.server);
      case 'wait_for':
        return await manager.waitFor(step.server, { timeoutMs: step.timeout_ms });
      case 'tools':
        return manager.getTools().map((tool) => tool.name);
      case 'search_tools':
        return manager.searchTools(step.query, step.k).map((tool) => tool.name);
      case 'tool':
        return describe(manager.getTools().find((tool) => tool.name === step.name));
      case 'get_tool':
        return manager.getTool(step.name).name;
      case 'call_tool':
      case 'call':
        return await call(manager, step, signal);
      case 'execute':
        return await execute(manager, step, signal);
      case 'status':
        return statusByName(manager);
      case 'status_of':
        return statusFields(manager.status(step.server));
      case 'warnings':
        return manager.warnings;
      case 'discovery':
        return described(manager.discovery);
      case 'kill':
        process.kill(manager.status().find((status) => status.name === step.server).pid, 'SIGKILL');
        return;
      case 'child':
        return this.watch(step.as, manager.child(), questions);
      case 'reload': {
        const { connect, ...changes } = await manager.reload(step.config);
        return { ...changes, connect: plain(snake(connect)) };
      }
      case 'authorize':
        return await manager.authorize(step.server, { fresh: step.fresh, device: step.device });
      case 'browse':
        return await get(pageOf(manager, step.server));
      case 'complete_auth': {
        const redirected = async () =>
          (await get(pageOf(manager, step.server), { redirect: 'manual' })).location;
        return await manager.completeAuth(step.url ?? (await redirected()));
      }
      case 'forget_auth':
        return await manager.forgetAuth(step.server);
      case 'accept_drift':
        return await manager.acceptDrift(step.server, step.tool);
      case 'ask_server':
        return (await askServer(manager, step.verb, step.server, step.params ?? {})) ?? null;
      case 'set_roots':
        return manager.setRoots(step.roots);
      case 'disconnect':
        return await manager.disconnect(step.server);
      case 'disconnect_all':
        return await manager.disconnectAll();
      case 'close':
        return await manager.close();
      default:
        throw new Error(`there is no step ${step.do}`);
    }
  }
}

const describe = (tool) => tool && snake({ ...tool.toJSON(), signals: tool.signals });

async function call(manager, step, signal) {
  const byName = step.do === 'call';
  const { options, progress } = callOptions(step, signal);
  const result = byName
    ? await manager.call(step.name, step.arguments, options)
    : await manager.callTool(step.server, step.tool, step.arguments, options);
  const { text, isError: is_error, content, structured, raw, json } = result;
  const shown = step.for_model && { for_model: result.forModel(), signals: result.signals };
  const task = result.task && snake(result.task);
  return { text, is_error, content, structured, raw, json, task, ...shown, progress };
}

async function execute(manager, step, signal) {
  const { options, progress } = callOptions(step, signal);
  const isMeant = ({ name, server, rawName }) =>
    step.name === undefined ? server === step.server && rawName === step.tool : name === step.name;
  const tool = manager.getTools().find(isMeant);
  if (!tool) throw new Error('there is no such tool');
  const output = await tool.execute(step.arguments, options);
  const { text, isError: is_error, server, provider, content, structured, signals, error } = output;
  const details = { server, tool: output.tool, provider, content, structured, signals };
  return { text, is_error, ...details, error: plain(error), progress };
}

function callOptions(step, signal) {
  const { timeout_ms: timeoutMs, max_total_timeout_ms: maxTotalTimeoutMs, retry, meta } = step;
  const { identity, headers, return_task: returnTask, resume_task: resumeTask } = step;
  const { check_output: checkOutput } = step;
  const progress = [];
  const options = { timeoutMs, maxTotalTimeoutMs, retry, meta, identity, headers, signal };
  Object.assign(options, { checkOutput, returnTask, resumeTask });
  if (step.progress) options.onProgress = (told) => progress.push(told);
  return { options, progress };
}

async function collect({ events, seen }) {
  for await (const event of events) seen.push(plain(snake(event)));
}

async function hears({ expect }, { seen }) {
  await until(() => isSubsequence(expect, seen), JSON.stringify(expect)).catch((problem) => {
    throw new Error(`${problem.message}; seen: ${JSON.stringify(seen)}`);
  });
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
    timer = setTimeout(() => reject(new Error(problem)), 60_000);
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
  const wanted = step.expect ?? [];
  await until(() => isSubsequence(wanted, journal(step.file)), JSON.stringify(wanted)).catch((problem) => {
    throw new Error(`${problem.message}; the journal holds ${JSON.stringify(journal(step.file))}`);
  });
  for (const { entry, times } of step.count ?? []) {
    const found = journal(step.file).filter((line) => matches(entry, line)).length;
    if (found !== times) throw new Error(`${JSON.stringify(entry)}: expected ${times}, got ${found}`);
  }
}
