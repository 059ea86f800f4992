// Contestant: `@modelcontextprotocol/client` (v2 of the SDK), one Client per server, in its default mode:
// the plain initialize handshake that all contestants do.
import { main, peers } from './harness.mjs';
import { openClients } from './clients.mjs';

const { Client, StreamableHTTPClientTransport } = peers('@modelcontextprotocol/client');
const { StdioClientTransport } = peers('@modelcontextprotocol/client/stdio');

await main(openClients({ Client, StdioClientTransport, StreamableHTTPClientTransport }));
