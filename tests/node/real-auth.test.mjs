// Sign-ins at authorisation servers that others wrote, for servers that others wrote.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AuthRequiredError } from 'mcpool';
import { protectedBy, RealServer } from './real-server.mjs';
import { manage, until } from './support.mjs';
import { UserHome } from './user-home.mjs';
import { Visitor } from './visitor.mjs';

const servers = {
  'oidc-provider': 'oidc.mjs',
  'Better Auth': 'better-auth.mjs',
  'workers-oauth-provider': 'workers.mjs',
};

describe('sign-ins at real authorisation servers', { concurrency: true }, () => {
  for (const [name, program] of Object.entries(servers)) {
    test(name, { timeout: 60_000 }, async (t) => {
      const server = await RealServer.start(t, protectedBy(program, { seconds: 3 }));
      const { hostEnv } = new UserHome(t);
      const person = new Visitor();
      const manager = (options) => manage(t, { s: server.definition }, { hostEnv, ...options });
      const seen = async () => (await fetch(`http://127.0.0.1:${server.port}/seen`)).json();
      const echo = async (of, text) => (await of.callTool('s', 'echo', { text })).text;

      const first = manager({ onAuth: person.onAuth });
      const report = await first.connectAll();
      assert.deepEqual(report.connected, ['s'], String(report.failed.s));
      const second = manager();
      assert.deepEqual((await second.connectAll()).connected, ['s']);

      const texts = Array.from({ length: 20 }, (_, at) => `é${at}`);
      await until(async () => {
        const calls = [first, second].flatMap((of) => texts.map((text) => echo(of, text)));
        assert.deepEqual(await Promise.all(calls), [...texts, ...texts]);
        return (await seen()).refresh_token >= 2;
      }, 'the token is refreshed');
      assert.equal(person.prompts.length, 1);
      assert.equal((await seen()).authorization_code, 1);

      await first.forgetAuth('s');
      // A signed token is accepted until it expires.
      const refusal = () => echo(second, 'x').then(() => undefined, Object);
      const error = await until(refusal, 'the token is refused');
      assert.ok(error instanceof AuthRequiredError, String(error));
      assert.ok(error.authUrl.startsWith('http://127.0.0.1:'));
      await first.authorize('s');
      assert.equal(await echo(first, 'again'), 'again');
      assert.equal(person.prompts.length, 2);
    });
  }
});
