// An agent loop without a framework. A script stands in for the model, so this runs without a network.
import { Manager, type Tool } from 'mcpool';

const CONFIG = { mcpServers: { demo: { command: 'npx', args: ['--no', 'mcpool', 'demo-server'] } } };

type Reply = { tool: string; arguments: Record<string, unknown> } | { answer: string };

/** Asks for a tool that does not exist, makes a mistake in the arguments, and then answers. Replace it with your model. */
class ScriptedModel {
  #turns: Reply[] = [
    { tool: 'mcp_demo_sum', arguments: { a: 2, b: 40 } },
    { tool: 'mcp_demo_add', arguments: { a: 2, b: 'forty' } },
    { tool: 'mcp_demo_add', arguments: { a: 2, b: 40 } },
    { answer: 'It is 42.' },
  ];

  async reply(tools: object[], messages: object[]): Promise<Reply> {
    if (tools.length === 0 || messages.length === 0) throw new Error('nothing to work with');
    return this.#turns.shift() ?? { answer: 'Nothing more.' };
  }
}

/** Lets the model call tools until it answers. */
async function run(model: ScriptedModel, manager: Manager, question: string): Promise<string> {
  const messages: object[] = [{ role: 'user', content: question }];
  for (;;) {
    // The list is read for each turn, because servers may change their tools.
    const tools = new Map<string, Tool>(manager.getTools().map((tool) => [tool.name, tool]));
    const offered = [...tools.values()].map((tool) => ({
      name: tool.name,
      description: tool.description,
      parameters: tool.inputSchema,
    }));
    const reply = await model.reply(offered, messages);
    if ('answer' in reply) return reply.answer;
    const tool = tools.get(reply.tool);
    if (!tool) {
      messages.push({ role: 'tool', content: `There is no tool ${reply.tool}` });
      continue;
    }
    // A failure is text for the model, not an exception.
    const output = await tool.execute(reply.arguments);
    console.log('tool:', reply.tool, reply.arguments, output.isError ? 'failed' : 'ok');
    messages.push({ role: 'tool', content: output.text });
  }
}

const manager = new Manager(CONFIG);
const report = await manager.connectAll();
console.log('ready:', [...report.connected, ...report.deferred]);
console.log('answer:', await run(new ScriptedModel(), manager, 'What is 2 + 40?'));
await manager.close();
