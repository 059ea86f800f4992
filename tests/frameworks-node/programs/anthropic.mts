// Compiled only: what a program may write with the Anthropic SDK, and what it may not.
import Anthropic from '@anthropic-ai/sdk';
import { Manager } from 'mcpool';
import { run, runnerTools, sampling, tools } from 'mcpool/adapters/anthropic';

const given = { model: 'claude', max_tokens: 100 };

export async function program(client: Anthropic, signal: AbortSignal): Promise<Anthropic.MessageParam[]> {
  await using manager = new Manager({ mcpServers: {} });
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'go' }];
  const message = await client.messages.create({ ...given, messages, tools: tools(manager) });
  const results: Anthropic.ToolResultBlockParam[] = await run(manager, message, { signal });
  messages.push({ role: 'assistant', content: message.content }, { role: 'user', content: results });
  const betaMessages: Anthropic.Beta.BetaMessageParam[] = [{ role: 'user', content: 'go' }];
  const betaMessage = await client.beta.messages.create({
    ...given,
    messages: betaMessages,
    tools: tools(manager),
  });
  const content = await run(manager, betaMessage, { signal });
  betaMessages.push({ role: 'assistant', content: betaMessage.content }, { role: 'user', content });
  await run(manager, betaMessage.content);
  const final = await client.beta.messages.toolRunner({ ...given, messages, tools: runnerTools(manager) });
  return [...messages, { role: 'assistant', content: final.content[0]?.type ?? '' }];
}

// @ts-expect-error: nobody would ask
runnerTools(new Manager({ mcpServers: {} }), { needsApproval: true });
// @ts-expect-error: a message is no list of blocks
run(new Manager({ mcpServers: {} }), new Anthropic());

export const sampled = (client: Anthropic): Manager =>
  new Manager({ mcpServers: {} }, { onSampling: sampling(client, { model: 'claude' }) });
