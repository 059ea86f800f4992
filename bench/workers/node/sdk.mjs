// Contestant: `@modelcontextprotocol/sdk` (v1), one Client per server.
import { main, peers } from './harness.mjs';
import { openClients } from './clients.mjs';

const { Client } = peers('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = peers('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = peers('@modelcontextprotocol/sdk/client/streamableHttp.js');

await main(openClients({ Client, StdioClientTransport, StreamableHTTPClientTransport }));
