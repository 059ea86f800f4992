// Compiled only: what a program may write with the OpenAI SDK, and what it may not.
import { Manager } from 'mcpool';
import {
  chatTools,
  responseTools,
  runChat,
  runnerTools,
  runResponse,
  sampling,
} from 'mcpool/adapters/openai';
import type OpenAI from 'openai';

export async function chat(client: OpenAI, signal: AbortSignal): Promise<string | null> {
  await using manager = new Manager({ mcpServers: {} });
  const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: 'user', content: 'go' }];
  const tools: OpenAI.Chat.ChatCompletionTool[] = chatTools(manager);
  const { choices } = await client.chat.completions.create({ model: 'gpt', messages, tools });
  messages.push(...(await runChat(manager, choices[0]?.message ?? {}, { signal })));
  const runner = client.chat.completions.runTools({ model: 'gpt', messages, tools: runnerTools(manager) });
  return runner.finalContent();
}

export async function responses(client: OpenAI): Promise<string> {
  await using manager = new Manager({ mcpServers: {} });
  const tools: OpenAI.Responses.Tool[] = responseTools(manager);
  const response = await client.responses.create({ model: 'gpt', input: 'go', tools });
  const input: OpenAI.Responses.ResponseInput = await runResponse(manager, response);
  await client.responses.create({ model: 'gpt', input, tools, previous_response_id: response.id });
  return response.output_text;
}

// @ts-expect-error: a manager is needed
chatTools();
// @ts-expect-error: nobody would ask
runnerTools(new Manager({ mcpServers: {} }), { needsApproval: true });
// @ts-expect-error: an answer of chat is none of responses
chatTools(new Manager({ mcpServers: {} })) satisfies OpenAI.Responses.Tool[];

export const sampled = (client: OpenAI): Manager =>
  new Manager(
    { mcpServers: {} },
    { onSampling: sampling(client, { model: 'gpt', ignore: ['temperature'] }) },
  );
// @ts-expect-error: a client has no model of its own
export const unnamed = (client: OpenAI) => sampling(client, {});
