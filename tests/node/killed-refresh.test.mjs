// A refresh of this interpreter goes on in a process of its own: a kill does not lose the login.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Pool } from 'mcpool';
import { get } from './person.mjs';
import { directory, journal, manage, program, until } from './support.mjs';
import { Web } from './web.mjs';

test('the login survives a kill before the answer', async (t) => {
  const home = directory(t);
  const [held, file] = [join(home, 'held'), join(home, 'journal.jsonl')];
  const knobs = ['--oauth', '--oauth-rotate', '--oauth-expire-at-call', '2', '--oauth-hold', `token=${held}`];
  const web = await Web.start([...knobs, '--journal', file]);
  t.after(() => web.end());
  const calls = async (onAuth) => {
    const options = { pool: new Pool(), hostEnv: { env: {}, home }, onAuth };
    const manager = manage(t, { a: { url: web.url } }, options);
    await manager.connectAll();
    return (await manager.callTool('a', 'echo', { text: 'hi' })).text;
  };
  const refreshes = () => journal(file).filter(({ grant }) => grant === 'refresh_token').length;

  assert.equal(await calls(async ({ url }) => (await get(url, { redirect: 'manual' })).location), 'hi');
  writeFileSync(held, 'hold');
  const caller = spawn(process.execPath, [program('call-with-login.mjs').pathname, web.url, home]);
  await until(refreshes, 'the rotation');
  caller.kill('SIGKILL');
  await once(caller, 'exit');
  writeFileSync(held, '');
  assert.equal(await calls(), 'hi');
  assert.equal(refreshes(), 1);
  assert.deepEqual(
    journal(file).filter(({ event }) => event === 'family_revoked'),
    [],
  );
});
