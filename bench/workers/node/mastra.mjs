// Contestant: `@mastra/mcp`, one MCPClient over all servers; a tool of its own accord reconnects once and calls again.
// `legacy` is the plain initialize handshake that all contestants do.
import { main, peers } from './harness.mjs';

const { MCPClient } = peers('@mastra/mcp');
let made = 0;

function clientFor(servers, timeout) {
  const legacy = Object.entries(servers).map(([name, server]) => [name, { ...server, protocolVersion: 'legacy' }]);
  return new MCPClient({ id: `bench${made++}`, servers: Object.fromEntries(legacy), timeout });
}

async function openServers(servers) {
  const client = clientFor(Object.fromEntries(servers.map((server, index) => [`s${index}`, server])));
  const toolsets = await client.listToolsets();
  const every = Object.values(toolsets).flatMap((tools) => Object.values(tools));
  return {
    calls: servers.map((_, index) => (name, args) => toolsets[`s${index}`][name].execute(args, {})),
    text: (result) => result.content[0].text,
    tools: () => every,
    name: (tool) => tool.id,
    schema: (tool) => tool.inputSchema,
    close: () => client.disconnect(),
  };
}

async function connectAll(servers, timeout) {
  return { live: Object.keys(await clientFor(servers, timeout).listToolsets()) };
}

await main(openServers, connectAll);
