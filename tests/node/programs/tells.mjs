// Lets every server of a world fail or talk in its own way, and prints all that is said of them, one JSON pair a line.
import { join } from 'node:path';
import { inspect } from 'node:util';
import { config, discover, Manager, McpoolError, Pool } from 'mcpool';

const home = process.argv[2];
const where = { cwd: join(home, 'project'), native: ['exa'] };

const say = (place, text) => process.stdout.write(`${JSON.stringify([place, text])}\n`);

function show(place, value) {
  say(place, `${inspect(value, { depth: 9, showHidden: true })} ${JSON.stringify(value)} ${String(value)}`);
  if (value instanceof Error) {
    const { message, stack, hint, rpc, restart, cause } = value;
    say(`${place}, its parts`, inspect({ message, stack, hint, rpc, restart, cause }, { depth: 9 }));
    say(`${place}, cloned`, inspect(structuredClone(value), { depth: 9 }));
  }
}

async function failing(place, work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof McpoolError || error instanceof TypeError)) throw error;
    show(place, error);
  }
}

const found = await discover(where);
show('discovery', found);
if (found.native.exa[0].expose() !== 'swordfish-exa') throw new Error('the key of exa was not found');

const asked = [];
const trust = (question) => {
  asked.push(question);
  return false;
};
const manager = await Manager.discover({ ...where, pool: new Pool(), cacheDir: join(home, 'cache'), trust });
const events = manager.events();
const report = await manager.connectAll();
show('report', report);
for (const [name, error] of Object.entries(report.failed)) show(`failure of ${name}`, error);
for (const name of Object.keys(found.servers)) {
  await failing(`connecting ${name}`, () => manager.connect(name));
  await failing(`waiting for ${name}`, () => manager.waitFor(name, { timeoutMs: 50 }));
  // What another server was given is no secret of this one.
  const text = name === 'works' ? 'it is swordfish-work' : 'nothing';
  const calls = [
    ['log', { level: 'info', text }],
    ['rpc_error', { code: -32000, message: text }],
    ['no_such_tool', {}],
    ['exit', { code: 3 }],
  ];
  for (const [tool, given] of calls) {
    await failing(`calling ${tool} of ${name}`, () =>
      manager.callTool(name, tool, given, { timeoutMs: 2000 }),
    );
  }
}
show('manager', manager);
show('warnings', manager.warnings);
show('discovery of the manager', manager.discovery);
for (const status of manager.status()) show(`status of ${status.name}`, status);
// The fields of a question of trust are what the project wrote, for a person to see; printed it shows none of them.
say('questions', inspect(asked, { depth: 9, showHidden: true }));
await manager.close();
for await (const event of events) show('event', event);

for (const file of [
  '.config/mcpool/mcp.json',
  '.cursor/mcp.json',
  '.codex/config.toml',
  '.continue/config.yaml',
]) {
  await failing(file, () => {
    const opened = Manager.fromFile(join(home, file), { pool: new Pool() });
    show(file, opened.status());
    return opened.close();
  });
}
const bad = [
  { url: 'https://me:swordfish@h/', command: 'swordfish' },
  { command: ['swordfish'] },
  { url: 'swordfish' },
];
for (const definition of bad) {
  await failing('adding', () => config.add('x', definition, { file: join(home, 'new.json') }));
}
await failing('hostEnv', () => discover({ hostEnv: { env: 'swordfish' } }));
