// Floor: the least that a Node program can do over stdio: spawn, split lines, JSON, a table of promises.
//
// No errors, no timeouts, no cancellation, no notifications, no HTTP: not a client anybody should use.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { main } from './harness.mjs';

async function open({ command, args }) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map();
  let last = 0;
  let pieces = [];

  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk) => {
    let begin = 0;
    for (let end; (end = chunk.indexOf('\n', begin)) >= 0; begin = end + 1) {
      pieces.push(chunk.slice(begin, end));
      const message = JSON.parse(pieces.length > 1 ? pieces.join('') : pieces[0]);
      pieces = [];
      waiting.get(message.id)?.(message.result);
      waiting.delete(message.id);
    }
    if (begin < chunk.length) pieces.push(chunk.slice(begin));
  });

  const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
  const request = (method, params) =>
    new Promise((resolve) => {
      const id = ++last;
      waiting.set(id, resolve);
      send({ jsonrpc: '2.0', id, method, params });
    });

  await request('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'floor', version: '0' },
  });
  send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const { tools } = await request('tools/list', {});
  const call = (name, args) => request('tools/call', { name, arguments: args });
  const close = async () => {
    const ended = once(child, 'exit');
    child.stdin.end();
    await ended;
  };
  return { call, tools, close };
}

await main(async (servers) => {
  const opened = await Promise.all(servers.map(open));
  return {
    calls: opened.map(({ call }) => call),
    text: (result) => result.content[0].text,
    tools: () => opened.flatMap(({ tools }) => tools),
    name: (tool) => tool.name,
    schema: (tool) => tool.inputSchema,
    close: () => Promise.all(opened.map(({ close }) => close())),
  };
});
