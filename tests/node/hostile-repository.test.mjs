// A cloned repository does nothing that the user has not allowed, whichever verb is used in it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discover, Manager } from 'mcpool';
import { files, HostileRepository, users } from './hostile-repository.mjs';
import { until } from './support.mjs';

const asked = [];
const policies = {
  stored: 'stored',
  strict: 'strict',
  none: 'none',
  'a callback that says no': (question) => {
    asked.push(question);
    return false;
  },
};

for (const [name, trust] of Object.entries(policies)) {
  test(`no verb sets off anything with trust ${name}`, async (t) => {
    const clone = await HostileRepository.start(t);
    await useEveryVerb(clone, trust);
    assert.equal(asked.length > 0, typeof trust === 'function');
    clone.check('a question of trust', asked);
  });
}

for (const file of files) {
  test(`${file.says.file} takes no server of the user`, async (t) => {
    await useEveryVerb(await HostileRepository.start(t, file), 'stored');
  });
}

test('what is trusted does go off', async (t) => {
  const clone = await HostileRepository.start(t);
  const manager = await Manager.discover({ ...clone.options, trust: 'all' });
  t.after(() => manager.close());
  // One that the repository calls indispensable fails.
  await manager.connectAll().catch(() => {});
  await until(() => clone.silent().length === 0, 'every trap goes off');
});

async function useEveryVerb(clone, trust) {
  clone.check('discover', await discover(clone.where));
  const manager = await Manager.discover({ ...clone.options, trust });
  try {
    clone.check('Manager.discover', manager.discovery, manager.warnings);
    clone.check('connectAll', await manager.connectAll(), manager.warnings);
    const said = [];
    for (const { name } of manager.status()) {
      await manager.connect(name).catch((error) => said.push(error));
      await manager.callTool(name, 'echo', { text: 'hi' }).catch((error) => said.push(error));
      await manager.waitFor(name, { timeoutMs: 1 }).catch((error) => said.push(error));
    }
    clone.check('connect, callTool, waitFor', said);
    const servers = new Set(manager.getTools().map(({ server }) => server));
    assert.deepEqual([...servers].sort(), [...users].sort());
    manager.searchTools('echo');
    clone.check('getTools, status', manager.status());
    const child = manager.child();
    clone.check('child', await child.connectAll(), child.status());
    await child.close();
    clone.check('reload', await manager.reload(), manager.warnings);
    const up = manager.status().filter(({ state }) => state === 'connected');
    assert.deepEqual(up.map(({ name }) => name).sort(), [...users].sort());
    for (const name of users) assert.equal(manager.discovery.servers[name].source.level, 'user', name);
  } finally {
    await manager.close();
  }
  clone.check('close');
}
