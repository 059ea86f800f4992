// A server on the official TypeScript SDK over WebSocket, by the `ws` package: websocket.mjs PORT.
// The SDK brings a WebSocket client only, so the transport of the server is here: one message is one text frame.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebSocketServer } from 'ws';
import { z } from 'zod';

class SocketTransport {
  constructor(socket) {
    this.socket = socket;
  }

  async start() {
    this.socket.on('message', (data) => this.onmessage?.(JSON.parse(data)));
    this.socket.on('close', () => this.onclose?.());
    this.socket.on('error', (error) => this.onerror?.(error));
  }

  async send(message) {
    this.socket.send(JSON.stringify(message));
  }

  async close() {
    this.socket.close();
  }
}

const happened = [];
const text = (it) => ({ content: [{ type: 'text', text: it }] });

function createServer() {
  const server = new McpServer({ name: 'real', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, async (given) => text(given.text));
  server.registerTool('count', { inputSchema: { steps: z.number() } }, async ({ steps }, extra) => {
    const { progressToken } = extra._meta ?? {};
    for (let progress = 1; progressToken !== undefined && progress <= steps; progress++) {
      const params = { progressToken, progress, total: steps };
      await extra.sendNotification({ method: 'notifications/progress', params });
    }
    return text(String(steps));
  });
  server.registerTool('wait', { description: 'Ends only if it is cancelled.' }, async ({ signal }) => {
    happened.push('waits');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    happened.push('cancelled');
    return text('never');
  });
  server.registerTool('happened', {}, async () => text(JSON.stringify(happened)));
  server.registerTool('grow', {}, async () => {
    server.registerTool('grown', {}, async () => text('here'));
    return text('grown');
  });
  return server;
}

const sockets = new WebSocketServer({ host: '127.0.0.1', port: Number(process.argv[2]) });
sockets.on('connection', (socket) => createServer().connect(new SocketTransport(socket)));
