// What both SDK generations have in common: a Client over a transport, one per server, opened all at once.

export const openClients =
  ({ Client, StdioClientTransport, StreamableHTTPClientTransport }) =>
  async (servers) => {
    async function open(server) {
      const client = new Client({ name: 'bench', version: '0' });
      const transport = server.url
        ? new StreamableHTTPClientTransport(new URL(server.url))
        : new StdioClientTransport(server);
      await client.connect(transport);
      const tools = [];
      let cursor;
      do {
        // Without a cursor the v2 client walks all pages itself; v1 gives one page at a time.
        const page = await client.listTools(cursor === undefined ? undefined : { cursor });
        tools.push(...page.tools);
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return { client, tools };
    }

    const opened = await Promise.all(servers.map(open));
    const every = opened.flatMap(({ tools }) => tools);
    return {
      calls: opened.map(({ client }) => (name, args) => client.callTool({ name, arguments: args })),
      text: (result) => result.content[0].text,
      tools: () => every,
      name: (tool) => tool.name,
      schema: (tool) => tool.inputSchema,
      close: () => Promise.all(opened.map(({ client }) => client.close())),
    };
  };
