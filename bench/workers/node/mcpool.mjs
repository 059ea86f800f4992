// Contestant: mcpool, one Manager over all servers.
import { main, mcpool } from './harness.mjs';

const { Manager } = mcpool();

await main(async (servers) => {
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
    tools: () => manager.getTools(),
    name: (tool) => tool.name,
    schema: (tool) => tool.inputSchema,
    close: () => manager.close(),
  };
});
