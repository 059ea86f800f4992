// Contestant: `mcporter`, one runtime over all servers; a call that fails drops its connection, the next one makes
// another.
import { main, peerModule } from './harness.mjs';

const { createRuntime } = await peerModule('mcporter/dist/index.js');
const silent = { debug() {}, info() {}, warn() {}, error() {} };

await main(async (servers) => {
  const definitions = servers.map(({ command, args }, index) => ({
    name: `s${index}`,
    command: { kind: 'stdio', command, args, cwd: process.cwd() },
  }));
  const runtime = await createRuntime({ servers: definitions, logger: silent });
  const listed = await Promise.all(definitions.map(({ name }) => runtime.listTools(name, { includeSchema: true })));
  return {
    calls: definitions.map((server) => (tool, args) => runtime.callTool(server.name, tool, { args })),
    text: (result) => result.content[0].text,
    tools: () => listed.flat(),
    name: (tool) => tool.name,
    schema: (tool) => tool.inputSchema,
    close: () => runtime.close(),
  };
});
