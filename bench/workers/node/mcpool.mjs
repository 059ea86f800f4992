// Contestant: mcpool, one Manager over all servers.
import { main, mcpool } from './harness.mjs';

const { Manager } = mcpool();

async function openServers(servers) {
  const names = servers.map((_, index) => `s${index}`);
  const manager = new Manager({
    mcpServers: Object.fromEntries(servers.map((server, index) => [names[index], server])),
  });
  const report = await manager.connectAll();
  if (Object.keys(report.failed).length > 0) {
    await manager.close();
    throw new Error(`not connected: ${JSON.stringify(report.failed)}`);
  }
  return {
    calls: names.map((name) => (tool, args) => manager.callTool(name, tool, args)),
    text: (result) => result.content[0].text,
    forModel: (result) => result.forModel(),
    tools: () => manager.getTools(),
    name: (tool) => tool.name,
    schema: (tool) => tool.inputSchema,
    close: () => manager.close(),
  };
}

async function connectAll(servers, timeout) {
  const limited = Object.entries(servers).map(([name, server]) => [name, timeout ? { ...server, timeout } : server]);
  const manager = new Manager({ mcpServers: Object.fromEntries(limited) });
  const { connected, deferred } = await manager.connectAll();
  const listed = new Set(manager.getTools().map((tool) => tool.server));
  return { live: connected.filter((name) => listed.has(name)), deferred, close: () => manager.close() };
}

await main(openServers, connectAll);
