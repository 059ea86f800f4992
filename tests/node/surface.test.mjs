// The surface: what the package exports, in both module systems, with types.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import * as imported from 'mcpool';
import { root } from './support.mjs';

const require = createRequire(import.meta.url);
const required = require('mcpool');
const native = require('../../node/native.js');

const nouns = ['Manager', 'McpoolError', 'Pool', 'Secret', 'Tool', 'ToolOutput', 'ToolResult'];
const verbs = ['config', 'discover', 'extra', 'setClientInfo', 'trust', 'trusted', 'untrust'];
const errors = {
  CONFIG_INVALID: 'ConfigInvalidError',
  CONFIG_CONFLICT: 'ConfigConflictError',
  CONFIG_IO: 'ConfigIoError',
  DISCOVERY_FAILED: 'DiscoveryFailedError',
  UNTRUSTED: 'UntrustedError',
  SERVER_DISABLED: 'ServerDisabledError',
  SERVER_NOT_FOUND: 'ServerNotFoundError',
  CONNECT_FAILED: 'ConnectFailedError',
  CONNECT_TIMEOUT: 'ConnectTimeoutError',
  HANDSHAKE_FAILED: 'HandshakeFailedError',
  AUTH_REQUIRED: 'AuthRequiredError',
  AUTH_FAILED: 'AuthFailedError',
  TOOL_UNAVAILABLE: 'ToolUnavailableError',
  TOOL_REJECTED: 'ToolRejectedError',
  TOOL_FAILED: 'ToolFailedError',
  TOOL_TIMEOUT: 'ToolTimeoutError',
  INVALID_ARGUMENTS: 'InvalidArgumentsError',
  NOT_APPROVED: 'NotApprovedError',
  CONNECTION_LOST: 'ConnectionLostError',
  mcp_restart_in_progress: 'RestartInProgressError',
  mcp_restart_failed: 'RestartFailedError',
  PROTOCOL_ERROR: 'ProtocolError',
  LIMIT_EXCEEDED: 'LimitExceededError',
  CLOSED: 'ClosedError',
};

test('the exports are the list', () => {
  assert.deepEqual(Object.keys(required).sort(), [...nouns, ...verbs, ...Object.values(errors)].sort());
});

test('import and require give the same things', () => {
  assert.deepEqual({ ...imported }, { ...required });
});

test('there is one error class for each kind of the core', () => {
  const kinds = native.errorKinds();
  assert.deepEqual(
    kinds.map(({ code }) => code),
    Object.keys(errors),
  );
  for (const { code, retryable } of kinds) {
    const name = errors[code];
    const error = new required[name]('what happened');
    assert.deepEqual([error.code, error.retryable], [code, retryable]);
    assert.equal(new required[name]('what happened', { retryable: !retryable }).retryable, !retryable);
    assert.ok(error instanceof required.McpoolError);
    assert.equal(error.name, name.includes('Timeout') ? 'TimeoutError' : name);
    assert.deepEqual(Object.keys(error).sort(), ['code', 'retryable']);
  }
});

test('the verbs of a manager are the list', () => {
  const names = Object.getOwnPropertyNames(required.Manager.prototype);
  assert.deepEqual(names.sort(), [
    'acceptDrift',
    'authorize',
    'call',
    'callTool',
    'cancelTask',
    'child',
    'close',
    'complete',
    'completeAuth',
    'connect',
    'connectAll',
    'constructor',
    'disconnect',
    'disconnectAll',
    'discovery',
    'events',
    'forgetAuth',
    'getPrompt',
    'getTask',
    'getTool',
    'getTools',
    'listPrompts',
    'listResourceTemplates',
    'listResources',
    'listSkills',
    'off',
    'on',
    'once',
    'readResource',
    'readSkill',
    'readSkillFile',
    'reload',
    'searchTools',
    'setLogLevel',
    'setRoots',
    'status',
    'subscribeResource',
    'unsubscribeResource',
    'waitFor',
    'warnings',
  ]);
  assert.equal(typeof required.Manager.prototype[Symbol.asyncDispose], 'function');
  assert.equal(typeof required.Manager.fromFile, 'function');
  assert.equal(typeof required.Manager.discover, 'function');
  const edits = ['add', 'remove', 'update', 'enable', 'disable', 'hide', 'unhide', 'schema'];
  assert.deepEqual(Object.keys(required.config), edits);
  assert.deepEqual(Object.getOwnPropertyNames(required.Pool.prototype).sort(), ['advanceMs', 'constructor']);
});

test('the package has no module without a source', () => {
  const modules = (folder) =>
    readdirSync(join(root, 'node', folder))
      .filter((name) => /\.m?[jt]s$/.test(name) && !/\.d\.m?ts$/.test(name))
      .map((name) => name.replace(/[jt]s$/, 'js'));
  assert.deepEqual(modules('dist').sort(), modules('lib').sort());
});

test('every module has a source map with its source', () => {
  const modules = readdirSync(join(root, 'node/dist'), { recursive: true, encoding: 'utf8' });
  const scripts = modules.filter((name) => /\.[cm]?js$/.test(name));
  assert.ok(scripts.length > 20);
  for (const name of scripts) {
    const map = JSON.parse(readFileSync(join(root, 'node/dist', `${name}.map`), 'utf8'));
    assert.ok(
      map.sourcesContent.every((source) => source.length > 0),
      name,
    );
  }
});

test('extra fields of a definition are written beside the others, whose names win', () => {
  const { extra, Manager } = required;
  const a = { command: 'x', [extra]: { icon: 'x.png', command: 'y' } };
  const { warnings } = new Manager({ mcpServers: { a }, [extra]: { theme: 'dark' } });
  assert.equal(warnings.filter((warning) => warning.includes('"icon"')).length, 1, warnings.join());
  assert.ok(!warnings.some((warning) => warning.includes('y')), warnings.join());
});

test('the declarations fit programs that are strict, in both module systems', () => {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const config = join(root, 'tests/node/programs/tsconfig.json');
  try {
    execFileSync(tsc, ['-p', config], { encoding: 'utf8' });
  } catch (error) {
    assert.fail(error.stdout);
  }
});

test('the command line is the core’s', () => {
  const { bin, version } = require('../../package.json');
  const said = execFileSync(process.execPath, [join(root, bin.mcpool), '--version'], { encoding: 'utf8' });
  assert.equal(said, `mcpool ${version}\n`);
});
