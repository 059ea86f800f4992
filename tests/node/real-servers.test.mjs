// Servers that others wrote, from npm and PyPI: listed, called, and refused what they refuse.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ToolRejectedError } from 'mcpool';
import { everything, RealServer } from './real-server.mjs';
import { directory, manage, root } from './support.mjs';

const installed = join(root, 'tests/servers/node_modules/@modelcontextprotocol');
const python = join(root, '.venv/bin/python');

/** The definition of a server that npm has installed. */
function node(name, ...args) {
  const program = join(installed, name, 'dist/index.js');
  assert.ok(existsSync(program), `${program} is missing: npm install --no-package-lock in tests/servers`);
  return { command: process.execPath, args: [program, ...args] };
}

/** The definition of a server that pip has installed. */
const pip = (module, ...args) => ({ command: python, args: ['-m', module, ...args] });

async function connected(t, definition) {
  const manager = manage(t, { s: definition });
  const report = await manager.connectAll();
  assert.deepEqual(report.connected, ['s'], String(report.failed.s));
  return manager;
}

const names = (manager) => new Set(manager.getTools().map((tool) => tool.rawName));

// By `type: "http"` it is found to speak only the older transport.
const overANetwork = {
  http: everything('streamableHttp', '/mcp', 'http'),
  sse: everything('sse', '/sse', 'sse'),
  fallback: everything('sse', '/sse', 'http'),
};

describe('real servers', () => {
  for (const transport of ['stdio', ...Object.keys(overANetwork)]) {
    test(`everything answers over ${transport}`, async (t) => {
      const definition =
        transport === 'stdio'
          ? node('server-everything', 'stdio')
          : (await RealServer.start(t, overANetwork[transport])).definition;
      const manager = await connected(t, definition);
      assert.ok(names(manager).has('get-sum'));
      assert.equal((await manager.callTool('s', 'echo', { message: 'héllo' })).text, 'Echo: héllo');
      assert.match((await manager.call('mcp_s_get_sum', { a: 40, b: 2 })).text, /42/);
      const image = await manager.callTool('s', 'get-tiny-image');
      assert.deepEqual(
        image.content.map((block) => block.type),
        ['text', 'image', 'text'],
      );
      const told = [];
      const slow = { duration: 0.3, steps: 3 };
      await manager.callTool('s', 'trigger-long-running-operation', slow, {
        onProgress: (at) => told.push(at),
      });
      assert.ok(told.length > 0);
      const abort = new AbortController();
      const long = { duration: 60, steps: 60 };
      const given = manager.callTool('s', 'trigger-long-running-operation', long, { signal: abort.signal });
      abort.abort();
      await assert.rejects(given, { name: 'AbortError' });
      await assert.rejects(manager.callTool('s', 'no-such-tool'), ToolRejectedError);
      assert.equal((await manager.callTool('s', 'echo', { message: 'after' })).text, 'Echo: after');
    });
  }

  test('filesystem reads and writes where it may, and nowhere else', async (t) => {
    const dir = directory(t);
    writeFileSync(join(dir, 'a.txt'), 'one');
    const manager = await connected(t, node('server-filesystem', dir));
    assert.match((await manager.callTool('s', 'read_text_file', { path: join(dir, 'a.txt') })).text, /one/);
    await manager.callTool('s', 'write_file', { path: join(dir, 'b.txt'), content: 'two' });
    assert.match((await manager.callTool('s', 'list_directory', { path: dir })).text, /b\.txt/);
    assert.ok((await manager.callTool('s', 'read_text_file', { path: '/etc/hostname' })).isError);
  });

  test('memory remembers', async (t) => {
    const file = join(directory(t), 'memory.json');
    const manager = await connected(t, { ...node('server-memory'), env: { MEMORY_FILE_PATH: file } });
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
    await manager.callTool('s', 'create_entities', { entities });
    assert.match((await manager.callTool('s', 'read_graph')).text, /Ada/);
    assert.match((await manager.callTool('s', 'search_nodes', { query: 'counts' })).text, /Ada/);
  });

  test('time tells and converts', async (t) => {
    const manager = await connected(t, pip('mcp_server_time'));
    assert.match((await manager.callTool('s', 'get_current_time', { timezone: 'UTC' })).text, /UTC/);
    const noon = { source_timezone: 'UTC', target_timezone: 'Asia/Tokyo', time: '12:00' };
    assert.match((await manager.callTool('s', 'convert_time', noon)).text, /21:00/);
    assert.ok((await manager.callTool('s', 'get_current_time', { timezone: 'Nowhere' })).isError);
  });

  test('git shows a repository', async (t) => {
    const repo = directory(t);
    execFileSync('git', ['init', '--quiet', repo]);
    writeFileSync(join(repo, 'new.txt'), 'x');
    const manager = await connected(t, pip('mcp_server_git', '--repository', repo));
    assert.match((await manager.callTool('s', 'git_status', { repo_path: repo })).text, /new\.txt/);
    await manager.callTool('s', 'git_add', { repo_path: repo, files: ['new.txt'] });
    assert.match((await manager.callTool('s', 'git_diff_staged', { repo_path: repo })).text, /new\.txt/);
  });
});
